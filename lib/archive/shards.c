#include "archive/shards.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/reader.h"
#include "core/context.h"
#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/open_files.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASES_MOST  2
#define BLOCK_BYTES (1 << 20)
#define OPENINGS    16

struct sb_shards {
    struct sb_bytes *bytes;     /* the archive's; NULL: files, and all fields below are used */
    struct sb_places *places;   /* NULL: shards have their final names */
    char *bases[BASES_MOST];    /* of their final names, in the order of search; NULL: no more */
    struct sb_open_files files; /* by number; the generation is that of the places */
    pthread_mutex_t opening[OPENINGS]; /* by number: only one thread opens a shard */
};

struct sb_places {
    pthread_mutex_t lock;
    unsigned holders;
    bool known;
    const char *suffix;
    _Atomic uint32_t generation;
};

enum sb_code sb_places_new(struct sb_places **out)
{
    TRY(SB_NEW(out));
    (*out)->holders = 1;
    pthread_mutex_init(&(*out)->lock, NULL);
    return SB_OK;
}

struct sb_places *sb_places_ref(struct sb_places *places)
{
    pthread_mutex_lock(&places->lock);
    places->holders++;
    pthread_mutex_unlock(&places->lock);
    return places;
}

void sb_places_unref(struct sb_places *places)
{
    bool last;

    if (!places)
        return;
    pthread_mutex_lock(&places->lock);
    last = --places->holders == 0;
    pthread_mutex_unlock(&places->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&places->lock);
    free(places);
}

void sb_places_set(struct sb_places *places, uint32_t generation, const char *suffix)
{
    pthread_mutex_lock(&places->lock);
    /* The number may wrap around. */
    if (!places->known || (int32_t)(generation - places->generation) > 0) {
        places->known = true;
        places->suffix = suffix;
        places->generation = generation;
    }
    pthread_mutex_unlock(&places->lock);
}

static uint32_t get_place(struct sb_places *places, const char **suffix)
{
    uint32_t generation;

    pthread_mutex_lock(&places->lock);
    *suffix = places->suffix;
    generation = places->generation;
    pthread_mutex_unlock(&places->lock);
    return generation;
}

static enum sb_code add_base(struct sb_shards *shards, char *base)
{
    size_t i = 0;

    if (!base)
        return sb_fail_memory();
    for (; i < BASES_MOST && shards->bases[i]; i++) {
        if (strcmp(shards->bases[i], base) == 0)
            break;
    }
    if (i == BASES_MOST || shards->bases[i])
        free(base);
    else
        shards->bases[i] = base;
    return SB_OK;
}

/* The path as given, absolute, so that a later chdir does not matter. */
static char *absolute(const char *path)
{
    char *directory, *whole = NULL;

    if (*path == '/')
        return strdup(path);
    directory = getcwd(NULL, 0);
    if (directory && asprintf(&whole, "%s/%s", directory, path) < 0)
        whole = NULL;
    if (whole)
        sb_context_resolves(path, whole);
    free(directory);
    return whole;
}

static enum sb_code new_shards(struct sb_shards **out)
{
    struct sb_shards *shards;

    TRY(SB_NEW(&shards));
    sb_open_files_begin(&shards->files, SB_OPEN_FILES_FEW);
    for (size_t i = 0; i < OPENINGS; i++)
        pthread_mutex_init(&shards->opening[i], NULL);
    *out = shards;
    return SB_OK;
}

enum sb_code sb_shards_open(struct sb_shards **out, struct sb_archive *archive)
{
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;

    *out = NULL;
    TRY(new_shards(&shards));
    shards->bytes = archive->bytes;
    if (!shards->bytes) {
        /*
         * Shards are beside the index. If the archive was named through a link, they may also be
         * beside the link, as for an archive that is linked file by file.
         */
        shards->places = sb_places_ref(archive->places);
        TRY(add_base(shards,
                     strndup(archive->index_path, sb_index_base_size(archive->index_path))));
        TRY(add_base(shards, absolute(archive->path)));
    }
    *out = TAKE(shards);
    return SB_OK;
}

enum sb_code sb_shards_open_at(struct sb_shards **out, const char *base)
{
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;

    *out = NULL;
    TRY(new_shards(&shards));
    TRY(add_base(shards, absolute(base)));
    *out = TAKE(shards);
    return SB_OK;
}

void sb_shards_free(struct sb_shards *shards)
{
    if (!shards)
        return;
    for (size_t i = 0; i < BASES_MOST; i++)
        free(shards->bases[i]);
    sb_places_unref(shards->places);
    sb_open_files_end(&shards->files);
    for (size_t i = 0; i < OPENINGS; i++)
        pthread_mutex_destroy(&shards->opening[i]);
    free(shards);
}

enum sb_code sb_shard_refuse_unnamed(const char *path)
{
    if (!sb_is_new_shard(path))
        return SB_OK;
    return sb_fail(SB_LOCKED,
                   "%s: is about to be renamed, or was when a run was killed; wait for its "
                   "writer, or finish the renames with 'pack --append'",
                   path);
}

static enum sb_code fail_to_find(const char *name)
{
    int number = errno;
    char target[PATH_MAX];
    ssize_t size = number == ENOENT ? readlink(name, target, sizeof(target)) : -1;

    if (size < 0)
        return sb_fail_errno(number, "%s", name);
    return sb_fail(SB_NOENT, "%s: is a link to %.*s, which is not there", name, (int)size, target);
}

/* Looks for a shard under one base. SB_NOENT: it is not there. */
static enum sb_code look_at(const char *base, const char *suffix, uint32_t shard,
                            struct sb_buf *name, struct stat *st)
{
    sb_buf_clear(name);
    TRY(sb_buf_add_format(name, "%s%s-shard-%05u", base, suffix, shard));
    if (stat(name->data, st) == 0)
        return SB_OK;
    if (errno == ELOOP)
        return sb_fail(SB_FORMAT, "%s: too many symbolic links", name->data);
    return fail_to_find(name->data);
}

/*
 * Finds the file of a shard: its name (the final one if it is missing) and its status. Checked
 * before it is opened, since opening a device may have effects.
 */
static enum sb_code locate(struct sb_shards *shards, uint32_t shard, struct sb_buf *name,
                           struct stat *st, uint32_t *generation)
{
    const char *suffix = NULL;
    enum sb_code code = SB_NOENT;

    *generation = shards->places ? get_place(shards->places, &suffix) : 0;
    if (shard > SB_SHARD_MAX)
        return sb_fail(SB_NOENT, "shard %u: there can be no such shard", shard);
    if (suffix && *suffix)
        code = look_at(shards->bases[0], suffix, shard, name, st);
    for (size_t i = 0; code == SB_NOENT && i < BASES_MOST && shards->bases[i]; i++)
        code = look_at(shards->bases[i], "", shard, name, st);
    if (code == SB_NOENT && shards->bases[1])
        code = look_at(shards->bases[0], "", shard, name, st);
    if (code)
        return code;
    if (!S_ISREG(st->st_mode))
        return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", name->data);
    return SB_OK;
}

static bool find_open(struct sb_shards *shards, uint32_t shard, struct sb_file **out)
{
    uint32_t generation = shards->places ? shards->places->generation : 0;

    *out = sb_open_files_find(&shards->files, shard, generation);
    return *out != NULL;
}

/* Unless another thread has just done it. */
static enum sb_code open_shard(struct sb_shards *shards, uint32_t shard, struct sb_file **out)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    enum sb_code code = SB_NOENT;
    uint32_t generation;
    struct stat st;

    if (find_open(shards, shard, out))
        return SB_OK;
    /* A writer may give it its final name between the two. */
    for (int i = 0; code == SB_NOENT && i < 2; i++) {
        TRY(locate(shards, shard, &name, &st, &generation));
        code = sb_file_open(out, name.data, "shard");
    }
    if (!code)
        sb_open_files_keep(&shards->files, shard, generation, *out);
    return code;
}

static enum sb_code acquire(struct sb_shards *shards, uint32_t shard, struct sb_file **out)
{
    pthread_mutex_t *opening = &shards->opening[shard % OPENINGS];
    enum sb_code code;

    if (find_open(shards, shard, out))
        return SB_OK;
    pthread_mutex_lock(opening);
    code = open_shard(shards, shard, out);
    pthread_mutex_unlock(opening);
    return code;
}

enum sb_code sb_shards_read(struct sb_shards *shards, uint32_t shard, int64_t offset, void *data,
                            size_t size)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;

    if (size == 0)
        return SB_OK;
    if (shards->bytes)
        return shards->bytes->ops->read(shards->bytes, shard, offset, data, size);
    TRY(acquire(shards, shard, &file));
    return sb_file_read_exactly(file, data, size, offset);
}

void sb_shards_reopen(struct sb_shards *shards, uint32_t shard)
{
    if (!shards->bytes)
        sb_open_files_drop(&shards->files, shard);
}

int64_t sb_shards_run(struct sb_shards *shards, uint32_t shard, int64_t offset, bool *hole)
{
    struct sb_file *file;
    int64_t size;

    *hole = false;
    if (shards->bytes || IGNORED(acquire(shards, shard, &file)))
        return INT64_MAX;
    size = sb_run_length(file->fd, &file->st, offset, hole);
    sb_file_free(file);
    return size;
}

enum sb_code sb_shards_stat(struct sb_shards *shards, uint32_t shard, struct stat *out)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    uint32_t generation;

    if (shards->bytes)
        return shards->bytes->ops->stat(shards->bytes, shard, out);
    return locate(shards, shard, &name, out, &generation);
}

bool sb_shards_hold(const struct sb_shards *shards, uint32_t shard)
{
    return !shards->bytes || shard != SB_SHARD_APART;
}

enum sb_code sb_shards_path(struct sb_shards *shards, uint32_t shard, struct sb_buf *out)
{
    struct stat st;
    uint32_t generation;

    if (shards->bytes)
        return shards->bytes->ops->path(shards->bytes, shard, out);
    return IGNORED(locate(shards, shard, out, &st, &generation)) == SB_NOMEM ? SB_NOMEM : SB_OK;
}

/* Passes every block of an extent in a shard file. */
static enum sb_code stream_file(struct sb_shards *shards, uint32_t shard, int64_t offset,
                                int64_t size, sb_each_block *each, void *context)
{
    int64_t capacity = size < BLOCK_BYTES ? size : BLOCK_BYTES, take;
    CLEANUP(sb_freep) void *block = NULL;
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    bool hole;

    TRY(sb_alloc(&block, (size_t)capacity));
    TRY(acquire(shards, shard, &file));
    for (; size > 0; size -= take, offset += take) {
        take = sb_run_length(file->fd, &file->st, offset, &hole);
        if (!hole && take > capacity)
            take = capacity;
        if (take > size)
            take = size;
        TRY(sb_heed_interrupt());
        if (!hole)
            TRY(sb_file_read_exactly(file, block, (size_t)take, offset));
        TRY(each(context, hole ? NULL : block, (size_t)take));
    }
    return SB_OK;
}

/* Passes blocks on, with their checksum. */
struct summing {
    sb_each_block *each;
    void *context;
    uint32_t crc32c;
};

static enum sb_code sum_block(void *context, const void *data, size_t size)
{
    struct summing *summing = context;

    summing->crc32c = sb_crc32c_block(summing->crc32c, data, size);
    return summing->each(summing->context, data, size);
}

enum sb_code sb_shards_stream(struct sb_shards *shards, uint32_t shard, int64_t offset,
                              int64_t size, const uint32_t *crc32c, sb_each_block *each,
                              void *context)
{
    struct summing summing = {.each = each, .context = context};

    if (size == 0)
        return !crc32c || *crc32c == 0
                   ? SB_OK
                   : sb_fail(SB_DAMAGED, "checksum does not match: an empty file's is 0");
    if (crc32c) {
        each = sum_block;
        context = &summing;
    }
    TRY(shards->bytes
            ? shards->bytes->ops->stream(shards->bytes, shard, offset, size, each, context)
            : stream_file(shards, shard, offset, size, each, context));
    if (crc32c && summing.crc32c != *crc32c)
        return sb_fail(SB_DAMAGED, "checksum does not match: bytes are %08x, should be %08x",
                       summing.crc32c, *crc32c);
    return SB_OK;
}
