#include "store/syrah/syrah.h"

#include "core/array.h"
#include "core/little_endian.h"
#include "store/syrah/impl.h"

#include <stdlib.h>
#include <string.h>

void sb_syrah_free(struct sb_syrah *syrah)
{
    if (!syrah)
        return;
    for (uint32_t i = 0; i < syrah->count; i++)
        free((char *)syrah->arrays[i].name);
    free(syrah->arrays);
    free(syrah->columns);
    free(syrah->by_name);
    sb_mapping_free(syrah->mapping);
    sb_file_free(syrah->file);
    free(syrah);
}

bool sb_syrah_is_header(const void *data, size_t size)
{
    return size >= SB_SYRAH_HEADER && memcmp(data, "GS\0", 3) == 0;
}

static int64_t int64_at(const unsigned char *data)
{
    return (int64_t)sb_get_u64(data);
}

static bool is_zero(const unsigned char *data, size_t size)
{
    while (size > 0 && !data[size - 1])
        size--;
    return size == 0;
}

/* The header, and what it says of the metadata's place. */
static enum sb_code read_header(struct sb_syrah *syrah)
{
    const unsigned char *data = syrah->mapping->data;
    int64_t file = syrah->mapping->size, offset, size;
    size_t got = file < SB_SYRAH_HEADER ? (size_t)file : SB_SYRAH_HEADER;

    if (is_zero(data, got))
        return sb_fail(SB_FORMAT,
                       "%s: is a Syrah file that was never closed: it has no header and no "
                       "metadata, so that its items cannot be found",
                       syrah->file->name);
    if (!sb_syrah_is_header(data, got))
        return sb_fail(SB_FORMAT, "%s: is no Syrah file: its header is not one", syrah->file->name);
    offset = int64_at(data + 6);
    size = int64_at(data + 14);
    if (offset < SB_SYRAH_HEADER || offset > file || size < 0 || size > file - offset)
        return sb_fail(SB_FORMAT,
                       "%s: the metadata lie outside the file (offset %lld, %lld bytes): it is cut "
                       "short, or its header is damaged",
                       syrah->file->name, (long long)offset, (long long)size);
    if (size > INT32_MAX)
        return sb_fail(SB_FORMAT,
                       "%s: has %lld bytes of metadata, and a BSON document ends at 2^31-1",
                       syrah->file->name, (long long)size);
    syrah->data_end = offset;
    syrah->document = data + offset;
    syrah->document_size = (size_t)size;
    return SB_OK;
}

static enum sb_code check_unchanged(const struct sb_syrah *syrah)
{
    return sb_mapping_check(syrah->mapping) ? sb_fail(SB_CHANGED, "%s", sb_error()->text) : SB_OK;
}

static enum sb_code read_file(struct sb_syrah *syrah)
{
    enum sb_code code;

    TRY(sb_file_map(&syrah->mapping, syrah->file));
    code = read_header(syrah);
    if (!code)
        code = sb_syrah_read_metadata(syrah);
    if ((!code || code == SB_FORMAT) && check_unchanged(syrah))
        code = SB_CHANGED;
    return code;
}

enum sb_code sb_syrah_open(struct sb_syrah **out, struct sb_file *file)
{
    CLEANUP(sb_syrah_freep) struct sb_syrah *syrah = calloc(1, sizeof(*syrah));

    *out = NULL;
    if (!syrah)
        return sb_fail_memory();
    syrah->file = sb_file_ref(file);
    TRY(read_file(syrah));
    *out = TAKE(syrah);
    return SB_OK;
}

const char *sb_syrah_name(const struct sb_syrah *syrah)
{
    return syrah->file->name;
}

struct sb_file *sb_syrah_file(const struct sb_syrah *syrah)
{
    return syrah->file;
}

int64_t sb_syrah_count(const struct sb_syrah *syrah)
{
    return syrah->items;
}

uint32_t sb_syrah_array_count(const struct sb_syrah *syrah)
{
    return syrah->count;
}

const struct sb_syrah_array *sb_syrah_array(const struct sb_syrah *syrah, uint32_t array)
{
    return &syrah->arrays[array];
}

int64_t sb_syrah_data_end(const struct sb_syrah *syrah)
{
    return syrah->data_end;
}

int64_t sb_syrah_metadata_size(const struct sb_syrah *syrah)
{
    return (int64_t)syrah->document_size;
}

/* As strcmp of a name with a text that need not end in a NUL. */
static int compare_text(const char *name, const char *text, size_t size)
{
    int order = strncmp(name, text, size);

    return order ? order : name[size] != '\0';
}

int64_t sb_syrah_find(const struct sb_syrah *syrah, const char *name, size_t size)
{
    size_t at;

    if (memchr(name, '\0', size))
        return -1;
    at = FIRST_WHERE(i, syrah->count,
                     compare_text(syrah->arrays[syrah->by_name[i]].name, name, size) >= 0);
    if (at == syrah->count || compare_text(syrah->arrays[syrah->by_name[at]].name, name, size) != 0)
        return -1;
    return syrah->by_name[at];
}

enum sb_code sb_syrah_check_extent(const struct sb_syrah *syrah, uint32_t array,
                                   const struct sb_extent *extent)
{
    size_t unit = sb_dtype_size(syrah->arrays[array].dtype);

    if (extent->offset < SB_SYRAH_HEADER || extent->offset > syrah->data_end || extent->size < 0 ||
        extent->size > syrah->data_end - extent->offset)
        return sb_fail(SB_DAMAGED, "lies outside the data section (offset %lld, %lld bytes)",
                       (long long)extent->offset, (long long)extent->size);
    if ((size_t)extent->size % unit)
        return sb_fail(SB_DAMAGED, "has %lld bytes, no multiple of %zu", (long long)extent->size,
                       unit);
    return SB_OK;
}

static struct sb_extent extent_said(const struct sb_syrah *syrah, uint32_t array, int64_t item)
{
    const struct sb_syrah_columns *columns = &syrah->columns[array];
    size_t at = (size_t)item * sizeof(int64_t);

    return (struct sb_extent){.offset = int64_at(columns->offsets + at),
                              .size = int64_at(columns->sizes + at)};
}

enum sb_code sb_syrah_extents(const struct sb_syrah *syrah, uint32_t array, int64_t first,
                              size_t count, struct sb_extent *out, size_t *good)
{
    *good = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = extent_said(syrah, array, first + (int64_t)i);
    TRY(check_unchanged(syrah));
    for (; *good < count; ++*good) {
        if (sb_syrah_check_extent(syrah, array, &out[*good]))
            return sb_fail(SB_DAMAGED, "item %lld, array '%s': %s",
                           (long long)(first + (int64_t)*good), syrah->arrays[array].name,
                           sb_error()->text);
    }
    return SB_OK;
}

enum sb_code sb_syrah_read(const struct sb_syrah *syrah, int64_t offset, void *data, size_t size)
{
    if (offset < SB_SYRAH_HEADER || offset > syrah->data_end ||
        size > (uint64_t)(syrah->data_end - offset))
        return sb_fail(SB_DAMAGED, "lies outside the data section (offset %lld, %zu bytes)",
                       (long long)offset, size);
    return sb_file_read_exactly(syrah->file, data, size, offset);
}
