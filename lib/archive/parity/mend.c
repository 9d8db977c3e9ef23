/*
 * The bad pieces of one section are made: first it is planned which word needs what, then that is
 * read in the order of the disk.
 */
#include "archive/parity/check.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/rs/rs.h"

#include <stdlib.h>
#include <string.h>

/* What words with the same pieces that are bad have in common. */
struct pattern {
    unsigned char states[SB_RS_PIECES_MAX]; /* enum sb_rs_state */
    struct sb_rs *rs;
};

struct word {
    struct sb_rs *rs;    /* of its pattern; NULL: nothing is bad, or too much */
    unsigned char *made; /* its bad pieces, in the order of their numbers in it */
};

struct mend {
    const struct sb_parity_shape *shape;
    struct sb_parity_bad *bad;
    const struct sb_parity_mender *mender;
    struct sb_parity_reader reader;
    struct pattern *patterns; /* of the section that the reader is at */
    size_t count, capacity;
    struct word *words;  /* SB_PARITY_WORDS_MOST */
    unsigned char *made; /* bytes */
};

/* What was made of the last section. */
static void forget(struct mend *mend)
{
    for (size_t i = 0; i < mend->count; i++)
        sb_rs_free(mend->patterns[i].rs);
    mend->count = 0;
    free(mend->made);
    mend->made = NULL;
}

static void release(struct mend *mend)
{
    forget(mend);
    free(mend->patterns);
    free(mend->words);
    sb_parity_reader_release(&mend->reader);
}

/* The number in the section of a piece of a word; at least all of the section's: zeros. */
static uint32_t number_of(const struct mend *mend, uint32_t word, uint32_t piece)
{
    const struct sb_parity_section *section = &mend->reader.section;
    uint32_t data = mend->shape->data, number;

    if (piece >= data)
        return section->pieces + (piece - data) * section->words + word;
    number = piece * section->words + word;
    return number < section->pieces ? number : UINT32_MAX;
}

/* The other way round. */
static struct word *word_of(const struct mend *mend, uint32_t number, uint32_t *piece)
{
    const struct sb_parity_section *section = &mend->reader.section;

    *piece = 0;
    if (number >= section->pieces) {
        number -= section->pieces;
        *piece = mend->shape->data;
    }
    *piece += number / section->words;
    return &mend->words[number % section->words];
}

static bool is_bad(const struct mend *mend, uint32_t number)
{
    return sb_parity_is_bad(mend->bad, mend->reader.section.number, number);
}

/* How many of its pieces are to be made; 0 also if too many are bad. */
static uint32_t look_at_word(const struct mend *mend, uint32_t word, unsigned char *states)
{
    uint32_t data = mend->shape->data, count = data + mend->shape->parity;
    uint32_t wanted = 0, present = 0;

    for (uint32_t piece = 0; piece < count; piece++) {
        uint32_t number = number_of(mend, word, piece);

        states[piece] = SB_RS_PRESENT;
        if (number != UINT32_MAX && is_bad(mend, number))
            states[piece] = SB_RS_WANTED;
        else if (number != UINT32_MAX && !sb_parity_reader_knows(&mend->reader, number))
            states[piece] = SB_RS_MISSING;
        wanted += states[piece] == SB_RS_WANTED;
        present += states[piece] == SB_RS_PRESENT;
    }
    if (wanted > mend->shape->parity)
        return 0;
    /* Pieces whose CRC32C is not known are used only if the others are too few: what is made of
     * them is checked all the same. */
    for (uint32_t piece = 0; piece < count && present < data; piece++) {
        if (states[piece] == SB_RS_MISSING) {
            states[piece] = SB_RS_PRESENT;
            present++;
        }
    }
    return wanted;
}

/* A burst has few patterns, and the last one is mostly that of the next word, too. */
static enum sb_code find_pattern(struct mend *mend, const unsigned char *states, struct sb_rs **rs)
{
    enum sb_rs_state all[SB_RS_PIECES_MAX];
    struct pattern *pattern;

    for (size_t i = mend->count; i > 0; i--) {
        *rs = mend->patterns[i - 1].rs;
        if (memcmp(mend->patterns[i - 1].states, states, SB_RS_PIECES_MAX) == 0)
            return SB_OK;
    }
    *rs = NULL;
    TRY(sb_grow(&mend->patterns, &mend->capacity, mend->count + 1, sizeof(*pattern)));
    for (uint32_t i = 0; i < mend->shape->data + mend->shape->parity; i++)
        all[i] = states[i];
    pattern = &mend->patterns[mend->count];
    memcpy(pattern->states, states, sizeof(pattern->states));
    TRY(sb_rs_decoder(&pattern->rs, mend->shape->data, mend->shape->parity, all));
    mend->count++;
    *rs = pattern->rs;
    return SB_OK;
}

static enum sb_code plan(struct mend *mend)
{
    uint32_t words = mend->reader.section.words;
    size_t pieces = 0, piece = mend->shape->piece;
    unsigned char *made;

    forget(mend);
    for (uint32_t word = 0; word < words; word++) {
        unsigned char states[SB_RS_PIECES_MAX] = {0};
        uint32_t wanted = look_at_word(mend, word, states);

        mend->words[word].rs = NULL;
        if (wanted)
            TRY(find_pattern(mend, states, &mend->words[word].rs));
        pieces += wanted;
    }
    made = mend->made = calloc(pieces + 1, piece);
    if (!made)
        return sb_fail_memory();
    for (uint32_t word = 0; word < words; word++) {
        mend->words[word].made = made;
        if (mend->words[word].rs)
            made += sb_rs_outputs(mend->words[word].rs) * piece;
    }
    return SB_OK;
}

static bool is_needed(const struct mend *mend, uint32_t number)
{
    uint32_t piece;
    const struct word *word = word_of(mend, number, &piece);

    return word->rs && sb_rs_needs(word->rs, piece);
}

static void add_piece(const struct mend *mend, uint32_t number, const unsigned char *bytes)
{
    size_t size = mend->shape->piece;
    uint32_t piece;
    const struct word *word = word_of(mend, number, &piece);
    unsigned char *outputs[SB_RS_PIECES_MAX];

    for (unsigned i = 0; i < sb_rs_outputs(word->rs); i++)
        outputs[i] = word->made + i * size;
    sb_rs_add(word->rs, piece, bytes, size, outputs);
}

/* Pieces that were read. */
static enum sb_code add_read(struct mend *mend, uint32_t number, uint32_t count, bool *again)
{
    const struct sb_parity_reader *reader = &mend->reader;

    for (uint32_t i = 0; i < count; i++) {
        if (!sb_parity_reader_knows(reader, number + i) ||
            sb_parity_reader_matches(reader, number + i, i)) {
            add_piece(mend, number + i, reader->bytes + (size_t)i * mend->shape->piece);
            continue;
        }
        *again = true;
        TRY(sb_parity_bad_add(mend->bad, reader->section.number, number + i));
    }
    return SB_OK;
}

/* Reads what is necessary, and makes what was planned. *again: something that was read is bad, and
 * was added to `bad`; it has to be planned and read again. */
static enum sb_code make(struct mend *mend, bool *again)
{
    const struct sb_parity_section *section = &mend->reader.section;
    uint32_t all = section->pieces + section->checks, count, read;

    *again = false;
    for (uint32_t number = 0; number < all; number += read) {
        for (count = 0; number + count < all && is_needed(mend, number + count);)
            count++;
        read = 1;
        if (count == 0)
            continue;
        TRY(sb_parity_reader_read(&mend->reader, number, count, &read));
        TRY(add_read(mend, number, read, again));
    }
    return SB_OK;
}

/* A bad piece of the section as it was made, not checked; NULL: it could not be made. */
static const unsigned char *made_piece(const struct mend *mend, uint32_t number)
{
    uint32_t piece, place = 0;
    const struct word *word = word_of(mend, number, &piece);

    if (!word->rs)
        return NULL;
    for (uint32_t before = 0; before < piece; before++) {
        uint32_t other = number_of(mend, (uint32_t)(word - mend->words), before);

        place += other != UINT32_MAX && is_bad(mend, other);
    }
    return word->made + (size_t)place * mend->shape->piece;
}

/* What has not the bytes that the table has is lost. */
static enum sb_code pass_piece(struct mend *mend, uint32_t number)
{
    const struct sb_parity_mender *mender = mend->mender;
    const struct sb_parity_shape *shape = mend->shape;
    const unsigned char *bytes = made_piece(mend, number);
    int64_t offset = (mend->reader.section.first + number) * shape->piece;
    int64_t left = shape->size - offset;
    size_t size = left < shape->piece ? (size_t)left : shape->piece;

    if (bytes && sb_parity_reader_knows(&mend->reader, number) &&
        sb_crc32c(0, bytes, shape->piece) == mend->reader.sums[number])
        return mender->mended(mender->context, offset, bytes, size);
    return mender->lost ? mender->lost(mender->context, offset, size) : SB_OK;
}

static enum sb_code mend_section(struct mend *mend, int64_t number)
{
    bool again = true;

    TRY(sb_parity_reader_go(&mend->reader, number, false));
    /* Each time more pieces are known to be bad, in a word at most m + 1 times. */
    while (again) {
        TRY(plan(mend));
        TRY(make(mend, &again));
    }
    for (uint32_t i = 0; i < mend->reader.section.pieces; i++) {
        if (is_bad(mend, i))
            TRY(pass_piece(mend, i));
    }
    return SB_OK;
}

enum sb_code sb_parity_mend(const struct sb_parity *parity, const struct sb_file *file,
                            struct sb_parity_bad *bad, const struct sb_parity_mender *mender)
{
    CLEANUP(release)
    struct mend mend = {.shape = &parity->super.shape, .bad = bad, .mender = mender};

    TRY(sb_parity_reader_begin(&mend.reader, parity, file));
    TRY(SB_NEW_ARRAY(&mend.words, SB_PARITY_WORDS_MOST));
    for (int64_t i = 0; bad->data > 0 && i < bad->sections; i++) {
        if (bad->bits[i])
            TRY(mend_section(&mend, i));
    }
    return SB_OK;
}
