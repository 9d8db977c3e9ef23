#include "archive/parity/check.h"

#include "core/buf.h"
#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/rs/rs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES ((size_t)4 << 20) /* at once */

#define BITS 64

/* Sections that may be there beside those that bytes of either file justify. */
#define SECTIONS_SPARE 4

/* Bits of reader.pages: a copy of the page is whole. */
#define FIRST_COPY  1
#define SECOND_COPY 2

/* One section of a protected file and its parity, read by parts that may be missing. */
struct reader {
    const struct sb_parity *parity;
    const struct sb_file *file;
    struct sb_parity_section section;
    int64_t offset;       /* of the section in the parity file */
    uint32_t *sums;       /* of its pieces of data, then of parity */
    unsigned char *pages; /* which copies of each page are whole */
    unsigned char *bytes; /* READ_BYTES, what was read last */
    bool *whole;          /* of each part of that: could all of it be read? */
};

/* To be released, also after a failure. */
static enum sb_code begin(struct reader *reader, const struct sb_parity *parity,
                          const struct sb_file *file)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    size_t sums = (size_t)shape->words * (shape->data + shape->parity);

    *reader = (struct reader){.parity = parity, .file = file};
    TRY(SB_NEW_ARRAY(&reader->sums, sums));
    TRY(SB_NEW_ARRAY(&reader->pages, sums / SB_PARITY_PAGE_SUMS + 1));
    TRY(sb_alloc(&reader->bytes, READ_BYTES));
    return SB_NEW_ARRAY(&reader->whole, READ_BYTES / SB_PARITY_PIECE_LEAST);
}

static void release_reader(struct reader *reader)
{
    free(reader->sums);
    free(reader->pages);
    free(reader->bytes);
    free(reader->whole);
}

/* The disk has lost what was there; everything else is no damage of the file. */
static bool is_unreadable(void)
{
    return sb_error()->code == SB_SYSTEM &&
           (sb_error()->sys_errno == EIO || sb_error()->sys_errno == EBADMSG ||
            sb_error()->sys_errno == EUCLEAN || sb_error()->sys_errno == EILSEQ);
}

static enum sb_code read_each(struct reader *reader, const struct sb_file *file, int64_t offset,
                              size_t size, size_t step)
{
    for (size_t done = 0, i = 0; done < size; done += step, i++) {
        size_t want = size - done < step ? size - done : step, got = 0;
        enum sb_code code =
            sb_file_read(file, reader->bytes + done, want, offset + (int64_t)done, &got);

        if (code && !is_unreadable())
            return code;
        reader->whole[i] = !code && got == want;
    }
    return SB_OK;
}

/* Parts of `step` bytes; the last one may be shorter. */
static enum sb_code read_parts(struct reader *reader, const struct sb_file *file, int64_t offset,
                               size_t size, size_t step)
{
    size_t got;
    enum sb_code code = sb_file_read(file, reader->bytes, size, offset, &got);

    if (code)
        return is_unreadable() ? read_each(reader, file, offset, size, step) : code;
    for (size_t done = 0, i = 0; done < size; done += step, i++)
        reader->whole[i] = (size - done < step ? size : done + step) <= got;
    return SB_OK;
}

static enum sb_code read_copy(struct reader *reader, unsigned copy, uint32_t first, uint32_t count)
{
    const struct sb_parity_super *super = &reader->parity->super;
    int64_t offset =
        reader->offset + sb_parity_page_offset(&super->shape, &reader->section, copy, first);

    TRY(read_parts(reader, reader->parity->file, offset, (size_t)count * SB_PARITY_BLOCK,
                   SB_PARITY_BLOCK));
    for (uint32_t i = 0; i < count; i++) {
        if (reader->whole[i] &&
            sb_parity_get_page(reader->sums, reader->bytes + (size_t)i * SB_PARITY_BLOCK, super,
                               &reader->section, first + i))
            reader->pages[first + i] |= copy ? SECOND_COPY : FIRST_COPY;
    }
    return SB_OK;
}

static bool all_first(const struct reader *reader)
{
    uint32_t page = 0;

    while (page < reader->section.pages && reader->pages[page] & FIRST_COPY)
        page++;
    return page == reader->section.pages;
}

/* both: also the second copies of pages whose first is whole. */
static enum sb_code go(struct reader *reader, int64_t section, bool both)
{
    const struct sb_parity_super *super = &reader->parity->super;
    uint32_t most = READ_BYTES / SB_PARITY_BLOCK;

    sb_parity_section(&super->shape, section, &reader->section);
    reader->offset = sb_parity_offset(&super->shape, section);
    memset(reader->pages, 0, reader->section.pages);
    for (unsigned copy = 0; copy < 2 && (copy == 0 || both || !all_first(reader)); copy++) {
        for (uint32_t first = 0; first < reader->section.pages; first += most) {
            uint32_t left = reader->section.pages - first;

            TRY(read_copy(reader, copy, first, left < most ? left : most));
        }
    }
    return sb_heed_interrupt();
}

/* Is the CRC32C of this piece known? Not if both copies of its page are lost. */
static bool knows(const struct reader *reader, uint32_t number)
{
    return reader->pages[number / SB_PARITY_PAGE_SUMS] != 0;
}

/*
 * Reads up to `count` pieces from this one on, data or parity: as many as *read says, at least one.
 * A piece that cannot be read, or is not there, is not whole. What the last piece of the file lacks
 * is zeros.
 */
static enum sb_code read_pieces(struct reader *reader, uint32_t number, uint32_t count,
                                uint32_t *read)
{
    const struct sb_parity_shape *shape = &reader->parity->super.shape;
    const struct sb_parity_section *section = &reader->section;
    uint32_t most = (uint32_t)(READ_BYTES / shape->piece);
    int64_t offset, size;

    if (number < section->pieces && count > section->pieces - number)
        count = section->pieces - number;
    if (count > most)
        count = most;
    *read = count;
    size = (int64_t)count * shape->piece;
    if (number >= section->pieces)
        return read_parts(reader, reader->parity->file,
                          reader->offset +
                              sb_parity_piece_offset(shape, section, number - section->pieces),
                          (size_t)size, shape->piece);
    offset = (section->first + number) * shape->piece;
    if (size > shape->size - offset) {
        memset(reader->bytes + (shape->size - offset), 0, (size_t)(size - (shape->size - offset)));
        size = shape->size - offset;
    }
    return read_parts(reader, reader->file, offset, (size_t)size, shape->piece);
}

/* Is the piece that was read last at this place right? Only if its CRC32C is known. */
static bool matches(const struct reader *reader, uint32_t number, uint32_t place)
{
    uint32_t piece = reader->parity->super.shape.piece;

    return reader->whole[place] &&
           sb_crc32c(0, reader->bytes + (size_t)place * piece, piece) == reader->sums[number];
}
static enum sb_code bad_new(struct sb_parity_bad **out, const struct sb_parity *parity,
                            int64_t file_size)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    int64_t capacity = (int64_t)shape->words * shape->data * shape->piece;
    int64_t sections = sb_parity_sections(shape);
    int64_t most = file_size / capacity + SECTIONS_SPARE;
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;

    *out = NULL;
    if (sections > SECTIONS_SPARE)
        most += parity->size / sb_parity_span(shape, 0, 1);
    if (sections > most)
        return sb_fail(SB_DAMAGED,
                       "%s: is for a file of %" PRId64 " bytes, and almost all of both is missing",
                       parity->file->name, shape->size);
    TRY(SB_NEW(&bad));
    bad->parity = parity;
    bad->rest = SB_PARITY_COPIES - parity->whole;
    TRY(SB_NEW_ARRAY(&bad->bits, (size_t)sections + 1));
    bad->sections = sections;
    *out = TAKE(bad);
    return SB_OK;
}

void sb_parity_bad_free(struct sb_parity_bad *bad)
{
    if (!bad)
        return;
    for (int64_t i = 0; i < bad->sections; i++)
        free(bad->bits[i]);
    free(bad->bits);
    free(bad);
}

enum sb_code sb_parity_bad_add(struct sb_parity_bad *bad, int64_t section, uint32_t number)
{
    struct sb_parity_section shape;
    uint64_t bit = UINT64_C(1) << number % BITS;
    uint64_t **bits = &bad->bits[section];

    sb_parity_section(&bad->parity->super.shape, section, &shape);
    if (!*bits)
        TRY(SB_NEW_ARRAY(bits, (shape.pieces + shape.checks) / BITS + 1));
    if (!((*bits)[number / BITS] & bit))
        ++*(number < shape.pieces ? &bad->data : &bad->rest);
    (*bits)[number / BITS] |= bit;
    return SB_OK;
}

struct check {
    const struct sb_parity_shape *shape;
    struct reader reader;
    struct sb_parity_bad *bad;
    const struct sb_parity_check_options *options;
    int64_t from, to; /* pieces */
    uint32_t sum;     /* of all tables so far */
    bool all_tables;  /* were all sections' tables read, and whole? */
};

/* How many pieces from this one on are chosen, up to `to`. */
static enum sb_code count_chosen(const struct check *check, uint32_t number, uint32_t to,
                                 uint32_t *count)
{
    const struct sb_parity_check_options *options = check->options;
    const struct sb_parity_section *section = &check->reader.section;
    int64_t piece = check->shape->piece, size = check->shape->size;

    for (*count = 0; number < to; number++, ++*count) {
        int64_t from = (section->first + number) * piece, end = from + piece;
        bool chosen = knows(&check->reader, number);

        if (chosen && options->chooses && number < section->pieces)
            TRY(options->chooses(options->chooser, from, end < size ? end : size, &chosen));
        if (!chosen)
            break;
    }
    return SB_OK;
}

/* Pieces from `from` up to, not including, `to`. */
static enum sb_code check_pieces(struct check *check, uint32_t from, uint32_t to)
{
    const struct sb_parity_check_options *options = check->options;
    const struct reader *reader = &check->reader;
    uint32_t most = (uint32_t)(READ_BYTES / check->shape->piece);

    for (uint32_t number = from; number < to;) {
        uint32_t count, end = to - number > most ? number + most : to;

        TRY(count_chosen(check, number, end, &count));
        if (count == 0) {
            number++;
            continue;
        }
        TRY(read_pieces(&check->reader, number, count, &count));
        for (uint32_t i = 0; i < count; i++) {
            if (knows(reader, number + i) && !matches(reader, number + i, i))
                TRY(sb_parity_bad_add(check->bad, reader->section.number, number + i));
        }
        if (options->progress)
            options->progress(options->context, (int64_t)count * check->shape->piece);
        number += count;
    }
    return SB_OK;
}

/* The tables of the section. */
static void check_pages(struct check *check)
{
    const struct sb_parity_section *section = &check->reader.section;
    const struct sb_parity_shape *shape = check->shape;

    for (uint32_t page = 0; page < section->pages; page++) {
        unsigned whole = check->reader.pages[page];
        uint32_t first = page * SB_PARITY_PAGE_SUMS, end = first + SB_PARITY_PAGE_SUMS;
        int64_t to;

        check->bad->rest += !(whole & FIRST_COPY) + !(whole & SECOND_COPY);
        check->all_tables &= whole != 0;
        if (whole || first >= section->pieces)
            continue;
        to = (section->first + (end < section->pieces ? end : section->pieces)) * shape->piece;
        check->bad->unknown +=
            (to < shape->size ? to : shape->size) - (section->first + first) * shape->piece;
    }
    check->sum ^= sb_parity_sum(section, check->reader.sums);
}

static enum sb_code check_section(struct check *check, int64_t number)
{
    const struct sb_parity_section *section = &check->reader.section;
    int64_t from, to;

    TRY(go(&check->reader, number, true));
    check_pages(check);
    from = check->from - section->first;
    to = check->to - section->first;
    TRY(check_pieces(check, from > 0 ? (uint32_t)from : 0,
                     to < section->pieces ? (uint32_t)to : section->pieces));
    if (!check->options->parity)
        return SB_OK;
    return check_pieces(check, section->pieces, section->pieces + section->checks);
}

static bool is_section_chosen(const struct check *check, int64_t number)
{
    const struct sb_parity_shape *shape = check->shape;
    const struct sb_parity_check_options *options = check->options;
    struct sb_parity_section section;

    if (!options->chooses_section)
        return true;
    sb_parity_section(shape, number, &section);
    return options->chooses_section(options->chooser, section.first * shape->piece,
                                    (section.first + section.pieces) * shape->piece);
}

static enum sb_code check_sections(struct check *check)
{
    int64_t first = sb_parity_section_of(check->shape, check->from);
    int64_t last = sb_parity_section_of(check->shape, check->to - 1);

    for (int64_t i = first; i <= last; i++) {
        if (is_section_chosen(check, i))
            TRY(check_section(check, i));
        else
            check->all_tables = false;
    }
    check->all_tables &= first == 0 && last == sb_parity_sections(check->shape) - 1;
    check->bad->of_another = check->all_tables && check->sum != check->reader.parity->super.sum;
    return SB_OK;
}

static void release_check(struct check *check)
{
    release_reader(&check->reader);
    sb_parity_bad_free(check->bad);
}

enum sb_code sb_parity_check(struct sb_parity_bad **bad, const struct sb_parity *parity,
                             const struct sb_file *file,
                             const struct sb_parity_check_options *options)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    CLEANUP(release_check)
    struct check check = {.shape = shape, .options = options, .all_tables = true};
    int64_t size = options->to && options->to < shape->size ? options->to : shape->size;
    struct stat st;

    *bad = NULL;
    check.from = options->from / shape->piece;
    check.to = size / shape->piece + (size % shape->piece != 0);
    if (fstat(file->fd, &st))
        return sb_fail_errno(errno, "%s", file->name);
    TRY(bad_new(&check.bad, parity, st.st_size));
    TRY(begin(&check.reader, parity, file));
    if (check.from < check.to)
        TRY(check_sections(&check));
    *bad = TAKE(check.bad);
    return SB_OK;
}
/*
 * The bad pieces of one section are made: first it is planned which word needs what, then that is
 * read in the order of the disk.
 */

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
    struct reader reader;
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

static void release_mend(struct mend *mend)
{
    forget(mend);
    free(mend->patterns);
    free(mend->words);
    release_reader(&mend->reader);
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
    const uint64_t *bits = mend->bad->bits[mend->reader.section.number];

    return bits && bits[number / BITS] >> number % BITS & 1;
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
        else if (number != UINT32_MAX && !knows(&mend->reader, number))
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
    TRY(SB_NEW_ARRAY(&mend->made, (pieces + 1) * piece));
    made = mend->made;
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
    const struct reader *reader = &mend->reader;

    for (uint32_t i = 0; i < count; i++) {
        if (!knows(reader, number + i) || matches(reader, number + i, i)) {
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
        TRY(read_pieces(&mend->reader, number, count, &read));
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

    if (bytes && knows(&mend->reader, number) &&
        sb_crc32c(0, bytes, shape->piece) == mend->reader.sums[number])
        return mender->mended(mender->context, offset, bytes, size);
    return mender->lost ? mender->lost(mender->context, offset, size) : SB_OK;
}

static enum sb_code mend_section(struct mend *mend, int64_t number)
{
    bool again = true;

    TRY(go(&mend->reader, number, false));
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
    CLEANUP(release_mend)
    struct mend mend = {.shape = &parity->super.shape, .bad = bad, .mender = mender};

    TRY(begin(&mend.reader, parity, file));
    TRY(SB_NEW_ARRAY(&mend.words, SB_PARITY_WORDS_MOST));
    for (int64_t i = 0; bad->data > 0 && i < bad->sections; i++) {
        if (bad->bits[i])
            TRY(mend_section(&mend, i));
    }
    return SB_OK;
}
