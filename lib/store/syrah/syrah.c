#include "store/syrah/syrah.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/little_endian.h"

#include <bson/bson.h>
#include <stdlib.h>
#include <string.h>

void sb_syrah_free(struct sb_syrah *syrah)
{
    if (!syrah)
        return;
    for (uint32_t i = 0; i < syrah->array_count; i++)
        free((char *)syrah->arrays[i].name);
    free(syrah->arrays);
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

/* The metadata */

static enum sb_code fail_metadata(const struct sb_syrah *syrah)
{
    return sb_fail(SB_FORMAT, "%s: the metadata are not a BSON document, or damaged",
                   syrah->file->name);
}

/* What the file held a moment ago may be something else by now: libbson's word is taken only where
 * it stays within the document. */
static bool is_within(const struct sb_syrah *syrah, const void *data, size_t size)
{
    uintptr_t start = (uintptr_t)syrah->document, at = (uintptr_t)data;

    return at >= start && at - start <= syrah->document_size &&
           size <= syrah->document_size - (at - start);
}

static bool open_document(bson_t *document, bson_iter_t *walk, const unsigned char *data,
                          size_t size)
{
    return bson_init_static(document, data, size) && bson_iter_init(walk, document);
}

/* The three that make an array. */
struct elements {
    const unsigned char *offsets;
    const unsigned char *sizes;
    size_t offset_bytes;
    size_t size_bytes;
    const char *dtype;
    size_t dtype_size;
};

static enum sb_code fail_array(const struct sb_syrah *syrah, const char *array, const char *what)
{
    return sb_fail(SB_FORMAT, "%s: array '%s': %s", syrah->file->name, array, what);
}

static enum sb_code take_binary(const struct sb_syrah *syrah, const char *array,
                                const bson_iter_t *walk, const unsigned char **data, size_t *size)
{
    bson_subtype_t subtype;
    uint32_t length = 0;

    if (*data)
        return fail_array(syrah, array, "its offsets or sizes occur twice");
    if (bson_iter_type(walk) != BSON_TYPE_BINARY)
        return fail_array(syrah, array, "its offsets or sizes are no binaries");
    bson_iter_binary(walk, &subtype, &length, data);
    if (!*data || !is_within(syrah, *data, length))
        return fail_metadata(syrah);
    *size = length;
    return SB_OK;
}

static enum sb_code take_dtype(const struct sb_syrah *syrah, const char *array,
                               const bson_iter_t *walk, struct elements *out)
{
    uint32_t length = 0;

    if (out->dtype)
        return fail_array(syrah, array, "its dtype occurs twice");
    if (bson_iter_type(walk) != BSON_TYPE_UTF8)
        return fail_array(syrah, array, "its dtype is no text");
    out->dtype = bson_iter_utf8(walk, &length);
    if (!out->dtype || !is_within(syrah, out->dtype, length))
        return fail_metadata(syrah);
    out->dtype_size = length;
    return SB_OK;
}

/* Other elements are passed over, as the original does. */
static enum sb_code take_elements(const struct sb_syrah *syrah, const char *array,
                                  bson_iter_t *walk, struct elements *out)
{
    while (bson_iter_next(walk)) {
        const char *key = bson_iter_key(walk);

        if (strcmp(key, "offset") == 0)
            TRY(take_binary(syrah, array, walk, &out->offsets, &out->offset_bytes));
        else if (strcmp(key, "size") == 0)
            TRY(take_binary(syrah, array, walk, &out->sizes, &out->size_bytes));
        else if (strcmp(key, "dtype") == 0)
            TRY(take_dtype(syrah, array, walk, out));
    }
    if (walk->err_off)
        return fail_metadata(syrah);
    return SB_OK;
}

static enum sb_code check_elements(const struct sb_syrah *syrah, const char *array,
                                   const struct elements *found)
{
    char word[32];

    if (!found->offsets || !found->sizes || !found->dtype)
        return fail_array(syrah, array,
                          !found->offsets ? "it has no offsets"
                          : !found->sizes ? "it has no sizes"
                                          : "it has no dtype");
    if (found->offset_bytes % sizeof(int64_t) || found->size_bytes % sizeof(int64_t))
        return fail_array(syrah, array, "its offsets or sizes are not of 8 bytes each");
    if (found->offset_bytes != found->size_bytes)
        return sb_fail(SB_FORMAT, "%s: array '%s': it has %zu offsets and %zu sizes",
                       syrah->file->name, array, found->offset_bytes / sizeof(int64_t),
                       found->size_bytes / sizeof(int64_t));
    if (sb_dtype_named(found->dtype, found->dtype_size) != SB_DTYPE_NONE)
        return SB_OK;
    snprintf(word, sizeof(word), "%.*s", (int)(found->dtype_size < 31 ? found->dtype_size : 31),
             found->dtype);
    return sb_fail(SB_FORMAT, "%s: array '%s': its dtype '%s' is not known", syrah->file->name,
                   array, word);
}

/* Items are those of the first array, and every array must have as many. */
static enum sb_code check_count(struct sb_syrah *syrah, const char *array, int64_t items)
{
    if (syrah->array_count == 0)
        syrah->items = items;
    if (items == syrah->items)
        return SB_OK;
    return sb_fail(SB_FORMAT, "%s: array '%s' has %lld items, and array '%s' has %lld",
                   syrah->file->name, array, (long long)items, syrah->arrays[0].name,
                   (long long)syrah->items);
}

static enum sb_code add_array(struct sb_syrah *syrah, const char *array, bson_iter_t *walk)
{
    struct elements found = {0};
    char *name;

    TRY(take_elements(syrah, array, walk, &found));
    TRY(check_elements(syrah, array, &found));
    TRY(check_count(syrah, array, (int64_t)(found.size_bytes / sizeof(int64_t))));
    if (syrah->array_count >= SB_SYRAH_ARRAYS_MOST)
        return sb_fail(SB_FORMAT, "%s: has more than %d arrays", syrah->file->name,
                       SB_SYRAH_ARRAYS_MOST);
    TRY(sb_grow(&syrah->arrays, &syrah->capacity, syrah->array_count, sizeof(*syrah->arrays)));
    TRY(sb_copy_text(&name, array));
    syrah->arrays[syrah->array_count++] = (struct sb_syrah_array){
        .name = name,
        .dtype = sb_dtype_named(found.dtype, found.dtype_size),
        .offsets = found.offsets,
        .sizes = found.sizes,
    };
    return SB_OK;
}

static enum sb_code take_array(struct sb_syrah *syrah, const bson_iter_t *walk)
{
    const unsigned char *end = syrah->document + syrah->document_size;
    const char *key = bson_iter_key(walk);
    const uint8_t *data = NULL;
    uint32_t size = 0;
    CLEANUP(sb_freep) char *array = NULL;
    bson_t document;
    bson_iter_t inner;

    if (!is_within(syrah, key, 1))
        return fail_metadata(syrah);
    array = strndup(key, (size_t)(end - (const unsigned char *)key));
    if (!array)
        return sb_fail_memory();
    if (bson_iter_type(walk) == BSON_TYPE_DOCUMENT)
        bson_iter_document(walk, &size, &data);
    if (data && is_within(syrah, data, size) && open_document(&document, &inner, data, size))
        return add_array(syrah, array, &inner);
    return fail_array(syrah, array, "it is not described as an array is");
}

static int compare_names(const void *a, const void *b, void *context)
{
    const struct sb_syrah_array *arrays = context;

    return strcmp(arrays[*(const uint32_t *)a].name, arrays[*(const uint32_t *)b].name);
}

static enum sb_code sort_names(struct sb_syrah *syrah)
{
    TRY(SB_NEW_ARRAY(&syrah->by_name, (size_t)syrah->array_count + 1));
    for (uint32_t i = 0; i < syrah->array_count; i++)
        syrah->by_name[i] = i;
    qsort_r(syrah->by_name, syrah->array_count, sizeof(*syrah->by_name), compare_names,
            syrah->arrays);
    for (uint32_t i = 1; i < syrah->array_count; i++) {
        const char *name = syrah->arrays[syrah->by_name[i]].name;

        if (strcmp(name, syrah->arrays[syrah->by_name[i - 1]].name) == 0)
            return fail_array(syrah, name, "its name occurs twice");
    }
    return SB_OK;
}

static enum sb_code read_metadata(struct sb_syrah *syrah)
{
    bson_t document;
    bson_iter_t walk;

    if (!open_document(&document, &walk, syrah->document, syrah->document_size))
        return fail_metadata(syrah);
    while (bson_iter_next(&walk))
        TRY(take_array(syrah, &walk));
    if (walk.err_off)
        return fail_metadata(syrah);
    return sort_names(syrah);
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
        code = read_metadata(syrah);
    if ((!code || code == SB_FORMAT) && check_unchanged(syrah))
        code = SB_CHANGED;
    return code;
}

enum sb_code sb_syrah_open(struct sb_syrah **out, struct sb_file *file)
{
    CLEANUP(sb_syrah_freep) struct sb_syrah *syrah = NULL;

    *out = NULL;
    TRY(SB_NEW(&syrah));
    syrah->file = sb_file_ref(file);
    TRY(read_file(syrah));
    *out = TAKE(syrah);
    return SB_OK;
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
    at = FIRST_WHERE(i, syrah->array_count,
                     compare_text(syrah->arrays[syrah->by_name[i]].name, name, size) >= 0);
    if (at == syrah->array_count ||
        compare_text(syrah->arrays[syrah->by_name[at]].name, name, size) != 0)
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

enum sb_code sb_syrah_extent(const struct sb_syrah *syrah, uint32_t array, int64_t item,
                             struct sb_extent *out)
{
    const struct sb_syrah_array *of = &syrah->arrays[array];
    size_t at = (size_t)item * sizeof(int64_t);

    *out =
        (struct sb_extent){.offset = int64_at(of->offsets + at), .size = int64_at(of->sizes + at)};
    TRY(check_unchanged(syrah));
    if (sb_syrah_check_extent(syrah, array, out))
        return sb_fail(SB_DAMAGED, "item %lld, array '%s': %s", (long long)item, of->name,
                       sb_error()->text);
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
