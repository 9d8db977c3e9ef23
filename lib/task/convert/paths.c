#include "task/convert/convert.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/remote.h"
#include "archive/shards.h"
#include "core/io.h"
#include "core/name.h"
#include "store/container.h"
#include "store/shard_spec.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last component of a path that may end in '/'; the caller frees it. */
static char *last_component(const char *path)
{
    size_t size = strlen(path);
    const char *slash;

    while (size > 0 && path[size - 1] == '/')
        size--;
    slash = size ? memrchr(path, '/', size) : NULL;
    return slash ? strndup(slash + 1, (size_t)(path + size - slash - 1)) : strndup(path, size);
}

/* For "." and ".." the directory's own name. */
static char *name_of(const char *path)
{
    char *name = last_component(path), *real;

    if (!name || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0))
        return name;
    real = realpath(path, NULL);
    if (!real)
        return name;
    free(name);
    name = last_component(real);
    free(real);
    return name;
}

static enum sb_code make_one(char **out, const char *path, const char *prefix)
{
    CLEANUP(sb_freep) char *name = name_of(path);

    if (!name)
        return sb_fail_memory();
    name[sb_container_base_size(name)] = '\0';
    if (strcmp(path, "-") == 0)
        return sb_fail(SB_INVALID, "standard input has no name to be a subdirectory's");
    if (sb_name_problem(name, strlen(name)))
        return sb_fail(SB_INVALID, "%s: has no name that a subdirectory could have", path);
    if (asprintf(out, "%s%s%s", prefix ? prefix : "", prefix ? "/" : "", name) < 0)
        return sb_fail_memory();
    return SB_OK;
}

struct named {
    const char *subdir;
    const char *path;
};

static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return strcmp(x->subdir, y->subdir);
}

static enum sb_code refuse_alike(char *const *subdirs, char *const *paths, size_t count)
{
    CLEANUP(sb_freep) struct named *sorted = NULL;

    TRY(SB_NEW_ARRAY(&sorted, count + 1));
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct named){subdirs[i], paths[i]};
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i].subdir, sorted[i - 1].subdir) == 0)
            return sb_fail(SB_INVALID,
                           "%s and %s: both would be the subdirectory %s; give one another name",
                           sorted[i - 1].path, sorted[i].path, sorted[i].subdir);
    }
    return SB_OK;
}

enum sb_code sb_subdirs_new(char ***out, char *const *paths, size_t count, const char *prefix)
{
    char **subdirs;
    enum sb_code code = SB_NEW_ARRAY(&subdirs, count + 1);

    for (size_t i = 0; code == SB_OK && i < count; i++)
        code = make_one(&subdirs[i], paths[i], prefix);
    if (code == SB_OK)
        code = refuse_alike(subdirs, paths, count);
    if (code) {
        sb_subdirs_free(subdirs, count);
        subdirs = NULL;
    }
    *out = subdirs;
    return code;
}

void sb_subdirs_free(char **subdirs, size_t count)
{
    for (size_t i = 0; subdirs && i < count; i++)
        free(subdirs[i]);
    free(subdirs);
}

/* Where the output is or will be: absolute and without links above it. NULL: no such directory. */
static char *resolve(const char *path)
{
    CLEANUP(sb_freep) char *dir_copy = strdup(path), *base_copy = strdup(path), *dir = NULL;
    char *whole = realpath(path, NULL);

    if (whole || !dir_copy || !base_copy)
        return whole;
    dir = realpath(dirname(dir_copy), NULL);
    if (!dir || asprintf(&whole, "%s/%s", dir, basename(base_copy)) < 0)
        return NULL;
    return whole;
}

static enum sb_code refuse_inside(const char *directory, const char *output)
{
    CLEANUP(sb_freep) char *inner = resolve(output), *outer = realpath(directory, NULL);

    if (inner && outer &&
        sb_name_within(inner + 1, strlen(inner + 1), outer + 1, strlen(outer + 1)))
        return sb_fail(SB_INVALID,
                       "%s: is inside of %s, and would become a part of itself; put it elsewhere",
                       output, directory);
    return SB_OK;
}

/* The shards of an archive; if its index cannot be read, by their names. */
static void open_shards(const char *path, struct sb_archive **archive, struct sb_shards **shards,
                        uint32_t *count)
{
    char *index;

    *count = 0;
    if (IGNORED(sb_archive_open(archive, path)) == SB_OK &&
        IGNORED(sb_shards_open(shards, *archive)) == SB_OK &&
        IGNORED(sb_archive_shard_count(*archive, count)) == SB_OK)
        return;
    sb_shards_free(*shards);
    *shards = NULL;
    index = IGNORED(sb_index_file(path));
    if (index)
        index[sb_index_base_size(index)] = '\0';
    if (index && IGNORED(sb_shards_open_at(shards, index)))
        *shards = NULL;
    free(index);
}

/* An input that cannot be opened is reported when it is read. */
static enum sb_code refuse_shard(const char *archive, const struct stat *output, const char *name)
{
    CLEANUP(sb_archive_freep) struct sb_archive *opened = NULL;
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;
    uint32_t count = 0;
    struct stat st;

    open_shards(archive, &opened, &shards, &count);
    for (uint32_t i = 0; shards && i <= SB_SHARD_MAX; i++) {
        bool there = sb_shards_stat(shards, i, &st) == SB_OK;

        if (!there && i >= count)
            break;
        if (there && sb_is_same_file(&st, output))
            return sb_fail(SB_INVALID, "%s: holds bytes of the input %s; choose another output",
                           name, archive);
    }
    return SB_OK;
}

/* Matches "-00003-of-00016" at the beginning of the text; shards 0: any number. */
static bool is_shard_number(const char *text, uint32_t shards)
{
    static const char form[] = "-ddddd-of-ddddd";

    for (size_t i = 0; form[i]; i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    }
    return shards == 0 || strtoul(text + strlen("-ddddd-of-"), NULL, 10) == shards;
}

static bool is_in_same_directory(const char *a, const char *b)
{
    CLEANUP(sb_freep) char *first = resolve(a), *second = resolve(b);

    if (!first || !second)
        return false;
    *strrchr(first, '/') = '\0';
    *strrchr(second, '/') = '\0';
    return strcmp(first, second) == 0;
}

/* Will the output, a set of bags, have a shard of this name? */
static bool is_shard_of(const char *file, const char *output)
{
    struct sb_shard_pattern pattern;
    const char *name = strrchr(file, '/'), *prefix;
    size_t size, middle = strlen("-ddddd-of-ddddd");

    if (IGNORED(sb_shard_pattern_parse(&pattern, output)) || !pattern.is_set)
        return false;
    name = name ? name + 1 : file;
    prefix = memrchr(pattern.path, '/', pattern.prefix_size);
    prefix = prefix ? prefix + 1 : pattern.path;
    size = pattern.prefix_size - (size_t)(prefix - pattern.path);
    return strlen(name) == size + middle + strlen(pattern.suffix) &&
           memcmp(name, prefix, size) == 0 && is_shard_number(name + size, pattern.shards) &&
           strcmp(name + size + middle, pattern.suffix) == 0 && is_in_same_directory(file, output);
}

/* Is the output the limits file of a bag elsewhere? */
static bool is_limits_of(const char *bag, const struct stat *output)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct stat st;

    return sb_is_bag_name(bag) && sb_limits_name(bag, &name) == SB_OK &&
           stat(name.data, &st) == 0 && sb_is_same_file(&st, output);
}

static enum sb_code refuse_same(const char *input, const char *output)
{
    return sb_fail(SB_INVALID, "%s: is input and output at once; choose another output",
                   strcmp(output, "-") != 0 ? output : input);
}

/* The shards of a spec of bags. */
static enum sb_code check_shards(const char *input, const char *output, const struct stat *target)
{
    CLEANUP(sb_spec_release) struct sb_spec spec = {0};
    struct stat st;

    TRY(sb_spec_expand(&spec, input));
    for (size_t i = 0; i < spec.count; i++) {
        const char *path = spec.paths[i];

        if (stat(path, &st))
            return sb_fail_errno(errno, "%s", path);
        if ((target && (sb_is_same_file(&st, target) || is_limits_of(path, target))) ||
            is_shard_of(path, output))
            return refuse_same(input, output);
    }
    return SB_OK;
}

static enum sb_code check_spec(const char *input, const char *output, const struct stat *target)
{
    CLEANUP(sb_spec_release) struct sb_spec bags = {0};

    TRY(sb_spec_beside(&bags, input));
    for (size_t i = 0; i < bags.count; i++)
        TRY(check_shards(bags.paths[i], output, target));
    return SB_OK;
}

/* Text that is not the name of a file, but may be a spec of several. */
static bool may_be_spec(const char *input)
{
    return sb_spec_is_of_bags(input) || strpbrk(input, "@,*?[") || strncmp(input, "fs:", 3) == 0;
}

static enum sb_code check_input(const char *input, const char *output, const struct stat *target)
{
    bool is_stdin = strcmp(input, "-") == 0;
    struct stat st;

    if (is_stdin ? fstat(STDIN_FILENO, &st) : stat(input, &st)) {
        int reason = errno;

        if (sb_archive_looks_like(input) || strchr(input, '{') ||
            (sb_remote_name(input, false) && !may_be_spec(input)))
            return SB_OK; /* opening it says what is wrong */
        return may_be_spec(input) ? check_spec(input, output, target)
                                  : sb_fail_errno(reason, "%s", input);
    }
    if ((target && (sb_is_same_file(&st, target) || (!is_stdin && is_limits_of(input, target)))) ||
        (!is_stdin && is_shard_of(input, output)))
        return refuse_same(input, output);
    if (S_ISDIR(st.st_mode) && strcmp(output, "-") != 0)
        return refuse_inside(input, output);
    if (target && !is_stdin && sb_archive_looks_like(input))
        return refuse_shard(input, target, output);
    return SB_OK;
}

enum sb_code sb_convert_paths_check(char *const *inputs, size_t count, const char *output)
{
    bool is_stdout = strcmp(output, "-") == 0;
    struct stat st;
    bool there = (is_stdout ? fstat(STDOUT_FILENO, &st) : stat(output, &st)) == 0 &&
                 (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));

    for (size_t i = 0; i < count; i++)
        TRY(check_input(inputs[i], output, there ? &st : NULL));
    return SB_OK;
}

bool sb_convert_replaces(const char *output, const char *file)
{
    struct stat target, st;
    bool there = stat(output, &target) == 0 && S_ISREG(target.st_mode);

    return (there && stat(file, &st) == 0 && sb_is_same_file(&st, &target)) ||
           (there && is_limits_of(file, &target)) || is_shard_of(file, output);
}

/*
 * The existing archive that has, or would have, a file of this name as its own; it exists if its
 * index does or, for a shard, a file of its name, even if that is damaged. NULL: none.
 */
static char *archive_of_part(const char *path, bool *shard)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat st;

    for (const char *rest = name + 1; *name && *rest; rest++) {
        struct sb_own own = sb_own_of_rest(rest);
        char *archive = own.kind == SB_OWN_NONE ? NULL : strndup(path, (size_t)(rest - path));

        *shard = own.kind == SB_OWN_SHARD;
        if (archive && (sb_archive_looks_like(archive) ||
                        (*shard && stat(archive, &st) == 0 && S_ISREG(st.st_mode))))
            return archive;
        free(archive);
    }
    return NULL;
}

enum sb_code sb_convert_spare_parts(const char *output)
{
    struct stat st;
    bool there = stat(output, &st) == 0, shard = false;
    CLEANUP(sb_freep)
    char *archive = there && !S_ISREG(st.st_mode) ? NULL : archive_of_part(output, &shard);

    if (archive && there && shard)
        return sb_fail(SB_EXISTS, "%s: is a shard of the archive %s; choose another output", output,
                       archive);
    if (archive)
        return sb_fail(SB_EXISTS,
                       "%s: is a name that the archive %s has for its own; choose another output",
                       output, archive);
    return SB_OK;
}

enum sb_code sb_convert_spare_archive(const char *output, const char *word)
{
    struct stat st;

    TRY(sb_convert_spare_parts(output));
    if ((stat(output, &st) == 0 && !S_ISREG(st.st_mode)) || !sb_archive_looks_like(output))
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: is an archive, whose shards would be lost if a %s replaced it; choose "
                   "another output, or remove it first",
                   output, word);
}

/* Files that do not exist yet are the same if they would have the same name. */
bool sb_convert_same_name(const char *a, const char *b)
{
    CLEANUP(sb_freep) char *first = resolve(a), *second = resolve(b);

    return first && second && strcmp(first, second) == 0;
}

/* Would one file overwrite the other, or its limits? */
static bool names_meet(const char *path, const char *output)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    if (sb_convert_same_name(path, output) || is_shard_of(path, output) ||
        is_shard_of(output, path))
        return true;
    return sb_is_bag_name(output) && sb_limits_name(output, &limits) == SB_OK &&
           sb_convert_same_name(path, limits.data);
}

enum sb_code sb_convert_beside_check(char *const *inputs, size_t count, const char *output,
                                     const char *path, const char *word)
{
    if (strcmp(path, "-") == 0)
        return SB_OK;
    if (strcmp(output, "-") != 0 && names_meet(path, output))
        return sb_fail(SB_INVALID, "%s: is both the %s and OUTPUT; choose another %s", path, word,
                       word);
    TRY(sb_convert_spare_archive(path, word));
    return sb_convert_paths_check(inputs, count, path);
}
