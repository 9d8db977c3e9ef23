#include "task/protect/impl.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/own/own_names.h"
#include "archive/parity/pieces.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/time.h"
#include "store/feed/feed.h"
#include "store/out/lock.h"
#include "store/store.h"
#include "task/verify/bag.h"
#include "task/verify/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

#define USUAL_PER_MILLE 50
#define INDEX_PER_MILLE 1000

/* A change soon after another may get the same time: that of the kernel's last tick, or where
 * seconds are all that is kept, the same second, or two. */
#define SETTLED_NS (2 * SB_SECOND)
#define WAITS_MOST 4

/* The files of a shard, compared with the checksums that the index has. */
struct prove {
    const struct sb_protected *work;
    struct sb_protect_holds holds;
    struct sb_archive *archive;
    struct sb_parity *index; /* of its state; NULL: none */
    struct sb_shards *shards;
    struct sb_cursor *cursor; /* by their offsets */
    struct sb_entry entry;    /* the file that is being read */
    bool ended;               /* there is none any more */
    int64_t done;             /* bytes of it, and their CRC32C */
    uint32_t crc;
    int64_t damaged;
};

static enum sb_code fail_without_index(const struct sb_protected *work)
{
    struct sb_error why = *sb_error();

    if (why.code != SB_DAMAGED && why.code != SB_FORMAT && why.code != SB_NOENT)
        return why.code;
    return sb_fail(why.code == SB_FORMAT ? SB_DAMAGED : why.code,
                   "%s: changed, and without its index (%s) damage in it looks like a change; "
                   "bring the index back first, or if this is no shard, --remove its "
                   "parity file",
                   work->path, why.text);
}

/* *used: the archive has its files in it. */
static enum sb_code open_archive(struct prove *prove, size_t base, bool *used)
{
    const struct sb_protected *work = prove->work;
    uint32_t shard = sb_own_of_rest(work->path + base).shard;
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = shard,
                                   .shard_last = shard,
                                   .extents = true,
                                   .steady = true};
    CLEANUP(sb_freep) char *name = strndup(work->path, base);
    uint32_t count = 0;
    enum sb_code code;
    struct stat st;

    *used = false;
    if (!name)
        return sb_fail_memory();
    code = sb_archive_open(&prove->archive, name);
    if (code)
        return !work->parity && (code == SB_NOENT || code == SB_FORMAT) ? SB_OK
                                                                        : fail_without_index(work);
    TRY(sb_archive_shard_count(prove->archive, &count));
    /* An archive without files has a shard, too. */
    if (shard > 0 && shard >= count)
        return SB_OK;
    TRY(sb_shards_open(&prove->shards, prove->archive));
    code = sb_shards_stat(prove->shards, shard, &st);
    if (code)
        return code == SB_NOENT || code == SB_FORMAT ? SB_OK : code;
    *used = sb_is_same_file(&st, &work->file->st);
    return *used ? sb_cursor_open(&prove->cursor, prove->archive, &query) : SB_OK;
}

/* The next file with bytes and a CRC32C. */
static enum sb_code next_file(struct prove *prove)
{
    struct sb_entry *entry = &prove->entry;
    enum sb_code code;

    prove->done = 0;
    prove->crc = 0;
    do
        code = sb_cursor_next(prove->cursor, entry);
    while (!code && !entry->defect && (entry->size == 0 || !(entry->has & SB_HAS_CRC)));
    if (!code && entry->defect)
        return sb_fail(SB_DAMAGED,
                       "%s: the index of its archive is damaged (%s); repair it first, as "
                       "'shardbox verify' says",
                       prove->work->path, entry->defect);
    prove->ended = code == SB_END;
    return code == SB_END ? SB_OK : code;
}

/* The parity file of the index, if it is of the state that this has. */
static enum sb_code find_index(struct prove *prove)
{
    const char *path = sb_archive_index_path(prove->archive);
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    bool same = false;

    if (IGNORED(sb_protect_open(&prove->index, path, prove->work->options->parity_dir)))
        return SB_OK;
    TRY(sb_file_open(&file, path, "index"));
    TRY(sb_protect_is_same(&prove->index->super, file, &same));
    if (!same)
        sb_parity_free(TAKE(prove->index));
    return SB_OK;
}

/* Keeps other writers of the archive out until it is released. */
static enum sb_code begin_shard(struct prove *prove, size_t base, bool *used)
{
    const struct sb_protected *work = prove->work;

    TRY(sb_protect_hold(&prove->holds, work->path, true));
    TRY(open_archive(prove, base, used));
    if (!*used)
        return SB_OK;
    TRY(find_index(prove));
    if (work->parity && prove->index &&
        sb_protect_is_of_index(&work->parity->super, &prove->index->super))
        TRY(sb_pieces_prove_unchecked(sb_archive_database(prove->archive),
                                      sb_own_of_rest(work->path + base).shard, work->parity,
                                      work->file));
    return next_file(prove);
}

static void release(struct prove *prove)
{
    sb_cursor_free(prove->cursor);
    sb_shards_free(prove->shards);
    sb_archive_free(prove->archive);
    sb_parity_free(prove->index);
    sb_protect_release(&prove->holds);
    *prove = (struct prove){0};
}

static void judge_file(struct prove *prove)
{
    const struct sb_entry *entry = &prove->entry;

    if (prove->crc == entry->crc32c)
        return;
    prove->damaged++;
    sb_report(prove->work->options->notify, SB_PROBLEM, "damaged", entry->path, "is damaged, in %s",
              prove->work->path);
}

/* A file that begins before the one before it ends is read by itself. */
static enum sb_code read_alone(struct prove *prove)
{
    const struct sb_entry *entry = &prove->entry;
    CLEANUP(sb_freep) unsigned char *bytes = NULL;

    TRY(sb_alloc(&bytes, BLOCK));
    prove->crc = 0;
    for (int64_t done = 0; done < entry->size; done += (int64_t)BLOCK) {
        int64_t left = entry->size - done;
        size_t got, size = left < (int64_t)BLOCK ? (size_t)left : BLOCK;

        TRY(sb_file_read(prove->work->file, bytes, size, entry->offset + done, &got));
        prove->crc = sb_crc32c(prove->crc, bytes, got);
    }
    judge_file(prove);
    return next_file(prove);
}

/* As `read` and `proved` of archive/parity/make.h: files that are damaged are reported. */
static enum sb_code hear_bytes(void *context, int64_t offset, const void *bytes, size_t size)
{
    struct prove *prove = context;
    const struct sb_entry *entry = &prove->entry;
    int64_t end = offset + (int64_t)size, at = offset;

    while (!prove->ended && entry->offset < end) {
        int64_t from = entry->offset > at ? entry->offset : at, to = entry->offset + entry->size;

        if (entry->offset + prove->done < at) {
            TRY(read_alone(prove));
            continue;
        }
        to = to < end ? to : end;
        prove->crc =
            sb_crc32c(prove->crc, (const char *)bytes + (from - offset), (size_t)(to - from));
        prove->done += to - from;
        at = to;
        if (to < entry->offset + entry->size)
            return SB_OK;
        judge_file(prove);
        TRY(next_file(prove));
    }
    return SB_OK;
}

static enum sb_code end(void *context)
{
    struct prove *prove = context;

    /* What is left lies past the end. */
    while (!prove->ended) {
        prove->crc = ~prove->entry.crc32c;
        judge_file(prove);
        TRY(next_file(prove));
    }
    if (prove->damaged == 0)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: damage would be protected; repair it first, with 'shardbox verify "
                   "--repair' or from a copy",
                   prove->work->path);
}

/* What a check says of the bytes, and not of names. */
static void hear_defect(void *context, const struct sb_defect *defect)
{
    static const char *const kinds[] = {"damaged", "truncated", "unreadable", "checksum",
                                        "limits",  "frame",     "shard",      "bounds"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        *(bool *)context |= strcmp(defect->kind, kinds[i]) == 0;
}

/* To the end of what is compressed. */
static enum sb_code drain(const char *path, bool *damaged)
{
    const struct sb_feed_options options = {.threads = 1};
    CLEANUP(sb_freep) char *bytes = NULL;
    struct sb_feed_watch watch = {0};
    struct sb_feed *feed = NULL;
    struct sb_input input;
    enum sb_code code;
    size_t got;

    TRY(sb_alloc(&bytes, BLOCK));
    code = sb_input_open(&input, path, SB_UNKNOWN);
    if (!code) {
        code = sb_feed_open(&feed, &input, &options, &watch);
        while (!code) {
            got = 0;
            code = sb_feed_fill(feed, bytes, BLOCK, &got);
        }
        sb_feed_free(feed);
        sb_input_close(&input);
    }
    *damaged = code == SB_DAMAGED;
    return code == SB_END || code == SB_DAMAGED || code == SB_FORMAT ? SB_OK : code;
}

static enum sb_code check_store(struct sb_store *store, const struct sb_protected *work,
                                bool *damaged)
{
    const struct sb_verify_options options = {.threads = work->options->threads};
    const struct sb_verify_bag_options bag = {.threads = work->options->threads};
    struct sb_verify_result result = SB_VERIFY_NOTHING;
    const struct sb_verify_events events = {
        .context = damaged, .result = &result, .found = hear_defect};

    if (sb_store_is_compressed(store))
        return drain(work->path, damaged);
    if (sb_store_can(store, SB_CAN_BAGS))
        return sb_verify_bag(work->path, &bag, &events);
    if (sb_store_can(store, SB_CAN_ITEMS))
        return sb_verify_syrah(work->file, &options, &events);
    if (sb_store_archive(store) || sb_store_can(store, SB_CAN_WALK | SB_CAN_KEYS))
        return SB_OK;
    return sb_verify_container(store, &options, &events);
}

static enum sb_code check_container(const struct sb_protected *work, bool *damaged)
{
    const struct sb_store_options by_content = {0};
    struct sb_store *store = NULL;
    enum sb_code code = sb_store_open(&store, work->path, &by_content);

    if (!code)
        code = check_store(store, work, damaged);
    sb_store_free(store);
    if (code == SB_DAMAGED)
        *damaged = true;
    return code && sb_ends_work(sb_error()) && code != SB_FORMAT && code != SB_DAMAGED ? code
                                                                                       : SB_OK;
}

enum sb_code sb_prove_own(const struct sb_protected *work, bool *damaged)
{
    enum sb_protect_commit commit = SB_COMMIT_NONE;

    *damaged = false;
    if (work->parity)
        TRY(sb_protect_commit_of(&work->parity->super, work->file, &commit));
    if (commit != SB_COMMIT_LOST && !sb_begins_like_index(work->path))
        return check_container(work, damaged);
    *damaged = commit == SB_COMMIT_LOST || sb_database_is_damaged(work->path, false);
    return SB_OK;
}

/*
 * Until a change that follows gets another time, also in a copy that keeps whole seconds. It may
 * have changed meanwhile.
 */
static enum sb_code let_time_pass(const struct sb_protected *work, struct stat *st)
{
    struct timespec now, rest;
    int64_t age;

    for (int i = 0; i < WAITS_MOST; i++) {
        if (fstat(work->file->fd, st))
            return sb_fail_errno(errno, "%s", work->path);
        if (clock_gettime(CLOCK_REALTIME, &now))
            return SB_OK;
        age = sb_time_ns(now) - sb_time_ns(st->st_mtim);
        if (age < 0 || age >= SETTLED_NS)
            return SB_OK;
        if (sb_interrupted())
            return sb_fail_interrupt();
        rest = sb_time_split(SETTLED_NS - age);
        nanosleep(&rest, NULL);
    }
    return sb_fail(SB_CHANGED, "%s: is being written to; protect it when that has ended",
                   work->path);
}

enum sb_code sb_protect_clear(const char *path, struct sb_buf *temporary)
{
    struct sb_out_lock lock;
    struct stat st;

    TRY(sb_out_temporary_name(path, temporary));
    if (lstat(temporary->data, &st) && errno == ENOENT)
        return SB_OK;
    TRY(sb_out_temporary_make(&lock, path, path));
    sb_out_lock_drop(&lock);
    return SB_OK;
}

/* Not what is a shard, and begins with such a file. */
static bool is_whole_index(const struct sb_protected *work)
{
    size_t base = sb_protect_base_of_shard(work->path);
    CLEANUP(sb_freep) char *index = base ? strndup(work->path, base) : NULL;

    return sb_protect_is_index(work->path) &&
           !(index && sb_protect_has_shard(index, work->path, work->options->parity_dir));
}

/* As they are requested, or as the open parity file has them. */
static enum sb_code choose_words(const struct sb_protected *work, struct sb_parity_options *wanted)
{
    unsigned per_mille = work->options->per_mille;

    if (per_mille == 0 && work->parity) {
        const struct sb_parity_shape *shape = &work->parity->super.shape;

        wanted->data = shape->data;
        wanted->parity = shape->parity;
        if (shape->parity >= shape->data || !is_whole_index(work))
            return SB_OK;
    }
    if (per_mille == 0)
        per_mille = USUAL_PER_MILLE;
    /* An index may be lost as a whole, and nothing can be read without it. */
    if (per_mille < INDEX_PER_MILLE && is_whole_index(work))
        per_mille = INDEX_PER_MILLE;
    return sb_parity_redundancy(per_mille, &wanted->data, &wanted->parity);
}

/* What the parity file notes of the file. */
static enum sb_code note_file(const struct sb_protected *work, unsigned char *user)
{
    unsigned char head[SB_PROTECT_HEAD];
    struct stat st;
    bool named;

    TRY(let_time_pass(work, &st));
    TRY(sb_is_named(work->file->fd, work->path, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: was replaced by another process just now; try again",
                       work->path);
    TRY(sb_protect_read_head(work->file, head));
    sb_protect_note(user, &st, head);
    if (work->origin)
        sb_protect_note_origin(user, work->origin);
    return SB_OK;
}

/* Bytes are proved before they are protected: those of a shard by its index, while they are read;
 * an SQLite file by SQLite, and a container by its own checks, before that. */
static enum sb_code prove_and_make(const struct sb_protected *work,
                                   const struct sb_parity_options *wanted, unsigned char *user)
{
    CLEANUP(release) struct prove prove = {.work = work};
    struct sb_parity_options proving = *wanted;
    size_t base = sb_protect_base_of_shard(work->path);
    bool used = false, damaged = false;

    if (base > 0)
        TRY(begin_shard(&prove, base, &used));
    if (!used) {
        release(&prove);
        TRY(sb_prove_own(work, &damaged));
    }
    if (damaged)
        return sb_fail(SB_DAMAGED,
                       "%s: is damaged, as 'shardbox verify' says, and is not protected so; "
                       "repair it first, or take it from a copy",
                       work->path);
    if (used) {
        proving.read = hear_bytes;
        proving.proved = end;
        proving.reader = &prove;
    }
    if (prove.index)
        sb_protect_note_index(user, &prove.index->super);
    return sb_parity_make(work->file, &proving);
}

enum sb_code sb_protect_write_parity(struct sb_protected *work)
{
    const struct sb_protect_options *options = work->options;
    unsigned char user[SB_PARITY_USER];
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};
    struct stat st;
    struct sb_parity_options wanted = {
        .path = work->name.data,
        .threads = options->threads,
        .user = user,
        .progress = options->progress,
        .context = options->context,
    };

    TRY(choose_words(work, &wanted));
    if (options->dry_run) {
        sb_report(options->notify, SB_NOTE, "would-write", wanted.path, "would be written");
        return SB_OK;
    }
    TRY(sb_protect_clear(work->name.data, &temporary));
    wanted.temporary = temporary.data;
    TRY(note_file(work, user));
    TRY(prove_and_make(work, &wanted, user));
    /* No parity file stays of a file that was removed while it was made. */
    if (lstat(work->path, &st) && errno == ENOENT) {
        (void)unlink(work->name.data);
        return sb_fail(SB_CHANGED, "%s: was removed by another process just now", work->path);
    }
    sb_report(options->notify, SB_NOTE, "written", wanted.path, "written");
    return SB_OK;
}

enum sb_code sb_protect_make(struct sb_protected *work)
{
    enum sb_code code;

    TRY(sb_protected_open(work, false));
    code = sb_protected_open_parity(work);
    if (code)
        return code == SB_NOENT ? sb_protect_write_parity(work) : code;
    return sb_fail(SB_EXISTS, "%s: has a parity file already; --update brings it up to date",
                   work->path);
}

/* Of a file that seems to have the state which is protected. Damage must not be protected;
 * *current: false if it is another state after all. */
static enum sb_code compare(const struct sb_protected *work, bool *current)
{
    struct sb_parity_check_options wanted = {0};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;
    bool another = false;

    TRY(sb_parity_check(&bad, work->parity, work->file, &wanted));
    if (bad->data > 0) {
        TRY(sb_pieces_is_another(work->parity, work->file, &another));
        if (!another)
            return sb_fail(SB_DAMAGED, "%s: is damaged; repair it first, with --repair",
                           work->path);
    }
    *current = !another;
    return SB_OK;
}

static enum sb_code leave(struct sb_protected *work)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};

    sb_report(work->options->notify, SB_NOTE, "current", work->path,
              "its parity file is up to date");
    if (!work->options->dry_run) {
        sb_parity_adopt(work->parity->file->fd, &work->file->st);
        TRY(sb_protect_clear(work->name.data, &temporary));
    }
    return SB_OK;
}

enum sb_code sb_protect_update(struct sb_protected *work)
{
    struct sb_parity_options wanted = {0};
    bool current, same_words, older = false;
    enum sb_code code;

    TRY(sb_protected_open(work, false));
    code = sb_protected_open_parity(work);
    if (code == SB_NOENT || code == SB_DAMAGED)
        return sb_protect_write_parity(work);
    if (code)
        return code;
    TRY(choose_words(work, &wanted));
    TRY(sb_protect_is_same(&work->parity->super, work->file, &current));
    /* The parity file is all that is left of the later one. */
    if (!current && sb_protect_is_index(work->path))
        TRY(sb_protect_is_older(work->path, work->options->parity_dir, &older));
    if (older)
        return sb_fail(SB_CHANGED, "%s: %s", work->path, sb_protect_older);
    if (!current || work->options->anew)
        return sb_protect_write_parity(work);
    same_words = work->parity->super.shape.data == wanted.data &&
                 work->parity->super.shape.parity == wanted.parity;
    if (!same_words || !sb_protect_is_current(&work->parity->super, &work->file->st))
        TRY(compare(work, &current));
    return current && same_words ? leave(work) : sb_protect_write_parity(work);
}
