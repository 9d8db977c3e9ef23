/* The archive sink of lib/store/sinks.h: what becomes of members that get in each other's way. */
#include "archive/archive.h"
#include "archive/shards.h"
#include "check.h"
#include "core/buf.h"
#include "store/sinks.h"
#include "task/transfer/transfer.h"
#include "task/verify/verify.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/sink-archive-test-XXXXXX";
static struct sb_buf told; /* "KIND:NAME " for each problem */
static struct sb_sink_counts counts;

/* A source of a few members, in sequence or through loaders. */

struct script {
    struct sb_source source;
    const struct sb_member *members;
    size_t at;
    int64_t done; /* bytes of the member before `at` */
};

/* The bytes of a member are its size's worth of the letter that it has in place[0]. */
static const struct sb_member *now(struct sb_source *source)
{
    struct script *script = (struct script *)source;

    return &script->members[script->at - 1];
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct script *script = (struct script *)source;

    if (!script->members[script->at].entry.path)
        return SB_END;
    *member = script->members[script->at++];
    script->done = 0;
    return SB_OK;
}

static enum sb_code block(struct sb_source *source, const void **data, size_t *size)
{
    static char bytes[100000];
    struct script *script = (struct script *)source;
    int64_t left = now(source)->entry.size - script->done;

    if (left == 0)
        return SB_END;
    *size = left < (int64_t)sizeof(bytes) ? (size_t)left : sizeof(bytes);
    memset(bytes, (int)now(source)->place[0], *size);
    *data = bytes;
    script->done += (int64_t)*size;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t room, struct sb_events *events)
{
    (void)loader, (void)events;
    if ((size_t)member->entry.size > room)
        return SB_LIMIT;
    memset(data, (int)member->place[0], (size_t)member->entry.size);
    return SB_OK;
}

/* One whose place[1] is set ends that many bytes early. */
static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    int64_t size = member->entry.size - (int64_t)member->place[1];
    enum sb_code code = SB_OK;
    char bytes[100000];

    (void)loader;
    memset(bytes, (int)member->place[0], sizeof(bytes));
    for (int64_t done = 0; code == SB_OK && done < size; done += (int64_t)sizeof(bytes)) {
        int64_t left = size - done;

        code = each(context, bytes, left < (int64_t)sizeof(bytes) ? (size_t)left : sizeof(bytes));
    }
    if (code == SB_OK && member->place[1])
        code = sb_events_add(events, SB_PROBLEM, "changed", member->entry.path, "shrank");
    return code;
}

static const struct sb_source_ops ops = {
    .next = next, .block = block, .load = load, .stream = stream};

#define NAME(name) .entry.path = (name), .entry.path_size = sizeof(name) - 1
#define FILE_OF(name, letter, bytes)                                                               \
    {                                                                                              \
        NAME(name), .entry.type = SB_FILE, .entry.size = (bytes), .entry.has = SB_HAS_MODE,        \
                    .entry.mode = S_IFREG | 0644, .place = {                                       \
                        (letter)                                                                   \
                    }                                                                              \
    }
#define LINK_OF(name, letter, bytes)                                                               \
    {                                                                                              \
        NAME(name), .entry.type = SB_LINK, .entry.size = (bytes), .place = {(letter) }             \
    }
#define HARD_LINK(name, target)                                                                    \
    {                                                                                              \
        NAME(name), .entry.type = SB_FILE, .entry.has = SB_HAS_MODE, .entry.mode = S_IFREG | 0600, \
                    .hard_link = (target)                                                          \
    }
#define DIRECTORY(name)                                                                            \
    {                                                                                              \
        NAME(name), .entry.type = SB_DIR, .entry.has = SB_HAS_MODE, .entry.mode = S_IFDIR | 0755   \
    }
#define END                                                                                        \
    {                                                                                              \
        .entry.path = NULL                                                                         \
    }

static void note(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context, (void)text;
    if (level == SB_PROBLEM)
        CHECK(sb_buf_add_format(&told, "%s:%s ", kind, subject) == SB_OK);
}

static const struct sb_notify notify = {.call = note};

static enum sb_code try_store(const struct sb_archive_sink_options *options,
                              const struct sb_member *members, bool loads)
{
    struct script script = {.source = {.ops = &ops, .name = "script", .loads = loads},
                            .members = members};
    struct sb_transfer_options transfer = {
        .stored_names = true, .duplicates = SB_DUPLICATE_LAST, .threads = 2, .notify = &notify};
    struct sb_sink *sink;
    int64_t count = 0;
    enum sb_code code = sb_sink_open_archive(&sink, options);

    if (code)
        return code;
    code = sb_transfer(&script.source, sink, &transfer, &count);
    if (code == SB_OK)
        code = sb_sink_commit(sink);
    counts = sink->counts;
    sb_sink_free(sink);
    return code;
}

static void store_as(const struct sb_archive_sink_options *options, const struct sb_member *members,
                     bool loads)
{

    sb_buf_clear(&told);
    CHECK(sb_buf_add_text(&told, "") == SB_OK);
    if (!CHECK(try_store(options, members, loads) == SB_OK))
        printf("# %s\n", sb_error()->text);
}

static void store(const char *path, const struct sb_member *members)
{
    store_as(
        &(struct sb_archive_sink_options){.path = path, .names_repeat = true, .notify = &notify},
        members, false);
}

static void append(const char *path, enum sb_meeting meeting, const struct sb_member *members)
{
    store_as(&(struct sb_archive_sink_options){.path = path,
                                               .writer.mode = SB_APPEND,
                                               .names_repeat = true,
                                               .meeting = meeting,
                                               .notify = &notify},
             members, false);
}

/* Reading what was stored */

static void show_defect(void *context, const struct sb_defect *defect)
{
    (void)context;
    CHECK_TEXT(defect->text, "(no defect)");
}

static struct sb_archive *open_sound(const char *path)
{
    const struct sb_verify_options options = {.threads = 1, .strict = true};
    struct sb_verify_result result = SB_VERIFY_NOTHING;
    const struct sb_verify_events events = {
        .found = show_defect, .notify = &notify, .result = &result};
    struct sb_archive *archive;

    if (!CHECK(sb_archive_open(&archive, path) == SB_OK))
        return NULL;
    CHECK(sb_verify(archive, &options, &events) == SB_OK);
    return archive;
}

static enum sb_code note_run(void *context, const void *data, size_t size)
{
    struct sb_buf *runs = context;
    const char *bytes = data;

    for (size_t i = 0; i < size; i++) {
        if (runs->size == 0 || runs->data[runs->size - 1] != bytes[i])
            CHECK(sb_buf_add_char(runs, bytes[i]) == SB_OK);
    }
    return SB_OK;
}

/* "NAME=LETTERSxSIZE " of every file, "NAME->..." of links, "NAME/FILES,BYTES " of directories. */
static const char *listing(const char *path)
{
    static struct sb_buf out;
    const struct sb_query query = {.order = SB_BY_PATH, .files = true, .dirs = true};
    struct sb_archive *archive = open_sound(path);
    struct sb_shards *shards;
    struct sb_cursor *cursor;
    struct sb_entry entry;

    sb_buf_clear(&out);
    if (!archive)
        return "";
    CHECK(sb_shards_open(&shards, archive) == SB_OK);
    CHECK(sb_cursor_open(&cursor, archive, &query) == SB_OK);
    while (sb_cursor_next(cursor, &entry) == SB_OK) {
        struct sb_buf runs = {0};

        if (entry.type == SB_DIR) {
            CHECK(sb_buf_add_format(&out, "%s/%d,%d ", entry.path, (int)entry.num_files_tree,
                                    (int)entry.size_tree) == SB_OK);
            continue;
        }
        CHECK(sb_shards_stream(shards, entry.shard, entry.offset, entry.size, &entry.crc32c,
                               note_run, &runs) == SB_OK);
        CHECK(sb_buf_add_format(&out, "%s%s%sx%d ", entry.path, entry.type == SB_LINK ? "->" : "=",
                                runs.data ? runs.data : "", (int)entry.size) == SB_OK);
        sb_buf_release(&runs);
    }
    sb_cursor_free(cursor);
    sb_shards_free(shards);
    sb_archive_free(archive);
    return out.data ? out.data : "";
}

static void plain_members(void)
{
    static const struct sb_member members[] = {DIRECTORY("d"), FILE_OF("d/b", 'b', 5),
                                               FILE_OF("a", 'a', 0), LINK_OF("d/l", 'x', 7), END};

    store("plain", members);
    CHECK_TEXT(listing("plain"), "a=x0 d/2,12 d/b=bx5 d/l->xx7 ");
    CHECK_TEXT(told.data, "");
    CHECK(counts.files == 3 && counts.dirs == 1 && counts.bytes == 12 && counts.superseded == 0);
}

static void the_last_of_a_name_counts(void)
{
    static const struct sb_member members[] = {FILE_OF("d/x", 'a', 5), FILE_OF("d/y", 'b', 5),
                                               FILE_OF("d/x", 'c', 7), FILE_OF("z", 'd', 1),
                                               LINK_OF("d/x", 'e', 3), DIRECTORY("d"),
                                               DIRECTORY("d"),         END};

    store("twice", members);
    CHECK_TEXT(listing("twice"), "d/2,8 d/x->ex3 d/y=bx5 z=dx1 ");
    CHECK_TEXT(told.data, "");
    CHECK(counts.files == 3 && counts.bytes == 9 && counts.superseded == 2);
}

static void without_leave_a_name_may_not_repeat(void)
{
    static const struct sb_member members[] = {FILE_OF("x", 'a', 5), FILE_OF("x", 'c', 7), END};
    const struct sb_archive_sink_options options = {.path = "refused", .notify = &notify};

    CHECK(try_store(&options, members, false) != SB_OK);
    CHECK(access("refused", F_OK) != 0 && access("refused.new", F_OK) != 0);
}

static void a_file_makes_way_for_a_directory(void)
{
    static const struct sb_member members[] = {FILE_OF("d", 'a', 5),   FILE_OF("d/e/f", 'b', 6),
                                               FILE_OF("d/e", 'c', 7), FILE_OF("d-", 'd', 1),
                                               DIRECTORY("g"),         FILE_OF("g", 'e', 2),
                                               FILE_OF("d", 'f', 5),   END};

    store("clash", members);
    CHECK_TEXT(listing("clash"), "d/1,6 d-=dx1 d/e/1,6 d/e/f=bx6 g/0,0 ");
    CHECK_TEXT(told.data, "clash:d clash:d/e clash:g ");
    CHECK(counts.files == 2 && counts.bytes == 7 && counts.superseded == 1);
}

static void hard_links_become_files(void)
{
    static const struct sb_member members[] = {
        FILE_OF("x", 'a', 5),     HARD_LINK("d/first", "x"),     FILE_OF("x", 'b', 6),
        HARD_LINK("second", "x"), HARD_LINK("third", "d/first"), HARD_LINK("early", "late"),
        FILE_OF("late", 'c', 1),  LINK_OF("link", 'd', 4),       HARD_LINK("to-link", "link"),
        HARD_LINK("x", "late"),   HARD_LINK("self", "self"),     END};

    store("hard", members);
    CHECK_TEXT(listing("hard"), "d/1,5 d/first=ax5 late=cx1 link->dx4 second=bx6 third=ax5 "
                                "to-link->dx4 x=cx1 ");
    CHECK_TEXT(told.data, "missing:early missing:self ");
    CHECK(counts.files == 7 && counts.bytes == 26 && counts.superseded == 2);
}

static void large_members(bool loads)
{
    static const struct sb_member members[] = {FILE_OF("a", 'a', 10),
                                               FILE_OF("big", 'b', 9000001),
                                               FILE_OF("c", 'c', 10),
                                               FILE_OF("big2", 'd', 2 << 20),
                                               HARD_LINK("same", "big"),
                                               FILE_OF("e", 'e', 10),
                                               END};

    store_as(&(struct sb_archive_sink_options){.path = loads ? "streamed" : "parts",
                                               .writer.shard_size = 4 << 20,
                                               .notify = &notify},
             members, loads);
    CHECK_TEXT(listing(loads ? "streamed" : "parts"),
               "a=ax10 big=bx9000001 big2=dx2097152 c=cx10 e=ex10 same=bx9000001 ");
}

static void large_members_in_parts(void)
{
    large_members(false);
}

static void large_members_from_a_loader(void)
{
    large_members(true);
}

static void a_large_member_may_turn_out_shorter(void)
{
    static const struct sb_member members[] = {
        {NAME("big"), .entry.type = SB_FILE, .entry.size = 9000000, .place = {'b', 1000000}},
        FILE_OF("c", 'c', 10),
        END};

    store_as(&(struct sb_archive_sink_options){.path = "shorter", .notify = &notify}, members,
             true);
    CHECK_TEXT(listing("shorter"), "big=bx8000000 c=cx10 ");
    CHECK_TEXT(told.data, "changed:big ");
}

static void adding_to_an_archive(void)
{
    static const struct sb_member old[] = {FILE_OF("d/a", 'a', 1), FILE_OF("d/b", 'b', 2),
                                           FILE_OF("c", 'c', 3), END};
    static const struct sb_member more[] = {
        FILE_OF("d/a", 'p', 4),     FILE_OF("new", 'q', 5),       FILE_OF("new", 'r', 6),
        FILE_OF("c/below", 's', 1), FILE_OF("d", 't', 1),         HARD_LINK("hard", "d/b"),
        HARD_LINK("n", "new"),      HARD_LINK("none", "nowhere"), FILE_OF("d/a", 'u', 7),
        FILE_OF("e", 'v', 1),       FILE_OF("e/f", 'w', 1),       END};

    store("added", old);
    append("added", SB_MEET_REPLACE, more);
    CHECK_TEXT(listing("added"), "c=cx3 d/2,9 d/a=ux7 d/b=bx2 e/1,1 e/f=wx1 n=rx6 new=rx6 ");
    CHECK_TEXT(told.data, "clash:c/below clash:d missing:hard missing:none clash:e ");
    CHECK(counts.files == 4 && counts.superseded == 2);
}

static void what_is_there_may_stay(void)
{
    static const struct sb_member old[] = {FILE_OF("a", 'a', 1), FILE_OF("b", 'b', 2), END};
    static const struct sb_member more[] = {FILE_OF("a", 'x', 4), FILE_OF("c", 'y', 5), END};

    store("kept", old);
    append("kept", SB_MEET_ERROR, more);
    CHECK_TEXT(listing("kept"), "a=ax1 b=bx2 c=yx5 ");
    CHECK_TEXT(told.data, "exists:a ");
    append("kept", SB_MEET_KEEP, more);
    CHECK_TEXT(listing("kept"), "a=ax1 b=bx2 c=yx5 ");
    CHECK_TEXT(told.data, "");
    CHECK(counts.left == 2);
}

static void strict_commits_nothing_when_a_file_is_left_out(void)
{
    static const struct sb_member sound[] = {FILE_OF("a", 'a', 1), FILE_OF("a", 'b', 2), END};
    static const struct sb_member missing[] = {FILE_OF("b", 'b', 2), HARD_LINK("h", "none"), END};
    static const struct sb_member clash[] = {FILE_OF("d", 'b', 2), FILE_OF("d/e", 'c', 3), END};
    struct sb_archive_sink_options options = {
        .path = "strict", .writer.strict = true, .names_repeat = true, .notify = &notify};

    CHECK(try_store(&options, missing, false) == SB_INVALID);
    CHECK(try_store(&options, clash, false) == SB_INVALID);
    CHECK(access("strict", F_OK) != 0 && access("strict.new", F_OK) != 0);
    store_as(&options, sound, false);
    options.writer.mode = SB_APPEND;
    CHECK(try_store(&options, missing, false) == SB_INVALID);
    CHECK(try_store(&options, clash, false) == SB_INVALID);
    CHECK_TEXT(listing("strict"), "a=bx2 ");
}

int main(void)
{
    CHECK(mkdtemp(top) && chdir(top) == 0);
    RUN(plain_members);
    RUN(the_last_of_a_name_counts);
    RUN(without_leave_a_name_may_not_repeat);
    RUN(a_file_makes_way_for_a_directory);
    RUN(hard_links_become_files);
    RUN(large_members_in_parts);
    RUN(large_members_from_a_loader);
    RUN(a_large_member_may_turn_out_shorter);
    RUN(adding_to_an_archive);
    RUN(what_is_there_may_stay);
    RUN(strict_commits_nothing_when_a_file_is_left_out);
    CHECK(chdir("/") == 0);
    CHECK(check_remove_tree(top));
    sb_buf_release(&told);
    return check_end();
}
