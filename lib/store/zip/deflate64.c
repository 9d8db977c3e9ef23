#include "store/zip/impl.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW    ((size_t)1 << 16)
#define FAST      10 /* bits of a code that a table finds at once */
#define LONGEST   15 /* bits of a code */
#define LITERALS  288
#define DISTANCES 32
#define ORDERS    19 /* codes of the lengths of codes */
#define BLOCK_END 256
#define LAST_USED 285 /* of the literals and lengths */
#define REFILL    48  /* bits; more than a code and its extra bits have */

/* A canonical code. An entry is a symbol, then in 4 bits how long its code is; 0: none. */
struct huffman {
    uint16_t fast[1 << FAST];
    uint16_t count[LONGEST + 1]; /* of codes of each length */
    uint16_t symbols[LITERALS];  /* in the order of their codes */
};

enum state { AT_BLOCK, IN_STORED, IN_CODES, AT_END };

struct sb_zip_deflate64 {
    sb_zip_take *take;
    void *context;
    const uint8_t *in; /* packed bytes, after those in `bits` */
    size_t in_size;
    bool dry; /* there are no more */
    uint64_t bits;
    unsigned bit_count;

    enum state state;
    bool last;       /* the block is the last one */
    unsigned stored; /* bytes that are still to come of a stored block */
    size_t match;    /* of a match */
    size_t distance;
    struct huffman lengths, distances;

    size_t at;    /* in the window, of the next byte */
    bool wrapped; /* all of the window has been filled */
    uint8_t window[WINDOW];
};

static enum sb_code damaged(void)
{
    return sb_fail(SB_DAMAGED, "its compressed bytes are damaged; left out");
}

static enum sb_code ends_early(void)
{
    return sb_fail(SB_DAMAGED, "its compressed bytes end early; left out");
}

/* Sets in, in_size. */
static enum sb_code take_more(struct sb_zip_deflate64 *inflater)
{
    enum sb_code code = inflater->take(inflater->context, &inflater->in, &inflater->in_size);

    inflater->dry = !code && inflater->in_size == 0;
    return code;
}

/* Brings the bits to REFILL or more, unless the packed bytes end. */
static enum sb_code refill(struct sb_zip_deflate64 *inflater)
{
    while (inflater->bit_count < REFILL && !inflater->dry) {
        size_t whole = (63 - inflater->bit_count) / 8;

        if (inflater->in_size == 0 && take_more(inflater))
            return sb_error()->code;
        if (inflater->in_size < 8) {
            for (size_t i = 0; i < inflater->in_size && i < whole; i++)
                inflater->bits |= (uint64_t)inflater->in[i] << (inflater->bit_count + 8 * i);
            whole = inflater->in_size < whole ? inflater->in_size : whole;
        } else {
            inflater->bits |= sb_get_u64(inflater->in) << inflater->bit_count;
            inflater->bits &= ((uint64_t)1 << (inflater->bit_count + 8 * whole)) - 1;
        }
        inflater->in += whole;
        inflater->in_size -= whole;
        inflater->bit_count += 8 * (unsigned)whole;
    }
    return SB_OK;
}

static void drop(struct sb_zip_deflate64 *inflater, unsigned size)
{
    inflater->bits >>= size;
    inflater->bit_count -= size;
}

/* At most REFILL bits, as a number. */
static enum sb_code get_bits(struct sb_zip_deflate64 *inflater, unsigned size, unsigned *out)
{
    *out = 0;
    TRY(refill(inflater));
    if (inflater->bit_count < size)
        return ends_early();
    *out = (unsigned)(inflater->bits & (((uint64_t)1 << size) - 1));
    drop(inflater, size);
    return SB_OK;
}

/* The entry of a code that is longer than FAST: bit for bit, as canonical codes go up. */
static unsigned find_long(const struct huffman *huffman, uint64_t bits)
{
    unsigned code = 0, first = 0, index = 0;

    for (unsigned length = 1; length <= LONGEST; length++) {
        unsigned count = huffman->count[length];

        code |= (unsigned)(bits >> (length - 1)) & 1;
        if (code < first + count)
            return (unsigned)huffman->symbols[index + code - first] << 4 | length;
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return 0;
}

/* After a refill. */
static enum sb_code get_symbol(struct sb_zip_deflate64 *inflater, const struct huffman *huffman,
                               unsigned *symbol)
{
    unsigned entry = huffman->fast[inflater->bits & ((1 << FAST) - 1)];

    *symbol = 0;
    if (entry == 0)
        entry = find_long(huffman, inflater->bits);
    if ((entry & 15) > inflater->bit_count || (entry == 0 && inflater->bit_count < LONGEST))
        return ends_early();
    if (entry == 0)
        return damaged();
    drop(inflater, entry & 15);
    *symbol = entry >> 4;
    return SB_OK;
}

static unsigned reversed(unsigned code, unsigned length)
{
    unsigned out = 0;

    for (unsigned i = 0; i < length; i++)
        out |= (code >> i & 1) << (length - 1 - i);
    return out;
}

/* Do the codes use all of their space, and no more? may_be_short: or is it one bit, or nothing? */
static bool fits(const struct huffman *huffman, bool may_be_short)
{
    int left = 1 << LONGEST;

    for (unsigned length = 1; length <= LONGEST; length++)
        left -= huffman->count[length] << (LONGEST - length);
    if (left == 0)
        return true;
    return may_be_short && left == (huffman->count[1] == 1 ? 1 << (LONGEST - 1) : 1 << LONGEST);
}

/* False: there is no such code. */
static bool build(struct huffman *huffman, const uint8_t *lengths, unsigned size, bool may_be_short)
{
    unsigned index[LONGEST + 2] = {0}, codes[LONGEST + 2] = {0};

    memset(huffman, 0, sizeof(*huffman));
    for (unsigned i = 0; i < size; i++)
        huffman->count[lengths[i]]++;
    huffman->count[0] = 0;
    if (!fits(huffman, may_be_short))
        return false;
    for (unsigned length = 1; length <= LONGEST; length++) {
        index[length + 1] = index[length] + huffman->count[length];
        codes[length + 1] = (codes[length] + huffman->count[length]) << 1;
    }
    for (unsigned i = 0; i < size; i++) {
        unsigned length = lengths[i];

        if (length == 0)
            continue;
        huffman->symbols[index[length]++] = (uint16_t)i;
        if (length > FAST)
            continue;
        for (unsigned at = reversed(codes[length], length); at < 1 << FAST; at += 1U << length)
            huffman->fast[at] = (uint16_t)(i << 4 | length);
        codes[length]++;
    }
    return true;
}

static void build_fixed(struct sb_zip_deflate64 *inflater)
{
    uint8_t lengths[LITERALS];

    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    memset(lengths + 280, 8, LITERALS - 280);
    (void)build(&inflater->lengths, lengths, LITERALS, false);
    memset(lengths, 5, DISTANCES);
    (void)build(&inflater->distances, lengths, DISTANCES, false);
}

/* The lengths of both codes, themselves packed by the code in inflater->lengths. */
static enum sb_code read_lengths(struct sb_zip_deflate64 *inflater, uint8_t *lengths,
                                 unsigned count)
{
    static const uint8_t least[] = {3, 3, 11}, extra[] = {2, 3, 7};
    unsigned symbol, times;

    for (unsigned done = 0; done < count; done += times) {
        TRY(refill(inflater));
        TRY(get_symbol(inflater, &inflater->lengths, &symbol));
        times = 1;
        if (symbol < 16) {
            lengths[done] = (uint8_t)symbol;
            continue;
        }
        TRY(get_bits(inflater, extra[symbol - 16], &times));
        times += least[symbol - 16];
        if (times > count - done || (symbol == 16 && done == 0))
            return damaged();
        memset(lengths + done, symbol == 16 ? lengths[done - 1] : 0, times);
    }
    return SB_OK;
}

static enum sb_code begin_dynamic(struct sb_zip_deflate64 *inflater)
{
    static const uint8_t order[ORDERS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS + DISTANCES] = {0};
    unsigned literals, distances, orders, length;

    TRY(get_bits(inflater, 5, &literals));
    TRY(get_bits(inflater, 5, &distances));
    TRY(get_bits(inflater, 4, &orders));
    literals += 257;
    distances += 1;
    for (unsigned i = 0; i < orders + 4; i++) {
        TRY(get_bits(inflater, 3, &length));
        lengths[order[i]] = (uint8_t)length;
    }
    if (literals > LAST_USED + 1 || !build(&inflater->lengths, lengths, ORDERS, false))
        return damaged();
    memset(lengths, 0, sizeof(lengths));
    TRY(read_lengths(inflater, lengths, literals + distances));
    if (lengths[BLOCK_END] == 0 || !build(&inflater->lengths, lengths, literals, true) ||
        !build(&inflater->distances, lengths + literals, distances, true))
        return damaged();
    inflater->state = IN_CODES;
    return SB_OK;
}

static enum sb_code begin_stored(struct sb_zip_deflate64 *inflater)
{
    unsigned inverse;

    drop(inflater, inflater->bit_count % 8);
    TRY(get_bits(inflater, 16, &inflater->stored));
    TRY(get_bits(inflater, 16, &inverse));
    inflater->state = IN_STORED;
    return (inflater->stored ^ inverse) == 0xffff ? SB_OK : damaged();
}

static enum sb_code begin_block(struct sb_zip_deflate64 *inflater)
{
    unsigned head;

    TRY(get_bits(inflater, 3, &head));
    inflater->last = head & 1;
    switch (head >> 1) {
    case 0:
        return begin_stored(inflater);
    case 1:
        build_fixed(inflater);
        inflater->state = IN_CODES;
        return SB_OK;
    case 2:
        return begin_dynamic(inflater);
    default:
        return damaged();
    }
}

static void end_block(struct sb_zip_deflate64 *inflater)
{
    inflater->state = inflater->last ? AT_END : AT_BLOCK;
}

/* What is in `bits` comes before the packed bytes. */
static enum sb_code copy_stored(struct sb_zip_deflate64 *inflater, size_t end)
{
    while (inflater->stored > 0 && inflater->at < end) {
        size_t size = end - inflater->at;

        if (inflater->bit_count == 0 && inflater->in_size == 0)
            TRY(take_more(inflater));
        if (inflater->bit_count > 0) {
            size = 1;
            inflater->window[inflater->at] = (uint8_t)inflater->bits;
            drop(inflater, 8);
        } else {
            size = size < inflater->stored ? size : inflater->stored;
            size = size < inflater->in_size ? size : inflater->in_size;
            memcpy(inflater->window + inflater->at, inflater->in, size);
            inflater->in += size;
            inflater->in_size -= size;
        }
        if (size == 0)
            return ends_early();
        inflater->at += size;
        inflater->stored -= (unsigned)size;
    }
    if (inflater->stored == 0)
        end_block(inflater);
    return SB_OK;
}

/* The length that the symbol begins, and its distance. */
static enum sb_code begin_match(struct sb_zip_deflate64 *inflater, unsigned symbol)
{
    unsigned code = symbol - (BLOCK_END + 1), extra = code < 8 ? 0 : (code >> 2) - 1, more = 0;
    size_t base = code < 8 ? code + 3 : ((size_t)(4 + (code & 3)) << extra) + 3;

    if (symbol > LAST_USED)
        return damaged();
    if (symbol == LAST_USED) {
        extra = 16;
        base = 3;
    }
    TRY(get_bits(inflater, extra, &more));
    inflater->match = base + more;
    TRY(refill(inflater));
    TRY(get_symbol(inflater, &inflater->distances, &code));
    extra = code < 2 ? 0 : (code >> 1) - 1;
    base = code < 2 ? code + 1 : ((size_t)(2 + (code & 1)) << extra) + 1;
    TRY(get_bits(inflater, extra, &more));
    inflater->distance = base + more;
    return inflater->distance > inflater->at && !inflater->wrapped ? damaged() : SB_OK;
}

static void copy_match(struct sb_zip_deflate64 *inflater, size_t end)
{
    size_t size = inflater->match < end - inflater->at ? inflater->match : end - inflater->at;
    uint8_t *to = inflater->window + inflater->at;

    inflater->match -= size;
    inflater->at += size;
    while (size > 0) {
        size_t from = (size_t)(to - inflater->window - (ptrdiff_t)inflater->distance) % WINDOW;
        size_t run = size < inflater->distance ? size : inflater->distance;

        if (inflater->distance == 1) {
            memset(to, inflater->window[from], size);
            return;
        }
        run = run < WINDOW - from ? run : WINDOW - from;
        memmove(to, inflater->window + from, run);
        to += run;
        size -= run;
    }
}

static enum sb_code decode(struct sb_zip_deflate64 *inflater, size_t end)
{
    unsigned symbol;

    while (inflater->at < end) {
        if (inflater->match > 0) {
            copy_match(inflater, end);
            continue;
        }
        TRY(refill(inflater));
        TRY(get_symbol(inflater, &inflater->lengths, &symbol));
        if (symbol < BLOCK_END) {
            inflater->window[inflater->at++] = (uint8_t)symbol;
        } else if (symbol == BLOCK_END) {
            end_block(inflater);
            return SB_OK;
        } else {
            TRY(begin_match(inflater, symbol));
        }
    }
    return SB_OK;
}

/* Fills the window up to `end`, or less at the end of a block. */
static enum sb_code fill(struct sb_zip_deflate64 *inflater, size_t end)
{
    switch (inflater->state) {
    case AT_BLOCK:
        return begin_block(inflater);
    case IN_STORED:
        return copy_stored(inflater, end);
    case IN_CODES:
        return decode(inflater, end);
    case AT_END:
        break;
    }
    return SB_OK;
}

enum sb_code sb_zip_deflate64_new(struct sb_zip_deflate64 **out, sb_zip_take *take, void *context)
{
    TRY(SB_NEW(out));
    (*out)->take = take;
    (*out)->context = context;
    return SB_OK;
}

void sb_zip_deflate64_free(struct sb_zip_deflate64 *inflater)
{
    free(inflater);
}

enum sb_code sb_zip_deflate64_read(struct sb_zip_deflate64 *inflater, uint8_t *out, size_t capacity,
                                   size_t *got)
{
    for (*got = 0; *got < capacity && inflater->state != AT_END;) {
        size_t from = inflater->at, most = capacity - *got;

        TRY(fill(inflater, most < WINDOW - from ? from + most : WINDOW));
        memcpy(out + *got, inflater->window + from, inflater->at - from);
        *got += inflater->at - from;
        if (inflater->at == WINDOW) {
            inflater->at = 0;
            inflater->wrapped = true;
        }
    }
    return SB_OK;
}
