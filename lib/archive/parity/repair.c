#include "archive/parity/repair.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct sb_parity_repair *repair)
{
    for (size_t i = 0; i < repair->count; i++)
        sb_rs_free(repair->patterns[i].rs);
    repair->count = 0;
    free(repair->bytes);
    repair->bytes = NULL;
}

void sb_parity_repair_release(struct sb_parity_repair *repair)
{
    forget(repair);
    free(repair->patterns);
    free(repair->words);
}

/* The number in the section of a piece of a word; at least all of the section's: zeros. */
static uint32_t number_of(const struct sb_parity_repair *repair, uint32_t word, uint32_t piece)
{
    const struct sb_parity_section *section = &repair->reader->section;
    uint32_t data = repair->reader->parity->super.shape.data, number;

    if (piece >= data)
        return section->pieces + (piece - data) * section->words + word;
    number = piece * section->words + word;
    return number < section->pieces ? number : UINT32_MAX;
}

/* The other way round. */
static uint32_t word_of(const struct sb_parity_repair *repair, uint32_t number, uint32_t *piece)
{
    const struct sb_parity_section *section = &repair->reader->section;

    if (number < section->pieces) {
        *piece = number / section->words;
    } else {
        number -= section->pieces;
        *piece = repair->reader->parity->super.shape.data + number / section->words;
    }
    return number % section->words;
}

/* Pieces whose CRC32C is not known are used only if the others are too few: what is made of them is
 * checked all the same. */
static void use_unknown(unsigned char *states, uint32_t count, uint32_t present, uint32_t needed)
{
    for (uint32_t piece = 0; piece < count && present < needed; piece++) {
        if (states[piece] != SB_RS_MISSING)
            continue;
        states[piece] = SB_RS_PRESENT;
        present++;
    }
}

/* How many of its pieces are to be made; 0 also if too many are bad. */
static uint32_t look_at_word(const struct sb_parity_repair *repair, uint32_t word,
                             unsigned char *states)
{
    const struct sb_parity_shape *shape = &repair->reader->parity->super.shape;
    uint32_t count = shape->data + shape->parity, wanted = 0, unknown = 0;

    for (uint32_t piece = 0; piece < count; piece++) {
        uint32_t number = number_of(repair, word, piece);

        states[piece] = SB_RS_PRESENT;
        if (number == UINT32_MAX)
            continue;
        if (sb_parity_is_bad(repair->bad, repair->reader->section.number, number)) {
            states[piece] = SB_RS_WANTED;
            wanted++;
        } else if (!sb_parity_reader_knows(repair->reader, number)) {
            states[piece] = SB_RS_MISSING;
            unknown++;
        }
    }
    if (wanted > shape->parity)
        return 0;
    use_unknown(states, count, count - wanted - unknown, shape->data);
    return wanted;
}

static enum sb_code add_pattern(struct sb_parity_repair *repair, const unsigned char *states)
{
    const struct sb_parity_shape *shape = &repair->reader->parity->super.shape;
    enum sb_rs_state all[SB_RS_PIECES_MAX];
    struct sb_parity_pattern *pattern;

    TRY(sb_grow(&repair->patterns, &repair->capacity, repair->count + 1, sizeof(*pattern)));
    for (uint32_t i = 0; i < shape->data + shape->parity; i++)
        all[i] = states[i];
    pattern = &repair->patterns[repair->count];
    memcpy(pattern->states, states, sizeof(pattern->states));
    TRY(sb_rs_decoder(&pattern->rs, shape->data, shape->parity, all));
    repair->count++;
    return SB_OK;
}

/* A burst has few patterns, and the last one is mostly that of the next word, too. */
static enum sb_code find_pattern(struct sb_parity_repair *repair, const unsigned char *states,
                                 struct sb_rs **rs)
{
    size_t i = repair->count;

    while (i > 0 && memcmp(repair->patterns[i - 1].states, states, SB_RS_PIECES_MAX) != 0)
        i--;
    if (i == 0) {
        TRY(add_pattern(repair, states));
        i = repair->count;
    }
    *rs = repair->patterns[i - 1].rs;
    return SB_OK;
}

static enum sb_code allocate_words(struct sb_parity_repair *repair)
{
    if (!repair->words)
        repair->words = calloc(SB_PARITY_WORDS_MOST, sizeof(*repair->words));
    return repair->words ? SB_OK : sb_fail_memory();
}

enum sb_code sb_parity_repair_plan(struct sb_parity_repair *repair,
                                   const struct sb_parity_reader *reader,
                                   const struct sb_parity_bad *bad)
{
    uint32_t words = reader->section.words;
    size_t pieces = 0, piece = reader->parity->super.shape.piece;
    unsigned char *made;

    forget(repair);
    repair->reader = reader;
    repair->bad = bad;
    TRY(allocate_words(repair));
    for (uint32_t word = 0; word < words; word++) {
        unsigned char states[SB_RS_PIECES_MAX] = {0};
        uint32_t wanted = look_at_word(repair, word, states);

        repair->words[word].rs = NULL;
        if (wanted && find_pattern(repair, states, &repair->words[word].rs))
            return sb_error()->code;
        pieces += wanted;
    }
    made = repair->bytes = calloc(pieces + 1, piece);
    if (!made)
        return sb_fail_memory();
    for (uint32_t word = 0; word < words; word++) {
        repair->words[word].made = made;
        if (repair->words[word].rs)
            made += sb_rs_outputs(repair->words[word].rs) * piece;
    }
    return SB_OK;
}

static bool is_needed(const struct sb_parity_repair *repair, uint32_t number)
{
    uint32_t piece, word = word_of(repair, number, &piece);

    return repair->words[word].rs && sb_rs_needs(repair->words[word].rs, piece);
}

static void add_piece(const struct sb_parity_repair *repair, uint32_t number,
                      const unsigned char *bytes)
{
    size_t size = repair->reader->parity->super.shape.piece;
    uint32_t piece, word = word_of(repair, number, &piece);
    const struct sb_rs *rs = repair->words[word].rs;
    unsigned char *outputs[SB_RS_PIECES_MAX];

    for (unsigned i = 0; i < sb_rs_outputs(rs); i++)
        outputs[i] = repair->words[word].made + i * size;
    sb_rs_add(rs, piece, bytes, size, outputs);
}

static enum sb_code add_read(struct sb_parity_repair *repair, struct sb_parity_bad *bad,
                             uint32_t number, uint32_t count, bool *again)
{
    const struct sb_parity_reader *reader = repair->reader;
    size_t piece = reader->parity->super.shape.piece;

    for (uint32_t i = 0; i < count; i++) {
        if (!sb_parity_reader_knows(reader, number + i) ||
            sb_parity_reader_matches(reader, number + i, i)) {
            add_piece(repair, number + i, reader->bytes + i * piece);
            continue;
        }
        *again = true;
        TRY(sb_parity_bad_add(bad, reader->section.number, number + i));
    }
    return SB_OK;
}

enum sb_code sb_parity_repair_read(struct sb_parity_repair *repair, struct sb_parity_reader *reader,
                                   struct sb_parity_bad *bad, bool *again)
{
    uint32_t all = reader->section.pieces + reader->section.checks, count, read;

    *again = false;
    for (uint32_t number = 0; number < all; number += count) {
        if (!is_needed(repair, number)) {
            count = 1;
            continue;
        }
        for (count = 1; number + count < all && is_needed(repair, number + count);)
            count++;
        TRY(sb_parity_reader_read(reader, number, count, &read));
        TRY(add_read(repair, bad, number, read, again));
        count = read;
    }
    return SB_OK;
}

const unsigned char *sb_parity_repaired(const struct sb_parity_repair *repair, uint32_t number)
{
    uint32_t piece, word = word_of(repair, number, &piece), place = 0;
    const struct sb_rs *rs = repair->words[word].rs;

    if (!rs)
        return NULL;
    for (uint32_t before = 0; before < piece; before++) {
        uint32_t other = number_of(repair, word, before);

        place += other != UINT32_MAX &&
                 sb_parity_is_bad(repair->bad, repair->reader->section.number, other);
    }
    return repair->words[word].made + (size_t)place * repair->reader->parity->super.shape.piece;
}
