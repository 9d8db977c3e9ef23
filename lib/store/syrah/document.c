#include "store/syrah/document.h"

#include "core/buf.h"
#include "core/little_endian.h"

#include <string.h>

#define TYPE_TEXT     2
#define TYPE_DOCUMENT 3
#define TYPE_BINARY   5

#define FRAME       5                     /* of a document: its length, and the zero at its end */
#define COLUMN      (sizeof(int64_t))     /* of each item, in offsets and in sizes */
#define BINARY_HEAD (sizeof(int32_t) + 1) /* length, and a subtype: 0 */
#define KEY(name)   (1 + sizeof(name))    /* type, name, zero */

/* Of the document of an array without items. */
static size_t array_frame(const struct sb_syrah_written *array)
{
    return FRAME + KEY("offset") + BINARY_HEAD + KEY("size") + BINARY_HEAD + KEY("dtype") +
           sizeof(int32_t) + strlen(sb_dtype_word(array->dtype)) + 1;
}

static int64_t frame_of_all(const struct sb_syrah_written *arrays, size_t count)
{
    int64_t size = FRAME;

    for (size_t i = 0; i < count; i++)
        size += (int64_t)(1 + strlen(arrays[i].name) + 1 + array_frame(&arrays[i]));
    return size;
}

int64_t sb_syrah_document_capacity(const struct sb_syrah_written *arrays, size_t count,
                                   int64_t limit)
{
    int64_t left = limit - frame_of_all(arrays, count);

    return left < 0 ? 0 : left / (int64_t)(2 * COLUMN * count);
}

int64_t sb_syrah_document_size(const struct sb_syrah_written *arrays, size_t count, int64_t items)
{
    return frame_of_all(arrays, count) + (int64_t)(2 * COLUMN * count) * items;
}

static enum sb_code add_number(struct sb_buf *out, size_t number)
{
    uint8_t bytes[sizeof(int32_t)];

    sb_put_u32(bytes, (uint32_t)number);
    return sb_buf_add(out, bytes, sizeof(bytes));
}

static enum sb_code add_key(struct sb_buf *out, char type, const char *name)
{
    TRY(sb_buf_add_char(out, type));
    return sb_buf_add(out, name, strlen(name) + 1);
}

static enum sb_code add_binary_head(struct sb_buf *out, const char *name, int64_t items)
{
    TRY(add_key(out, TYPE_BINARY, name));
    TRY(add_number(out, (size_t)items * COLUMN));
    return sb_buf_add_char(out, 0);
}

static enum sb_code add_array_head(struct sb_buf *out, const struct sb_syrah_written *array,
                                   int64_t items)
{
    TRY(add_key(out, TYPE_DOCUMENT, array->name));
    TRY(add_number(out, array_frame(array) + 2 * COLUMN * (size_t)items));
    return add_binary_head(out, "offset", items);
}

static enum sb_code add_array_end(struct sb_buf *out, const struct sb_syrah_written *array)
{
    const char *word = sb_dtype_word(array->dtype);

    TRY(add_key(out, TYPE_TEXT, "dtype"));
    TRY(add_number(out, strlen(word) + 1));
    TRY(sb_buf_add(out, word, strlen(word) + 1));
    return sb_buf_add_char(out, 0);
}

/* Where it goes, and what of it is gathered. */
struct writing {
    sb_each_block *each;
    void *context;
    struct sb_buf text;
};

/* `added` is what became of adding to the text. */
static enum sb_code write_text(struct writing *writing, enum sb_code added)
{
    enum sb_code code =
        added ? sb_fail_memory()
              : writing->each(writing->context, writing->text.data, writing->text.size);

    sb_buf_clear(&writing->text);
    return code;
}

static enum sb_code write_array(struct writing *writing, const struct sb_syrah_written *arrays,
                                size_t array, int64_t items, struct sb_syrah_waiting *waiting)
{
    struct sb_buf *text = &writing->text;

    TRY(write_text(writing, add_array_head(text, &arrays[array], items)));
    TRY(sb_syrah_waiting_feed(waiting, array, false, writing->each, writing->context));
    TRY(write_text(writing, add_binary_head(text, "size", items)));
    TRY(sb_syrah_waiting_feed(waiting, array, true, writing->each, writing->context));
    return write_text(writing, add_array_end(text, &arrays[array]));
}

enum sb_code sb_syrah_document_write(const struct sb_syrah_written *arrays, size_t count,
                                     int64_t items, struct sb_syrah_waiting *waiting,
                                     sb_each_block *each, void *context)
{
    struct writing writing = {.each = each, .context = context};
    size_t size = (size_t)sb_syrah_document_size(arrays, count, items);
    enum sb_code code = write_text(&writing, add_number(&writing.text, size));

    for (size_t i = 0; !code && i < count; i++)
        code = write_array(&writing, arrays, i, items, waiting);
    if (!code)
        code = write_text(&writing, sb_buf_add_char(&writing.text, 0));
    sb_buf_release(&writing.text);
    return code;
}
