#include "core/context.h"
#include "core/io.h"
#include "core/time.h"
#include "task/pack/members.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

struct input {
    struct sb_source source;
    char *name;
    size_t name_size;
    char *block;
    bool given;
    bool must_have; /* at least one byte, before the end */
};

static void free_input(struct sb_source *source)
{
    struct input *self = (struct input *)source;

    free(self->name);
    free(self->block);
    free(self);
}

/* With the metadata of a file that is made now. */
static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct input *self = (struct input *)source;
    struct timespec now = {0};

    if (self->given)
        return SB_END;
    self->given = true;
    clock_gettime(CLOCK_REALTIME, &now);
    *member = (struct sb_member){
        .entry.path = self->name,
        .entry.path_size = self->name_size,
        .entry.type = SB_FILE,
        .entry.size = -1,
        .entry.has = SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .entry.mode = S_IFREG | (0666 & ~sb_context_now->umask),
        .entry.uid = geteuid(),
        .entry.gid = getegid(),
        .entry.mtime_ns = sb_time_ns(now),
    };
    return SB_OK;
}

static enum sb_code block(struct sb_source *source, const void **data, size_t *size)
{
    struct input *self = (struct input *)source;
    enum sb_code code = sb_read_full(STDIN_FILENO, self->block, BLOCK, size, "standard input");

    *data = self->block;
    if (!code && *size == 0 && self->must_have)
        return sb_fail_empty(source->name);
    self->must_have = false;
    return code ? code : *size > 0 ? SB_OK : SB_END;
}

enum sb_code sb_pack_stdin_open(struct sb_source **out, const char *name, size_t name_size,
                                bool must_have)
{
    static const struct sb_source_ops ops = {.free = free_input, .next = next, .block = block};
    struct input *self;

    *out = NULL;
    TRY(SB_NEW(&self));
    self->source = (struct sb_source){.ops = &ops, .name = "standard input", .unique = true};
    self->name = strndup(name, name_size);
    self->name_size = name_size;
    self->must_have = must_have;
    self->block = malloc(BLOCK);
    if (!self->name || !self->block) {
        free_input(&self->source);
        return sb_fail_memory();
    }
    *out = &self->source;
    return SB_OK;
}
