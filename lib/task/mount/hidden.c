/*
 * What a mount would hide, of what it is made of.
 */
#include "archive/archive.h"
#include "archive/database.h"
#include "core/context.h"
#include "core/io.h"
#include "core/name.h"
#include "store/shard_spec.h"
#include "task/mount/device.h"
#include "task/mount/reading.h"

#include <dirent.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As most directories are that something is mounted at. */
static bool is_empty(const char *dir)
{
    CLEANUP(closedirp) DIR *list = opendir(dir);
    const struct dirent *entry;
    bool empty = list != NULL;

    while (empty && (entry = readdir(list)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

/* What is not there hides nothing: it is reported where it is used. */
static enum sb_code check_path(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *real = realpath(path, NULL);

    if (real && sb_name_within(real + 1, strlen(real + 1), dir + 1, strlen(dir + 1)))
        return sb_fail(SB_INVALID,
                       "%s: is inside of %s, and what is mounted there would hide it; mount it at "
                       "another directory",
                       path, dir);
    return SB_OK;
}

/* The links in a directory that are shards of an archive of this name. */
static enum sb_code check_shards(const char *folder, const char *name, const char *dir)
{
    static const char middle[] = "-shard-";
    const size_t size = sb_index_base_size(name);
    CLEANUP(closedirp) DIR *list = opendir(folder);
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    const struct dirent *entry;

    while (list && (entry = readdir(list))) {
        if ((entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) ||
            strncmp(entry->d_name, name, size) != 0 ||
            strncmp(entry->d_name + size, middle, strlen(middle)) != 0)
            continue;
        sb_buf_clear(&path);
        TRY(sb_buf_add_format(&path, "%s/%s", folder, entry->d_name));
        TRY(check_path(path.data, dir));
    }
    return SB_OK;
}

/* A file, the directory that has it, and its shards there. */
static enum sb_code check_file(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *copy = strdup(path);
    const char *folder;

    if (!copy)
        return sb_fail_memory();
    folder = dirname(copy);
    TRY(check_path(path, dir));
    TRY(check_path(folder, dir));
    return check_shards(folder, sb_base_name(path), dir);
}

/* By the name that was given, and, of an index, by its own. */
static enum sb_code check_names(const char *path, const char *index, const char *dir)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    TRY(check_file(path, dir));
    if (index)
        TRY(check_file(index, dir));
    if (!sb_is_bag_name(path))
        return SB_OK;
    return sb_limits_name(path, &limits) ? sb_fail_memory() : check_path(limits.data, dir);
}

static enum sb_code check_specs(const char *specs, const char *dir)
{
    CLEANUP(sb_spec_release) struct sb_spec beside = {0};

    TRY(sb_spec_beside(&beside, specs));
    for (size_t i = 0; i < beside.count; i++) {
        CLEANUP(sb_spec_release) struct sb_spec files = {0};

        TRY(sb_spec_expand(&files, beside.paths[i]));
        for (size_t k = 0; k < files.count; k++)
            TRY(check_names(files.paths[k], NULL, dir));
    }
    return SB_OK;
}

/* Where members are unpacked, which no archive has. */
static enum sb_code check_temporary(const char *path, const char *dir)
{
    const char *temporary = sb_context_now->temporary;
    enum sb_code code = check_path(temporary ? temporary : SB_MOUNT_TEMPORARY, dir);

    return code == SB_INVALID && sb_archive_looks_like(path) ? SB_OK : code;
}

enum sb_code sb_hidden_refuse(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *index = NULL;

    TRY(check_temporary(path, dir));
    if (is_empty(dir))
        return SB_OK;
    index = IGNORED(sb_index_file(path));
    return index || access(path, F_OK) == 0 ? check_names(path, index, dir)
                                            : check_specs(path, dir);
}
