/* lib/store/bag/bag.h */
#include "store/bag/bag.h"
#include "check.h"
#include "core/file.h"
#include "core/io.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/bag.XXXXXX";
static char told[2000]; /* by the last open_bag */

static void run_command(const char *command)
{
    CHECK(system(command) == 0); /* NOLINT(cert-env33-c): the commands are the tests' own */
}

static void add_told(void *context, enum sb_level level, const char *kind, const char *subject,
                     const char *text)
{
    (void)context;
    (void)level;
    snprintf(told, sizeof(told), "%s: %s: %s", kind, subject, text);
}

static const struct sb_notify notify = {.call = add_told};

static struct sb_bag *open_bag(const char *spec, const struct sb_bag_options *options)
{
    struct sb_bag *bag;

    told[0] = '\0';
    if (sb_bag_open(&bag, spec, options, &notify))
        return NULL;
    return bag;
}

static const char *why_not(const char *spec, const struct sb_bag_options *options)
{
    struct sb_bag *bag = open_bag(spec, options);

    sb_bag_free(bag);
    return bag ? "it was opened" : sb_error()->text;
}

static void write_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (!CHECK(fd >= 0))
        return;
    CHECK(sb_write_full(fd, data, size, path) == SB_OK);
    close(fd);
}

static void add_limit(struct sb_buf *out, uint64_t limit)
{
    limit = htole64(limit);
    CHECK(sb_buf_add(out, &limit, sizeof(limit)) == SB_OK);
}

/* Records "0", "1" ... of one shard in `shards`, each as often repeated as its number modulo 7. */
static void add_record(struct sb_buf *out, int number)
{
    for (int i = 0; i < number % 7; i++)
        CHECK(sb_buf_add_format(out, "%d", number) == SB_OK);
}

enum { AT_TAIL, APART };

/* Numbers first, first + step, ... below end. */
static void write_bag(const char *path, int first, int step, int end, int where)
{
    struct sb_buf records = {0}, limits = {0}, name = {0};

    for (int i = first; i < end; i += step) {
        add_record(&records, i);
        add_limit(&limits, records.size);
    }
    if (where == AT_TAIL) {
        CHECK(sb_buf_add(&records, limits.data ? limits.data : "", limits.size) == SB_OK);
    } else {
        CHECK(sb_buf_add_format(&name, "limits.%s", path) == SB_OK);
        write_file(name.data, limits.data, limits.size);
    }
    write_file(path, records.data, records.size);
    sb_buf_release(&records);
    sb_buf_release(&limits);
    sb_buf_release(&name);
}

/* Is record number `record` what add_record writes for it? */
static bool is_right(struct sb_bag *bag, struct sb_bag_reader *reader, int64_t record)
{
    struct sb_place place = sb_bag_place_of(bag, record);
    struct sb_extent extent;
    struct sb_buf wanted = {0};
    char data[100];
    size_t good, size;
    bool right;

    add_record(&wanted, (int)record);
    right = sb_bag_record_at(bag, place) == record &&
            sb_bag_extents(reader, place, 1, &extent, &good) == SB_OK && good == 1 &&
            sb_bag_load(reader, &extent, data, sizeof(data), &size) == SB_OK &&
            size == wanted.size && (size == 0 || memcmp(data, wanted.data, size) == 0);
    sb_buf_release(&wanted);
    return right;
}

/* Forwards, backwards, and here and there. */
static void all_are_right(const char *spec, const struct sb_bag_options *options, int64_t count)
{
    struct sb_bag *bag = open_bag(spec, options);
    struct sb_bag_reader *reader;
    int64_t wrong = 0;

    if (!CHECK(bag))
        return;
    CHECK(sb_bag_reader_new(&reader, bag) == SB_OK);
    if (!CHECK(sb_bag_count(bag) == count))
        count = 0;
    for (int64_t i = 0; i < count; i++)
        wrong += !is_right(bag, reader, i);
    for (int64_t i = count - 1; i >= 0; i -= 3)
        wrong += !is_right(bag, reader, i);
    for (int64_t i = 0; i < count; i++)
        wrong += !is_right(bag, reader, i * 7919 % count);
    CHECK(wrong == 0);
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

static void a_file_with_its_limits_at_either_place(void)
{
    static const struct sb_bag_options tail = {.limits = SB_LIMITS_TAIL};
    static const struct sb_bag_options separate = {.limits = SB_LIMITS_SEPARATE};

    write_bag("tail.bag", 0, 1, 10000, AT_TAIL);
    write_bag("apart.bag", 0, 1, 10000, APART);
    all_are_right("tail.bag", NULL, 10000);
    all_are_right("tail.bag", &tail, 10000);
    all_are_right("apart.bag", NULL, 10000);
    all_are_right("apart.bag", &separate, 10000);
    CHECK_TEXT(why_not("tail.bag", &separate), "limits.tail.bag: No such file or directory");
}

static void sets(void)
{
    static const struct sb_bag_options interleaved = {.layout = SB_LAYOUT_INTERLEAVED};

    write_bag("c-00000-of-00004.bag", 0, 1, 300, AT_TAIL);
    write_bag("c-00001-of-00004.bag", 300, 1, 300, AT_TAIL);
    write_bag("c-00002-of-00004.bag", 300, 1, 301, APART);
    write_bag("c-00003-of-00004.bag", 301, 1, 5000, AT_TAIL);
    all_are_right("c@4.bag", NULL, 5000);
    all_are_right("c@*.bag", NULL, 5000);
    for (int i = 0; i < 3; i++) {
        char name[40];

        snprintf(name, sizeof(name), "i-%05d-of-00003.bag", i);
        write_bag(name, i, 3, 5000, i == 1 ? APART : AT_TAIL);
    }
    all_are_right("i@3.bag", &interleaved, 5000);
    CHECK_TEXT(why_not("c@4.bag", &interleaved),
               "c@4.bag: cannot be interleaved: c-00000-of-00004.bag has 300 records, "
               "c-00001-of-00004.bag has 0");
    CHECK(unlink("c-00002-of-00004.bag") == 0);
    CHECK_TEXT(why_not("c@4.bag", NULL), "c-00002-of-00004.bag: is not there: the set is "
                                         "incomplete, or its writing was broken off");
    CHECK_TEXT(why_not("tail.bag,none.bag", NULL), "none.bag: No such file or directory");
}

/* A bag takes a part of the files that may be open: of these, fewer than the shards below. */
#define FEW_FILES 64

/* What the limit was. */
static rlim_t limit_files(rlim_t most)
{
    struct rlimit limit;
    rlim_t before;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    before = limit.rlim_cur;
    limit.rlim_cur = most;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return before;
}

static void many_shards(void)
{
    static const struct sb_bag_options interleaved = {.layout = SB_LAYOUT_INTERLEAVED};
    rlim_t before;
    char name[40];

    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "m-%05d-of-00060.bag", i);
        write_bag(name, i, 60, 3000, i % 2 ? APART : AT_TAIL);
    }
    all_are_right("m@60.bag", &interleaved, 3000);
    before = limit_files(FEW_FILES);
    all_are_right("m@60.bag", &interleaved, 3000);
    limit_files(before);
}

static void a_shard_that_is_replaced_meanwhile(void)
{
    rlim_t before = limit_files(FEW_FILES);
    struct sb_bag *bag = open_bag("m@60.bag", NULL);
    struct sb_bag_reader *reader;
    struct sb_extent extent;
    size_t good;

    limit_files(before);

    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    write_bag("new.bag", 0, 60, 3000, AT_TAIL);
    CHECK(rename("new.bag", "m-00000-of-00060.bag") == 0);
    CHECK(sb_bag_extents(reader, sb_bag_place_of(bag, 0), 1, &extent, &good) == SB_CHANGED);
    CHECK_TEXT(sb_error()->text, "m-00000-of-00060.bag: was replaced while it was read");
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

static void the_smallest(void)
{
    char zeros[8] = {0};

    write_file("empty.bag", "", 0);
    all_are_right("empty.bag", NULL, 0);
    write_file("one.bag", zeros, 8);
    all_are_right("one.bag", NULL, 1);
    for (size_t size = 1; size < 8; size++) {
        write_file("few.bag", zeros, size);
        CHECK(!open_bag("few.bag", NULL) && sb_error()->code == SB_FORMAT);
    }
    CHECK_TEXT(sb_error()->text, "few.bag: is no bag: it has only 7 bytes");
    write_file("bare.bag", "", 0);
    write_file("limits.bare.bag", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    CHECK_TEXT(why_not("bare.bag", NULL), "it was opened");
}

static void tails_that_cannot_be(void)
{
    write_file("far.bag", "abcdefgh\x0e\0\0\0\0\0\0\0", 16);
    CHECK_TEXT(why_not("far.bag", NULL),
               "far.bag: is no bag, or was cut: its last 8 bytes say that "
               "records end at byte 14 of 16");
    write_file("odd.bag", "abcdefgh\7\0\0\0\0\0\0\0", 16);
    CHECK_TEXT(why_not("odd.bag", NULL), "odd.bag: is no bag, or was cut: its limits take 9 bytes, "
                                         "which is no multiple of 8");
    write_file("minus.bag", "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    CHECK_TEXT(why_not("minus.bag", NULL), "minus.bag: is no bag, or was cut: its last 8 bytes say "
                                           "that records end at byte 18446744073709551615 of 8");
}

static void what_is_no_file(void)
{
    CHECK(mkdir("dir.bag", 0700) == 0);
    CHECK_TEXT(why_not("dir.bag", NULL), "dir.bag: a bag must be a regular file");
    CHECK(mkfifo("fifo.bag", 0600) == 0);
    CHECK_TEXT(why_not("fifo.bag", NULL),
               "fifo.bag: is a pipe; read it as: ... --from=bagz - <fifo.bag");
    CHECK_TEXT(why_not("/dev/null", NULL), "/dev/null: a bag must be a regular file");
    write_bag("x.bag", 0, 1, 3, AT_TAIL);
    CHECK(mkfifo("limits.x.bag", 0600) == 0);
    CHECK(!open_bag("x.bag", NULL) && sb_error()->code == SB_FORMAT);
}

/* Limits 1, 0, 9, 3 over three bytes: the first and the last are right, as a file. */
static void limits_that_are_wrong(void)
{
    struct sb_buf file = {0};
    struct sb_extent extents[4];
    struct sb_bag_reader *reader;
    struct sb_bag *bag;
    size_t good;

    CHECK(sb_buf_add_text(&file, "abc") == SB_OK);
    add_limit(&file, 1);
    add_limit(&file, 0);
    add_limit(&file, 9);
    add_limit(&file, 3);
    write_file("wrong.bag", file.data, file.size);
    sb_buf_release(&file);
    bag = open_bag("wrong.bag", NULL);
    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 0}, 4, extents, &good) == SB_DAMAGED);
    CHECK(good == 1 && extents[0].offset == 0 && extents[0].size == 1);
    CHECK_TEXT(sb_error()->text, "record 1: its limits decrease, from 1 to 0; it cannot be read");
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 2}, 2, extents, &good) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text,
               "record 2: its limits let it end at byte 9, but records end at 3; it "
               "cannot be read");
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 3}, 1, extents, &good) == SB_DAMAGED);
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

/* What a writer leaves that dies: limits of records that never got into the file, or part of one.
 */
static void unfinished_ones(void)
{
    write_bag("dead.bag", 0, 1, 1000, APART);
    CHECK(truncate("dead.bag", 1500) == 0);
    all_are_right("dead.bag", NULL, 202);
    CHECK_TEXT(told, "unfinished: dead.bag: its writing was broken off: of 1000 records in its "
                     "limits file, the first 202 are there");
    CHECK(truncate("dead.bag", 0) == 0);
    all_are_right("dead.bag", NULL, 1);
    write_bag("dead.bag", 0, 1, 1000, APART);
    CHECK(truncate("limits.dead.bag", 8 * 99 + 3) == 0);
    all_are_right("dead.bag", NULL, 99);
    CHECK(told[0]);
    /* Records without limits yet are not told: verify does that. */
    CHECK(truncate("limits.dead.bag", 8 * 99) == 0);
    all_are_right("dead.bag", NULL, 99);
    CHECK(!told[0]);
}

static void a_file_that_shrinks_while_it_is_read(void)
{
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_extent extent;
    char data[100];
    size_t good, size;

    write_bag("shrinks.bag", 0, 1, 1000, APART);
    bag = open_bag("shrinks.bag", NULL);
    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 999}, 1, &extent, &good) == SB_OK);
    CHECK(truncate("shrinks.bag", 100) == 0);
    CHECK(sb_bag_load(reader, &extent, data, sizeof(data), &size) == SB_DAMAGED);
    CHECK(truncate("limits.shrinks.bag", 0) == 0);
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 0}, 1, &extent, &good) == SB_DAMAGED);
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

/* So that a write that follows at once is seen. */
static void make_old(const char *path)
{
    static const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void overwrite(const char *path, off_t offset, const char *text)
{
    int fd = open(path, O_WRONLY);

    CHECK(fd >= 0 && pwrite(fd, text, strlen(text), offset) == (ssize_t)strlen(text));
    close(fd);
}

/* The steps of an append, while a reader has the bag open, and where one opens it then. */
static void an_append_meanwhile(void)
{
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_extent extent;
    struct stat st;
    size_t good;

    write_bag("grows.bag", 0, 1, 10000, AT_TAIL);
    CHECK(stat("grows.bag", &st) == 0);
    make_old("grows.bag");
    bag = open_bag("grows.bag", NULL);
    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 900}, 1, &extent, &good) == SB_OK);
    CHECK(utimensat(AT_FDCWD, "grows.bag", NULL, 0) == 0);
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 3000}, 1, &extent, &good) == SB_OK);
    run_command("tail -c 80000 grows.bag >limits.grows.bag");
    overwrite("grows.bag", st.st_size - 80000, "more records");
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 6000}, 1, &extent, &good) == SB_CHANGED);
    CHECK_TEXT(sb_error()->text, "grows.bag: is written to by another process; try again");
    all_are_right("grows.bag", NULL, 10000);
    CHECK(unlink("limits.grows.bag") == 0);
    write_bag("other.bag", 0, 1, 10001, AT_TAIL);
    run_command("cat other.bag >grows.bag");
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 9000}, 1, &extent, &good) == SB_CHANGED);
    all_are_right("grows.bag", NULL, 10001);
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

static void one_that_is_open_already(void)
{
    static const struct sb_bag_options separate = {.limits = SB_LIMITS_SEPARATE};
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_file *tail, *odd;

    CHECK(sb_file_take(&tail, open("tail.bag", O_RDONLY), "standard input") == SB_OK);
    CHECK(sb_file_open(&odd, "odd.bag", "bag") == SB_OK);
    if (!CHECK(sb_bag_open_file(&bag, tail, false, NULL, NULL) == SB_OK))
        return;
    CHECK(sb_bag_reader_new(&reader, bag) == SB_OK);
    CHECK(sb_bag_count(bag) == 10000);
    CHECK(is_right(bag, reader, 5000) && is_right(bag, reader, 9999));
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
    CHECK(sb_bag_open_file(&bag, tail, false, &separate, NULL) == SB_INVALID);
    CHECK(sb_bag_open_file(&bag, odd, false, NULL, NULL) == SB_FORMAT);
    sb_file_free(tail);
    sb_file_free(odd);
}

static enum sb_code add(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size);
}

/* Each file by its own name; one record of three megabytes, one of none, one whose frame does not
 * say its size. */
static void compressed_ones(void)
{
    struct sb_buf record = {0}, file = {0}, out = {0}, limits = {0};
    struct sb_extent extents[3];
    struct sb_encoder *encoder;
    struct sb_bag_reader *reader;
    struct sb_bag *bag;
    int64_t whole;
    char data[100];
    size_t good, size;

    while (record.size < 3000000)
        CHECK(sb_buf_add_format(&record, "%zu ", record.size) == SB_OK);
    CHECK(sb_encoder_new(&encoder, NULL, 0) == SB_OK);
    CHECK(sb_encode(encoder, record.data, record.size, &file) == SB_OK);
    add_limit(&limits, file.size);
    add_limit(&limits, file.size);
    CHECK(sb_encode_begin(encoder, -1) == SB_OK);
    CHECK(sb_encode_more(encoder, "abc", 3, add, &file) == SB_OK);
    CHECK(sb_encode_end(encoder, add, &file) == SB_OK);
    add_limit(&limits, file.size);
    CHECK(sb_buf_add(&file, limits.data, limits.size) == SB_OK);
    write_file("z.bagz", file.data, file.size);
    bag = open_bag("z.bagz,tail.bag", NULL);
    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    CHECK(sb_bag_shard(bag, 0)->zstd && !sb_bag_shard(bag, 1)->zstd);
    CHECK(sb_bag_extents(reader, (struct sb_place){0, 0}, 3, extents, &good) == SB_OK);
    CHECK(sb_bag_load(reader, &extents[0], data, sizeof(data), &size) == SB_LIMIT);
    CHECK(sb_bag_stream(reader, &extents[0], add, &out) == SB_OK);
    CHECK(out.size == record.size && memcmp(out.data, record.data, out.size) == 0);
    CHECK(sb_bag_load(reader, &extents[1], data, sizeof(data), &size) == SB_OK && size == 0);
    CHECK(sb_bag_load(reader, &extents[2], data, sizeof(data), &size) == SB_OK && size == 3);
    CHECK(sb_bag_record_size(reader, &extents[0], &whole) == SB_OK);
    CHECK(whole == (int64_t)record.size);
    CHECK(sb_bag_record_size(reader, &extents[1], &whole) == SB_OK && whole == 0);
    CHECK(sb_bag_record_size(reader, &extents[2], &whole) == SB_OK && whole == 3);
    extents[2].size--;
    CHECK(sb_bag_load(reader, &extents[2], data, sizeof(data), &size) == SB_DAMAGED);
    CHECK(strstr(sb_error()->text, "its zstd data are cut short (shard z.bagz, offset "));
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
    sb_encoder_free(encoder);
    sb_buf_release(&record);
    sb_buf_release(&limits);
    sb_buf_release(&file);
    sb_buf_release(&out);
}

/* A file that is nearly all hole: what it declares is not allocated. */
static void a_count_of_many(void)
{
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_extent extent;
    size_t good;

    write_file("holes.bag", "", 0);
    CHECK(truncate("holes.bag", INT64_C(1) << 42) == 0);
    bag = open_bag("holes.bag", NULL);
    if (!CHECK(bag) || !CHECK(sb_bag_reader_new(&reader, bag) == SB_OK))
        return;
    CHECK(sb_bag_count(bag) == INT64_C(1) << 39);
    CHECK(sb_bag_extents(reader, (struct sb_place){0, (INT64_C(1) << 39) - 1}, 1, &extent, &good) ==
          SB_OK);
    CHECK(extent.size == 0);
    sb_bag_reader_free(reader);
    sb_bag_free(bag);
}

int main(void)
{
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    RUN(a_file_with_its_limits_at_either_place);
    RUN(sets);
    RUN(many_shards);
    RUN(a_shard_that_is_replaced_meanwhile);
    RUN(the_smallest);
    RUN(tails_that_cannot_be);
    RUN(what_is_no_file);
    RUN(limits_that_are_wrong);
    RUN(unfinished_ones);
    RUN(a_file_that_shrinks_while_it_is_read);
    RUN(an_append_meanwhile);
    RUN(one_that_is_open_already);
    RUN(compressed_ones);
    RUN(a_count_of_many);
    run_command("rm -rf ./*");
    if (rmdir(directory))
        return 1;
    return check_end();
}
