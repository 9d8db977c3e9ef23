#include "store/syrah/impl.h"

#include "core/buf.h"

#include <bson/bson.h>
#include <stdlib.h>
#include <string.h>

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

static enum sb_code grow(struct sb_syrah *syrah)
{
    size_t capacity = syrah->capacity;

    if (syrah->count >= SB_SYRAH_ARRAYS_MOST)
        return sb_fail(SB_FORMAT, "%s: has more than %d arrays", syrah->file->name,
                       SB_SYRAH_ARRAYS_MOST);
    TRY(sb_grow(&syrah->arrays, &capacity, syrah->count, sizeof(*syrah->arrays)));
    return sb_grow(&syrah->columns, &syrah->capacity, syrah->count, sizeof(*syrah->columns));
}

/* Items are those of the first array, and every array must have as many. */
static enum sb_code check_count(struct sb_syrah *syrah, const char *array, int64_t items)
{
    if (syrah->count == 0)
        syrah->items = items;
    if (items == syrah->items)
        return SB_OK;
    return sb_fail(SB_FORMAT, "%s: array '%s' has %lld items, and array '%s' has %lld",
                   syrah->file->name, array, (long long)items, syrah->arrays[0].name,
                   (long long)syrah->items);
}

/* The name is given away. */
static enum sb_code add_array(struct sb_syrah *syrah, char *array, bson_iter_t *walk)
{
    struct elements found = {0};
    enum sb_code code = take_elements(syrah, array, walk, &found);

    if (!code)
        code = check_elements(syrah, array, &found);
    if (!code)
        code = check_count(syrah, array, (int64_t)(found.size_bytes / sizeof(int64_t)));
    if (!code)
        code = grow(syrah);
    if (code) {
        free(array);
        return code;
    }
    syrah->arrays[syrah->count] = (struct sb_syrah_array){
        .name = array,
        .dtype = sb_dtype_named(found.dtype, found.dtype_size),
    };
    syrah->columns[syrah->count++] = (struct sb_syrah_columns){found.offsets, found.sizes};
    return SB_OK;
}

static enum sb_code take_array(struct sb_syrah *syrah, const bson_iter_t *walk)
{
    const char *key = bson_iter_key(walk);
    const uint8_t *data = NULL;
    uint32_t size = 0;
    char *array;
    bson_t document;
    bson_iter_t inner;

    if (!is_within(syrah, key, 1))
        return fail_metadata(syrah);
    array =
        strndup(key, (size_t)(syrah->document + syrah->document_size - (const unsigned char *)key));
    if (!array)
        return sb_fail_memory();
    if (bson_iter_type(walk) == BSON_TYPE_DOCUMENT)
        bson_iter_document(walk, &size, &data);
    if (data && is_within(syrah, data, size) && open_document(&document, &inner, data, size))
        return add_array(syrah, array, &inner);
    fail_array(syrah, array, "it is not described as an array is");
    free(array);
    return sb_error()->code;
}

static int compare_names(const void *a, const void *b, void *context)
{
    const struct sb_syrah_array *arrays = context;

    return strcmp(arrays[*(const uint32_t *)a].name, arrays[*(const uint32_t *)b].name);
}

static enum sb_code sort_names(struct sb_syrah *syrah)
{
    TRY(SB_NEW_ARRAY(&syrah->by_name, (size_t)syrah->count + 1));
    for (uint32_t i = 0; i < syrah->count; i++)
        syrah->by_name[i] = i;
    qsort_r(syrah->by_name, syrah->count, sizeof(*syrah->by_name), compare_names, syrah->arrays);
    for (uint32_t i = 1; i < syrah->count; i++) {
        const char *name = syrah->arrays[syrah->by_name[i]].name;

        if (strcmp(name, syrah->arrays[syrah->by_name[i - 1]].name) == 0)
            return fail_array(syrah, name, "its name occurs twice");
    }
    return SB_OK;
}

enum sb_code sb_syrah_read_metadata(struct sb_syrah *syrah)
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
