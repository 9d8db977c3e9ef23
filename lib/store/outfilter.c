#include "store/outfilter.h"

#include "store/outxz.h"
#include "store/outzstd.h"

#include <archive.h>
#include <archive_entry.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS      4
#define BLOCK_BYTES ((size_t)512 << 10)

struct kind {
    const char *name;
    int (*add)(struct archive *archive); /* NULL: it is not libarchive's */
    int usual, highest;                  /* levels */
};

static const struct kind kinds[] = {
    [SB_FILTER_GZIP] = {"gzip", archive_write_add_filter_gzip, 6, 9},
    [SB_FILTER_BZIP2] = {"bzip2", archive_write_add_filter_bzip2, 9, 9},
    [SB_FILTER_XZ] = {"xz", NULL, 6, 9},
    [SB_FILTER_LZMA] = {"lzma", archive_write_add_filter_lzma, 6, 9},
    [SB_FILTER_ZSTD] = {"zstd", NULL, 3, 19},
    [SB_FILTER_LZ4] = {"lz4", archive_write_add_filter_lz4, 1, 9},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct block {
    char *data;
    size_t size;
};

/*
 * Block n is blocks[n % BLOCKS]: those from `taken` to `pushed` wait for the thread, the next one
 * is being filled. What is below the mutex belongs to it.
 */
struct sb_outfilter {
    struct archive *archive; /* NULL where it is one of these: */
    struct sb_outxz *xz;
    struct sb_outzstd *zstd;
    sb_each_block *each;
    void *context;
    pthread_t thread;
    bool threaded; /* else, where the system gives no thread, the caller does the work */
    bool dead;     /* what still comes out goes nowhere */
    struct block blocks[BLOCKS];

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t pushed;
    uint64_t taken;
    bool closed;    /* nothing more will be pushed */
    bool abandoned; /* and what was is not wanted */
    enum sb_code code;
    struct sb_error error;
};

static enum sb_code failure(struct archive *archive, struct sb_error *err)
{
    const char *text = archive_error_string(archive);

    return sb_fail(err, SB_SYSTEM, "compression: %s", text ? text : "failed");
}

/* Keeps the first reason: that of put comes before libarchive's own. */
static void note_failure(struct sb_outfilter *filter, enum sb_code code,
                         const struct sb_error *error)
{
    pthread_mutex_lock(&filter->mutex);
    if (filter->code == SB_OK) {
        filter->code = code;
        filter->error = *error;
    }
    pthread_mutex_unlock(&filter->mutex);
}

/* libarchive's callback. The reason of a failure is kept here: it would know only a text. */
static la_ssize_t put(struct archive *archive, void *context, const void *data, size_t size)
{
    struct sb_outfilter *filter = context;
    struct sb_error error;
    enum sb_code code = SB_OK;

    if (!filter->dead)
        code = filter->each(filter->context, data, size, &error);
    if (code == SB_OK)
        return (la_ssize_t)size;
    note_failure(filter, code, &error);
    archive_set_error(archive, error.sys_errno, "cannot write");
    return -1;
}

static void compress_block(struct sb_outfilter *filter, const struct block *block)
{
    struct sb_error error;
    enum sb_code code = SB_OK;

    if (filter->xz)
        code = sb_outxz_write(filter->xz, block->data, block->size, &error);
    else if (filter->zstd)
        code = sb_outzstd_write(filter->zstd, block->data, block->size, &error);
    else if (archive_write_data(filter->archive, block->data, block->size) !=
             (la_ssize_t)block->size)
        code = failure(filter->archive, &error);
    if (code)
        note_failure(filter, code, &error);
}

static void end_stream(struct sb_outfilter *filter)
{
    struct sb_error error;
    enum sb_code code = SB_OK;

    if (filter->xz)
        code = sb_outxz_finish(filter->xz, &error);
    else if (filter->zstd)
        code = sb_outzstd_finish(filter->zstd, &error);
    else if (archive_write_close(filter->archive) != ARCHIVE_OK)
        code = failure(filter->archive, &error);
    if (code)
        note_failure(filter, code, &error);
}

/* With the mutex. */
static bool ended(const struct sb_outfilter *filter)
{
    return filter->code || filter->abandoned || (filter->closed && filter->taken == filter->pushed);
}

static void *run_thread(void *argument)
{
    struct sb_outfilter *filter = argument;
    bool whole;

    pthread_mutex_lock(&filter->mutex);
    while (!ended(filter)) {
        if (filter->taken == filter->pushed) {
            pthread_cond_wait(&filter->changed, &filter->mutex);
            continue;
        }
        pthread_mutex_unlock(&filter->mutex);
        compress_block(filter, &filter->blocks[filter->taken % BLOCKS]);
        pthread_mutex_lock(&filter->mutex);
        filter->taken++;
        pthread_cond_broadcast(&filter->changed);
    }
    whole = !filter->code && !filter->abandoned;
    pthread_mutex_unlock(&filter->mutex);
    if (whole)
        end_stream(filter);
    return NULL;
}

/* Takes no signals, so that it is the calling thread whose waiting read comes back. */
static void start_thread(struct sb_outfilter *filter)
{
    sigset_t blocked, before;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    filter->threaded = pthread_create(&filter->thread, NULL, run_thread, filter) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool set_number(struct archive *archive, const char *option, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    return archive_write_set_filter_option(archive, NULL, option, text) == ARCHIVE_OK;
}

static bool set_options(struct archive *archive, const struct sb_outfilter_options *options,
                        int level)
{
    if (!set_number(archive, "compression-level", (unsigned)level))
        return false;
    return options->kind != SB_FILTER_GZIP ||
           archive_write_set_filter_option(archive, NULL, "timestamp", NULL) == ARCHIVE_OK;
}

static enum sb_code begin_stream(struct sb_outfilter *filter, struct sb_error *err)
{
    struct archive_entry *entry = archive_entry_new();
    int result = ARCHIVE_FATAL;

    if (!entry)
        return sb_fail_memory(err);
    archive_entry_set_filetype(entry, AE_IFREG);
    if (archive_write_open(filter->archive, filter, NULL, put, NULL) == ARCHIVE_OK)
        result = archive_write_header(filter->archive, entry);
    archive_entry_free(entry);
    return result == ARCHIVE_OK ? SB_OK : failure(filter->archive, err);
}

static enum sb_code open_stream(struct sb_outfilter *filter, const struct kind *kind,
                                const struct sb_outfilter_options *options, struct sb_error *err)
{
    int level = options->level ? options->level : kind->usual;
    struct archive *archive;

    if (options->kind == SB_FILTER_XZ)
        return sb_outxz_open(&filter->xz, level, options->threads, options->each, options->context,
                             err);
    if (options->kind == SB_FILTER_ZSTD)
        return sb_outzstd_open(&filter->zstd, level, options->threads, options->each,
                               options->context, err);
    filter->archive = archive = archive_write_new();
    if (!archive)
        return sb_fail_memory(err);
    /* No blocks of its own, and nothing to fill the last one up. */
    if (archive_write_set_format_raw(archive) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(archive, 0) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
        kind->add(archive) != ARCHIVE_OK || !set_options(archive, options, level))
        return failure(archive, err);
    return begin_stream(filter, err);
}

static enum sb_code make_blocks(struct sb_outfilter *filter, struct sb_error *err)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        filter->blocks[i].data = malloc(BLOCK_BYTES);
        if (!filter->blocks[i].data)
            return sb_fail_memory(err);
    }
    return SB_OK;
}

enum sb_code sb_outfilter_open(struct sb_outfilter **out,
                               const struct sb_outfilter_options *options, struct sb_error *err)
{
    const struct kind *kind = (size_t)options->kind < KINDS ? &kinds[options->kind] : NULL;
    struct sb_outfilter *filter;
    enum sb_code code;

    *out = NULL;
    if (!kind || !kind->name)
        return sb_fail(err, SB_INVALID, "this kind of compression is only read, never written");
    if (options->level < 0 || options->level > kind->highest)
        return sb_fail(err, SB_INVALID, "level %d: %s has 1 to %d", options->level, kind->name,
                       kind->highest);
    filter = calloc(1, sizeof(*filter));
    if (!filter)
        return sb_fail_memory(err);
    filter->each = options->each;
    filter->context = options->context;
    pthread_mutex_init(&filter->mutex, NULL);
    pthread_cond_init(&filter->changed, NULL);
    code = make_blocks(filter, err);
    if (code == SB_OK)
        code = open_stream(filter, kind, options, err);
    if (code) {
        sb_outfilter_free(filter);
        return code;
    }
    start_thread(filter);
    *out = filter;
    return SB_OK;
}

/* With the mutex, or without a thread. */
static enum sb_code result(const struct sb_outfilter *filter, struct sb_error *err)
{
    if (filter->code)
        *err = filter->error;
    return filter->code;
}

/* Gives the block that is full, or the last one, to the thread, and waits until another is free. */
static enum sb_code push(struct sb_outfilter *filter, struct sb_error *err)
{
    enum sb_code code;

    pthread_mutex_lock(&filter->mutex);
    filter->pushed++;
    pthread_cond_broadcast(&filter->changed);
    while (filter->threaded && !filter->code && filter->pushed - filter->taken == BLOCKS)
        pthread_cond_wait(&filter->changed, &filter->mutex);
    pthread_mutex_unlock(&filter->mutex);
    if (!filter->threaded)
        compress_block(filter, &filter->blocks[filter->taken++ % BLOCKS]);
    pthread_mutex_lock(&filter->mutex);
    code = result(filter, err);
    pthread_mutex_unlock(&filter->mutex);
    if (code == SB_OK)
        filter->blocks[filter->pushed % BLOCKS].size = 0;
    return code;
}

enum sb_code sb_outfilter_write(struct sb_outfilter *filter, const void *data, size_t size,
                                struct sb_error *err)
{
    const char *from = data;
    enum sb_code code = SB_OK;

    while (code == SB_OK && size > 0) {
        struct block *block = &filter->blocks[filter->pushed % BLOCKS];
        size_t room = BLOCK_BYTES - block->size;
        size_t part = size < room ? size : room;

        memcpy(block->data + block->size, from, part);
        block->size += part;
        from += part;
        size -= part;
        if (block->size == BLOCK_BYTES)
            code = push(filter, err);
    }
    return code;
}

static void end_thread(struct sb_outfilter *filter, bool abandoned)
{
    pthread_mutex_lock(&filter->mutex);
    filter->closed = true;
    filter->abandoned = abandoned;
    pthread_cond_broadcast(&filter->changed);
    pthread_mutex_unlock(&filter->mutex);
    pthread_join(filter->thread, NULL);
    filter->threaded = false;
}

enum sb_code sb_outfilter_finish(struct sb_outfilter *filter, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (filter->blocks[filter->pushed % BLOCKS].size > 0)
        code = push(filter, err);
    if (filter->threaded)
        end_thread(filter, false);
    else if (code == SB_OK)
        end_stream(filter);
    return result(filter, err);
}

void sb_outfilter_free(struct sb_outfilter *filter)
{
    if (!filter)
        return;
    if (filter->threaded)
        end_thread(filter, true);
    /* libarchive frees what its filters hold only where it ends the stream. */
    filter->dead = true;
    if (filter->archive)
        archive_write_free(filter->archive);
    sb_outxz_free(filter->xz);
    sb_outzstd_free(filter->zstd);
    pthread_cond_destroy(&filter->changed);
    pthread_mutex_destroy(&filter->mutex);
    for (size_t i = 0; i < BLOCKS; i++)
        free(filter->blocks[i].data);
    free(filter);
}
