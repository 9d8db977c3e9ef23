#include "store/syrah/set.h"

#include "core/array.h"
#include "core/file.h"
#include "store/shard_spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX     ".syr"
#define SPEC_SHOWN 100 /* bytes of a list of too many files */

struct file {
    struct sb_syrah *syrah;
    int64_t end;      /* items of this file and those before it */
    uint32_t *arrays; /* those of the set by their numbers here; NULL: the same */
};

struct sb_syrah_set {
    char *name;
    struct file *files;
    uint32_t count;
};

void sb_syrah_set_free(struct sb_syrah_set *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->count; i++) {
        sb_syrah_free(set->files[i].syrah);
        free(set->files[i].arrays);
    }
    free(set->files);
    free(set->name);
    free(set);
}

static enum sb_code set_new(struct sb_syrah_set **out, const char *name, size_t files)
{
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;

    TRY(SB_NEW(&set));
    set->name = strdup(name);
    set->files = calloc(files, sizeof(*set->files));
    if (!set->name || !set->files)
        return sb_fail_memory();
    *out = TAKE(set);
    return SB_OK;
}

/* The arrays of another file than the first by their numbers in the first. */
static enum sb_code match_arrays(const struct sb_syrah_set *set, struct file *file)
{
    const struct sb_syrah *first = set->files[0].syrah, *other = file->syrah;
    uint32_t count = sb_syrah_array_count(first);

    if (sb_syrah_array_count(other) > count)
        return sb_fail(
            SB_INVALID,
            "%s: has more arrays than %s: only files of the same arrays are one sequence",
            sb_syrah_name(other), sb_syrah_name(first));
    TRY(SB_NEW_ARRAY(&file->arrays, count ? count : 1));
    for (uint32_t i = 0; i < count; i++) {
        const struct sb_syrah_array *array = sb_syrah_array(first, i);
        int64_t found = sb_syrah_find(other, array->name, strlen(array->name));
        enum sb_dtype dtype = SB_DTYPE_NONE;

        if (found >= 0)
            dtype = sb_syrah_array(other, (uint32_t)found)->dtype;
        if (dtype != array->dtype)
            return sb_fail(SB_INVALID,
                           "%s: has no array '%s' of type %s, as %s has: only files of the same "
                           "arrays are one sequence",
                           sb_syrah_name(other), array->name, sb_dtype_word(array->dtype),
                           sb_syrah_name(first));
        file->arrays[i] = (uint32_t)found;
    }
    return SB_OK;
}

/* The file is the set's, also when it fails. */
static enum sb_code add_file(struct sb_syrah_set *set, struct sb_syrah *syrah)
{
    int64_t before = set->count ? set->files[set->count - 1].end : 0;
    struct file *file = &set->files[set->count++];

    *file = (struct file){.syrah = syrah, .end = before};
    if (__builtin_add_overflow(before, sb_syrah_count(syrah), &file->end))
        return sb_fail(SB_LIMIT, "%s: has more items than can be counted", set->name);
    return set->count > 1 ? match_arrays(set, file) : SB_OK;
}

enum sb_code sb_syrah_set_of(struct sb_syrah_set **out, struct sb_syrah *syrah)
{
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;
    enum sb_code code = set_new(&set, sb_syrah_name(syrah), 1);

    *out = NULL;
    if (code) {
        sb_syrah_free(syrah);
        return code;
    }
    TRY(add_file(set, syrah));
    *out = TAKE(set);
    return SB_OK;
}

static enum sb_code open_file(struct sb_syrah_set *set, const char *path)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    struct sb_syrah *syrah;

    TRY(sb_file_open(&file, path, "Syrah file"));
    TRY(sb_syrah_open(&syrah, file));
    return add_file(set, syrah);
}

enum sb_code sb_syrah_set_open(struct sb_syrah_set **out, const char *spec)
{
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;
    CLEANUP(sb_spec_release) struct sb_spec files = {0};

    *out = NULL;
    TRY(sb_spec_expand(&files, spec));
    if (files.count > SB_SYRAH_SET_MOST)
        return sb_fail(SB_LIMIT, "%.*s%s: stands for %zu files, and at most %d are read as one",
                       SPEC_SHOWN, spec, strlen(spec) > SPEC_SHOWN ? "..." : "", files.count,
                       SB_SYRAH_SET_MOST);
    if (files.count == 0)
        return sb_fail(SB_NOENT, "%s: names no file", spec);
    TRY(set_new(&set, spec, files.count));
    for (size_t i = 0; i < files.count; i++)
        TRY(open_file(set, files.paths[i]));
    *out = TAKE(set);
    return SB_OK;
}

bool sb_syrah_set_is_spec(const char *spec)
{
    size_t items = 0;

    if (!strpbrk(spec, ",@*?[") || access(spec, F_OK) == 0)
        return false;
    for (const char *item = spec; *item; item += *item == ',') {
        size_t size = strcspn(item, ",");

        if (size > 0 && (size <= strlen(SUFFIX) ||
                         memcmp(item + size - strlen(SUFFIX), SUFFIX, strlen(SUFFIX)) != 0))
            return false;
        items += size > 0;
        item += size;
    }
    return items > 0;
}

const char *sb_syrah_set_name(const struct sb_syrah_set *set)
{
    return set->name;
}

int64_t sb_syrah_set_count(const struct sb_syrah_set *set)
{
    return set->files[set->count - 1].end;
}

uint32_t sb_syrah_set_file_count(const struct sb_syrah_set *set)
{
    return set->count;
}

const struct sb_syrah *sb_syrah_set_file(const struct sb_syrah_set *set, uint32_t file)
{
    return set->files[file].syrah;
}

uint32_t sb_syrah_set_array_count(const struct sb_syrah_set *set)
{
    return sb_syrah_array_count(set->files[0].syrah);
}

const struct sb_syrah_array *sb_syrah_set_array(const struct sb_syrah_set *set, uint32_t array)
{
    return sb_syrah_array(set->files[0].syrah, array);
}

int64_t sb_syrah_set_find(const struct sb_syrah_set *set, const char *name, size_t size)
{
    return sb_syrah_find(set->files[0].syrah, name, size);
}

struct sb_place sb_syrah_set_place(const struct sb_syrah_set *set, int64_t item)
{
    /* One after the last counts as of the last file. */
    uint32_t file = (uint32_t)FIRST_WHERE(i, set->count - 1, item < set->files[i].end);

    return (struct sb_place){.shard = file, .index = file ? item - set->files[file - 1].end : item};
}

enum sb_code sb_syrah_set_extent(const struct sb_syrah_set *set, struct sb_place place,
                                 uint32_t array, struct sb_extent *out)
{
    const struct file *file = &set->files[place.shard];
    size_t good;
    enum sb_code code;

    if (file->arrays)
        array = file->arrays[array];
    code = sb_syrah_extents(file->syrah, array, place.index, 1, out, &good);
    if (code == SB_DAMAGED && set->count > 1)
        return sb_fail(SB_DAMAGED, "%s: %s", sb_syrah_name(file->syrah), sb_error()->text);
    return code;
}
