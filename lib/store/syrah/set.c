#include "store/syrah/set.h"

#include "core/array.h"
#include "core/file.h"
#include "store/shard_spec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX     ".syr"
#define SPEC_SHOWN 100 /* bytes of a list of too many files */

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
    TRY(sb_copy_text(&set->name, name));
    TRY(SB_NEW_ARRAY(&set->files, files));
    *out = TAKE(set);
    return SB_OK;
}

/* The arrays of another file than the first by their numbers in the first. */
static enum sb_code match_arrays(const struct sb_syrah_set *set, struct sb_syrah_set_file *file)
{
    const struct sb_syrah *first = set->first, *other = file->syrah;
    uint32_t count = first->array_count;

    if (other->array_count > count)
        return sb_fail(
            SB_INVALID,
            "%s: has more arrays than %s: only files of the same arrays are one sequence",
            other->file->name, first->file->name);
    TRY(SB_NEW_ARRAY(&file->arrays, count ? count : 1));
    for (uint32_t i = 0; i < count; i++) {
        const struct sb_syrah_array *array = &first->arrays[i];
        int64_t found = sb_syrah_find(other, array->name, strlen(array->name));
        enum sb_dtype dtype = SB_DTYPE_NONE;

        if (found >= 0)
            dtype = other->arrays[found].dtype;
        if (dtype != array->dtype)
            return sb_fail(SB_INVALID,
                           "%s: has no array '%s' of type %s, as %s has: only files of the same "
                           "arrays are one sequence",
                           other->file->name, array->name, sb_dtype_word(array->dtype),
                           first->file->name);
        file->arrays[i] = (uint32_t)found;
    }
    return SB_OK;
}

/* The file is the set's, also when it fails. */
static enum sb_code add_file(struct sb_syrah_set *set, struct sb_syrah *syrah)
{
    struct sb_syrah_set_file *file = &set->files[set->count++];

    file->syrah = syrah;
    set->first = set->files[0].syrah;
    if (__builtin_add_overflow(set->items, syrah->items, &set->items))
        return sb_fail(SB_LIMIT, "%s: has more items than can be counted", set->name);
    file->end = set->items;
    return set->count > 1 ? match_arrays(set, file) : SB_OK;
}

enum sb_code sb_syrah_set_of(struct sb_syrah_set **out, struct sb_syrah *syrah)
{
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;
    enum sb_code code = set_new(&set, syrah->file->name, 1);

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

struct sb_place sb_syrah_set_place(const struct sb_syrah_set *set, int64_t item)
{
    /* One after the last counts as of the last file. */
    uint32_t file = (uint32_t)FIRST_WHERE(i, set->count - 1, item < set->files[i].end);

    return (struct sb_place){.shard = file, .index = file ? item - set->files[file - 1].end : item};
}

enum sb_code sb_syrah_set_extent(const struct sb_syrah_set *set, struct sb_place place,
                                 uint32_t array, struct sb_extent *out)
{
    const struct sb_syrah_set_file *file = &set->files[place.shard];
    enum sb_code code;

    if (file->arrays)
        array = file->arrays[array];
    code = sb_syrah_extent(file->syrah, array, place.index, out);
    if (code == SB_DAMAGED && set->count > 1)
        return sb_fail(SB_DAMAGED, "%s: %s", file->syrah->file->name, sb_error()->text);
    return code;
}
