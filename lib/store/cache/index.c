#include "store/cache/index.h"

#include "core/little_endian.h"
#include "store/cache/impl.h"
#include "store/out/out_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PROTOCOL_FIRST 2
#define PROTOCOL_LAST  5

#define WRITTEN_PROTOCOL 4
#define BATCH            1000 /* items for each SETITEMS, as Python's pickler has it */

enum {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_BINUNICODE = 'X',
    OP_EMPTY_DICT = '}',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_SETITEMS = 'u',
    OP_PROTO = 0x80,
    OP_TUPLE2 = 0x86,
    OP_LONG1 = 0x8a,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95,
};

struct pickle {
    const unsigned char *data;
    const unsigned char *at;
    const unsigned char *end;
};

static enum sb_code fail_cut(void)
{
    return sb_fail(SB_FORMAT, "ends too early");
}

/* The opcode was taken last. */
static enum sb_code fail_opcode(const struct pickle *pickle, int opcode)
{
    return sb_fail(SB_FORMAT,
                   "has opcode 0x%02x at byte %lld, where a table of keys and places has another",
                   (unsigned)opcode, (long long)(pickle->at - pickle->data - 1));
}

/* NULL: there are not so many bytes. */
static inline const unsigned char *take(struct pickle *pickle, uint64_t size)
{
    const unsigned char *taken = pickle->at;

    if (size > (uint64_t)(pickle->end - pickle->at))
        return NULL;
    pickle->at += size;
    return taken;
}

/*
 * The next opcode that is not about frames and the memo: nothing is ever fetched from that, and
 * frames are an advice to who reads from a stream. SB_FORMAT: there is none.
 */
static inline enum sb_code next_opcode(struct pickle *pickle, int *opcode)
{
    for (;;) {
        size_t argument;

        if (pickle->at == pickle->end)
            return fail_cut();
        *opcode = *pickle->at++;
        if (*opcode == OP_MEMOIZE)
            argument = 0;
        else if (*opcode == OP_BINPUT)
            argument = 1;
        else if (*opcode == OP_LONG_BINPUT)
            argument = 4;
        else if (*opcode == OP_FRAME)
            argument = 8;
        else
            return SB_OK;
        if (!take(pickle, argument))
            return fail_cut();
    }
}

static inline enum sb_code read_text(struct pickle *pickle, int opcode,
                                     struct sb_pickle_entry *entry)
{
    size_t width = opcode == OP_SHORT_BINUNICODE ? 1 : opcode == OP_BINUNICODE ? 4 : 8;
    const unsigned char *at = take(pickle, width);
    uint64_t size;

    if (!at)
        return fail_cut();
    size = width == 1 ? *at : width == 4 ? sb_get_u32(at) : sb_get_u64(at);
    at = take(pickle, size);
    if (!at)
        return fail_cut();
    entry->key = (const char *)at;
    entry->key_size = (size_t)size;
    return SB_OK;
}

/* The argument of LONG1: two's complement of any width, up to what an int64_t holds. */
static enum sb_code read_long(struct pickle *pickle, int64_t *value)
{
    const unsigned char *width = take(pickle, 1);
    const unsigned char *at = width ? take(pickle, *width) : NULL;
    uint64_t bits;

    if (!at)
        return fail_cut();
    if (*width > sizeof(bits))
        return sb_fail(SB_FORMAT, "has a number that is no place");
    bits = *width > 0 && at[*width - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = *width; i > 0; i--)
        bits = bits << 8 | at[i - 1];
    *value = (int64_t)bits;
    return SB_OK;
}

static inline enum sb_code read_int(struct pickle *pickle, int64_t *value)
{
    const unsigned char *at;
    int opcode = 0;

    TRY(next_opcode(pickle, &opcode));
    if (opcode == OP_LONG1)
        return read_long(pickle, value);
    if (opcode != OP_BININT1 && opcode != OP_BININT2 && opcode != OP_BININT)
        return fail_opcode(pickle, opcode);
    at = take(pickle, opcode == OP_BININT1 ? 1 : opcode == OP_BININT2 ? 2 : 4);
    if (!at)
        return fail_cut();
    if (opcode == OP_BININT1)
        *value = *at;
    else if (opcode == OP_BININT2)
        *value = sb_get_u16(at);
    else
        *value = (int32_t)sb_get_u32(at);
    return SB_OK;
}

static enum sb_code expect(struct pickle *pickle, int wanted)
{
    int opcode = 0;

    TRY(next_opcode(pickle, &opcode));
    return opcode == wanted ? SB_OK : fail_opcode(pickle, opcode);
}

/* A key, whose opcode was taken already, and its place. */
static inline enum sb_code read_entry(struct pickle *pickle, int opcode,
                                      struct sb_pickle_entry *entry)
{
    if (opcode != OP_SHORT_BINUNICODE && opcode != OP_BINUNICODE && opcode != OP_BINUNICODE8)
        return fail_opcode(pickle, opcode);
    TRY(read_text(pickle, opcode, entry));
    TRY(read_int(pickle, &entry->segment));
    TRY(read_int(pickle, &entry->row));
    TRY(expect(pickle, OP_TUPLE2));
    if (entry->segment < 0 || entry->row < 0)
        return sb_fail(SB_FORMAT, "has a number that is no place");
    return SB_OK;
}

/* What is between MARK, which was taken already, and SETITEMS. */
static enum sb_code read_items(struct pickle *pickle, sb_pickle_each *each, void *context)
{
    struct sb_pickle_entry entry = {0};
    int opcode = 0;

    for (;;) {
        TRY(next_opcode(pickle, &opcode));
        if (opcode == OP_SETITEMS)
            return SB_OK;
        TRY(read_entry(pickle, opcode, &entry));
        TRY(each(context, &entry));
    }
}

enum sb_code sb_pickle_index_read(const void *data, size_t size, sb_pickle_each *each,
                                  void *context)
{
    struct pickle pickle = {.data = data, .at = data, .end = (const unsigned char *)data + size};
    const unsigned char *head = take(&pickle, 2);
    struct sb_pickle_entry entry = {0};
    int opcode = 0;

    if (!head || head[0] != OP_PROTO || head[1] < PROTOCOL_FIRST || head[1] > PROTOCOL_LAST)
        return sb_fail(SB_FORMAT, "is no pickle of protocol %d to %d", PROTOCOL_FIRST,
                       PROTOCOL_LAST);
    TRY(expect(&pickle, OP_EMPTY_DICT));
    for (;;) {
        TRY(next_opcode(&pickle, &opcode));
        if (opcode == OP_STOP)
            return SB_OK;
        if (opcode == OP_MARK) {
            TRY(read_items(&pickle, each, context));
        } else {
            TRY(read_entry(&pickle, opcode, &entry));
            TRY(expect(&pickle, OP_SETITEM));
            TRY(each(context, &entry));
        }
    }
}

enum sb_code sb_pickle_index_begin(struct sb_pickle_writer *writer, sb_each_block *each,
                                   void *context)
{
    static const unsigned char head[] = {OP_PROTO, WRITTEN_PROTOCOL, OP_EMPTY_DICT};

    *writer = (struct sb_pickle_writer){.each = each, .context = context};
    return each(context, head, sizeof(head));
}

static uint8_t *put_text_head(uint8_t *at, size_t size)
{
    if (size <= UINT8_MAX) {
        *at++ = OP_SHORT_BINUNICODE;
        *at++ = (uint8_t)size;
        return at;
    }
    if (size <= UINT32_MAX) {
        *at++ = OP_BINUNICODE;
        return sb_put_u32(at, (uint32_t)size);
    }
    *at++ = OP_BINUNICODE8;
    return sb_put_u64(at, size);
}

static uint8_t *put_int(uint8_t *at, int64_t value)
{
    if (value >= 0 && value <= UINT8_MAX) {
        *at++ = OP_BININT1;
        *at++ = (uint8_t)value;
        return at;
    }
    if (value >= 0 && value <= UINT16_MAX) {
        *at++ = OP_BININT2;
        return sb_put_u16(at, (unsigned)value);
    }
    if (value >= INT32_MIN && value <= INT32_MAX) {
        *at++ = OP_BININT;
        return sb_put_u32(at, (uint32_t)value);
    }
    *at++ = OP_LONG1;
    *at++ = sizeof(value);
    return sb_put_u64(at, (uint64_t)value);
}

enum sb_code sb_pickle_index_add(struct sb_pickle_writer *writer,
                                 const struct sb_pickle_entry *entry)
{
    uint8_t head[11], place[21];
    uint8_t *head_end = head, *place_end;

    if (writer->entries % BATCH == 0) {
        if (writer->entries > 0)
            *head_end++ = OP_SETITEMS;
        *head_end++ = OP_MARK;
    }
    head_end = put_text_head(head_end, entry->key_size);
    place_end = put_int(put_int(place, entry->segment), entry->row);
    *place_end++ = OP_TUPLE2;
    writer->entries++;
    TRY(writer->each(writer->context, head, (size_t)(head_end - head)));
    TRY(writer->each(writer->context, entry->key, entry->key_size));
    return writer->each(writer->context, place, (size_t)(place_end - place));
}

enum sb_code sb_pickle_index_end(struct sb_pickle_writer *writer)
{
    static const unsigned char tail[] = {OP_SETITEMS, OP_STOP};
    bool none = writer->entries == 0;

    return writer->each(writer->context, tail + none, sizeof(tail) - none);
}

/* The file */

void sb_cache_index_release(struct sb_cache_index *index)
{
    sb_outfile_free(index->file);
    sb_buf_release(&index->path);
}

static enum sb_code put(void *file, const void *data, size_t size)
{
    return sb_outfile_write(file, data, size);
}

enum sb_code sb_cache_index_begin(struct sb_cache_index *index, const char *dir)
{
    struct sb_stream_sink_options options = {.force = true};

    *index = (struct sb_cache_index){0};
    TRY(sb_cache_join(&index->path, dir, "index.pkl"));
    options.path = index->path.data;
    index->existing = stat(options.path, &index->before) == 0;
    if (!index->existing && errno != ENOENT)
        return sb_fail_errno(errno, "%s", options.path);
    if (index->existing && !S_ISREG(index->before.st_mode))
        return sb_fail(SB_EXISTS, "%s: is not a regular file; remove it", options.path);
    options.like = index->existing ? &index->before : NULL;
    TRY(sb_outfile_open(&index->file, &options));
    return sb_pickle_index_begin(&index->entries, put, index->file);
}

enum sb_code sb_cache_index_commit(struct sb_cache_index *index, bool *done)
{
    enum sb_code code = sb_pickle_index_end(&index->entries);

    if (!code)
        code = sb_outfile_commit(index->file);
    *done = sb_outfile_is_done(index->file);
    return code;
}

struct index_writer {
    struct sb_cache *cache;
    const char *dir;
    struct sb_cache_index index;
    int64_t *numbers; /* of the segments, in the order of the cache */
    uint32_t segments;
};

static enum sb_code note_segments(struct index_writer *writer)
{
    struct sb_cache_segment segment;

    writer->segments = sb_cache_segment_count(writer->cache);
    TRY(SB_NEW_ARRAY(&writer->numbers, (size_t)writer->segments + 1));
    for (uint32_t i = 0; i < writer->segments; i++) {
        TRY(sb_cache_segment(writer->cache, i, &segment));
        writer->numbers[i] = segment.number;
        /* Who may not read it does not know that its keys are lost. */
        if (segment.damaged && access(segment.path, R_OK))
            return sb_fail_errno(
                errno, "%s: cannot be read, and index.pkl would be without its keys", segment.path);
    }
    return SB_OK;
}

static enum sb_code add_rows(struct index_writer *writer)
{
    struct sb_pickle_entry entry;
    struct sb_cache_row row;
    enum sb_code code = SB_OK;

    sb_cache_rewind(writer->cache);
    while (!(code = sb_cache_next(writer->cache, &row))) {
        if (row.superseded)
            continue;
        entry = (struct sb_pickle_entry){.key = row.key.text,
                                         .key_size = row.key.size,
                                         .segment = writer->numbers[row.place.segment],
                                         .row = row.place.row};
        TRY(sb_pickle_index_add(&writer->index.entries, &entry));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code changed(const struct index_writer *writer)
{
    return sb_fail(SB_CHANGED,
                   "%s: is being written to, and its index.pkl was left alone; try again when its "
                   "job has ended",
                   writer->dir);
}

static enum sb_code count_segment(void *context, const char *directory, const struct dirent *entry)
{
    uint32_t *count = context;
    int64_t number;

    (void)directory;
    *count += sb_cache_segment_number(entry->d_name, &number);
    return SB_OK;
}

/* What a job has written since the cache was opened is newer than what would replace it. */
static enum sb_code look_again(struct index_writer *writer)
{
    const struct stat *before = &writer->index.before;
    struct stat now;
    bool existing = stat(writer->index.path.data, &now) == 0;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    uint32_t count = 0;

    if (existing != writer->index.existing ||
        (existing && (now.st_ino != before->st_ino || now.st_size != before->st_size ||
                      now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
                      now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)))
        return changed(writer);
    /* Are there as many segments as the cache has? Their numbers only grow. */
    TRY(sb_cache_join(&path, writer->dir, "segments"));
    TRY(sb_cache_each_name(path.data, 0, count_segment, &count));
    return count == writer->segments ? SB_OK : changed(writer);
}

static void release_writer(struct index_writer *writer)
{
    sb_cache_index_release(&writer->index);
    free(writer->numbers);
}

enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir, bool *done)
{
    CLEANUP(release_writer) struct index_writer writer = {.cache = cache, .dir = dir};

    *done = false;
    TRY(sb_cache_index_begin(&writer.index, dir));
    TRY(note_segments(&writer));
    TRY(add_rows(&writer));
    TRY(look_again(&writer));
    return sb_cache_index_commit(&writer.index, done);
}
