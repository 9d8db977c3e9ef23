#include "task/protect/before.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/parity/make.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/little_endian.h"
#include "core/name.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD        24
#define HEADER      40
#define NAME_MOST   255
#define MAGIC_SIZE  (sizeof(SB_REPAIR_MAGIC) - 1)
#define BATCH_BYTES ((size_t)4 << 20)
#define BATCH_PARTS 4096
#define PART_BYTES  ((size_t)16 << 10)
#define SIZE_MOST   ((int64_t)1 << 20)

#define NOTHING_KEPT ((struct sb_before){.fd = -1})

static const char what_it_is[] = "the bytes from before a repair";
static const char magic[8] = {'S', 'B', 'B', 'E', 'F', 'O', 'R', 'E'};

/* A record as it was read; what follows its header is at `at`. */
struct record {
    int64_t at;
    int64_t offset;
    int64_t size;
    bool cut;         /* not all of the bytes are in the file */
    uint32_t crc, by; /* of the bytes, and of those that replace them */
    size_t name_size;
    char name[NAME_MOST + 1];
};

/* What is put back. */
struct undo {
    const char *path;
    struct sb_before before; /* which is open to be read */
    const struct sb_notify *notify;
    bool dry_run;
    struct record *records;
    size_t count, capacity;
    int64_t skipped;
    bool database_changed;
    int target; /* the file of the last record that was used; -1: none */
    char target_name[NAME_MOST + 1];
    struct sb_buf bytes[2]; /* as they are, and as they were */
};

/* For a file of an archive, or any other; in parity_dir, or if that is NULL beside it. */
static enum sb_code find_name(struct sb_before *before, const char *path, const char *parity_dir)
{
    const char *name = sb_base_name(path);
    size_t base = sb_protect_base_of_shard(path);
    CLEANUP(sb_freep) char *whole = NULL;

    if (base == 0)
        base = sb_index_base_size(path);
    before->origin = 0;
    /* Of two directories files of one name may go to one parity_dir. */
    if (parity_dir) {
        TRY(sb_protect_find_origin(&whole, path));
        before->origin = sb_crc32c(0, whole, strlen(whole) - strlen(path) + base);
    }
    if (parity_dir && sb_buf_add_format(&before->name, "%s/", parity_dir))
        return sb_fail_memory();
    TRY(sb_buf_add_format(&before->name, "%.*s" SB_REPAIR_END,
                          (int)(parity_dir ? base - (size_t)(name - path) : base),
                          parity_dir ? name : path));
    return SB_OK;
}

static enum sb_code read_exactly(int fd, void *data, size_t size, int64_t at, bool *got)
{
    size_t count;

    TRY(sb_pread_full(fd, data, size, at, &count, what_it_is));
    *got = count == size;
    return SB_OK;
}

/* Is there a record at this place? Its bytes are compared when they are used. */
static enum sb_code read_record(int fd, int64_t file_size, int64_t at, struct record *record,
                                bool *is)
{
    unsigned char header[HEADER];

    TRY(read_exactly(fd, header, HEADER, at, is));
    if (!*is)
        return SB_OK;
    *record = (struct record){.at = at + HEADER,
                              .offset = (int64_t)sb_get_u64(header + 16),
                              .size = (int64_t)sb_get_u64(header + 24),
                              .crc = sb_get_u32(header + 32),
                              .by = sb_get_u32(header + 36),
                              .name_size = sb_get_u32(header + 12)};
    *is = memcmp(header, magic, sizeof(magic)) == 0 && record->name_size <= NAME_MOST &&
          record->offset >= 0 && record->size >= 0 && record->size <= SIZE_MOST;
    if (!*is)
        return SB_OK;
    TRY(read_exactly(fd, record->name, record->name_size, record->at, is));
    record->at += (int64_t)record->name_size;
    record->cut = record->size > file_size - record->at;
    *is = *is && sb_get_u32(header + 8) == sb_crc32c(sb_crc32c(0, header + 12, HEADER - 12),
                                                     record->name, record->name_size);
    return SB_OK;
}

/* The first record from `at` on: where it begins, or -1. Only where one is damaged it does not
 * begin there. */
static enum sb_code find_record(int fd, int64_t file_size, int64_t *at, struct record *record)
{
    char bytes[16 << 10];
    bool is = false;

    TRY(read_record(fd, file_size, *at, record, &is));
    for (int64_t from = *at; !is;) {
        const char *found;
        size_t got;

        TRY(sb_pread_full(fd, bytes, sizeof(bytes), from, &got, what_it_is));
        found = memmem(bytes, got, magic, sizeof(magic));
        if (!found && got < sizeof(bytes)) {
            *at = -1;
            return SB_OK;
        }
        *at = from + (found ? found - bytes : (int64_t)(got - sizeof(magic)));
        from = *at + 1;
        if (found)
            TRY(read_record(fd, file_size, *at, record, &is));
    }
    return SB_OK;
}

/* Where what is synced ends; where the head is damaged, the end of the file. */
static enum sb_code find_end(int fd, int64_t file_size, int64_t *end)
{
    unsigned char head[HEAD];
    bool is = false;

    *end = file_size;
    TRY(read_exactly(fd, head, HEAD, 0, &is));
    if (is && memcmp(head, SB_REPAIR_MAGIC, MAGIC_SIZE) == 0 &&
        sb_get_u32(head + 16) == sb_crc32c(0, head, 16) &&
        sb_get_u64(head + 8) < (uint64_t)file_size)
        *end = (int64_t)sb_get_u64(head + 8);
    return SB_OK;
}

static void say_gap(struct undo *undo, int64_t from, int64_t to)
{
    undo->skipped++;
    sb_report(undo->notify, SB_PROBLEM, "damaged", undo->before.name.data,
              "bytes %" PRId64 " to %" PRId64 " of it are damaged, and what they kept is lost",
              from, to - 1);
}

/* *end: of the last record that is not cut. undo, which may be NULL, gets the records, and says
 * where bytes are damaged. */
static enum sb_code read_all(int fd, int64_t *end, struct undo *undo)
{
    struct record record = {0};
    int64_t synced;
    struct stat st;

    *end = HEAD;
    if (fstat(fd, &st))
        return sb_fail_errno(errno, "fstat");
    TRY(find_end(fd, st.st_size, &synced));
    while (*end < synced && !record.cut) {
        int64_t at = *end;

        TRY(find_record(fd, synced, &at, &record));
        if (at < 0 || at > synced)
            at = synced;
        if (at > *end && undo)
            say_gap(undo, *end, at);
        if (at == synced) {
            *end = at;
            break;
        }
        if (undo) {
            TRY(sb_grow(&undo->records, &undo->capacity, undo->count + 1, sizeof(record)));
            undo->records[undo->count++] = record;
        }
        if (!record.cut)
            *end = record.at + record.size;
    }
    return SB_OK;
}

static enum sb_code refuse_foreign(int fd, const char *name, uint32_t origin)
{
    static const char nothing[MAGIC_SIZE];
    char there[HEAD] = {0};
    struct stat st;
    size_t got;

    if (fstat(fd, &st))
        return sb_fail_errno(errno, "%s", name);
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
        return sb_fail(SB_INVALID, "%s: is no regular file of one name; move it away", name);
    TRY(sb_pread_full(fd, there, sizeof(there), 0, &got, name));
    if (memcmp(there, SB_REPAIR_MAGIC, MAGIC_SIZE) == 0 &&
        sb_get_u32((unsigned char *)there + 20) != origin)
        return sb_fail(SB_INVALID,
                       "%s: is of another archive or file of this name, or of its former place; "
                       "move it beside that, or give another --parity-dir",
                       name);
    /* Before its head is synced it may be of zeros. */
    if (memcmp(there, SB_REPAIR_MAGIC, MAGIC_SIZE) == 0 ||
        (st.st_size <= HEAD && memcmp(there, nothing, sizeof(nothing)) == 0))
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: is not of bytes that a repair has replaced; move it away",
                   name);
}

static enum sb_code write_head(struct sb_before *before)
{
    const char *name = before->name.data;
    unsigned char head[HEAD] = {0};

    memcpy(head, SB_REPAIR_MAGIC, MAGIC_SIZE);
    sb_put_u64(head + 8, (uint64_t)before->size);
    sb_put_u32(sb_put_u32(head + 16, sb_crc32c(0, head, 16)), before->origin);
    TRY(sb_pwrite_full(before->fd, head, HEAD, 0, name));
    before->synced = before->size;
    return sb_fsync(before->fd, name);
}

/* After what is there, and was synced: of the rest the bytes are still in their place. */
static enum sb_code open_to_add(struct sb_before *before, const char *path)
{
    const char *name = before->name.data;
    struct stat st;

    before->fd =
        open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (before->fd < 0)
        return sb_fail(SB_INVALID,
                       "%s: cannot be made to keep what a repair replaces (%s); nothing is "
                       "repaired",
                       name, strerror(errno));
    TRY(refuse_foreign(before->fd, name, before->origin));
    TRY(read_all(before->fd, &before->size, NULL));
    if (stat(path, &st) == 0)
        sb_parity_adopt(before->fd, &st);
    if (ftruncate(before->fd, before->size))
        return sb_fail_errno(errno, "%s", name);
    before->is_ours = true;
    before->synced = before->size;
    TRY(write_head(before));
    return sb_sync_directory_of(name);
}

/* `size` bytes, which `by` replaces. The first time the file is opened, or made. */
static enum sb_code keep(struct sb_before *before, const char *path, int64_t offset,
                         const void *bytes, const void *by, size_t size)
{
    const char *name = sb_base_name(path), *what = before->name.data;
    unsigned char header[HEADER + NAME_MOST], *at;
    size_t length = strlen(name);

    if (length > NAME_MOST)
        return sb_fail(SB_LIMIT, "%s: has too long a name to be repaired", path);
    if (before->fd < 0)
        TRY(open_to_add(before, path));
    memcpy(header, magic, sizeof(magic));
    at = sb_put_u32(header + 12, (uint32_t)length);
    at = sb_put_u64(sb_put_u64(at, (uint64_t)offset), size);
    at = sb_put_u32(sb_put_u32(at, sb_crc32c(0, bytes, size)), sb_crc32c(0, by, size));
    memcpy(at, name, length);
    sb_put_u32(header + 8, sb_crc32c(0, header + 12, HEADER - 12 + length));
    TRY(sb_pwrite_full(before->fd, header, HEADER + length, before->size, what));
    TRY(sb_pwrite_full(before->fd, bytes, size, before->size + HEADER + (int64_t)length, what));
    before->size += HEADER + (int64_t)(length + size);
    return SB_OK;
}

/* Of a disk that was full nothing is left. */
static void release_before(struct sb_before *before)
{
    if (before->is_ours && before->synced <= HEAD)
        unlink(before->name.data);
    if (before->fd >= 0)
        close(before->fd);
    sb_buf_release(&before->name);
    *before = NOTHING_KEPT;
}

struct sb_rewrite_part {
    struct sb_file *file;
    struct stat st; /* of the file when it was added */
    int64_t offset;
    size_t size;
    size_t at; /* in the bytes */
};

enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, const char *path, const char *parity_dir)
{
    *rewrite = (struct sb_rewrite){.before = NOTHING_KEPT};
    pthread_mutex_init(&rewrite->mutex, NULL);
    TRY(sb_alloc(&rewrite->bytes, BATCH_BYTES));
    TRY(SB_NEW_ARRAY(&rewrite->parts, BATCH_PARTS));
    return find_name(&rewrite->before, path, parity_dir);
}

static void forget(struct sb_rewrite *rewrite)
{
    for (size_t i = 0; i < rewrite->count; i++)
        sb_file_free(rewrite->parts[i].file);
    rewrite->count = 0;
    rewrite->used = 0;
}

enum sb_code sb_rewrite_announce(struct sb_rewrite *rewrite, const char *path, int64_t commits)
{
    return keep(&rewrite->before, path, commits, "", "", 0);
}

void sb_rewrite_release(struct sb_rewrite *rewrite)
{
    if (!rewrite->bytes)
        return;
    forget(rewrite);
    release_before(&rewrite->before);
    pthread_mutex_destroy(&rewrite->mutex);
    free(rewrite->bytes);
    free(rewrite->parts);
    rewrite->bytes = NULL;
}

/* *got: how many bytes are there; what the disk has lost counts as none. */
static enum sb_code read_there(const struct sb_rewrite_part *part, unsigned char *there,
                               size_t *got)
{
    enum sb_code code = sb_file_read(part->file, there, part->size, part->offset, got);

    if (code == SB_SYSTEM && sb_error()->sys_errno == EIO) {
        *got = 0;
        return SB_OK;
    }
    return code;
}

static enum sb_code keep_before(struct sb_rewrite *rewrite)
{
    struct sb_before *before = &rewrite->before;
    unsigned char there[PART_BYTES];
    size_t got;

    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        TRY(read_there(part, there, &got));
        if (got > 0)
            TRY(keep(before, part->file->name, part->offset, there, rewrite->bytes + part->at,
                     got));
    }
    if (before->fd < 0 || before->size == before->synced)
        return SB_OK;
    TRY(sb_fsync(before->fd, before->name.data));
    return write_head(before);
}

static enum sb_code refuse_changes(const struct sb_rewrite *rewrite)
{
    struct stat now;

    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        if (fstat(part->file->fd, &now))
            return sb_fail_errno(errno, "%s", part->file->name);
        if (!sb_is_unchanged(&now, &part->st))
            return sb_fail(SB_CHANGED, "%s: changed while it was repaired, which ended there",
                           part->file->name);
    }
    return SB_OK;
}

/* The kernel's copy is dropped where it can be, so that the disk itself is read. */
static enum sb_code sync_file(const struct sb_rewrite_part *part)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, part->st.st_mtim};
    int fd = part->file->fd;

    (void)!futimens(fd, times);
    TRY(sb_fsync(fd, part->file->name));
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return SB_OK;
}

static enum sb_code compare(const struct sb_rewrite *rewrite, const struct sb_rewrite_part *part)
{
    unsigned char there[PART_BYTES];
    size_t got;

    TRY(sb_file_read(part->file, there, part->size, part->offset, &got));
    if (got == part->size && memcmp(there, rewrite->bytes + part->at, got) == 0)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: bytes from %" PRId64 " on do not read back as they were written; look at "
                   "the disk",
                   part->file->name, part->offset);
}

static enum sb_code write_parts(struct sb_rewrite *rewrite)
{
    TRY(refuse_changes(rewrite));
    TRY(keep_before(rewrite));
    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        TRY(sb_pwrite_full(part->file->fd, rewrite->bytes + part->at, part->size, part->offset,
                           part->file->name));
        if (i + 1 == rewrite->count || rewrite->parts[i + 1].file != part->file)
            TRY(sync_file(part));
    }
    for (size_t i = 0; i < rewrite->count; i++)
        TRY(compare(rewrite, &rewrite->parts[i]));
    return SB_OK;
}

enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite)
{
    enum sb_code code = write_parts(rewrite);

    forget(rewrite);
    return code;
}

static enum sb_code add_part(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                             const void *bytes, size_t size)
{
    struct sb_rewrite_part part = {.file = file, .offset = offset, .size = size};
    unsigned char there[PART_BYTES];
    size_t got;

    TRY(read_there(&part, there, &got));
    if (got == size && memcmp(there, bytes, size) == 0)
        return SB_OK;
    if (rewrite->count == BATCH_PARTS || rewrite->used + size > BATCH_BYTES)
        TRY(sb_rewrite_end(rewrite));
    if (fstat(file->fd, &part.st))
        return sb_fail_errno(errno, "%s", file->name);
    part.at = rewrite->used;
    memcpy(rewrite->bytes + rewrite->used, bytes, size);
    rewrite->used += size;
    rewrite->parts[rewrite->count++] = part;
    sb_file_ref(file);
    return SB_OK;
}

/* How many zeros from the offset on need not be written, as the file has a hole there. */
static size_t skip_hole(const struct sb_file *file, int64_t offset, size_t size)
{
    bool hole = false;
    struct stat st;
    int64_t run;

    if (fstat(file->fd, &st) || st.st_size <= offset)
        return 0;
    run = sb_run_length(file->fd, &st, offset, &hole);
    if (!hole)
        return 0;
    return run < (int64_t)size ? (size_t)run : size;
}

static enum sb_code add_zeros(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                              size_t size)
{
    static const unsigned char zeros[PART_BYTES];
    struct stat st;

    while (size > 0) {
        size_t some = skip_hole(file, offset, size);

        /* Past the end nothing is there that a hole would replace. */
        if (some == 0 && fstat(file->fd, &st) == 0 && st.st_size <= offset) {
            TRY(sb_rewrite_end(rewrite));
            TRY(sb_pwrite_hole(file->fd, offset, (int64_t)size, file->name));
            return sb_fsync(file->fd, file->name);
        }
        if (some == 0) {
            some = size < PART_BYTES ? size : PART_BYTES;
            TRY(add_part(rewrite, file, offset, zeros, some));
        }
        offset += (int64_t)some;
        size -= some;
    }
    return SB_OK;
}

static enum sb_code add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                        const unsigned char *bytes, size_t size)
{
    if (!bytes)
        return add_zeros(rewrite, file, offset, size);
    for (size_t done = 0; done < size; done += PART_BYTES)
        TRY(add_part(rewrite, file, offset + (int64_t)done, bytes + done,
                     size - done < PART_BYTES ? size - done : PART_BYTES));
    return SB_OK;
}

enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                            const void *bytes, size_t size)
{
    enum sb_code code;

    pthread_mutex_lock(&rewrite->mutex);
    code = add(rewrite, file, offset, bytes, size);
    pthread_mutex_unlock(&rewrite->mutex);
    return code;
}

/* Nothing but the files of this archive, or this file, whoever wrote the record. */
static bool is_own(const struct undo *undo, const struct record *record)
{
    const char *own = sb_base_name(undo->path);
    char base[NAME_MOST + 1];
    size_t size = sb_index_base_size(own);

    if (size > NAME_MOST || strlen(record->name) != record->name_size)
        return false;
    memcpy(base, own, size);
    base[size] = '\0';
    return strcmp(record->name, own) == 0 || sb_own_of(record->name, base).kind == SB_OWN_SHARD;
}

static enum sb_code open_target(struct undo *undo, const struct record *record)
{
    int flags =
        (undo->dry_run ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (undo->target >= 0 && strcmp(undo->target_name, record->name) == 0)
        return SB_OK;
    sb_closep(&undo->target);
    undo->target = -1;
    TRY(sb_buf_add(&path, undo->path, (size_t)(sb_base_name(undo->path) - undo->path)));
    TRY(sb_buf_add_text(&path, record->name));
    undo->target = open(path.data, flags);
    memcpy(undo->target_name, record->name, sizeof(undo->target_name));
    return undo->target < 0 ? sb_fail_errno(errno, "%s", record->name) : SB_OK;
}

static enum sb_code skip(struct undo *undo, const struct record *record, const char *why)
{
    undo->skipped++;
    sb_report(undo->notify, SB_PROBLEM, "changed", record->name,
              "bytes %" PRId64 " to %" PRId64 " %s, and are left as they are", record->offset,
              record->offset + record->size - 1, why);
    return SB_OK;
}

/* Of the file, and of what was kept. */
static enum sb_code load(struct undo *undo, const struct record *record, bool *there, bool *kept)
{
    size_t size = (size_t)record->size;

    for (unsigned i = 0; i < 2; i++) {
        sb_buf_clear(&undo->bytes[i]);
        TRY(sb_buf_reserve(&undo->bytes[i], size + 1));
    }
    TRY(read_exactly(undo->target, undo->bytes[0].data, size, record->offset, there));
    return read_exactly(undo->before.fd, undo->bytes[1].data, size, record->at, kept);
}

static bool is_of_database(const struct undo *undo, const struct record *record)
{
    return strcmp(record->name, sb_base_name(undo->path)) == 0 && sb_begins_like_index(undo->path);
}

static enum sb_code put_back(struct undo *undo, const struct record *record)
{
    size_t size = (size_t)record->size;
    bool there = false, kept = false;
    enum sb_code code;
    uint32_t crc;

    if (record->size == 0)
        return SB_OK;
    if (!is_own(undo, record))
        return skip(undo, record, "are of no file of this archive");
    if (undo->database_changed && is_of_database(undo, record))
        return skip(undo, record, "are of a database that changed since the repair");
    code = open_target(undo, record);
    if (code)
        return code == SB_NOENT ? skip(undo, record, "are missing") : code;
    TRY(load(undo, record, &there, &kept));
    crc = sb_crc32c(0, undo->bytes[0].data, size);
    /* A killed run did not replace them. */
    if (there && crc == record->crc)
        return SB_OK;
    if (!there || crc != record->by)
        return skip(undo, record, there ? "changed since the repair" : "are missing");
    if (!kept || sb_crc32c(0, undo->bytes[1].data, size) != record->crc)
        return skip(undo, record, "were not kept as they were");
    sb_report(undo->notify, SB_NOTE, undo->dry_run ? "would-undo" : "undone", record->name,
              "bytes %" PRId64 " to %" PRId64 " %s as they were before the repair", record->offset,
              record->offset + record->size - 1, undo->dry_run ? "would be" : "are");
    if (undo->dry_run)
        return SB_OK;
    TRY(sb_pwrite_full(undo->target, undo->bytes[1].data, size, record->offset, record->name));
    return sb_fsync(undo->target, record->name);
}

/* Pages of two states make no database: they go back if no commit came since the last repair. */
static enum sb_code look_at_database(struct undo *undo)
{
    unsigned char head[SB_PROTECT_HEAD] = {0};
    size_t i = undo->count;
    bool there = false;

    while (i > 0 && (undo->records[i - 1].size > 0 || !is_of_database(undo, &undo->records[i - 1])))
        i--;
    if (i == 0)
        return SB_OK;
    TRY(open_target(undo, &undo->records[i - 1]));
    TRY(read_exactly(undo->target, head, sizeof(head), 0, &there));
    undo->database_changed =
        !there || (int64_t)sb_protect_commits(head) != undo->records[i - 1].offset;
    return SB_OK;
}

static enum sb_code undo_all(struct undo *undo)
{
    const char *name = undo->before.name.data;
    int64_t end;

    TRY(refuse_foreign(undo->before.fd, name, undo->before.origin));
    TRY(read_all(undo->before.fd, &end, undo));
    TRY(look_at_database(undo));
    for (size_t i = undo->count; i > 0; i--)
        TRY(put_back(undo, &undo->records[i - 1]));
    if (undo->dry_run || undo->skipped > 0)
        return SB_OK;
    if (unlink(name))
        return sb_fail_errno(errno, "%s: cannot be removed", name);
    return sb_sync_directory_of(name);
}

static void release(struct undo *undo)
{
    sb_closep(&undo->target);
    release_before(&undo->before);
    for (unsigned i = 0; i < 2; i++)
        sb_buf_release(&undo->bytes[i]);
    free(undo->records);
}

static void drop(struct sb_hold *hold)
{
    sb_hold_drop(hold, true);
}

/* Where the index is missing, its shards are still kept from those that would make it again. */
static enum sb_code lock(struct sb_protect_holds *holds, struct sb_hold *hold, const char *path)
{
    enum sb_code code = sb_protect_hold(holds, path, false);

    if (code != SB_NOENT)
        return code;
    TRY(sb_hold_find(hold, path, false));
    return sb_hold_take(hold);
}

enum sb_code sb_before_undo(const char *path, const char *parity_dir, bool dry_run,
                            const struct sb_notify *notify)
{
    CLEANUP(sb_protect_release) struct sb_protect_holds holds = {0};
    CLEANUP(drop) struct sb_hold hold = SB_HOLD_NONE;
    CLEANUP(release)
    struct undo undo = {
        .path = path, .before = NOTHING_KEPT, .notify = notify, .dry_run = dry_run, .target = -1};
    const char *name;

    TRY(find_name(&undo.before, path, parity_dir));
    if (!dry_run)
        TRY(lock(&holds, &hold, path));
    name = undo.before.name.data;
    undo.before.fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (undo.before.fd < 0 && errno == ENOENT)
        return sb_fail(SB_NOENT, "%s: no repair has left it; nothing can be put back", name);
    if (undo.before.fd < 0)
        return sb_fail_errno(errno, "%s", name);
    return undo_all(&undo);
}
