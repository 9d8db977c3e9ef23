/* lib/store/bag/writer.h: what was written is read as bytes, or by bag.h */
#include "store/bag/writer.h"
#include "check.h"

#include "core/io.h"

#include <endian.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/shardbox-bag-writer-XXXXXX";
static char told[1000];

static void remember(void *context, enum sb_level level, const char *kind, const char *subject,
                     const char *text)
{
    (void)context;
    (void)level;
    snprintf(told, sizeof(told), "%s: %s: %s", kind, subject ? subject : "", text);
}

static const struct sb_notify notify = {.call = remember};

static bool nothing_temporary(void)
{
    glob_t found;
    bool none = glob(".*shardbox*", 0, NULL, &found) == GLOB_NOMATCH;

    globfree(&found);
    return none;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static void put_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* The file's bytes, with "<N>" for limits behind the first `records` bytes. */
static const char *shown(const char *path, size_t records)
{
    static char text[4000];
    uint8_t data[1000];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 0, at = 0;

    if (fd < 0)
        return NULL;
    CHECK(sb_read_full(fd, data, sizeof(data), &size, path) == SB_OK);
    close(fd);
    for (size_t i = 0; i < records && i < size; i++)
        text[at++] = (char)data[i];
    text[at] = '\0';
    for (size_t i = records; i + 8 <= size; i += 8) {
        uint64_t limit;

        memcpy(&limit, data + i, sizeof(limit));
        at += (size_t)snprintf(text + at, sizeof(text) - at, "<%llu>",
                               (unsigned long long)le64toh(limit));
    }
    if (size > records && (size - records) % 8 != 0)
        snprintf(text + at, sizeof(text) - at, "...");
    return text;
}

static enum sb_code add_words(struct sb_bag_writer *writer, const char *words)
{
    char text[1000], *save, *word;
    enum sb_code code = SB_OK;

    snprintf(text, sizeof(text), "%s", words);
    for (word = strtok_r(text, " ", &save); !code && word; word = strtok_r(NULL, " ", &save)) {
        size_t size = strcmp(word, "-") == 0 ? 0 : strlen(word);

        code = sb_bag_writer_add(writer, word, &size, 1);
    }
    return code;
}

/* A record for each word; "-" is an empty one. */
static enum sb_code write_words(const struct sb_bag_writer_options *options, const char *words)
{
    struct sb_bag_writer *writer = NULL;
    enum sb_code code = sb_bag_writer_open(&writer, options);

    if (code == SB_OK)
        code = add_words(writer, words);
    if (code == SB_OK)
        code = sb_bag_writer_commit(writer);
    sb_bag_writer_free(writer);
    return code;
}

/* What bag.h reads: the records, with blanks between. */
static const char *read_words(const char *spec, const struct sb_bag_options *options)
{
    static char text[4000];
    struct sb_bag_reader *reader = NULL;
    struct sb_bag *bag;
    size_t at = 0;

    if (sb_bag_open(&bag, spec, options, &notify)) {
        snprintf(text, sizeof(text), "%s", sb_error()->text);
        return text;
    }
    CHECK(sb_bag_reader_new(&reader, bag) == SB_OK);
    text[0] = '\0';
    for (int64_t i = 0; i < sb_bag_count(bag); i++) {
        struct sb_extent extent;
        size_t good, size;

        CHECK(sb_bag_extents(reader, sb_bag_place_of(bag, i), 1, &extent, &good) == SB_OK);
        if (i > 0)
            text[at++] = ' ';
        CHECK(sb_bag_load(reader, &extent, text + at, 100, &size) == SB_OK);
        if (size == 0)
            text[at++] = '-';
        at += size;
        text[at] = '\0';
    }
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
    return text;
}

static void a_bag_appears_at_the_commit(void)
{
    struct sb_bag_writer_options options = {.path = "a.bag", .total = -1};
    struct sb_bag_writer *writer = NULL;

    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(!sb_bag_writer_compresses(writer));
    CHECK(add_words(writer, "one - three") == SB_OK);
    CHECK(sb_bag_writer_records(writer) == 3 && sb_bag_writer_bytes(writer) == 8);
    CHECK(!is_there("a.bag") && !nothing_temporary());
    CHECK(sb_bag_writer_commit(writer) == SB_OK);
    sb_bag_writer_free(writer);
    CHECK_TEXT(shown("a.bag", 8), "onethree<3><3><8>");
    CHECK(nothing_temporary());
}

static void without_a_commit_nothing_stays(void)
{
    struct sb_bag_writer_options options = {
        .path = "b@3.bag", .limits = SB_LIMITS_SEPARATE, .shard_records = 1, .total = -1};
    struct sb_bag_writer *writer = NULL;

    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(add_words(writer, "one two") == SB_OK);
    sb_bag_writer_free(writer);
    CHECK(nothing_temporary() && !is_there("b-00000-of-00003.bag"));
}

static void no_records_are_no_bytes(void)
{
    struct sb_bag_writer_options options = {.path = "empty.bag", .total = -1};
    struct stat st;

    CHECK(write_words(&options, "") == SB_OK);
    CHECK(stat("empty.bag", &st) == 0 && st.st_size == 0);
    options.path = "one-empty.bag";
    CHECK(write_words(&options, "-") == SB_OK);
    CHECK_TEXT(shown("one-empty.bag", 0), "<0>");
}

static void limits_may_stand_beside(void)
{
    struct sb_bag_writer_options options = {
        .path = "s.bag", .limits = SB_LIMITS_SEPARATE, .total = -1};

    CHECK(write_words(&options, "one three") == SB_OK);
    CHECK_TEXT(shown("s.bag", 8), "onethree");
    CHECK_TEXT(shown("limits.s.bag", 0), "<3><8>");
}

static void what_is_there_is_replaced_by_force_only(void)
{
    struct sb_bag_writer_options options = {.path = "f.bag", .total = -1};

    CHECK(write_words(&options, "old") == SB_OK);
    CHECK(write_words(&options, "new") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, "f.bag: exists already; use --force to replace it");
    options.force = true;
    CHECK(write_words(&options, "new") == SB_OK);
    CHECK_TEXT(shown("f.bag", 3), "new<3>");
    CHECK(nothing_temporary());
}

static void force_leaves_no_limits_of_the_old_file(void)
{
    struct sb_bag_writer_options options = {
        .path = "l.bag", .limits = SB_LIMITS_SEPARATE, .total = -1};

    CHECK(write_words(&options, "old") == SB_OK);
    options.force = true;
    CHECK(write_words(&options, "newer one") == SB_OK);
    CHECK_TEXT(shown("l.bag", 8), "newerone");
    CHECK_TEXT(shown("limits.l.bag", 0), "<5><8>");
    options.limits = SB_LIMITS_TAIL;
    CHECK(write_words(&options, "newest") == SB_OK);
    CHECK_TEXT(shown("l.bag", 6), "newest<6>");
    CHECK(!is_there("limits.l.bag") && nothing_temporary());
    options.limits = SB_LIMITS_SEPARATE;
    CHECK(write_words(&options, "again") == SB_OK);
    CHECK_TEXT(shown("l.bag", 5), "again");
    CHECK_TEXT(shown("limits.l.bag", 0), "<5>");
}

static void limits_of_what_is_not_there_are_in_the_way(void)
{
    struct sb_bag_writer_options options = {.path = "stale.bag", .total = -1};

    put_file("limits.stale.bag", "12345678", 8);
    CHECK(write_words(&options, "x") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, "limits.stale.bag: exists already; use --force to replace it");
    options.force = true;
    CHECK(write_words(&options, "x") == SB_OK);
    CHECK(!is_there("limits.stale.bag"));
    CHECK_TEXT(read_words("stale.bag", NULL), "x");
}

static void a_set_is_cut_evenly_where_the_number_is_known(void)
{
    struct sb_bag_writer_options options = {.path = "even@3.bag", .total = 4};

    CHECK(write_words(&options, "a bb ccc dddd") == SB_OK);
    CHECK_TEXT(shown("even-00000-of-00003.bag", 3), "abb<1><3>");
    CHECK_TEXT(shown("even-00001-of-00003.bag", 3), "ccc<3>");
    CHECK_TEXT(shown("even-00002-of-00003.bag", 4), "dddd<4>");
    CHECK(nothing_temporary());
}

static void and_likewise_where_it_is_not(void)
{
    struct sb_bag_writer_options options = {.path = "cut@3.bag", .total = -1};

    CHECK(write_words(&options, "a bb ccc dddd") == SB_OK);
    CHECK_TEXT(shown("cut-00000-of-00003.bag", 3), "abb<1><3>");
    CHECK_TEXT(shown("cut-00001-of-00003.bag", 3), "ccc<3>");
    CHECK_TEXT(shown("cut-00002-of-00003.bag", 4), "dddd<4>");
    options.path = "few@3.bag";
    options.limits = SB_LIMITS_SEPARATE;
    CHECK(write_words(&options, "a bb") == SB_OK);
    CHECK_TEXT(shown("few-00001-of-00003.bag", 2), "bb");
    CHECK_TEXT(shown("limits.few-00001-of-00003.bag", 0), "<2>");
    CHECK_TEXT(shown("few-00002-of-00003.bag", 0), "");
    CHECK_TEXT(shown("limits.few-00002-of-00003.bag", 0), "");
    CHECK(nothing_temporary());
}

static void a_number_of_records_or_bytes_bounds_a_shard(void)
{
    struct sb_bag_writer_options options = {.path = "n@*.bag", .shard_records = 2, .total = -1};

    CHECK(write_words(&options, "a b c") == SB_OK);
    CHECK_TEXT(shown("n-00000-of-00002.bag", 2), "ab<1><2>");
    CHECK_TEXT(shown("n-00001-of-00002.bag", 1), "c<1>");
    options = (struct sb_bag_writer_options){.path = "m@*.bag", .shard_bytes = 20, .total = -1};
    CHECK(write_words(&options, "aa bb ccc a-record-longer-than-that d") == SB_OK);
    CHECK_TEXT(shown("m-00000-of-00004.bag", 4), "aabb<2><4>");
    CHECK_TEXT(shown("m-00001-of-00004.bag", 3), "ccc<3>");
    CHECK_TEXT(shown("m-00002-of-00004.bag", 25), "a-record-longer-than-that<25>");
    CHECK_TEXT(shown("m-00003-of-00004.bag", 1), "d<1>");
    CHECK(nothing_temporary());
}

static void more_than_a_set_takes_is_an_error(void)
{
    struct sb_bag_writer_options options = {.path = "full@2.bag", .shard_records = 1, .total = -1};

    CHECK(write_words(&options, "a b c") == SB_LIMIT);
    CHECK_TEXT(sb_error()->text,
               "full@2.bag: more records come than 2 shards hold; let a shard hold more, "
               "or name more of them");
    CHECK(nothing_temporary() && !is_there("full-00001-of-00002.bag"));
}

static void records_are_dealt_out_to_an_interleaved_set(void)
{
    struct sb_bag_writer_options options = {
        .path = "i@3.bag", .layout = SB_LAYOUT_INTERLEAVED, .total = -1};
    struct sb_bag_options interleaved = {.layout = SB_LAYOUT_INTERLEAVED};

    CHECK(write_words(&options, "a bb ccc dd e") == SB_OK);
    CHECK_TEXT(shown("i-00000-of-00003.bag", 3), "add<1><3>");
    CHECK_TEXT(shown("i-00001-of-00003.bag", 3), "bbe<2><3>");
    CHECK_TEXT(shown("i-00002-of-00003.bag", 3), "ccc<3>");
    CHECK_TEXT(read_words("i@3.bag", &interleaved), "a bb ccc dd e");
    options = (struct sb_bag_writer_options){.path = "j@*.bag",
                                             .layout = SB_LAYOUT_INTERLEAVED,
                                             .limits = SB_LIMITS_SEPARATE,
                                             .shard_records = 2,
                                             .total = 5};
    CHECK(write_words(&options, "a bb ccc dd e") == SB_OK);
    CHECK_TEXT(shown("limits.j-00001-of-00003.bag", 0), "<2><3>");
    CHECK_TEXT(read_words("j@*.bag", &interleaved), "a bb ccc dd e");
    CHECK(nothing_temporary());
}

static void a_record_may_come_in_pieces(void)
{
    const char *paths[] = {"p.bag", "p@2.bag", "q@2.bag"};
    struct sb_bag_options interleaved = {.layout = SB_LAYOUT_INTERLEAVED};

    for (int i = 0; i < 3; i++) {
        struct sb_bag_writer_options options = {
            .path = paths[i], .layout = i == 2 ? SB_LAYOUT_INTERLEAVED : 0, .total = -1};
        struct sb_bag_writer *writer = NULL;

        CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
        CHECK(add_words(writer, "a") == SB_OK);
        CHECK(sb_bag_writer_piece(writer, "pie", 3) == SB_OK);
        CHECK(sb_bag_writer_piece(writer, "ces", 3) == SB_OK);
        CHECK(sb_bag_writer_end_record(writer) == SB_OK);
        CHECK(sb_bag_writer_end_record(writer) == SB_OK);
        CHECK(sb_bag_writer_piece(writer, "dropped", 7) == SB_OK);
        CHECK(sb_bag_writer_drop_record(writer) == SB_OK);
        CHECK(add_words(writer, "b") == SB_OK);
        CHECK(sb_bag_writer_commit(writer) == SB_OK);
        sb_bag_writer_free(writer);
        CHECK_TEXT(read_words(paths[i], i == 2 ? &interleaved : NULL), "a pieces - b");
    }
    CHECK(nothing_temporary());
}

static void one_in_pieces_that_passes_the_bound_goes_to_the_next_shard(void)
{
    struct sb_bag_writer_options options = {.path = "carry@*.bag", .shard_bytes = 30, .total = -1};
    struct sb_bag_writer *writer = NULL;

    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(add_words(writer, "first") == SB_OK);
    for (int i = 0; i < 4; i++)
        CHECK(sb_bag_writer_piece(writer, "abcde", 5) == SB_OK);
    CHECK(sb_bag_writer_end_record(writer) == SB_OK);
    CHECK(add_words(writer, "l") == SB_OK);
    CHECK(sb_bag_writer_commit(writer) == SB_OK);
    sb_bag_writer_free(writer);
    CHECK_TEXT(shown("carry-00000-of-00003.bag", 5), "first<5>");
    CHECK_TEXT(shown("carry-00001-of-00003.bag", 20), "abcdeabcdeabcdeabcde<20>");
    CHECK_TEXT(shown("carry-00002-of-00003.bag", 1), "l<1>");
}

static void sets_that_stand_are_seen(void)
{
    struct sb_bag_writer_options options = {.path = "t@2.bag", .total = 2, .notify = &notify};

    CHECK(write_words(&options, "a b") == SB_OK);
    CHECK(write_words(&options, "a b") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text,
               "t-00000-of-00002.bag: exists already; use --force to replace the set");
    options.path = "t@*.bag";
    options.shard_records = 1;
    CHECK(write_words(&options, "a b") == SB_EXISTS);
    unlink("t-00000-of-00002.bag");
    CHECK(write_words(&options, "a b") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text,
               "t-00001-of-00002.bag: exists already, though shard 0 of the set does "
               "not, as a killed run leaves it; use --force to replace it");
    options.force = true;
    CHECK(write_words(&options, "a b c") == SB_OK);
    CHECK_TEXT(told, "mixed: t@*.bag: shards of another set, of 2, stay beside the 3 of this one; "
                     "remove them, for \"@*\" may find either");
    CHECK_TEXT(read_words("t@3.bag", NULL), "a b c");
}

static void what_a_killed_run_left_is_removed(void)
{
    struct sb_bag_writer_options options = {.path = "k@2.bag", .total = 2};

    put_file(".k-00000.bag.shardbox-new", "x", 1);
    put_file(".k-00007.bag.shardbox-new", "x", 1);
    put_file(".limits.k-00007.bag.shardbox-new", "x", 1);
    put_file(".k@.bag.shardbox-lock", "", 0);
    CHECK(write_words(&options, "a b") == SB_OK);
    CHECK(nothing_temporary());
}

static void a_second_writer_is_refused(void)
{
    struct sb_bag_writer_options options = {.path = "w@2.bag", .total = 2}, other = options;
    struct sb_bag_writer *writer, *second;

    other.path = "w@4.bag";
    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(sb_bag_writer_open(&second, &other) == SB_LOCKED);
    CHECK_TEXT(sb_error()->text,
               "w@4.bag: another process, perhaps on another machine, is writing it; "
               "wait for it, or give --wait");
    CHECK(add_words(writer, "a b") == SB_OK);
    CHECK(sb_bag_writer_commit(writer) == SB_OK);
    sb_bag_writer_free(writer);
    CHECK_TEXT(read_words("w@2.bag", NULL), "a b");
}

static void records_are_appended(void)
{
    struct sb_bag_writer_options options = {.path = "more.bag", .total = -1};

    CHECK(write_words(&options, "one") == SB_OK);
    options.append = true;
    CHECK(write_words(&options, "- three") == SB_OK);
    CHECK_TEXT(shown("more.bag", 8), "onethree<3><3><8>");
    CHECK(!is_there("limits.more.bag") && nothing_temporary());
    CHECK(write_words(&options, "") == SB_OK);
    CHECK_TEXT(shown("more.bag", 8), "onethree<3><3><8>");
    options.path = "none.bag";
    CHECK(write_words(&options, "x") == SB_NOENT);
    CHECK_TEXT(sb_error()->text, "none.bag: is not there, so nothing can be appended to it");
    CHECK(nothing_temporary());
}

static void and_beside_separate_limits(void)
{
    struct sb_bag_writer_options options = {
        .path = "aside.bag", .limits = SB_LIMITS_SEPARATE, .total = -1};

    CHECK(write_words(&options, "one") == SB_OK);
    options.append = true;
    options.limits = SB_LIMITS_AUTO;
    CHECK(write_words(&options, "two three") == SB_OK);
    CHECK_TEXT(shown("aside.bag", 11), "onetwothree");
    CHECK_TEXT(shown("limits.aside.bag", 0), "<3><6><11>");
    options.limits = SB_LIMITS_TAIL;
    CHECK(write_words(&options, "x") == SB_INVALID);
    CHECK_TEXT(sb_error()->text,
               "aside.bag: has its limits beside it; they cannot be elsewhere for what "
               "is appended");
    CHECK(nothing_temporary());
}

static void and_to_the_last_shard_of_a_set(void)
{
    struct sb_bag_writer_options options = {.path = "grow@2.bag", .total = 2};

    CHECK(write_words(&options, "a b") == SB_OK);
    options.append = true;
    options.path = "grow@*.bag";
    CHECK(write_words(&options, "c") == SB_OK);
    CHECK_TEXT(shown("grow-00001-of-00002.bag", 2), "bc<1><2>");
    CHECK_TEXT(read_words("grow@2.bag", NULL), "a b c");
}

static void an_append_that_is_given_up_leaves_what_was_there(void)
{
    for (int separate = 0; separate < 2; separate++) {
        struct sb_bag_writer_options options = {.path = separate ? "give2.bag" : "give.bag",
                                                .limits =
                                                    separate ? SB_LIMITS_SEPARATE : SB_LIMITS_TAIL,
                                                .total = -1};
        struct sb_bag_writer *writer = NULL;

        CHECK(write_words(&options, "one two") == SB_OK);
        options.append = true;
        CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
        CHECK(add_words(writer, "three four five") == SB_OK);
        CHECK_TEXT(read_words(options.path, NULL), "one two");
        sb_bag_writer_free(writer);
        CHECK_TEXT(shown(options.path, 6), separate ? "onetwo" : "onetwo<3><6>");
        CHECK(nothing_temporary() && is_there("limits.give2.bag") == separate);
    }
}

/* A process that dies in the middle of an append. */
static void killed_append(const char *path, const char *words)
{
    struct sb_bag_writer_options options = {.path = path, .append = true, .total = -1};
    struct sb_bag_writer *writer = NULL;
    pid_t child = fork();
    int status;

    if (child == 0) {
        static char large[200000];

        if (sb_bag_writer_open(&writer, &options) == SB_OK && add_words(writer, words) == SB_OK &&
            sb_bag_writer_piece(writer, large, sizeof(large)) == SB_OK)
            _exit(0);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void a_killed_append_is_undone_by_the_next_writer(void)
{
    for (int separate = 0; separate < 2; separate++) {
        struct sb_bag_writer_options options = {.path = separate ? "dead2.bag" : "dead.bag",
                                                .limits =
                                                    separate ? SB_LIMITS_SEPARATE : SB_LIMITS_TAIL,
                                                .total = -1};

        CHECK(write_words(&options, "one two") == SB_OK);
        killed_append(options.path, "lost");
        CHECK_TEXT(read_words(options.path, NULL), "one two");
        options.append = true;
        CHECK(write_words(&options, "three") == SB_OK);
        CHECK_TEXT(shown(options.path, 11), separate ? "onetwothree" : "onetwothree<3><6><11>");
        CHECK_TEXT(read_words(options.path, NULL), "one two three");
        CHECK(nothing_temporary());
        killed_append(options.path, "lost");
        options.append = false;
        options.force = true;
        CHECK(write_words(&options, "new") == SB_OK);
        CHECK_TEXT(read_words(options.path, NULL), "new");
        CHECK(nothing_temporary());
    }
}

static void limits_that_another_program_left_are_not_ours_to_undo(void)
{
    struct sb_bag_writer_options options = {.path = "other.bag", .append = true, .total = -1};
    static const char limits[] = "\3\0\0\0\0\0\0\0";

    put_file("other.bag", "onetw", 5);
    put_file("limits.other.bag", limits, 8);
    CHECK(write_words(&options, "x") == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text,
               "limits.other.bag: does not end where other.bag does, as when the program "
               "that wrote them died; save what is whole by verify --repair-to, and "
               "append to that");
    CHECK_TEXT(shown("other.bag", 5), "onetw");
    CHECK(nothing_temporary());
}

static void to_a_pipe_records_go_at_once_and_limits_last(void)
{
    struct sb_bag_writer_options options = {.path = "fifo", .total = -1};
    struct sb_bag_writer *writer = NULL;
    static char large[65536];
    uint64_t limits[2] = {0};
    int in;

    CHECK(mkfifo("fifo", 0600) == 0);
    in = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(sb_bag_writer_add(writer, large, (size_t[]){sizeof(large)}, 1) == SB_OK);
    CHECK(read(in, large, sizeof(large)) == sizeof(large));
    CHECK(add_words(writer, "abc") == SB_OK);
    CHECK(sb_bag_writer_commit(writer) == SB_OK);
    sb_bag_writer_free(writer);
    CHECK(read(in, large, 3) == 3 && read(in, limits, sizeof(limits)) == sizeof(limits));
    CHECK(le64toh(limits[0]) == sizeof(large) && le64toh(limits[1]) == sizeof(large) + 3);
    close(in);
    options.limits = SB_LIMITS_SEPARATE;
    CHECK(write_words(&options, "x") == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "fifo: is a stream, beside which limits cannot be; name a file");
    unlink("fifo");
}

static void what_went_to_a_pipe_cannot_be_taken_back(void)
{
    struct sb_bag_writer_options options = {.path = "/dev/null", .total = -1};
    struct sb_bag_writer *writer = NULL;

    CHECK(sb_bag_writer_open(&writer, &options) == SB_OK);
    CHECK(sb_bag_writer_piece(writer, "abc", 3) == SB_OK);
    CHECK(sb_bag_writer_drop_record(writer) == SB_INVALID);
    CHECK(add_words(writer, "abc") == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "/dev/null: could not be written");
    CHECK(sb_bag_writer_commit(writer) == SB_INVALID);
    sb_bag_writer_free(writer);
}

static void what_makes_no_sense_is_refused(void)
{

    CHECK(write_words(&(struct sb_bag_writer_options){.path = "", .total = -1}, "") == SB_INVALID);
    CHECK(write_words(&(struct sb_bag_writer_options){.path = "z@*.bag", .total = -1}, "") ==
          SB_INVALID);
    CHECK(write_words(
              &(struct sb_bag_writer_options){.path = "z.bag", .shard_records = 2, .total = -1},
              "") == SB_INVALID);
    CHECK(write_words(&(struct sb_bag_writer_options){.path = "z@*.bag",
                                                      .shard_records = 2,
                                                      .layout = SB_LAYOUT_INTERLEAVED,
                                                      .total = -1},
                      "") == SB_INVALID);
    put_file("no.bag", "123", 3);
    CHECK(
        write_words(&(struct sb_bag_writer_options){.path = "no.bag", .append = true, .total = -1},
                    "") == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "no.bag: is no bag, for it has 3 bytes");
    CHECK(nothing_temporary());
}

static void a_link_stays_and_its_file_is_replaced(void)
{
    struct sb_bag_writer_options options = {.path = "link.bag", .total = -1, .force = true};
    struct stat st;

    CHECK(mkdir("below", 0777) == 0);
    put_file("below/target.bag", "", 0);
    CHECK(symlink("below/target.bag", "link.bag") == 0);
    CHECK(write_words(&options, "x") == SB_OK);
    CHECK(lstat("link.bag", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_TEXT(shown("below/target.bag", 1), "x<1>");
    options.limits = SB_LIMITS_SEPARATE;
    CHECK(write_words(&options, "x") == SB_INVALID);
}

static void stored_records_of_another_bag_are_copied(void)
{
    struct sb_bag_writer_options from = {.path = "src.bag", .total = -1};
    const char *targets[] = {"copy.bag", "copy@2.bag", "copied@2.bag"};
    struct sb_bag_options interleaved = {.layout = SB_LAYOUT_INTERLEAVED};
    struct sb_bag_reader *reader = NULL;
    struct sb_bag_writer *writer = NULL;
    struct sb_bag *bag = NULL;

    CHECK(write_words(&from, "a bb - ccc dddd") == SB_OK);
    CHECK(sb_bag_open(&bag, "src.bag", NULL, &notify) == SB_OK);
    CHECK(sb_bag_reader_new(&reader, bag) == SB_OK);
    for (int i = 0; i < 3; i++) {
        struct sb_bag_writer_options to = {
            .path = targets[i], .total = 4, .layout = i == 2 ? SB_LAYOUT_INTERLEAVED : 0};

        CHECK(sb_bag_writer_open(&writer, &to) == SB_OK);
        CHECK(sb_bag_writer_add_run(writer, reader, sb_bag_place_of(bag, 1), 4) == SB_OK);
        CHECK(sb_bag_writer_commit(writer) == SB_OK);
        sb_bag_writer_free(writer);
        CHECK_TEXT(read_words(targets[i], i == 2 ? &interleaved : NULL), "bb - ccc dddd");
    }
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

int main(void)
{
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    RUN(a_bag_appears_at_the_commit);
    RUN(without_a_commit_nothing_stays);
    RUN(no_records_are_no_bytes);
    RUN(limits_may_stand_beside);
    RUN(what_is_there_is_replaced_by_force_only);
    RUN(force_leaves_no_limits_of_the_old_file);
    RUN(limits_of_what_is_not_there_are_in_the_way);
    RUN(a_set_is_cut_evenly_where_the_number_is_known);
    RUN(and_likewise_where_it_is_not);
    RUN(a_number_of_records_or_bytes_bounds_a_shard);
    RUN(more_than_a_set_takes_is_an_error);
    RUN(records_are_dealt_out_to_an_interleaved_set);
    RUN(a_record_may_come_in_pieces);
    RUN(one_in_pieces_that_passes_the_bound_goes_to_the_next_shard);
    RUN(sets_that_stand_are_seen);
    RUN(what_a_killed_run_left_is_removed);
    RUN(a_second_writer_is_refused);
    RUN(records_are_appended);
    RUN(and_beside_separate_limits);
    RUN(and_to_the_last_shard_of_a_set);
    RUN(an_append_that_is_given_up_leaves_what_was_there);
    RUN(a_killed_append_is_undone_by_the_next_writer);
    RUN(limits_that_another_program_left_are_not_ours_to_undo);
    RUN(to_a_pipe_records_go_at_once_and_limits_last);
    RUN(what_went_to_a_pipe_cannot_be_taken_back);
    RUN(what_makes_no_sense_is_refused);
    RUN(a_link_stays_and_its_file_is_replaced);
    RUN(stored_records_of_another_bag_are_copied);
    if (chdir("/") == 0) {
        char command[100];

        snprintf(command, sizeof(command), "rm -r %s", directory);
        CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a path of our own */
    }
    return check_end();
}
