/* tar/sink.c of lib/store/sinks.h, fed by lib/task/transfer/transfer.h; tar(1) says what came out.
 */
#include "check.h"
#include "store/sinks.h"
#include "task/transfer/transfer.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB   ((int64_t)1 << 20)
#define PIECE 1000000 /* sources give their bytes in such */

static char directory[] = "/tmp/shardbox-sink-tar-XXXXXX";
static char block[MIB];

enum course { SOUND, SHRINKS, DAMAGED_AT_ONCE, DAMAGED_LATE };

struct scripted {
    const char *name;
    int64_t size; /* -1: a directory */
    enum course course;
    const char *hard_link;
    mode_t special;
};

/* A source of such members; in sequence, or with loaders. */
struct script {
    struct sb_source source;
    const struct scripted *members;
    size_t count, next;
    int64_t at;
};

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct script *script = (struct script *)source;
    const struct scripted *given = &script->members[script->next];

    if (script->next == script->count)
        return SB_END;
    *member = (struct sb_member){
        .entry = {.path = given->name,
                  .path_size = strlen(given->name),
                  .type = given->size < 0 ? SB_DIR : SB_FILE,
                  .size = given->size < 0 ? 0 : given->size},
        .hard_link = given->hard_link,
        .special = given->special ? "special file" : NULL,
        .special_mode = given->special,
        .place = {script->next},
    };
    script->next++;
    script->at = 0;
    return SB_OK;
}

static enum sb_code next_block(struct sb_source *source, const void **data, size_t *size)
{
    struct script *script = (struct script *)source;
    int64_t left = script->members[script->next - 1].size - script->at;

    if (left == 0)
        return SB_END;
    *data = block;
    *size = (size_t)(left < PIECE ? left : PIECE);
    script->at += (int64_t)*size;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t room, struct sb_events *events)
{
    (void)loader;
    (void)events;
    if (member->entry.size > (int64_t)room || member->entry.size > MIB)
        return SB_LIMIT;
    memcpy(data, block, (size_t)member->entry.size);
    return SB_OK;
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    const struct script *script = (const struct script *)loader->source;
    enum course course = script->members[member->place[0]].course;
    int64_t fed = course == SOUND ? member->entry.size : member->entry.size / 2;
    enum sb_code code = SB_OK;

    if (course != SOUND)
        code = sb_events_add(events, SB_PROBLEM, "checksum", member->entry.path, "is bad");
    if (course == DAMAGED_AT_ONCE)
        return code ? code : SB_END;
    for (int64_t at = 0; code == SB_OK && at < fed; at += PIECE)
        code = each(context, block, (size_t)(fed - at < PIECE ? fed - at : PIECE));
    return code == SB_OK && course == DAMAGED_LATE ? SB_END : code;
}

static const struct sb_source_ops in_sequence = {.next = next, .block = next_block};
static const struct sb_source_ops by_loaders = {.next = next, .load = load, .stream = stream};

static int problems;

static void count_problems(void *context, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    (void)context;
    (void)kind;
    (void)subject;
    (void)text;
    problems += level == SB_PROBLEM;
}

struct run {
    bool loads;
    unsigned threads;
    enum sb_filter_kind filter;
};

static enum sb_code write_tar(const char *path, const struct scripted *members, size_t count,
                              struct run how)
{
    struct sb_notify notify = {.call = count_problems};
    struct script script = {
        .source = {.ops = how.loads ? &by_loaders : &in_sequence,
                   .name = "script",
                   .loads = how.loads},
        .members = members,
        .count = count,
    };
    struct sb_stream_sink_options options = {
        .path = path, .force = true, .filter = how.filter, .notify = &notify};
    struct sb_transfer_options transfer = {.stored_names = true,
                                           .duplicates = SB_DUPLICATE_LAST,
                                           .threads = how.threads,
                                           .notify = &notify};
    struct sb_sink *sink;
    int64_t taken = 0;
    enum sb_code code;

    problems = 0;
    code = sb_sink_open_tar(&sink, &options);
    if (code)
        return code;
    code = sb_transfer(&script.source, sink, &transfer, &taken);
    if (code == SB_OK)
        code = sb_sink_commit(sink);
    sb_sink_free(sink);
    return code;
}

static bool shell(const char *command)
{
    /* NOLINTNEXTLINE(cert-env33-c): the commands are the tests' own */
    return CHECK(system(command) == 0);
}

static const struct scripted sound[] = {
    {"", -1, SOUND, NULL, 0},
    {"dir", -1, SOUND, NULL, 0},
    {"dir/empty", 0, SOUND, NULL, 0},
    {"dir/small", 5, SOUND, NULL, 0},
    {"dir/block", 512, SOUND, NULL, 0},
    {"dir/large", 5 * MIB + 7, SOUND, NULL, 0},
    {"dir/link", 0, SOUND, "dir/large", 0},
    {"fifo", 0, SOUND, NULL, S_IFIFO},
    {"larger", 8 * MIB, SOUND, NULL, 0},
    {"last", 100000, SOUND, NULL, 0},
};

#define COUNT(members) (sizeof(members) / sizeof((members)[0]))

static void the_bytes_do_not_depend_on_how_they_come(void)
{
    struct stat st;

    for (unsigned threads = 1; threads < 4; threads++) {
        CHECK(write_tar("a.tar", sound, COUNT(sound), (struct run){true, threads, 0}) == SB_OK);
        CHECK(write_tar("b.tar", sound, COUNT(sound), (struct run){false, threads, 0}) == SB_OK);
        CHECK(problems == 0);
        shell("cmp a.tar b.tar && if [ -e c.tar ]; then cmp a.tar c.tar; else mv b.tar c.tar; fi");
    }
    CHECK(stat("a.tar", &st) == 0 && st.st_size % 10240 == 0);
    CHECK(write_tar("a.tar.gz", sound, COUNT(sound), (struct run){true, 2, SB_FILTER_GZIP}) ==
          SB_OK);
    shell("gzip -dc a.tar.gz | cmp - a.tar");
}

static void tar_reads_it(void)
{
    shell("mkdir out && tar xf a.tar -C out");
    shell("test \"$(cd out && find . | sort | tr '\\n' ' ')\" = '. ./dir ./dir/block ./dir/empty "
          "./dir/large ./dir/link ./dir/small ./fifo ./larger ./last '");
    shell("test \"$(stat -c %s out/dir/large)\" = 5242887 && test out/dir/large -ef out/dir/link");
    shell("test -p out/fifo && test \"$(cat out/dir/small)\" = abcde");
    shell("head -c 100000 out/dir/large | cmp - out/last");
}

static void a_socket_is_told_and_left_out(void)
{
    static const struct scripted members[] = {{"socket", 0, SOUND, NULL, S_IFSOCK},
                                              {"file", 3, SOUND, NULL, 0}};

    CHECK(write_tar("s.tar", members, 2, (struct run){true, 1, 0}) == SB_OK);
    CHECK(problems == 1);
    shell("test \"$(tar tf s.tar)\" = file");
}

/* Whatever happens to one member, those behind it are in step. */
static void a_file_that_shrinks_is_filled_up(void)
{
    static const struct scripted members[] = {{"first", 4 * MIB + 3, SHRINKS, NULL, 0},
                                              {"second", 3, SOUND, NULL, 0}};

    CHECK(write_tar("s.tar", members, 2, (struct run){true, 2, 0}) == SB_OK);
    CHECK(problems == 2);
    shell("test \"$(tar xOf s.tar second)\" = abc");
    shell("test \"$(tar xOf s.tar first | wc -c)\" = 4194307");
    shell("test \"$(tar xOf s.tar first | tail -c 2097100 | tr -d '\\0' | wc -c)\" = 0");
}

static void damage_is_left_out_where_it_can_be_taken_back(void)
{
    static const struct scripted members[] = {{"before", 3, SOUND, NULL, 0},
                                              {"first", 4 * MIB, DAMAGED_AT_ONCE, NULL, 0},
                                              {"second", 4 * MIB, DAMAGED_LATE, NULL, 0},
                                              {"third", 3, SOUND, NULL, 0}};
    struct run compressed = {true, 2, SB_FILTER_GZIP};

    CHECK(write_tar("d.tar", members, 4, (struct run){true, 2, 0}) == SB_OK);
    CHECK(problems == 2);
    shell("test \"$(tar tf d.tar | tr '\\n' ' ')\" = 'before third '");
    shell("test \"$(tar xOf d.tar third)\" = abc");

    CHECK(write_tar("d.tar.gz", members, 2, compressed) == SB_OK);
    shell("test \"$(tar tf d.tar.gz)\" = before");
    CHECK(write_tar("e.tar.gz", members, 4, compressed) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text,
               "second: is damaged, and the output has its beginning already; leave it out");
    CHECK(access("e.tar.gz", F_OK) != 0);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)('a' + i % 26);
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    RUN(the_bytes_do_not_depend_on_how_they_come);
    RUN(tar_reads_it);
    RUN(a_socket_is_told_and_left_out);
    RUN(a_file_that_shrinks_is_filled_up);
    RUN(damage_is_left_out_where_it_can_be_taken_back);
    shell("cd / && rm -r \"$OLDPWD\"");
    return check_end();
}
