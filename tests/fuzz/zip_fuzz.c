/*
 * The bytes of a zip file: its end, the central directory, extra fields, local headers, and what
 * its members inflate to, loaded and streamed, checked and unchecked, with names as they are and in
 * a charset. Whatever the bytes say, each
 * of these ends, and no more comes out of a member than it declares.
 */
#include "core/context.h"
#include "store/kind.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* More records than an input of libFuzzer's size can hold. */
#define MEMBERS_MAX 2000

/* Bytes that one input may make: a bomb must not take the time of the others. */
#define OUTPUT_MAX ((int64_t)8 << 20)
#define ROOM       65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char room[ROOM];
static int64_t output;

struct streamed {
    int64_t size;
    int64_t declared;
};

static enum sb_code count(void *context, const void *data, size_t size)
{
    struct streamed *streamed = context;

    (void)data;
    streamed->size += (int64_t)size;
    output += (int64_t)size;
    if (size == 0 || streamed->size > streamed->declared)
        abort();
    return output > OUTPUT_MAX ? sb_fail(SB_LIMIT, "enough") : SB_OK;
}

static void read_bytes(struct sb_loader *loader, struct sb_member *member)
{
    struct streamed streamed = {.declared = member->entry.size};
    struct sb_events events = {.text = {0}};
    enum sb_code loaded = SB_LIMIT, code;

    if (output > OUTPUT_MAX)
        return;
    if (member->entry.size <= ROOM)
        loaded = sb_loader_load(loader, member, room, sizeof(room), &events);
    code = sb_loader_stream(loader, member, count, &streamed, &events);
    if (loaded != SB_LIMIT && loaded != code && code != SB_LIMIT)
        abort();
    if (code == SB_OK && streamed.size != member->entry.size)
        abort();
    if (code == SB_END && events.text.size == 0)
        abort();
    sb_events_release(&events);
}

static void check_member(const struct sb_member *member)
{
    if (member->entry.path[member->entry.path_size] != '\0' || member->entry.size < 0 ||
        (member->located && member->at < 0))
        abort();
}

static void read_zip(struct sb_input *input, bool no_check)
{
    const struct sb_source_options source_options = {.no_check = no_check, .locate = no_check};
    struct sb_source *source;
    struct sb_loader *loader;
    struct sb_member member;
    long members = 0;

    if (sb_source_open_zip(&source, input, &source_options, NULL))
        return;
    if (sb_loader_open(source, &loader))
        abort();
    while (sb_source_next(source, &member) == SB_OK) {
        if (++members > MEMBERS_MAX)
            abort();
        check_member(&member);
        if (member.entry.type != SB_DIR && !member.special)
            read_bytes(loader, &member);
    }
    sb_loader_free(loader);
    sb_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sb_context charset, *former;
    struct sb_input input = {.path = "zip", .name = "zip"};
    int fd = memfd_create("zip", MFD_CLOEXEC);

    output = 0;
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || sb_file_take(&input.file, fd, "zip"))
        abort();
    read_zip(&input, false);
    charset.charset = "SHIFT_JIS";
    former = sb_context_enter(&charset);
    read_zip(&input, true);
    sb_context_enter(former);
    sb_input_close(&input);
    return 0;
}
