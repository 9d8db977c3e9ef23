/*
 * The bytes of a tar, cpio or zip, told apart as any input is: all members and their bytes are
 * read, from a file and from a pipe, and they are converted to a tar that nobody wants. Whatever
 * the bytes say, all of that ends, in bounded memory, and what comes out agrees with what was said.
 *
 * tests/fuzz/seeds makes the containers that it starts from.
 */
#include "require.h"
#include "store/kind.h"
#include "store/sinks.h"
#include "task/transfer/transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What filters may make of an input, and what is read of a member, which may be one large hole. */
#define OUTPUT_MAX ((int64_t)8 << 20)
#define MEMBER_MAX ((int64_t)2 << 20)

/* Of a loader: less than most members have, so that both ways of reading are taken. */
#define LOAD_ROOM 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char last_byte;

/* The sanitizer looks at each byte. */
static void touch(const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++)
        last_byte = bytes[i];
}

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context;
    (void)level;
    REQUIRE(kind && text && *kind && *text);
    touch(text, strlen(text));
    if (subject)
        touch(subject, strlen(subject));
}

static const struct sb_notify notify = {.call = hear};

static void use_text(const char *text)
{
    if (text)
        touch(text, strlen(text));
}

static void use_member(const struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;

    touch(entry->path, entry->path_size);
    REQUIRE(entry->path[entry->path_size] == '\0');
    REQUIRE(entry->size >= -1);
    REQUIRE(!member->located || member->at >= 0);
    REQUIRE(!member->hard_link || entry->type == SB_FILE);
    use_text(member->hard_link);
    use_text(member->special);
    use_text(member->user);
    use_text(member->group);
}

struct taken {
    int64_t size;
};

static enum sb_code take(void *context, const void *data, size_t size)
{
    struct taken *taken = context;

    REQUIRE(size > 0 && size <= (1 << 20));
    touch(data, size);
    taken->size += (int64_t)size;
    return taken->size > MEMBER_MAX ? sb_fail(SB_LIMIT, "enough") : SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member)
{
    struct sb_events events = {0};
    struct taken taken = {0};
    char *room = malloc(LOAD_ROOM);
    enum sb_code code;

    REQUIRE(room);
    code = sb_loader_load(loader, member, room, LOAD_ROOM, &events);
    if (code == SB_OK) {
        REQUIRE(member->entry.size >= 0 && member->entry.size <= LOAD_ROOM);
        touch(room, (size_t)member->entry.size);
    } else if (code == SB_LIMIT) {
        code = sb_loader_stream(loader, member, take, &taken, &events);
        REQUIRE(code != SB_OK || taken.size == member->entry.size || events.text.size);
    }
    sb_events_report(&events, &notify);
    sb_events_release(&events);
    free(room);
    return code;
}

static enum sb_code read_blocks(struct sb_source *source, const struct sb_member *member)
{
    const int64_t size = member->entry.size;
    int64_t seen = 0;
    const void *data;
    size_t some;
    enum sb_code code;

    while ((code = sb_source_block(source, &data, &some)) == SB_OK && seen < MEMBER_MAX) {
        REQUIRE(some > 0);
        touch(data, some);
        seen += (int64_t)some;
    }
    REQUIRE(code != SB_END || size < 0 || seen == size);
    return code == SB_END ? SB_OK : code;
}

static void read_all(struct sb_source *source)
{
    struct sb_loader *loader = NULL;
    struct sb_member member;
    int64_t members = 0;

    if (source->loads && sb_loader_open(source, &loader))
        return;
    while (sb_source_next(source, &member) == SB_OK) {
        bool bytes = member.entry.type != SB_DIR && !member.hard_link && !member.special;

        use_member(&member);
        /* Every third member is passed over unread. */
        if (++members % 3 == 0 || !bytes)
            continue;
        if (loader)
            (void)!load(loader, &member);
        else if (read_blocks(source, &member))
            break;
    }
    sb_loader_free(loader);
}

static void convert_all(struct sb_source *source)
{
    const struct sb_stream_sink_options to = {.path = "/dev/null", .threads = 1, .notify = &notify};
    const struct sb_transfer_options options = {
        .duplicates = SB_DUPLICATE_LAST, .max_size = OUTPUT_MAX, .threads = 1, .notify = &notify};
    struct sb_sink *sink;
    int64_t members = 0;

    REQUIRE(sb_sink_open_tar(&sink, &to) == SB_OK);
    if (sb_transfer(source, sink, &options, &members) == SB_OK)
        (void)!sb_sink_commit(sink);
    sb_sink_free(sink);
}

/* Opens what the descriptor refers to, as a user's path would be, and hands it to `use`. */
static void with_source(int fd, void (*use)(struct sb_source *source))
{
    const struct sb_source_options source_options = {.max_size = OUTPUT_MAX};
    struct sb_source *source;
    struct sb_input input;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sb_input_open(&input, path, SB_UNKNOWN))
        return;
    if ((input.type.kind == SB_TAR || input.type.kind == SB_CPIO || input.type.kind == SB_ZIP) &&
        sb_source_open(&source, &input, &source_options, &notify) == SB_OK) {
        use(source);
        sb_source_free(source);
    }
    sb_input_close(&input);
}

static int memory_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("container", MFD_CLOEXEC);

    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    return fd;
}

/* An input of libFuzzer's 64 KiB fits into a pipe. */
static int full_pipe(const uint8_t *data, size_t size)
{
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    REQUIRE(size == 0 || write(ends[1], data, size) > 0);
    REQUIRE(fcntl(ends[0], F_SETFL, 0) == 0);
    close(ends[1]);
    return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = memory_file(data, size);
    int pipe_end = full_pipe(data, size);

    with_source(file, read_all);
    with_source(file, convert_all);
    with_source(pipe_end, read_all);
    close(pipe_end);
    close(file);
    return 0;
}
