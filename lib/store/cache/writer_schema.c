/*
 * schema.json, as the original's _save_schema writes it, and the metadata of the Arrow schema.
 */
#include "store/cache/writer_private.h"

#include "core/name.h"

#include <string.h>

static enum sb_code add_escape(struct sb_buf *out, uint32_t point)
{
    static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\";

    for (const char *at = letters; *at; at += 2) {
        if ((unsigned char)at[1] == point)
            return sb_buf_add_format(out, "\\%c", at[0]);
    }
    if (point < 0x10000)
        return sb_buf_add_format(out, "\\u%04x", point);
    point -= 0x10000;
    return sb_buf_add_format(out, "\\u%04x\\u%04x", 0xd800 + (point >> 10),
                             0xdc00 + (point & 0x3ff));
}

/* Appends text as json.dumps writes it, in ASCII. It must be UTF-8. */
static enum sb_code add_json(struct sb_buf *out, const char *text)
{
    size_t left = strlen(text), step;
    uint32_t point;

    TRY(sb_buf_add_char(out, '"'));
    for (; left > 0; text += step, left -= step) {
        step = sb_utf8_character(text, left, &point);
        if (step == 0) {
            step = 1;
            point = 0xfffd;
        }
        if (point >= ' ' && point <= '~' && point != '"' && point != '\\')
            TRY(sb_buf_add_char(out, (char)point));
        else
            TRY(add_escape(out, point));
    }
    return sb_buf_add_char(out, '"');
}

/* The names of a dict's tensors: a list in JSON. */
static enum sb_code tensor_keys(const struct sb_cache_columns *layout, struct sb_buf *out)
{
    const char *comma = "";

    TRY(sb_buf_add_char(out, '['));
    for (size_t i = 0; i < layout->count; i++) {
        if (layout->fields[i].blob)
            continue;
        TRY(sb_buf_add_text(out, comma));
        TRY(add_json(out, layout->fields[i].name));
        comma = ", ";
    }
    return sb_buf_add_char(out, ']');
}

enum sb_code sb_cache_schema_pair(const struct sb_cache_columns *layout, struct sb_buf *value,
                                  struct sb_arrow_pair *pair, size_t *count)
{
    enum sb_code code = SB_OK;

    sb_buf_clear(value);
    *count = 1;
    if (layout->structure == SB_CACHE_DICT) {
        pair->key = "tensor_keys";
        code = tensor_keys(layout, value);
    } else if (layout->structure == SB_CACHE_TENSOR) {
        pair->key = "torch_dtype";
        code = sb_buf_add_format(value, "torch.%s", sb_dtype_word(layout->fields[0].dtype));
    } else {
        *count = 0;
    }
    pair->value = value->data;
    pair->value_size = value->size;
    return code;
}

/* Arrow's name of a list's values. */
static const char *value_word(enum sb_dtype dtype)
{
    switch (dtype) {
    case SB_DTYPE_FLOAT16:
        return "halffloat";
    case SB_DTYPE_FLOAT32:
        return "float";
    case SB_DTYPE_FLOAT64:
        return "double";
    default:
        return sb_dtype_word(dtype);
    }
}

static enum sb_code add_column(struct sb_buf *out, const struct sb_arrow_column *column, bool last)
{
    TRY(sb_buf_add_text(out, "    {\n      \"name\": "));
    TRY(add_json(out, column->name));
    TRY(sb_buf_add_text(out, ",\n      \"type\": "));
    if (column->type == SB_ARROW_LIST)
        TRY(sb_buf_add_format(out, "\"list<%s>\"", value_word(column->dtype)));
    else
        TRY(sb_buf_add_text(out, column->type == SB_ARROW_TEXT ? "\"string\"" : "\"binary\""));
    return sb_buf_add_text(out, last ? "\n    }\n" : "\n    },\n");
}

static enum sb_code add_metadata(struct sb_buf *out, const struct sb_cache_columns *layout)
{
    CLEANUP(sb_buf_release) struct sb_buf value = {0};
    struct sb_arrow_pair pair;
    size_t count;

    TRY(sb_cache_schema_pair(layout, &value, &pair, &count));
    if (count == 0)
        return sb_buf_add_text(out, "  \"metadata\": {},\n");
    TRY(sb_buf_add_format(out, "  \"metadata\": {\n    \"%s\": ", pair.key));
    TRY(add_json(out, pair.value));
    return sb_buf_add_text(out, "\n  },\n");
}

enum sb_code sb_cache_schema_text(const struct sb_cache_columns *layout, struct sb_buf *out)
{
    TRY(sb_buf_add_text(out, "{\n  \"fields\": [\n"));
    for (size_t i = 0; i < layout->column_count; i++)
        TRY(add_column(out, &layout->columns[i], i + 1 == layout->column_count));
    TRY(sb_buf_add_text(out, "  ],\n"));
    TRY(add_metadata(out, layout));
    return sb_buf_add_format(out, "  \"output_structure\": \"%s\"\n}",
                             sb_cache_structure_words[layout->structure]);
}
