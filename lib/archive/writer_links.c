/*
 * An index over bytes that the writer does not write: shards that are links to other files, or
 * that stand there already.
 */
#include "archive/writer_private.h"

#include "archive/shards.h"
#include "core/buf.h"
#include "core/io.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Both absolute and resolved: how `to` is called in the directory of `from`. */
static enum sb_code make_relative(struct sb_buf *out, const char *from, const char *to)
{
    size_t common = 0;
    enum sb_code code = SB_OK;

    for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
        if (from[i] == '/')
            common = i + 1;
    }
    for (const char *rest = from + common; code == SB_OK && (rest = strchr(rest, '/')); rest++)
        code = sb_buf_add_text(out, "../");
    return code ? code : sb_buf_add_text(out, to + common);
}

/* Would the archive's own files come to stand where it is? */
static bool is_in_the_way(const struct sb_writer *writer, const char *file)
{
    size_t size = strlen(writer->path);

    return strncmp(file, writer->path, size) == 0 &&
           (file[size] == '\0' || strncmp(file + size, "-shard-", 7) == 0 ||
            strncmp(file + size, ".new", 4) == 0);
}

enum sb_code sb_writer_link_shard(struct sb_writer *writer, const char *file, uint32_t *shard,
                                  struct sb_error *err)
{
    char *resolved = sb_resolve_directory_of(file, err);
    struct sb_buf target = {0};
    struct stat st;
    enum sb_code code;

    if (!resolved)
        return err->code;
    if (stat(resolved, &st))
        code = sb_fail_errno(err, errno, "%s", file);
    else if (!S_ISREG(st.st_mode))
        code = sb_fail(err, SB_FORMAT, "%s: a shard must be a regular file", file);
    else if (is_in_the_way(writer, resolved))
        code = sb_fail(err, SB_INVALID,
                       "%s: the archive's own files are to stand there; choose another name for it",
                       file);
    else if (*file == '/' ? sb_buf_add_text(&target, file)
                          : make_relative(&target, writer->path, resolved))
        code = sb_fail_memory(err);
    else
        code = sb_shard_out_link(writer->shards, target.data, shard, err);
    sb_buf_release(&target);
    free(resolved);
    return code;
}

enum sb_code sb_writer_count_shards(struct sb_writer *writer, uint32_t *count, struct sb_error *err)
{
    struct stat st;
    char *path;

    for (*count = 0; *count <= SB_SHARD_MAX; (*count)++) {
        bool there;

        if (asprintf(&path, "%s-shard-%05u", writer->path, *count) < 0)
            return sb_fail_memory(err);
        there = lstat(path, &st) == 0;
        free(path);
        if (!there)
            break;
    }
    if (*count == 0)
        return sb_fail(err, SB_NOENT, "%s-shard-00000: not there; shards are numbered from 0",
                       writer->path);
    return SB_OK;
}

uint32_t sb_writer_shard_count(const struct sb_writer *writer)
{
    return sb_shard_out_count(writer->shards);
}

enum sb_code sb_writer_open_shards(struct sb_writer *writer, struct sb_shards **out,
                                   struct sb_error *err)
{
    return sb_shards_open_at(out, writer->in_place ? writer->path : writer->new_path, err);
}
