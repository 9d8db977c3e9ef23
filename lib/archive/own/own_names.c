#include "archive/own/own_names.h"

#include "archive/parity/note.h"
#include "core/io.h"
#include "core/kept_open.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARD        "-shard-"
#define SHARD_DIGITS 5

char *sb_shard_name(const char *prefix, uint32_t shard)
{
    char *name;

    if (asprintf(&name, "%s" SHARD "%05u", prefix, shard) >= 0)
        return name;
    sb_fail_memory();
    return NULL;
}

char *sb_own_name(const char *path, const char *suffix)
{
    char *name;

    if (asprintf(&name, "%s%s", path, suffix) >= 0)
        return name;
    sb_fail_memory();
    return NULL;
}

/* Skips `word` if the text begins with it. */
static bool eat(const char **text, const char *word)
{
    size_t size = strlen(word);

    if (strncmp(*text, word, size) != 0)
        return false;
    *text += size;
    return true;
}

/* Of a shard, or of what is beside one: *end is what follows the number. */
static bool is_shard(const char *rest, uint32_t *number, const char **end)
{
    if (!eat(&rest, SHARD) || strspn(rest, "0123456789") != SHARD_DIGITS)
        return false;
    *number = (uint32_t)strtoul(rest, NULL, 10);
    *end = rest + SHARD_DIGITS;
    return true;
}

static bool is_one_of(const char *rest, const char *const *ends)
{
    while (*ends && strcmp(rest, *ends) != 0)
        ends++;
    return *ends;
}

static bool is_end_of_index(const char *rest)
{
    static const char *const ends[] = {
        "", "-journal", "-wal", "-shm", SB_PROTECT_SUFFIX, SB_REPAIR_END, NULL};

    return is_one_of(rest, ends);
}

struct sb_own sb_own_of_rest(const char *rest)
{
    bool part = eat(&rest, SB_PART), new = eat(&rest, SB_NEW_SUFFIX);
    struct sb_own own = {.kind = SB_OWN_NONE};
    const char *end;

    if (new &&eat(&rest, "-index"))
        own.kind = is_end_of_index(rest) ? SB_OWN_NEW : SB_OWN_NONE;
    else if (is_shard(rest, &own.shard, &end) && *end == '\0')
        own.kind = part || new ? SB_OWN_NEW : SB_OWN_SHARD;
    else if (is_shard(rest, &own.shard, &end) && strcmp(end, SB_PROTECT_SUFFIX) == 0)
        own.kind = part || new ? SB_OWN_NEW : SB_OWN_SHARD_PARITY;
    else if (new)
        own.kind = *rest == '\0' ? SB_OWN_NEW : SB_OWN_NONE;
    else if (is_end_of_index(rest) || (!part && strcmp(rest, SB_LINKED_BY) == 0))
        own.kind = part ? SB_OWN_NEW : SB_OWN_INDEX;
    else if (!part && eat(&rest, SB_OLD_INDEX) && is_end_of_index(rest))
        own.kind = SB_OWN_OLD_INDEX;
    return own;
}

struct sb_own sb_own_of(const char *name, const char *base)
{
    if (!eat(&name, base))
        return (struct sb_own){.kind = SB_OWN_NONE};
    return sb_own_of_rest(name);
}

bool sb_own_may_be_elsewhere(const char *rest)
{
    size_t size = strlen(rest), parity = strlen(SB_PROTECT_SUFFIX);

    return strcmp(rest, SB_REPAIR_END) == 0 ||
           (size >= parity && strcmp(rest + size - parity, SB_PROTECT_SUFFIX) == 0);
}

bool sb_own_begins(const char *path, const char *magic)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t got, size = strlen(magic);
    char head[64];
    bool begins;

    if (fd < 0)
        return false;
    begins = IGNORED(sb_pread_full(fd, head, size, 0, &got, path)) == SB_OK && got == size &&
             memcmp(head, magic, size) == 0;
    sb_close_kept(fd, NULL);
    return begins;
}

bool sb_is_new_shard(const char *path)
{
    size_t size = strlen(path), tail = strlen(SB_NEW_SUFFIX SHARD) + SHARD_DIGITS;
    const char *rest = path + size - tail, *end;
    uint32_t number;

    return size > tail && eat(&rest, SB_NEW_SUFFIX) && is_shard(rest, &number, &end) && !*end;
}
