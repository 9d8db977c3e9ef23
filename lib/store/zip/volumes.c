#include "store/zip/directory.h"

#include "core/buf.h"
#include "store/zip/format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define DIGITS_MOST 6

/* What names of the files have in common. */
struct series {
    const char *path;
    int stem;      /* bytes of the path, up to the point */
    int digits;    /* of .001; 0: of .z01 and .zip */
    unsigned last; /* of .z01: the number of the file .zip; 0: not known */
    unsigned number;
    bool upper; /* .Z01 and .ZIP */
};

struct paths {
    char **all;
    size_t count, capacity;
};

static bool parse(const char *path, struct series *out)
{
    int size = (int)strlen(path), digits = 0;

    *out = (struct series){.path = path};
    while (digits < size && isdigit((unsigned char)path[size - 1 - digits]))
        digits++;
    if (digits > DIGITS_MOST || size - digits < 3)
        return false;
    out->number = (unsigned)strtoul(path + size - digits, NULL, 10);
    out->stem = size - digits;
    if (digits >= 3 && path[out->stem - 1] == '.') {
        out->digits = digits;
        return out->number > 0;
    }
    out->stem = digits ? out->stem - 1 : size - 3;
    out->upper = path[out->stem] == 'Z';
    if (out->stem < 2 || path[out->stem - 1] != '.' || path[out->stem - 2] == '/')
        return false;
    return digits >= 2 ? tolower(path[out->stem]) == 'z' && out->number > 0
                       : digits == 0 && strcasecmp(path + out->stem, "zip") == 0;
}

/* The caller frees it; NULL: no memory. */
static char *name_of(const struct series *series, unsigned number)
{
    char *name;
    int size;

    if (series->digits > 0)
        size = asprintf(&name, "%.*s%0*u", series->stem, series->path, series->digits, number);
    else if (number == series->last)
        size = asprintf(&name, "%.*s%s", series->stem, series->path, series->upper ? "ZIP" : "zip");
    else
        size = asprintf(&name, "%.*s%c%02u", series->stem, series->path, series->upper ? 'Z' : 'z',
                        number);
    return size < 0 ? NULL : name;
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->all[i]);
    free(paths->all);
}

static enum sb_code missing(const struct series *series, unsigned number)
{
    CLEANUP(sb_freep) char *name = name_of(series, number);

    if (!name)
        return sb_fail_memory();
    return sb_fail(SB_FORMAT, "%s: is one of the files of a split zip, and %s is missing",
                   series->path, name);
}

/* Those that there are, from the first on, up to number `most` or the first that is missing. */
static enum sb_code list(const struct series *series, unsigned most, struct paths *out)
{
    for (unsigned number = 1; number <= most; number++) {
        CLEANUP(sb_freep) char *name = name_of(series, number);

        if (!name)
            return sb_fail_memory();
        if (access(name, F_OK))
            break;
        TRY(sb_grow(&out->all, &out->capacity, out->count + 1, sizeof(*out->all)));
        out->all[out->count++] = TAKE(name);
    }
    return SB_OK;
}

/* Joins the files to *file, and finds the end of that. On failure *file is as before. */
static enum sb_code join(struct sb_file **file, const struct paths *paths, struct sb_zip_end *end)
{
    CLEANUP(sb_file_freep) struct sb_file *joined = sb_file_ref(*file);

    TRY(sb_file_join(&joined, paths->all, paths->count));
    TRY(sb_zip_find_end(joined, end));
    sb_file_free(*file);
    *file = TAKE(joined);
    return SB_OK;
}

/*
 * alone: what finding the end of the file alone came to. Where it is a zip of its own, it is the
 * first of several only if the zip that those are begins with it.
 */
static enum sb_code join_numbered(struct sb_file **file, const struct series *series,
                                  struct sb_zip_end *end, enum sb_code alone)
{
    CLEANUP(sb_file_freep) struct sb_file *whole = sb_file_ref(*file);
    CLEANUP(sb_zip_end_release) struct sb_zip_end found = {0};
    CLEANUP(free_paths) struct paths paths = {.count = 0};
    enum sb_code code = list(series, UINT32_MAX, &paths);

    if (code == SB_OK && paths.count >= series->number)
        code = join(&whole, &paths, &found);
    else if (code == SB_OK)
        code = missing(series, (unsigned)paths.count + 1);
    if ((code == SB_FORMAT || code == SB_DAMAGED) && found.volumes == 0)
        code = missing(series, (unsigned)paths.count + 1);
    if (code || (!alone && found.base != 0))
        return alone ? code : SB_OK;
    sb_file_free(*file);
    *file = TAKE(whole);
    sb_zip_end_release(end);
    *end = found;
    found.starts = NULL;
    return SB_OK;
}

/* How many files there are, as the last one says. 0: it is not the last one of several. */
static enum sb_code count_volumes(struct series *series, unsigned *out)
{
    CLEANUP(sb_freep) char *name = name_of(series, series->last);
    CLEANUP(sb_zip_end_release) struct sb_zip_end end = {0};
    CLEANUP(sb_file_freep) struct sb_file *last = NULL;

    *out = 0;
    if (!name)
        return sb_fail_memory();
    if (sb_file_open(&last, name, "file of a split zip"))
        return sb_error()->code == SB_NOENT ? missing(series, series->last) : sb_error()->code;
    (void)!IGNORED(sb_zip_find_end(last, &end));
    *out = end.volumes > 1 ? end.volumes : 0;
    return SB_OK;
}

static enum sb_code join_lettered(struct sb_file **file, struct series *series,
                                  struct sb_zip_end *end, enum sb_code code)
{
    CLEANUP(free_paths) struct paths paths = {.count = 0};
    struct sb_error failure;
    unsigned volumes = end->volumes;

    if (series->number > 0 && INTO(&failure, count_volumes(series, &volumes))) {
        *sb_error() = failure;
        return sb_error()->code;
    }
    if (code == SB_OK || volumes <= 1 || volumes > SB_ZIP_IN_64_SHORT)
        return code;
    series->last = volumes;
    sb_zip_end_release(end);
    TRY(list(series, volumes, &paths));
    if (paths.count < volumes)
        return missing(series, (unsigned)paths.count + 1);
    return join(file, &paths, end);
}

enum sb_code sb_zip_open_volumes(struct sb_file **file, const char *path, struct sb_zip_end *end)
{
    struct series series;
    enum sb_code code = sb_zip_find_end(*file, end);

    if ((code && code != SB_FORMAT && code != SB_DAMAGED) || !parse(path, &series) ||
        (code == SB_OK && series.number != 1))
        return code;
    return series.digits > 0 ? join_numbered(file, &series, end, code)
                             : join_lettered(file, &series, end, code);
}

bool sb_zip_is_volume(const char *path)
{
    struct series series;
    CLEANUP(sb_freep) char *name = parse(path, &series) ? name_of(&series, 1) : NULL;
    CLEANUP(sb_file_freep) struct sb_file *first = NULL;
    uint8_t magic[4] = {0};
    size_t got = 0;

    if (!name || IGNORED(sb_file_open(&first, name, "file of a split zip")))
        return false;
    (void)!IGNORED(sb_file_read(first, magic, sizeof(magic), 0, &got));
    return sb_get_u32(magic) == SB_ZIP_LOCAL || sb_get_u32(magic) == SB_ZIP_DESCRIPTOR;
}
