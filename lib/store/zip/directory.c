#include "store/zip/impl.h"

#include "core/array.h"

#include <stdlib.h>

#define TURN        ((int64_t)1 << 32)
#define WINDOW_SIZE 262144 /* more than the longest record: 46 bytes and three of up to 65535 */

/*
 * The place of the end record in the tail of the file, searched from its end. A record whose
 * comment ends with the file is better than one with bytes after it, and that better than one whose
 * comment is cut short. -1: there is none.
 */
static int64_t find_signature(const uint8_t *tail, size_t size)
{
    int64_t loose = -1, cut = -1;

    for (int64_t i = (int64_t)size - SB_ZIP_END_SIZE; i >= 0; i--) {
        size_t end;

        if (sb_get_u32(tail + i) != SB_ZIP_END)
            continue;
        end = (size_t)i + SB_ZIP_END_SIZE + sb_get_u16(tail + i + 20);
        if (end == size)
            return i;
        if (end < size && loose < 0)
            loose = i;
        if (end > size && cut < 0)
            cut = i;
    }
    return loose < 0 ? cut : loose;
}

static enum sb_code no_end(const struct sb_file *file)
{
    uint8_t head[4] = {0};

    if (file->st.st_size >= (int64_t)sizeof(head))
        TRY(sb_file_read_exactly(file, head, sizeof(head), 0));
    if (sb_get_u32(head) == SB_ZIP_LOCAL)
        return sb_fail(SB_DAMAGED, "%s: the end of the zip is missing: it was cut short",
                       file->name);
    if (sb_get_u32(head) == SB_ZIP_DESCRIPTOR)
        return sb_fail(SB_FORMAT, "%s: is the first file of a split zip, without the others",
                       file->name);
    return sb_fail(SB_FORMAT, "%s: not a zip file", file->name);
}

static enum sb_code not_all(const struct sb_file *file, unsigned volumes)
{
    return sb_fail(SB_FORMAT,
                   "%s: is not all of a zip that is split over %u files; join all of them in "
                   "order: cat X.z01 X.z02 ... X.zip",
                   file->name, volumes);
}

struct raw_end {
    uint32_t volumes;
    uint64_t count;
    uint64_t size;
    uint64_t offset;
    int64_t at; /* of the end record right after the directory */
};

/*
 * Reads the zip64 end record, where the locator before `at` says that there is one. It is also
 * looked for right before the locator: the locator does not know of bytes that were put before the
 * zip.
 */
static enum sb_code read_end_64(const struct sb_file *file, struct raw_end *end)
{
    uint8_t points[SB_ZIP_END_64_POINTS_SIZE], record[SB_ZIP_END_64_SIZE];
    int64_t limit = end->at - (int64_t)sizeof(points);
    int64_t places[2] = {limit - (int64_t)sizeof(record)};
    uint64_t recorded;

    if (places[0] < 0)
        return SB_OK;
    TRY(sb_file_read_exactly(file, points, sizeof(points), limit));
    if (sb_get_u32(points) != SB_ZIP_END_64_POINTS)
        return SB_OK;
    recorded = sb_get_u64(points + 8);
    places[1] = recorded <= (uint64_t)places[0] ? (int64_t)recorded : places[0];
    for (size_t i = 0; i < 2; i++) {
        TRY(sb_file_read_exactly(file, record, sizeof(record), places[i]));
        if (sb_get_u32(record) != SB_ZIP_END_64)
            continue;
        end->at = places[i];
        end->volumes = sb_get_u32(record + 16);
        end->volumes += end->volumes < UINT32_MAX;
        end->count = sb_get_u64(record + 32);
        end->size = sb_get_u64(record + 40);
        end->offset = sb_get_u64(record + 48);
        return SB_OK;
    }
    return sb_fail(SB_DAMAGED, "%s: the zip64 end record is not where it should be", file->name);
}

static enum sb_code find_at(const struct sb_file *file, uint32_t signature, int64_t at, bool *found)
{
    uint8_t head[4];
    size_t got;
    enum sb_code code = sb_file_read(file, head, sizeof(head), at, &got);

    *found = !code && got == sizeof(head) && sb_get_u32(head) == signature;
    return code;
}

/* Without 64 bits, sizes are right only if each member follows the one before, and the directory
 * the last one. */
static enum sb_code check_turns(const struct sb_file *file, const struct sb_zip_end *end)
{
    CLEANUP(sb_zip_walk_end) struct sb_zip_walk walk = {0};
    struct sb_zip_record record = {.defect = NULL};
    bool right = true;
    enum sb_code code = SB_OK;

    TRY(sb_zip_walk_begin(&walk, file, end));
    while (code == SB_OK && right) {
        code = sb_zip_walk_next(&walk, &record);
        if (code == SB_OK)
            code = find_at(file, SB_ZIP_LOCAL, record.offset, &right);
        /* Deflate makes nothing longer by a thousandth. */
        right = right && !record.defect && record.size + record.size / 1000 + 64 >= record.packed;
    }
    right = right && end->start - walk.last_end < TURN;
    if (right || (code && code != SB_END))
        return code == SB_END ? SB_OK : code;
    return sb_fail(SB_FORMAT,
                   "%s: has a member over 4 GiB, and only 32 bits for sizes, as macOS writes it; "
                   "unpack it with 7z, or with ditto on macOS",
                   file->name);
}

/*
 * Something moved the directory away from its offset: is that before the members too, or between?
 * The place of the first record's member shows it.
 */
static enum sb_code place_members(const struct sb_file *file, struct sb_zip_end *end)
{
    uint8_t record[SB_ZIP_CENTRAL_SIZE];
    bool moved, unmoved;
    int64_t offset;

    if (end->base == 0 || end->size < SB_ZIP_CENTRAL_SIZE)
        return SB_OK;
    TRY(sb_file_read_exactly(file, record, sizeof(record), end->start));
    offset = sb_get_u32(record + 42);
    TRY(find_at(file, SB_ZIP_LOCAL, end->base + offset, &moved));
    TRY(find_at(file, SB_ZIP_LOCAL, offset, &unmoved));
    end->turns = unmoved && end->wraps && end->base % TURN == 0;
    if (unmoved && (!moved || end->turns))
        end->base = 0;
    return end->turns ? check_turns(file, end) : SB_OK;
}

/*
 * The directory ends where the end record begins; its offset as recorded is less by what was put
 * before the zip. Where there are bytes between the two (some writers sign there), the offset
 * counts.
 */
static enum sb_code place_directory(const struct sb_file *file, const struct raw_end *raw,
                                    struct sb_zip_end *out)
{
    int64_t places[2];
    bool found;

    if (raw->size > (uint64_t)raw->at || raw->offset > (uint64_t)raw->at - raw->size)
        return sb_fail(SB_DAMAGED,
                       "%s: the central directory does not fit into the file: it was cut at its "
                       "beginning, or is damaged",
                       file->name);
    out->size = (int64_t)raw->size;
    out->count = raw->count > INT64_MAX ? INT64_MAX : (int64_t)raw->count;
    places[0] = raw->at - out->size;
    places[1] = (int64_t)raw->offset;
    for (size_t i = 0; i < 2; i++) {
        out->start = places[i];
        out->base = places[i] - (int64_t)raw->offset;
        if (raw->size == 0)
            return SB_OK;
        TRY(find_at(file, SB_ZIP_CENTRAL, places[i], &found));
        if (found)
            return place_members(file, out);
    }
    return sb_fail(SB_DAMAGED, "%s: the central directory is not where it should be", file->name);
}

/* Where the bytes of the member end; a descriptor may follow. SB_FORMAT: there is no member. */
static enum sb_code find_data_end(const struct sb_file *file, const struct sb_zip_record *record,
                                  const struct sb_zip_end *end, int64_t *out)
{
    uint8_t header[SB_ZIP_LOCAL_SIZE];

    TRY(sb_file_read_exactly(file, header, sizeof(header), record->offset));
    *out = record->offset + SB_ZIP_LOCAL_SIZE + sb_get_u16(header + 26) + sb_get_u16(header + 28) +
           record->packed;
    return sb_get_u32(header) == SB_ZIP_LOCAL ? SB_OK : not_all(file, end->volumes);
}

/* Where a volume began, by the first member in it: that follows the last one of those before. */
static enum sb_code find_start(const struct sb_file *file, const struct sb_zip_record *last,
                               const struct sb_zip_record *record, struct sb_zip_end *end)
{
    static const int descriptors[] = {0, 12, 16, 20, 24};
    int64_t data_end;

    TRY(find_data_end(file, last, end, &data_end));
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++) {
        int64_t at = data_end + descriptors[i];
        bool found;

        TRY(find_at(file, SB_ZIP_LOCAL, at, &found));
        if (!found || record->recorded > (uint64_t)at)
            continue;
        end->starts[record->volume] = at - (int64_t)record->recorded;
        return SB_OK;
    }
    return not_all(file, end->volumes);
}

/* The starts of volumes that were joined to one file, by their members in their order. */
static enum sb_code find_starts(const struct sb_file *file, struct sb_zip_end *end)
{
    struct sb_zip_record record, last = {.offset = 0};
    CLEANUP(sb_zip_walk_end) struct sb_zip_walk walk = {0};
    int64_t ignored;

    end->starts[0] = 0;
    TRY(sb_zip_walk_begin(&walk, file, end));
    for (;;) {
        int64_t at = walk.at, seen = walk.seen;
        enum sb_code code = sb_zip_walk_next(&walk, &record);

        if (code)
            return code == SB_END ? SB_OK : code;
        if (record.volume < end->volumes && end->starts[record.volume] < 0) {
            TRY(find_start(file, &last, &record, end));
            walk.at = at;
            walk.seen = seen;
        } else if (!record.defect) {
            last = record;
            if (seen == 0)
                TRY(find_data_end(file, &last, end, &ignored));
        }
    }
}

static enum sb_code place_volumes(const struct sb_file *file, const struct raw_end *raw,
                                  struct sb_zip_end *out)
{
    bool found = false;

    if (raw->volumes > SB_ZIP_IN_64_SHORT || raw->size > (uint64_t)raw->at)
        return not_all(file, raw->volumes);
    out->size = (int64_t)raw->size;
    out->start = raw->at - out->size;
    out->count = raw->count > INT64_MAX ? INT64_MAX : (int64_t)raw->count;
    TRY(find_at(file, SB_ZIP_CENTRAL, out->start, &found));
    if (!found && out->size > 0)
        return not_all(file, raw->volumes);
    TRY(sb_alloc(&out->starts, raw->volumes * sizeof(*out->starts)));
    for (unsigned i = 0; i < raw->volumes; i++)
        out->starts[i] = sb_file_start(file, i);
    return file->parts ? SB_OK : find_starts(file, out);
}

void sb_zip_end_release(struct sb_zip_end *end)
{
    free(end->starts);
    end->starts = NULL;
}

static enum sb_code read_end(const struct sb_file *file, const uint8_t *record, int64_t at,
                             struct sb_zip_end *out)
{
    struct raw_end raw = {
        .volumes = sb_get_u16(record + 4) + 1U,
        .count = sb_get_u16(record + 10),
        .size = sb_get_u32(record + 12),
        .offset = sb_get_u32(record + 16),
        .at = at,
    };
    bool in_64 = raw.volumes == SB_ZIP_IN_64_SHORT + 1U || raw.count == SB_ZIP_IN_64_SHORT ||
                 raw.size == SB_ZIP_IN_64 || raw.offset == SB_ZIP_IN_64;

    if (in_64)
        TRY(read_end_64(file, &raw));
    out->wraps = raw.at == at;
    out->comment = sb_get_u16(record + 20);
    out->volumes = raw.volumes;
    return raw.volumes == 1 ? place_directory(file, &raw, out) : place_volumes(file, &raw, out);
}

/* NULs are no junk: bsdtar fills up the last block that it writes to a pipe. */
static int64_t measure_junk(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0)
            return (int64_t)size;
    }
    return 0;
}

enum sb_code sb_zip_find_end(const struct sb_file *file, struct sb_zip_end *out)
{
    size_t most = SB_ZIP_END_SIZE + SB_ZIP_COMMENT_MAX;
    size_t size = file->st.st_size < (int64_t)most ? (size_t)file->st.st_size : most;
    int64_t tail_at = file->st.st_size - (int64_t)size;
    CLEANUP(sb_freep) uint8_t *tail = NULL;
    int64_t found;
    enum sb_code code;

    *out = (struct sb_zip_end){0};
    TRY(sb_alloc(&tail, most));
    TRY(sb_file_read_exactly(file, tail, size, tail_at));
    found = find_signature(tail, size);
    if (found < 0)
        return no_end(file);
    code = read_end(file, tail + found, tail_at + found, out);
    found += SB_ZIP_END_SIZE;
    out->cut = found + (int64_t)out->comment > (int64_t)size;
    out->comment = out->cut ? size - (size_t)found : out->comment;
    found += (int64_t)out->comment;
    out->junk = measure_junk(tail + found, size - (size_t)found);
    return code;
}

enum sb_code sb_zip_walk_begin(struct sb_zip_walk *walk, const struct sb_file *file,
                               const struct sb_zip_end *end)
{
    *walk = (struct sb_zip_walk){.file = file, .end = end, .at = end->start};
    return sb_alloc(&walk->window, WINDOW_SIZE);
}

void sb_zip_walk_end(struct sb_zip_walk *walk)
{
    free(walk->window);
    walk->window = NULL;
}

/* The next `size` bytes of the directory, which are in the window then. */
static enum sb_code need(struct sb_zip_walk *walk, size_t size, const uint8_t **data)
{
    int64_t left = walk->end->start + walk->end->size - walk->at;
    size_t before = (size_t)(walk->at - walk->window_at);

    if ((int64_t)size > left)
        return sb_fail(SB_DAMAGED, "%s: the central directory ends within a record",
                       walk->file->name);
    if (walk->held < before || walk->held - before < size) {
        size_t want = left < WINDOW_SIZE ? (size_t)left : WINDOW_SIZE;

        walk->held = before = 0;
        walk->window_at = walk->at;
        TRY(sb_file_read_exactly(walk->file, walk->window, want, walk->at));
        walk->held = want;
    }
    *data = walk->window + before;
    return SB_OK;
}

bool sb_zip_next_extra(const uint8_t **at, const uint8_t *end, struct sb_zip_extra *out)
{
    if (end - *at < 4)
        return false;
    out->id = sb_get_u16(*at);
    out->size = sb_get_u16(*at + 2);
    out->data = *at + 4;
    if (out->size > (size_t)(end - out->data))
        return false;
    *at = out->data + out->size;
    return true;
}

struct wide {
    uint64_t size, packed, offset;
};

/* The zip64 field holds those numbers that do not fit elsewhere, in this order. */
static bool read_wide(const struct sb_zip_record *record, struct wide *wide)
{
    uint64_t *const numbers[] = {&wide->size, &wide->packed, &wide->offset};
    const uint8_t *at = record->extra;
    struct sb_zip_extra extra;
    size_t used = 0;

    if (wide->size != SB_ZIP_IN_64 && wide->packed != SB_ZIP_IN_64 && wide->offset != SB_ZIP_IN_64)
        return true;
    while (sb_zip_next_extra(&at, record->extra + record->extra_size, &extra)) {
        if (extra.id != SB_ZIP_EXTRA_64)
            continue;
        for (size_t i = 0; i < 3; i++) {
            if (*numbers[i] != SB_ZIP_IN_64)
                continue;
            if (extra.size - used < 8)
                return false;
            *numbers[i] = sb_get_u64(extra.data + used);
            used += 8;
        }
        return true;
    }
    return true;
}

/* Does the member lie before the directory? Its bytes do, if nothing else is between. */
static const char *place_record(struct sb_zip_record *record, struct wide wide,
                                const struct sb_zip_end *end, int64_t last_end)
{
    uint64_t space = (uint64_t)(end->start - end->base);

    record->recorded = wide.offset;
    if (end->turns && last_end > (int64_t)wide.offset)
        wide.offset += (uint64_t)((last_end - (int64_t)wide.offset + TURN - 1) / TURN * TURN);
    if (end->starts &&
        (record->volume >= end->volumes || end->starts[record->volume] < 0 ||
         __builtin_add_overflow(wide.offset, (uint64_t)end->starts[record->volume], &wide.offset)))
        return "its offset lies outside of the zip";
    if (wide.offset > space || space - wide.offset < SB_ZIP_LOCAL_SIZE)
        return "its offset lies outside of the zip";
    if (wide.packed > space - wide.offset - SB_ZIP_LOCAL_SIZE)
        return "its bytes reach beyond where the central directory begins";
    if (wide.size > INT64_MAX)
        return "its size is out of range";
    record->two_sizes = record->method == SB_ZIP_STORED && wide.size != wide.packed &&
                        !(record->flags & SB_ZIP_ENCRYPTED);
    record->offset = end->base + (int64_t)wide.offset;
    record->packed = (int64_t)wide.packed;
    record->size = record->two_sizes ? record->packed : (int64_t)wide.size;
    return NULL;
}

static void read_record(const struct sb_zip_walk *walk, const uint8_t *data,
                        struct sb_zip_record *record)
{
    struct wide wide = {
        .packed = sb_get_u32(data + 20),
        .size = sb_get_u32(data + 24),
        .offset = sb_get_u32(data + 42),
    };

    *record = (struct sb_zip_record){
        .version = data[4],
        .host = data[5],
        .flags = sb_get_u16(data + 8),
        .method = sb_get_u16(data + 10),
        .dos_time = sb_get_u16(data + 12),
        .dos_date = sb_get_u16(data + 14),
        .crc = sb_get_u32(data + 16),
        .volume = sb_get_u16(data + 34),
        .attributes = sb_get_u32(data + 38),
        .name = data + SB_ZIP_CENTRAL_SIZE,
        .name_size = sb_get_u16(data + 28),
        .extra_size = sb_get_u16(data + 30),
        .comment_size = sb_get_u16(data + 32),
    };
    record->extra = record->name + record->name_size;
    if (!read_wide(record, &wide))
        record->defect = "its zip64 extra field is too short";
    else
        record->defect = place_record(record, wide, walk->end, walk->last_end);
}

bool sb_zip_walk_is_complete(const struct sb_zip_walk *walk)
{
    int64_t missing = walk->end->count - walk->seen;

    return walk->end->wraps ? missing % (int64_t)(SB_ZIP_IN_64_SHORT + 1) == 0 : missing == 0;
}

enum sb_code sb_zip_walk_next(struct sb_zip_walk *walk, struct sb_zip_record *record)
{
    const uint8_t *data;
    size_t size;

    if (walk->at == walk->end->start + walk->end->size)
        return SB_END;
    TRY(need(walk, 4, &data));
    /* A digital signature may follow the last record. */
    if (sb_get_u32(data) != SB_ZIP_CENTRAL && sb_zip_walk_is_complete(walk))
        return SB_END;
    TRY(need(walk, SB_ZIP_CENTRAL_SIZE, &data));
    if (sb_get_u32(data) != SB_ZIP_CENTRAL)
        return sb_fail(SB_DAMAGED, "%s: record %lld of the central directory is damaged",
                       walk->file->name, (long long)walk->seen + 1);
    size = (size_t)SB_ZIP_CENTRAL_SIZE + sb_get_u16(data + 28) + sb_get_u16(data + 30) +
           sb_get_u16(data + 32);
    TRY(need(walk, size, &data));
    read_record(walk, data, record);
    if (!record->defect)
        walk->last_end = record->offset + SB_ZIP_LOCAL_SIZE + record->packed;
    walk->at += (int64_t)size;
    walk->seen++;
    return SB_OK;
}
