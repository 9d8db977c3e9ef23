#include "store/array/npy.h"
#include "core/array.h"
#include "core/little_endian.h"

#include <string.h>

#define ALIGNMENT 64

/* NumPy pads a header so that the first dimension can grow to this many digits. */
#define GROWTH 21

#define PREFIX         (SB_NPY_MAGIC_SIZE + 4) /* magic, version 1.0, header size */
#define DIMENSION_MOST 21                      /* digits of an int64, and the separator */
#define REST_MOST      256                     /* the rest of a header without dimensions */

#define UNKNOWN_MOST 32 /* longest name of an unknown type in a message */

/* A value of the header's dictionary: a part of its text. */
struct word {
    const char *text;
    size_t size;
};

struct scan {
    const char *at;
    const char *end;
};

enum sb_code sb_npy_data_size(enum sb_dtype dtype, const int64_t *shape, size_t dims, int64_t *size)
{
    bool none = false, fits = true;

    *size = (int64_t)sb_dtype_size(dtype);
    for (size_t i = 0; i < dims; i++) {
        if (shape[i] < 0)
            return sb_fail(SB_DAMAGED, "has a negative dimension");
        none = none || shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(*size, shape[i], size);
    }
    if (none)
        *size = 0;
    else if (!fits)
        return sb_fail(SB_DAMAGED, "has a shape of more bytes than there can be");
    return SB_OK;
}

/* Writing */

/* A header being written; without printf, because there are millions of small arrays. */
struct header {
    char text[SB_NPY_DIMS_MOST * DIMENSION_MOST + REST_MOST];
    size_t size;
};

static void put_text(struct header *header, const char *text)
{
    size_t size = strlen(text);

    memcpy(header->text + header->size, text, size);
    header->size += size;
}

/* Returns the number of digits; `number` is not negative. */
static size_t put_number(struct header *header, int64_t number)
{
    char digits[DIMENSION_MOST];
    size_t begin = sizeof(digits);

    do {
        digits[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(header->text + header->size, digits + begin, sizeof(digits) - begin);
    header->size += sizeof(digits) - begin;
    return sizeof(digits) - begin;
}

static void put_blanks(struct header *header, size_t count)
{
    memset(header->text + header->size, ' ', count);
    header->size += count;
}

/* As numpy.dtype names it, "<f4"; a type of one byte has no byte order. */
static void put_type(struct header *header, enum sb_dtype dtype)
{
    static const char kinds[] = {
        [SB_DTYPE_BOOL] = 'b',     [SB_DTYPE_INT8] = 'i',    [SB_DTYPE_INT16] = 'i',
        [SB_DTYPE_INT32] = 'i',    [SB_DTYPE_INT64] = 'i',   [SB_DTYPE_UINT8] = 'u',
        [SB_DTYPE_UINT16] = 'u',   [SB_DTYPE_UINT32] = 'u',  [SB_DTYPE_UINT64] = 'u',
        [SB_DTYPE_FLOAT16] = 'f',  [SB_DTYPE_FLOAT32] = 'f', [SB_DTYPE_FLOAT64] = 'f',
        [SB_DTYPE_FLOAT128] = 'f',
    };
    size_t size = sb_dtype_size(dtype);

    put_text(header, (char[]){size == 1 ? '|' : '<', kinds[dtype], '\0'});
    (void)put_number(header, (int64_t)size);
}

static void put_dictionary(struct header *header, const struct sb_npy *npy)
{
    size_t digits = GROWTH; /* that the first dimension leaves unused */

    put_text(header, "{'descr': '");
    put_type(header, npy->dtype);
    put_text(header, "', 'fortran_order': False, 'shape': (");
    for (size_t i = 0; i < npy->dims; i++) {
        size_t written;

        if (i > 0)
            put_text(header, ", ");
        written = put_number(header, npy->shape[i]);
        digits = i > 0 ? digits : written;
    }
    put_text(header, npy->dims == 1 ? ",), }" : "), }");
    put_blanks(header, GROWTH - digits);
}

enum sb_code sb_npy_add_header(struct sb_buf *out, const struct sb_npy *npy)
{
    struct header header = {.size = PREFIX};

    memcpy(header.text, SB_NPY_MAGIC "\1\0\0", PREFIX);
    put_dictionary(&header, npy);
    put_blanks(&header, ALIGNMENT - (header.size + 1) % ALIGNMENT);
    put_text(&header, "\n");
    sb_put_u16((uint8_t *)header.text + PREFIX - 2, (unsigned)(header.size - PREFIX));
    return sb_buf_add(out, header.text, header.size);
}

enum sb_code sb_npy_row_header(struct sb_npy_row *row, enum sb_dtype dtype, int64_t size)
{
    int64_t value = (int64_t)sb_dtype_size(dtype);
    struct sb_npy npy;

    if (row->header.size > 0 && row->dtype == dtype && row->size == size)
        return SB_OK;
    if (size % value != 0)
        return sb_fail(SB_DAMAGED, "has bytes that are no multiple of a %s", sb_dtype_word(dtype));
    npy.dtype = row->dtype = dtype;
    npy.dims = 1;
    npy.shape[0] = size / value;
    row->size = size;
    sb_buf_clear(&row->header);
    return sb_npy_add_header(&row->header, &npy);
}

/* Reading: the subset of Python that headers use */

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_text(struct scan *scan, struct word *out)
{
    char quote;
    const char *close;

    skip_blanks(scan);
    if (scan->at == scan->end || (*scan->at != '\'' && *scan->at != '"'))
        return false;
    quote = *scan->at++;
    close = memchr(scan->at, quote, (size_t)(scan->end - scan->at));
    if (!close)
        return false;
    *out = (struct word){scan->at, (size_t)(close - scan->at)};
    scan->at = close + 1;
    return memchr(out->text, '\\', out->size) == NULL;
}

static bool take_bool(struct scan *scan, bool *out)
{
    static const struct word words[] = {{"False", 5}, {"True", 4}};

    skip_blanks(scan);
    for (size_t i = 0; i < 2; i++) {
        if ((size_t)(scan->end - scan->at) >= words[i].size &&
            memcmp(scan->at, words[i].text, words[i].size) == 0) {
            scan->at += words[i].size;
            *out = i == 1;
            return true;
        }
    }
    return false;
}

/* Python 2 wrote an L after a long integer. */
static bool take_dimension(struct scan *scan, int64_t *out)
{
    const char *begin;

    skip_blanks(scan);
    begin = scan->at;
    *out = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, *scan->at - '0', out))
            return false;
    }
    if (scan->at == begin)
        return false;
    if (scan->at < scan->end && *scan->at == 'L')
        scan->at++;
    return true;
}

static bool take_shape(struct scan *scan, struct sb_npy *out)
{
    bool comma = true;

    if (!take(scan, '('))
        return false;
    out->dims = 0;
    while (!take(scan, ')')) {
        if (!comma || out->dims == SB_NPY_DIMS_MOST ||
            !take_dimension(scan, &out->shape[out->dims]))
            return false;
        out->dims++;
        comma = take(scan, ',');
    }
    /* One value in parentheses without a comma is not a tuple. */
    return out->dims != 1 || comma;
}

/* Skips a list of fields: such a type is refused by its name. */
static bool take_type(struct scan *scan, struct word *out)
{
    int depth = 0;

    if (take_text(scan, out))
        return true;
    if (scan->at == scan->end || *scan->at != '[')
        return false;
    *out = (struct word){scan->at, 0};
    do {
        depth += (*scan->at == '[') - (*scan->at == ']');
        scan->at++;
    } while (depth > 0 && scan->at < scan->end);
    out->size = (size_t)(scan->at - out->text);
    return depth == 0;
}

struct dictionary {
    struct word type;
    bool fortran;
};

static bool take_pair(struct scan *scan, struct dictionary *dictionary, struct sb_npy *out,
                      unsigned *seen)
{
    static const struct word keys[] = {{"descr", 5}, {"fortran_order", 13}, {"shape", 5}};
    struct word key;
    size_t i = 0;

    if (!take_text(scan, &key) || !take(scan, ':'))
        return false;
    while (i < 3 && (key.size != keys[i].size || memcmp(key.text, keys[i].text, key.size) != 0))
        i++;
    *seen |= 1U << i;
    if (i == 0)
        return take_type(scan, &dictionary->type);
    if (i == 1)
        return take_bool(scan, &dictionary->fortran);
    return i == 2 && take_shape(scan, out);
}

static bool take_dictionary(struct scan *scan, struct dictionary *dictionary, struct sb_npy *out)
{
    unsigned seen = 0;
    bool comma = true;

    if (!take(scan, '{'))
        return false;
    while (!take(scan, '}')) {
        if (!comma || !take_pair(scan, dictionary, out, &seen))
            return false;
        comma = take(scan, ',');
    }
    skip_blanks(scan);
    return seen == 7 && scan->at == scan->end;
}

static enum sb_dtype type_of(char kind, size_t size)
{
    static const struct {
        char kind;
        enum sb_dtype first, last;
    } kinds[] = {
        {'b', SB_DTYPE_BOOL, SB_DTYPE_BOOL},
        {'i', SB_DTYPE_INT8, SB_DTYPE_INT64},
        {'u', SB_DTYPE_UINT8, SB_DTYPE_UINT64},
        {'f', SB_DTYPE_FLOAT16, SB_DTYPE_FLOAT128},
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        for (enum sb_dtype dtype = kinds[i].first; kinds[i].kind == kind && dtype <= kinds[i].last;
             dtype++) {
            if (sb_dtype_size(dtype) == size)
                return dtype;
        }
    }
    return SB_DTYPE_NONE;
}

/* "<f4" */
static enum sb_code set_type(struct sb_npy *out, const struct word *type)
{
    const char *at = type->text, *end = type->text + type->size;
    char order = at < end && strchr("<>|=", *at) ? *at++ : '=';
    char kind = at < end ? *at++ : '\0';
    size_t size = 0;

    while (at < end && *at >= '0' && *at <= '9' && size < 100)
        size = size * 10 + (size_t)(*at++ - '0');
    out->dtype = at == end ? type_of(kind, size) : SB_DTYPE_NONE;
    if (out->dtype == SB_DTYPE_NONE)
        return sb_fail(SB_INVALID, "has values of type %.*s, not of a bool, int, uint or float",
                       (int)(type->size < UNKNOWN_MOST ? type->size : UNKNOWN_MOST), type->text);
    if (order == '>' && size > 1)
        return sb_fail(SB_INVALID, "has big-endian values");
    return SB_OK;
}

/* Is it in Fortran order, with two or more dimensions that differ from C order? */
static bool is_turned(const struct sb_npy *npy)
{
    size_t long_ones = 0;

    for (size_t i = 0; i < npy->dims; i++)
        long_ones += npy->shape[i] != 1;
    return long_ones > 1;
}

/* Sets header_size, and `scan` to the text of the dictionary. */
static enum sb_code find_dictionary(struct sb_npy *out, const char *data, size_t size,
                                    struct scan *scan)
{
    size_t prefix, length;

    if (size < SB_NPY_MAGIC_SIZE + 2 || memcmp(data, SB_NPY_MAGIC, SB_NPY_MAGIC_SIZE) != 0)
        return sb_fail(SB_FORMAT, "is no .npy file");
    if (data[SB_NPY_MAGIC_SIZE] < 1 || data[SB_NPY_MAGIC_SIZE] > 3 ||
        data[SB_NPY_MAGIC_SIZE + 1] != 0)
        return sb_fail(SB_FORMAT, "is a .npy file of version %d.%d, which is not known",
                       (unsigned char)data[SB_NPY_MAGIC_SIZE],
                       (unsigned char)data[SB_NPY_MAGIC_SIZE + 1]);
    prefix = SB_NPY_MAGIC_SIZE + 2 + (data[SB_NPY_MAGIC_SIZE] == 1 ? 2 : 4);
    if (size < prefix)
        return sb_fail(SB_FORMAT, "ends within its .npy header");
    length = data[SB_NPY_MAGIC_SIZE] == 1 ? sb_get_u16(data + prefix - 2)
                                          : sb_get_u32(data + prefix - 4);
    if (length > SB_NPY_HEADER_MOST - prefix)
        return sb_fail(SB_FORMAT, "has a .npy header of more than %zu bytes", SB_NPY_HEADER_MOST);
    if (size - prefix < length)
        return sb_fail(SB_FORMAT, "ends within its .npy header");
    out->header_size = prefix + length;
    *scan = (struct scan){data + prefix, data + prefix + length};
    return SB_OK;
}

enum sb_code sb_npy_parse(struct sb_npy *out, const void *data, size_t size)
{
    struct dictionary dictionary = {0};
    struct scan scan;
    enum sb_code code = find_dictionary(out, data, size, &scan);

    if (code)
        return code;
    if (!take_dictionary(&scan, &dictionary, out))
        return sb_fail(SB_FORMAT, "has a .npy header that cannot be understood");
    TRY(set_type(out, &dictionary.type));
    if (dictionary.fortran && is_turned(out))
        return sb_fail(SB_INVALID, "has its values in Fortran order");
    code = sb_npy_data_size(out->dtype, out->shape, out->dims, &out->data_size);
    if (code)
        sb_error()->code = SB_FORMAT;
    return code ? SB_FORMAT : SB_OK;
}
