#include "task/mount/reading.h"

#include "archive/content.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/crc32c.h"
#include "core/time.h"
#include "task/mount/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SETS        256
#define FILES_A_SET 256
#define PIECES_MOST 4096      /* of a file */
#define PIECES_ALL  1000000   /* of all files; beyond that, each has one */
#define AGAIN_AFTER SB_SECOND /* a damaged file is read again, to see whether it is still */

void sb_pieces_release(struct sb_pieces *pieces)
{
    free(pieces->pieces);
    *pieces = (struct sb_pieces){0};
}

/* Joins piece i and the one after it, if they meet. */
static void join(struct sb_pieces *pieces, size_t i)
{
    struct sb_piece *piece = &pieces->pieces[i];

    if (i + 1 >= pieces->count || piece->to != piece[1].from)
        return;
    piece->crc = sb_crc32c_combine(piece->crc, piece[1].crc, piece[1].to - piece[1].from);
    piece->to = piece[1].to;
    pieces->count--;
    memmove(piece + 1, piece + 2, (pieces->count - i - 1) * sizeof(*piece));
}

/* Puts a piece before piece i, from which it lies apart, or which it meets. */
static bool insert(struct sb_pieces *pieces, size_t i, const struct sb_piece *piece, size_t most)
{
    struct sb_piece *before = pieces->pieces && i > 0 ? &pieces->pieces[i - 1] : NULL;
    bool kept = true;

    /* One that goes on with the one before it needs no place of its own. */
    if (before && before->to == piece->from) {
        before->crc = sb_crc32c_combine(before->crc, piece->crc, piece->to - piece->from);
        before->to = piece->to;
        join(pieces, i - 1);
        return true;
    }
    if (pieces->count >= most) {
        pieces->count = i = 0;
        kept = false;
    }
    if (IGNORED(sb_grow(&pieces->pieces, &pieces->capacity, pieces->count, sizeof(*piece)))) {
        pieces->count = 0;
        return false;
    }
    memmove(&pieces->pieces[i + 1], &pieces->pieces[i], (pieces->count - i) * sizeof(*piece));
    pieces->pieces[i] = *piece;
    pieces->count++;
    join(pieces, i);
    return kept;
}

bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, const void *data, size_t size,
                   uint32_t crc, size_t most)
{
    const int64_t end = from + (int64_t)size;
    struct sb_piece piece = {.from = from};
    bool kept = true;

    while (piece.from < end) {
        const size_t i = FIRST_WHERE(k, pieces->count, pieces->pieces[k].to > piece.from);
        const struct sb_piece *next = i < pieces->count ? &pieces->pieces[i] : NULL;

        if (next && next->from <= piece.from) {
            pieces->again = true;
            piece.from = next->to;
            continue;
        }
        piece.to = next && next->from < end ? next->from : end;
        piece.crc = crc;
        if (piece.from > from || piece.to < end)
            piece.crc = sb_crc32c(0, (const char *)data + (piece.from - from),
                                  (size_t)(piece.to - piece.from));
        kept = insert(pieces, i, &piece, most) && kept;
        piece.from = piece.to;
    }
    return kept;
}

bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc)
{
    if (pieces->count != 1 || pieces->pieces[0].from != 0 || pieces->pieces[0].to != size)
        return false;
    *crc = pieces->pieces[0].crc;
    return true;
}

/*
 * A file that was read in part, or is damaged. That is never forgotten: the system may keep some of
 * its bytes, so that nobody would read all of it here any more.
 */
struct file {
    uint64_t number;
    int64_t used; /* read, or found damaged, last */
    struct sb_pieces pieces;
    bool damaged;
    bool kept; /* of a damaged one, the system may keep bytes */
};

struct set {
    pthread_mutex_t lock; /* of all below */
    struct file *files;
    size_t count;
    size_t capacity;
    size_t damaged; /* of them; of others there are at most FILES_A_SET */
};

struct sb_reading {
    bool check;
    struct sb_log *log;
    struct sb_kept *kept;
    atomic_size_t pieces; /* of all files */
    atomic_bool any_kept; /* bytes of a damaged file */
    struct set sets[SETS];
};

enum sb_code sb_reading_new(struct sb_reading **out, bool check, size_t readahead,
                            struct sb_log *log)
{
    CLEANUP(sb_reading_freep) struct sb_reading *reading = NULL;

    *out = NULL;
    TRY(SB_NEW(&reading));
    reading->check = check;
    reading->log = log;
    for (size_t i = 0; i < SETS; i++)
        pthread_mutex_init(&reading->sets[i].lock, NULL);
    TRY(sb_kept_new(&reading->kept, check ? readahead : 0));
    *out = TAKE(reading);
    return SB_OK;
}

void sb_reading_free(struct sb_reading *reading)
{
    if (!reading)
        return;
    for (size_t i = 0; i < SETS; i++) {
        struct set *set = &reading->sets[i];

        for (size_t k = 0; k < set->count; k++)
            sb_pieces_release(&set->files[k].pieces);
        free(set->files);
        pthread_mutex_destroy(&set->lock);
    }
    sb_kept_free(reading->kept);
    free(reading);
}

/* The set of a file, locked. */
static struct set *lock_set(struct sb_reading *reading, uint64_t number)
{
    struct set *set = &reading->sets[sb_inode_slot(number, SETS)];

    pthread_mutex_lock(&set->lock);
    return set;
}

/* NULL: it is not there. */
static struct file *find(struct set *set, uint64_t number)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->files[i].number == number)
            return &set->files[i];
    }
    return NULL;
}

static void drop_pieces(struct sb_reading *reading, struct file *file)
{
    atomic_fetch_sub(&reading->pieces, file->pieces.count);
    sb_pieces_release(&file->pieces);
}

static void drop_file(struct sb_reading *reading, struct set *set, struct file *file)
{
    drop_pieces(reading, file);
    set->damaged -= file->damaged;
    *file = set->files[--set->count];
}

static void drop_oldest(struct sb_reading *reading, struct set *set)
{
    struct file *oldest = NULL;

    for (size_t i = 0; i < set->count; i++) {
        struct file *file = &set->files[i];

        if (!file->damaged && (!oldest || file->used < oldest->used))
            oldest = file;
    }
    if (oldest)
        drop_file(reading, set, oldest);
}

/* Used now; in the place of another, if it is not there yet. NULL without memory. */
static struct file *find_or_make(struct sb_reading *reading, struct set *set, uint64_t number)
{
    struct file *file = find(set, number);

    if (!file) {
        if (set->count - set->damaged >= FILES_A_SET)
            drop_oldest(reading, set);
        if (IGNORED(sb_grow(&set->files, &set->capacity, set->count, sizeof(*file))))
            return NULL;
        file = &set->files[set->count++];
        *file = (struct file){.number = number};
    }
    file->used = sb_clock_ns();
    return file;
}

/* It was found right. Was some of it read before? */
static bool forget(struct sb_reading *reading, uint64_t number)
{
    struct set *set = lock_set(reading, number);
    struct file *file = find(set, number);

    if (file)
        drop_file(reading, set, file);
    pthread_mutex_unlock(&set->lock);
    return file != NULL;
}

/* Keeps in mind that a file is damaged; logs it once. */
static void mark_damaged(struct sb_reading *reading, const struct sb_node *node, const char *why)
{
    const uint64_t number = sb_inode_pack(&node->inode);
    struct set *set = lock_set(reading, number);
    struct file *file = find_or_make(reading, set, number);
    const bool known = file && file->damaged;

    if (file && !known) {
        drop_pieces(reading, file);
        file->damaged = file->kept = true;
        set->damaged++;
    }
    pthread_mutex_unlock(&set->lock);
    if (known)
        return;
    atomic_store(&reading->any_kept, true);
    sb_log_add(reading->log, SB_PROBLEM, "damaged", node->entry.path, "%s", why);
}

/* One of the set that the system may keep bytes of, or 0. */
static uint64_t find_kept(struct set *set)
{
    uint64_t number = 0;

    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < set->count && number == 0; i++) {
        if (set->files[i].kept)
            number = set->files[i].number;
    }
    pthread_mutex_unlock(&set->lock);
    return number;
}

void sb_reading_drop_damaged(struct sb_reading *reading, void (*drop)(void *, uint64_t),
                             void *context)
{
    uint64_t number;

    if (!atomic_exchange(&reading->any_kept, false))
        return;
    for (size_t i = 0; i < SETS; i++) {
        while ((number = find_kept(&reading->sets[i])) > 0) {
            struct set *set;
            struct file *file;

            drop(context, number);
            set = lock_set(reading, number);
            file = find(set, number);
            if (file)
                file->kept = false;
            pthread_mutex_unlock(&set->lock);
        }
    }
}

static enum sb_code drop(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

static enum sb_code fail_overwritten(void)
{
    return sb_fail(SB_CHANGED, "its container was written to");
}

/* After a read: is the entry, which may have been looked up again, of the same content as the
 * number says, and was that what was read? */
static enum sb_code is_still_same(const struct sb_node *node)
{
    if (sb_tree_is_overwritten(node->tree))
        return fail_overwritten();
    if (sb_node_is_same(node))
        return SB_OK;
    return sb_fail(SB_CHANGED, "was replaced by another file");
}

/* After a read of the whole file, or of a part that must exist. */
static enum sb_code judge(struct sb_reading *reading, struct sb_node *node, enum sb_code code)
{
    if (code && sb_tree_is_overwritten(node->tree))
        return fail_overwritten();
    if (code == SB_DAMAGED || code == SB_NOENT || code == SB_FORMAT || code == SB_SYSTEM)
        mark_damaged(reading, node, sb_error()->text);
    return code;
}

/* Reads all of it, whatever is known. */
static enum sb_code check(struct sb_reading *reading, struct sb_node *node)
{
    struct sb_content *content = sb_tree_content(node->tree);

    TRY(sb_content_stream(content, &node->entry, 0, node->entry.size, reading->check, drop, NULL));
    return is_still_same(node);
}

enum sb_code sb_reading_check(struct sb_reading *reading, struct sb_node *node, bool *in_part)
{
    enum sb_code code = check(reading, node);

    *in_part = !code && forget(reading, sb_inode_pack(&node->inode));
    return judge(reading, node, code);
}

static enum sb_code read_whole(struct sb_reading *reading, struct sb_node *node, void *data,
                               size_t size)
{
    struct sb_content *content = sb_tree_content(node->tree);
    enum sb_code code;

    if ((node->entry.has & SB_HAS_CRC) && sb_kept_ahead(reading->kept, node, data))
        return SB_OK;
    code = sb_content_read(content, &node->entry, data, size, reading->check);
    if (code == SB_LIMIT)
        return sb_fail(SB_CHANGED, "was replaced by another file");
    return code ? code : is_still_same(node);
}

static enum sb_code fail_damaged(void)
{
    return sb_fail(SB_DAMAGED, "is damaged");
}

/* Adds what was read; when that is all of the file, compares the checksum. Where bytes were read
 * again, all of it is: the second time they may have been others. */
static enum sb_code follow(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                           const void *data, size_t size)
{
    const size_t most = atomic_load(&reading->pieces) < PIECES_ALL ? PIECES_MOST : 1;
    const uint64_t number = sb_inode_pack(&node->inode);
    uint32_t crc = sb_crc32c(0, data, size);
    struct set *set = lock_set(reading, number);
    struct file *file = find_or_make(reading, set, number);
    const bool damaged = file && file->damaged;
    bool whole = false, again = false;

    if (file && !damaged) {
        const size_t before = file->pieces.count;

        sb_pieces_add(&file->pieces, offset, data, size, crc, most);
        atomic_fetch_add(&reading->pieces, file->pieces.count - before);
        whole = sb_pieces_are_whole(&file->pieces, node->entry.size, &crc);
        again = file->pieces.again;
    }
    if (whole)
        drop_file(reading, set, file);
    pthread_mutex_unlock(&set->lock);
    if (damaged)
        return fail_damaged();
    if (!whole)
        return SB_OK;
    if (crc == node->entry.crc32c)
        return again ? check(reading, node) : SB_OK;
    return sb_fail(SB_DAMAGED, "checksum does not match: bytes are %08x, should be %08x", crc,
                   node->entry.crc32c);
}

static enum sb_code read_part(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                              void *data, size_t size)
{
    struct sb_content *content = sb_tree_content(node->tree);

    if (!sb_shards_hold(sb_content_shards(content), node->entry.shard)) {
        TRY(sb_kept_unpacked(reading->kept, node, offset, data, size));
        return is_still_same(node);
    }
    TRY(sb_content_read_part(content, &node->entry, offset, data, size));
    TRY(is_still_same(node));
    if (!reading->check || !(node->entry.has & SB_HAS_CRC))
        return SB_OK;
    return follow(reading, node, offset, data, size);
}

/* A damaged file stays damaged, unless another look shows that it, or its shard, was mended. */
static enum sb_code look_again(struct sb_reading *reading, struct sb_node *node)
{
    const uint64_t number = sb_inode_pack(&node->inode);
    struct set *set = lock_set(reading, number);
    const struct file *file = set->damaged > 0 ? find(set, number) : NULL;
    const bool damaged = file && file->damaged,
               again = damaged && !file->kept && sb_clock_ns() - file->used > AGAIN_AFTER;
    bool in_part;

    pthread_mutex_unlock(&set->lock);
    if (!damaged)
        return SB_OK;
    if (!again)
        return fail_damaged();
    sb_shards_reopen(sb_content_shards(sb_tree_content(node->tree)), node->entry.shard);
    TRY(sb_reading_check(reading, node, &in_part));
    sb_log_add(reading->log, SB_WARNING, "mended", node->entry.path, "is right again");
    return SB_OK;
}

enum sb_code sb_reading_read(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                             void *data, size_t size, size_t *got)
{
    enum sb_code code = SB_OK;

    *got = 0;
    if (offset < 0 || offset >= node->entry.size)
        return SB_OK;
    if ((int64_t)size > node->entry.size - offset)
        size = (size_t)(node->entry.size - offset);
    if (size == 0)
        return SB_OK;
    TRY(look_again(reading, node));
    if ((int64_t)size == node->entry.size)
        code = read_whole(reading, node, data, size);
    else
        code = read_part(reading, node, offset, data, size);
    if (!code)
        *got = size;
    return judge(reading, node, code);
}
