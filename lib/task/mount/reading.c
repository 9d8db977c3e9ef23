#include "task/mount/reading.h"

#include "archive/content.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/time.h"
#include "task/mount/ahead.h"
#include "task/mount/log.h"
#include "task/mount/pieces.h"
#include "task/mount/unpacked.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS        256
#define FILES_A_SET 4
#define AGAIN_AFTER SB_SECOND /* a damaged file is read again, to see whether it is still */

/* What is known of a file that was read in part, or found damaged. */
struct file {
    uint64_t number; /* 0: free */
    int64_t used;
    struct sb_pieces pieces;
    bool damaged;
    int64_t seen; /* when it was found damaged last */
};

struct set {
    pthread_mutex_t lock;
    struct file files[FILES_A_SET];
};

struct sb_reading {
    bool check;
    struct sb_log *log;
    struct sb_unpacked *unpacked;
    struct sb_ahead *ahead; /* NULL: nothing is read ahead */
    struct set sets[SETS];
};

enum sb_code sb_reading_new(struct sb_reading **out, bool check, size_t readahead,
                            struct sb_log *log, struct sb_error *err)
{
    struct sb_reading *reading = calloc(1, sizeof(*reading));
    enum sb_code code;

    *out = NULL;
    if (!reading)
        return sb_fail_memory(err);
    reading->check = check;
    reading->log = log;
    for (size_t i = 0; i < SETS; i++)
        pthread_mutex_init(&reading->sets[i].lock, NULL);
    code = sb_unpacked_new(&reading->unpacked, err);
    if (!code && check && readahead > 0)
        code = sb_ahead_new(&reading->ahead, readahead, err);
    if (code)
        sb_reading_free(reading);
    else
        *out = reading;
    return code;
}

void sb_reading_free(struct sb_reading *reading)
{
    if (!reading)
        return;
    for (size_t i = 0; i < SETS; i++)
        pthread_mutex_destroy(&reading->sets[i].lock);
    sb_unpacked_free(reading->unpacked);
    sb_ahead_free(reading->ahead);
    free(reading);
}

static struct set *set_of(struct sb_reading *reading, uint64_t number)
{
    return &reading->sets[number * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

/* With the lock of the set held; NULL: it is not there. */
static struct file *find(struct set *set, uint64_t number)
{
    for (size_t i = 0; i < FILES_A_SET; i++) {
        if (set->files[i].number == number)
            return &set->files[i];
    }
    return NULL;
}

/* The same, in the place of the one that was used longest ago. */
static struct file *find_or_make(struct set *set, uint64_t number)
{
    struct file *file = find(set, number);

    if (!file) {
        file = &set->files[0];
        for (size_t i = 1; i < FILES_A_SET; i++) {
            if (set->files[i].used < file->used)
                file = &set->files[i];
        }
        *file = (struct file){.number = number};
    }
    file->used = sb_clock_ns();
    return file;
}

static void forget(struct sb_reading *reading, uint64_t number)
{
    struct set *set = set_of(reading, number);
    struct file *file;

    pthread_mutex_lock(&set->lock);
    file = find(set, number);
    if (file)
        *file = (struct file){0};
    pthread_mutex_unlock(&set->lock);
}

/* Keeps in mind that a file is damaged; logs it once. */
static void mark_damaged(struct sb_reading *reading, const struct sb_node *node, const char *why)
{
    uint64_t number = sb_inode_pack(&node->inode);
    struct set *set = set_of(reading, number);
    struct file *file;
    bool known;

    pthread_mutex_lock(&set->lock);
    file = find_or_make(set, number);
    known = file->damaged;
    *file =
        (struct file){.number = number, .used = file->used, .damaged = true, .seen = sb_clock_ns()};
    pthread_mutex_unlock(&set->lock);
    if (!known)
        sb_log_add(reading->log, SB_PROBLEM, "damaged", node->entry.path, "%s", why);
}

/* Is it known as damaged? *again: for so long that it should be read again. */
static bool is_damaged(struct sb_reading *reading, uint64_t number, bool *again)
{
    struct set *set = set_of(reading, number);
    const struct file *file;
    bool damaged;

    pthread_mutex_lock(&set->lock);
    file = find(set, number);
    damaged = file && file->damaged;
    *again = damaged && sb_clock_ns() - file->seen > AGAIN_AFTER;
    pthread_mutex_unlock(&set->lock);
    return damaged;
}

static enum sb_code drop(void *context, const void *data, size_t size, struct sb_error *err)
{
    (void)context;
    (void)data;
    (void)size;
    (void)err;
    return SB_OK;
}

/* Is the entry, which may have been looked up again, of the same content as the number says? */
static enum sb_code is_still_same(const struct sb_node *node, struct sb_error *err)
{
    if (sb_inode_tail(&node->entry) == node->inode.tail)
        return SB_OK;
    return sb_fail(err, SB_CHANGED, "was replaced by another file");
}

/* After a read of the whole file, or of a part that must exist. */
static enum sb_code judge(struct sb_reading *reading, struct sb_node *node, enum sb_code code,
                          struct sb_error *err)
{
    if (code == SB_DAMAGED || code == SB_NOENT || code == SB_FORMAT || code == SB_SYSTEM)
        mark_damaged(reading, node, err->text);
    return code;
}

enum sb_code sb_reading_check(struct sb_reading *reading, struct sb_node *node,
                              struct sb_error *err)
{
    struct sb_content *content = sb_tree_content(node->tree);
    enum sb_code code;

    code = sb_content_stream(content, &node->entry, 0, node->entry.size, reading->check, drop, NULL,
                             err);
    if (!code)
        code = is_still_same(node, err);
    if (!code)
        forget(reading, sb_inode_pack(&node->inode));
    return judge(reading, node, code, err);
}

static enum sb_code read_whole(struct sb_reading *reading, struct sb_node *node, void *data,
                               size_t size, struct sb_error *err)
{
    struct sb_content *content = sb_tree_content(node->tree);
    enum sb_code code;

    if (reading->ahead && (node->entry.has & SB_HAS_CRC) &&
        sb_ahead_read(reading->ahead, node, data))
        return SB_OK;
    code = sb_content_read(content, &node->entry, data, size, reading->check, err);
    if (code == SB_LIMIT)
        return sb_fail(err, SB_CHANGED, "was replaced by another file");
    return code ? code : is_still_same(node, err);
}

/* Adds what was read; when that is all of the file, compares the checksum. */
static enum sb_code follow(struct sb_reading *reading, const struct sb_node *node, int64_t offset,
                           const void *data, size_t size, struct sb_error *err)
{
    uint64_t number = sb_inode_pack(&node->inode);
    struct set *set = set_of(reading, number);
    uint32_t crc = sb_crc32c(0, data, size);
    struct file *file;
    bool whole;

    pthread_mutex_lock(&set->lock);
    file = find_or_make(set, number);
    sb_pieces_add(&file->pieces, offset, offset + (int64_t)size, crc);
    whole = sb_pieces_are_whole(&file->pieces, node->entry.size, &crc);
    if (whole && crc == node->entry.crc32c)
        *file = (struct file){0};
    pthread_mutex_unlock(&set->lock);
    if (!whole || crc == node->entry.crc32c)
        return SB_OK;
    return sb_fail(err, SB_DAMAGED, "checksum does not match: bytes are %08x, should be %08x", crc,
                   node->entry.crc32c);
}

static enum sb_code read_part(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                              void *data, size_t size, struct sb_error *err)
{
    struct sb_content *content = sb_tree_content(node->tree);
    enum sb_code code;

    if (!sb_shards_hold(sb_content_shards(content), node->entry.shard))
        return sb_unpacked_read(reading->unpacked, node, offset, data, size, err);
    code = sb_content_read_part(content, &node->entry, offset, data, size, err);
    if (!code)
        code = is_still_same(node, err);
    if (!code && reading->check && (node->entry.has & SB_HAS_CRC))
        code = follow(reading, node, offset, data, size, err);
    return code;
}

/* A damaged file stays damaged, unless another look shows that it was mended. */
static enum sb_code look_again(struct sb_reading *reading, struct sb_node *node,
                               struct sb_error *err)
{
    bool again;

    if (!is_damaged(reading, sb_inode_pack(&node->inode), &again))
        return SB_OK;
    if (!again)
        return sb_fail(err, SB_DAMAGED, "is damaged");
    return sb_reading_check(reading, node, err);
}

enum sb_code sb_reading_read(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                             void *data, size_t size, size_t *got, struct sb_error *err)
{
    enum sb_code code;

    *got = 0;
    if (offset < 0 || offset >= node->entry.size)
        return SB_OK;
    if ((int64_t)size > node->entry.size - offset)
        size = (size_t)(node->entry.size - offset);
    if (size == 0)
        return SB_OK;
    code = look_again(reading, node, err);
    if (code)
        return code;
    if ((int64_t)size == node->entry.size)
        code = read_whole(reading, node, data, size, err);
    else
        code = read_part(reading, node, offset, data, size, err);
    if (!code)
        *got = size;
    return judge(reading, node, code, err);
}
