/*
 * An index over bytes that the writer does not write: shards that are links to other files, or that
 * exist already.
 */
#include "archive/writer/private.h"

#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both are absolute. A directory that is mounted twice has more than one name. */
static bool in_same_directory(const char *a, const char *b)
{
    char *a_copy = strdup(a), *b_copy = strdup(b);
    struct stat a_st, b_st;
    bool same = a_copy && b_copy && stat(dirname(a_copy), &a_st) == 0 &&
                stat(dirname(b_copy), &b_st) == 0 && a_st.st_dev == b_st.st_dev &&
                a_st.st_ino == b_st.st_ino;

    free(a_copy);
    free(b_copy);
    return same;
}

/* Would one of the archive's own files get this name? */
static bool is_in_the_way(const struct sb_writer *writer, const char *file)
{
    const char *own = strrchr(writer->hold.path, '/') + 1, *name = strrchr(file, '/') + 1;

    return sb_own_of(name, own).kind != SB_OWN_NONE && in_same_directory(writer->hold.path, file);
}

/* The target for sb_shard_out_link. */
static enum sb_code link_text(const struct sb_writer *writer, enum sb_link_kind kind,
                              const char *file, const char *resolved, struct sb_buf *out)
{
    if (kind == SB_LINK_RELATIVE)
        return sb_name_relative(out, writer->hold.path, resolved);
    return sb_buf_add_text(out, *file == '/' ? file : resolved);
}

enum sb_code sb_writer_link_shard(struct sb_writer *writer, enum sb_link_kind kind,
                                  const char *file, uint32_t *shard)
{
    CLEANUP(sb_buf_release) struct sb_buf target = {0};
    CLEANUP(sb_freep) char *resolved = NULL;
    struct stat st;

    TRY(sb_writer_refuse_bytes(writer));
    resolved = sb_resolve_directory_of(file);
    if (!resolved)
        return sb_error()->code;
    if (stat(resolved, &st))
        return sb_fail_errno(errno, "%s", file);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", file);
    else if (is_in_the_way(writer, resolved))
        return sb_fail(SB_INVALID,
                       "%s: the archive's own files need this name; choose another name for it",
                       file);
    else if (link_text(writer, kind, file, resolved, &target))
        return sb_fail_memory();
    else
        TRY(sb_shard_out_link(writer->shards, kind, target.data, shard));
    return sb_linked_record(writer->rows, *shard, kind == SB_LINK_REFLINK ? NULL : &st);
}

enum sb_code sb_writer_count_shards(struct sb_writer *writer, uint32_t *count)
{
    struct stat st;

    for (*count = 0; *count <= SB_SHARD_MAX; (*count)++) {
        char *path = sb_shard_name(writer->hold.path, *count);
        bool there;

        if (!path)
            return sb_error()->code;
        there = lstat(path, &st) == 0;
        free(path);
        if (!there)
            break;
    }
    if (*count == 0)
        return sb_fail(SB_NOENT, "%s-shard-00000: not there; shards are numbered from 0",
                       writer->hold.path);
    return SB_OK;
}

uint32_t sb_writer_shard_count(const struct sb_writer *writer)
{
    return sb_shard_out_count(writer->shards);
}

enum sb_code sb_writer_open_shards(struct sb_writer *writer, struct sb_shards **out)
{
    return sb_shards_open_at(out, writer->in_place ? writer->hold.path : writer->hold.note.path);
}
