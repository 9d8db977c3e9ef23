#include "archive/content.h"

#include "archive/archive.h"
#include "archive/reader.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/interrupt.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCK_BYTES ((int64_t)1 << 20)

/*
 * How many commits a single read may follow a moving file through: far more than can occur between
 * two look-ups of a file that is read at once.
 */
#define FOLLOWED_MOST 32

struct sb_content {
    struct sb_archive *archive;
    struct sb_shards *shards;
    struct sb_shards *own_shards; /* NULL: the caller owns the shards */
    pthread_mutex_t lock;
    struct sb_archive *twin; /* under the lock; made on first use */
};

enum sb_code sb_content_open(struct sb_content **out, struct sb_archive *archive,
                             struct sb_shards *shards)
{
    CLEANUP(sb_content_freep) struct sb_content *content = NULL;

    *out = NULL;
    TRY(SB_NEW(&content));
    pthread_mutex_init(&content->lock, NULL);
    if (!shards)
        TRY(sb_shards_open(&content->own_shards, archive));
    content->archive = archive;
    content->shards = shards ? shards : content->own_shards;
    *out = TAKE(content);
    return SB_OK;
}

void sb_content_free(struct sb_content *content)
{
    if (!content)
        return;
    sb_archive_free(content->twin);
    sb_shards_free(content->own_shards);
    pthread_mutex_destroy(&content->lock);
    free(content);
}

struct sb_shards *sb_content_shards(struct sb_content *content)
{
    return content->shards;
}

bool sb_content_moved(const struct sb_content *content, const struct sb_entry *entry)
{
    return sb_archive_has_moved(content->archive, entry->generation);
}

static enum sb_code look_up(struct sb_content *content, struct sb_entry *entry)
{
    struct sb_entry now;
    enum sb_code code;

    TRY(sb_archive_still_current(content->archive));
    code = content->twin ? SB_OK : sb_archive_open_twin(&content->twin, content->archive);
    if (!code)
        code = sb_archive_lookup(content->twin, entry->path, entry->path_size, &now);
    if (code == SB_NOENT)
        return sb_fail(SB_CHANGED, "was removed from the archive while it was read");
    if (code)
        return code;
    if (now.defect)
        return sb_fail(SB_DAMAGED, "%s", now.defect);
    if (now.type == SB_DIR)
        return sb_fail(SB_CHANGED, "was replaced by a directory while it was read");
    now.path = entry->path;
    *entry = now;
    return SB_OK;
}

enum sb_code sb_content_find(struct sb_content *content, struct sb_entry *entry)
{
    enum sb_code code;

    pthread_mutex_lock(&content->lock);
    code = look_up(content, entry);
    pthread_mutex_unlock(&content->lock);
    return code;
}

/* Moving a file changes none of these; `upgrade` may add a checksum. */
static bool is_same_content(const struct sb_entry *a, const struct sb_entry *b)
{
    unsigned both = a->has & b->has;

    return a->size == b->size && (!(both & SB_HAS_CRC) || a->crc32c == b->crc32c) &&
           (!(both & SB_HAS_MTIME) || a->mtime_ns == b->mtime_ns);
}

/* Can wrong or outdated addresses cause this error? */
static bool may_have_moved(void)
{
    const struct sb_error *error = sb_error();

    return error->code == SB_DAMAGED || error->code == SB_NOENT || error->code == SB_FORMAT;
}

/*
 * After a read that failed, or whose bytes may by now be another file's. SB_OK: the entry has been
 * looked up again, and a second read is worthwhile. Otherwise the failure is kept if it is the true
 * reason.
 */
static enum sb_code follow(struct sb_content *content, struct sb_entry *entry, enum sb_code failed,
                           unsigned followed)
{
    const struct sb_entry before = *entry;
    struct sb_error found;

    if (sb_archive_is_adopted(content->archive) || (failed && !may_have_moved()) ||
        (failed && followed == FOLLOWED_MOST))
        return failed;
    if (INTO(&found, sb_content_find(content, entry))) {
        *sb_error() = found;
        return sb_error()->code;
    }
    if (failed && entry->generation == before.generation && entry->shard == before.shard &&
        entry->offset == before.offset && is_same_content(entry, &before))
        return failed;
    if (followed == FOLLOWED_MOST)
        return sb_fail(SB_CHANGED, "keeps being moved; try again");
    return SB_OK;
}

static enum sb_code read_once(struct sb_content *content, const struct sb_entry *entry, void *data,
                              bool check)
{
    size_t size = (size_t)entry->size;

    if (size > 0)
        TRY(sb_shards_read(content->shards, entry->shard, entry->offset, data, size));
    if (check && sb_crc32c(0, data, size) != entry->crc32c)
        return sb_fail(SB_DAMAGED, "its bytes do not match their checksum");
    return SB_OK;
}

enum sb_code sb_content_read(struct sb_content *content, struct sb_entry *entry, void *data,
                             size_t capacity, bool check)
{
    for (unsigned followed = 0;; followed++) {
        bool checked = check && (entry->has & SB_HAS_CRC);
        enum sb_code code;

        if (entry->size > (int64_t)capacity)
            return SB_LIMIT;
        code = read_once(content, entry, data, checked);
        if (!code && (checked || !sb_content_moved(content, entry)))
            return SB_OK;
        code = follow(content, entry, code, followed);
        if (code)
            return code;
    }
}

/*
 * May the bytes be another file's? The checksum of a whole file shows that even if the archive was
 * replaced.
 */
static bool is_doubtful(const struct sb_content *content, const struct sb_entry *entry,
                        bool checked)
{
    if (checked)
        return sb_archive_generation(content->archive) != entry->generation;
    return sb_content_moved(content, entry);
}

/* A part of a file: at most BLOCK_BYTES of data, or a hole of any size. */
struct part {
    int64_t at;
    int64_t size;
    char *data;
    bool hole;
    bool after_hole;
    bool before_hole;
};

static void find_run(struct sb_content *content, const struct sb_entry *entry, int64_t most,
                     struct part *part)
{
    int64_t run =
        sb_shards_run(content->shards, entry->shard, entry->offset + part->at, &part->hole);

    part->before_hole = !part->hole && run < most && run <= BLOCK_BYTES;
    part->size = run < most ? run : most;
    if (!part->hole && part->size > BLOCK_BYTES)
        part->size = BLOCK_BYTES;
}

/*
 * A file's blocks are not aligned with those of its shard, so that data there may begin and end
 * with zeros that belong to a hole. They are added to the hole where they are whole blocks of the
 * file.
 */
static void widen_hole(struct part *part)
{
    int64_t end = part->at + part->size, hole_end, data_end;

    if (part->hole)
        return;
    if (part->after_hole) {
        for (hole_end = part->at; hole_end < end && !part->data[hole_end - part->at];)
            hole_end++;
        if (hole_end < end || !part->before_hole)
            hole_end -= hole_end % SB_HOLE_LEAST;
        part->hole = hole_end > part->at;
        if (part->hole)
            part->size = hole_end - part->at;
    }
    if (part->hole || !part->before_hole)
        return;
    for (data_end = end; data_end > part->at && !part->data[data_end - 1 - part->at];)
        data_end--;
    data_end += SB_HOLE_LEAST - 1;
    data_end -= data_end % SB_HOLE_LEAST;
    if (data_end < end && data_end > part->at)
        part->size = data_end - part->at;
    else
        part->hole = data_end <= part->at;
}

/*
 * Reads the part at `at`, of at most `most` bytes, following the file if it moves. `checked`: all
 * of the file will be checked. sparse: the part may be a hole.
 */
static enum sb_code read_part(struct sb_content *content, struct sb_entry *entry, bool checked,
                              bool sparse, int64_t most, struct part *part)
{
    for (unsigned followed = 0;; followed++) {
        const struct sb_entry before = *entry;
        enum sb_code code = SB_OK;

        if (sb_interrupted())
            return sb_fail_interrupt();
        part->hole = part->before_hole = false;
        part->size = most < BLOCK_BYTES ? most : BLOCK_BYTES;
        if (sparse)
            find_run(content, entry, most, part);
        if (!part->hole)
            code = sb_shards_read(content->shards, entry->shard, entry->offset + part->at,
                                  part->data, (size_t)part->size);
        if (!code && !is_doubtful(content, entry, checked)) {
            widen_hole(part);
            return SB_OK;
        }
        code = follow(content, entry, code, followed);
        if (code)
            return code;
        if (!is_same_content(entry, &before))
            return sb_fail(SB_CHANGED, "was replaced by another file while it was read");
    }
}

enum sb_code sb_content_read_part(struct sb_content *content, struct sb_entry *entry, int64_t at,
                                  void *data, size_t size)
{
    struct part part = {.at = at, .data = data};
    const int64_t end = at + (int64_t)size;

    for (; part.at < end; part.at += part.size, part.data += part.size)
        TRY(read_part(content, entry, false, false, end - part.at, &part));
    return SB_OK;
}

/* The final result for a wrong checksum: if the change counter has not moved, the row decides. */
static enum sb_code fail_sum(struct sb_content *content, struct sb_entry *entry, uint32_t crc,
                             uint32_t expected)
{
    const struct sb_entry before = *entry;

    sb_fail(SB_DAMAGED, "checksum does not match: bytes are %08x, should be %08x", crc, expected);
    TRY(follow(content, entry, SB_DAMAGED, 0));
    if (entry->shard == before.shard && entry->offset == before.offset)
        return SB_DAMAGED;
    return sb_fail(SB_CHANGED, "was moved while it was read; try again");
}

static enum sb_code stream(struct sb_content *content, struct sb_entry *entry, int64_t skip,
                           int64_t size, bool checked, bool sparse, sb_each_block *each,
                           void *context)
{
    const uint32_t expected = entry->crc32c;
    const int64_t end = skip + size;
    CLEANUP(sb_freep) char *data = NULL;
    struct part part = {.at = skip};
    uint32_t crc = 0;

    TRY(sb_alloc(&data, (size_t)(size < BLOCK_BYTES ? size + 1 : BLOCK_BYTES)));
    for (part.data = data; part.at < end; part.at += part.size) {
        TRY(read_part(content, entry, checked, sparse, end - part.at, &part));
        if (checked)
            crc = sb_crc32c_block(crc, part.hole ? NULL : part.data, (size_t)part.size);
        TRY(each(context, part.hole ? NULL : part.data, (size_t)part.size));
        part.after_hole = part.hole;
    }
    return checked && crc != expected ? fail_sum(content, entry, crc, expected) : SB_OK;
}

enum sb_code sb_content_stream(struct sb_content *content, struct sb_entry *entry, int64_t skip,
                               int64_t size, bool check, sb_each_block *each, void *context)
{
    const bool checked = check && (entry->has & SB_HAS_CRC) && size == entry->size;
    const uint32_t expected = entry->crc32c;

    if (sb_archive_is_adopted(content->archive))
        return sb_shards_stream(content->shards, entry->shard, entry->offset + skip, size,
                                checked ? &expected : NULL, each, context);
    return stream(content, entry, skip, size, checked, false, each, context);
}

enum sb_code sb_content_stream_sparse(struct sb_content *content, struct sb_entry *entry,
                                      bool check, sb_each_block *each, void *context)
{
    if (sb_archive_is_adopted(content->archive))
        return sb_content_stream(content, entry, 0, entry->size, check, each, context);
    return stream(content, entry, 0, entry->size, check && (entry->has & SB_HAS_CRC), true, each,
                  context);
}
