#include "task/pack/pack.h"

#include "core/buf.h"
#include "core/context.h"
#include "core/io.h"
#include "core/thread.h"
#include "core/time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

struct input {
    struct sb_source source;
    char *name;
    size_t name_size;
    char *block;
    bool given;
    bool must_have; /* at least one byte, before the end */
};

static void free_input(struct sb_source *source)
{
    struct input *self = (struct input *)source;

    free(self->name);
    free(self->block);
    free(self);
}

/* With the metadata of a file that is made now. */
static enum sb_code give_input(struct sb_source *source, struct sb_member *member)
{
    struct input *self = (struct input *)source;
    struct timespec now = {0};

    if (self->given)
        return SB_END;
    self->given = true;
    clock_gettime(CLOCK_REALTIME, &now);
    *member = (struct sb_member){
        .entry.path = self->name,
        .entry.path_size = self->name_size,
        .entry.type = SB_FILE,
        .entry.size = -1,
        .entry.has = SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .entry.mode = S_IFREG | (0666 & ~sb_context_now->umask),
        .entry.uid = geteuid(),
        .entry.gid = getegid(),
        .entry.mtime_ns = sb_time_ns(now),
    };
    return SB_OK;
}

static enum sb_code block(struct sb_source *source, const void **data, size_t *size)
{
    struct input *self = (struct input *)source;
    enum sb_code code = sb_read_full(STDIN_FILENO, self->block, BLOCK, size, "standard input");

    *data = self->block;
    if (!code && *size == 0 && self->must_have)
        return sb_fail_empty(source->name);
    self->must_have = false;
    return code ? code : *size > 0 ? SB_OK : SB_END;
}

enum sb_code sb_pack_stdin_open(struct sb_source **out, const char *name, size_t name_size,
                                bool must_have)
{
    static const struct sb_source_ops ops = {
        .free = free_input, .next = give_input, .block = block};
    CLEANUP(sb_source_freep) struct sb_source *made = NULL;
    struct input *self;

    *out = NULL;
    TRY(SB_NEW(&self));
    made = &self->source;
    self->source = (struct sb_source){.ops = &ops, .name = "standard input", .unique = true};
    self->name_size = name_size;
    self->must_have = must_have;
    TRY(sb_copy_text(&self->name, name));
    TRY(sb_alloc(&self->block, BLOCK));
    *out = TAKE(made);
    return SB_OK;
}

#define BATCH_ITEMS 128

struct look {
    struct sb_pack_item item;
    size_t name, component, disk_path; /* places in the text, which may move until it is whole */
    bool looked;
};

struct batch {
    struct look looks[BATCH_ITEMS];
    size_t count, given;
    struct sb_buf text;
    struct sb_tree_dir **dirs; /* kept open */
    size_t dir_count, dir_capacity;
    bool looked; /* with the mutex */
};

/*
 * The items with the sizes and times of their files, which threads look up while the caller is busy
 * with earlier ones. A few hundred items are kept for each thread. Batches are numbered; number n
 * is in place n % count.
 *
 *     begun <= filled <= given + count
 */
struct look_ahead {
    struct sb_pack_source *items;
    bool dereference;
    unsigned count;
    size_t dirs_most; /* in a batch */
    struct batch *batches;
    uint64_t given;   /* whole batches */
    enum sb_code end; /* what came instead of an item */
    struct sb_error end_error;

    pthread_t *threads;
    unsigned started;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t work;
    pthread_cond_t done;
    uint64_t filled;
    uint64_t begun; /* to be looked up */
    bool closed;
};

static struct batch *batch_of(const struct look_ahead *ahead, uint64_t number)
{
    return &ahead->batches[number % ahead->count];
}

/* A file that vanished meanwhile is reported when it is loaded. */
static void look_at(const struct look_ahead *ahead, struct batch *batch)
{
    int flags = ahead->dereference ? 0 : AT_SYMLINK_NOFOLLOW;

    for (size_t i = 0; i < batch->count; i++) {
        struct look *look = &batch->looks[i];
        struct sb_pack_item *item = &look->item;

        look->looked = item->node == SB_NODE_DIR
                           ? !item->implied
                           : fstatat(item->dir_fd, item->component, &item->stat, flags) == 0;
    }
}

/* With the mutex. Looks at the next batch that nobody has begun; false: there is none. */
static bool look_at_next(struct look_ahead *ahead)
{
    struct batch *batch = batch_of(ahead, ahead->begun);

    if (ahead->begun == ahead->filled)
        return false;
    ahead->begun++;
    pthread_mutex_unlock(&ahead->mutex);
    look_at(ahead, batch);
    pthread_mutex_lock(&ahead->mutex);
    batch->looked = true;
    pthread_cond_signal(&ahead->done);
    return true;
}

static void *run(void *argument)
{
    struct look_ahead *ahead = argument;

    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->closed) {
        if (!look_at_next(ahead))
            pthread_cond_wait(&ahead->work, &ahead->mutex);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static enum sb_code keep_dir(struct batch *batch, struct sb_tree_dir *dir)
{
    if (!dir || (batch->dir_count > 0 && batch->dirs[batch->dir_count - 1] == dir))
        return SB_OK;
    TRY(sb_grow(&batch->dirs, &batch->dir_capacity, batch->dir_count,
                sizeof(struct sb_tree_dir *)));
    batch->dirs[batch->dir_count++] = sb_tree_dir_ref(dir);
    return SB_OK;
}

static size_t add_text(struct batch *batch, const char *text, size_t size, bool *failed)
{
    size_t at = batch->text.size;

    *failed |= sb_buf_add(&batch->text, text, size) || sb_buf_add_char(&batch->text, '\0');
    return at;
}

static enum sb_code keep_item(struct batch *batch, const struct sb_pack_item *item)
{
    struct look *look = &batch->looks[batch->count];
    bool failed = false;

    look->item = *item;
    look->name = add_text(batch, item->name, item->name_size, &failed);
    look->component = add_text(batch, item->component, strlen(item->component), &failed);
    look->disk_path = add_text(batch, item->disk_path, strlen(item->disk_path), &failed);
    if (failed)
        return sb_fail_memory();
    TRY(keep_dir(batch, item->dir));
    batch->count++;
    return SB_OK;
}

static void empty(struct batch *batch)
{
    while (batch->dir_count > 0)
        sb_tree_dir_unref(batch->dirs[--batch->dir_count]);
    sb_buf_clear(&batch->text);
    batch->count = batch->given = 0;
    batch->looked = false;
}

static void fill(struct look_ahead *ahead, struct batch *batch)
{
    struct sb_pack_item item;

    while (!ahead->end && batch->count < BATCH_ITEMS && batch->dir_count < ahead->dirs_most) {
        ahead->end = INTO(&ahead->end_error, sb_pack_source_next(ahead->items, &item));
        if (!ahead->end)
            ahead->end = INTO(&ahead->end_error, keep_item(batch, &item));
    }
    for (size_t i = 0; i < batch->count; i++) {
        struct look *look = &batch->looks[i];

        look->item.name = batch->text.data + look->name;
        look->item.component = batch->text.data + look->component;
        look->item.disk_path = batch->text.data + look->disk_path;
    }
}

static void fill_all(struct look_ahead *ahead)
{
    while (!ahead->end && ahead->filled - ahead->given < ahead->count) {
        struct batch *batch = batch_of(ahead, ahead->filled);

        fill(ahead, batch);
        if (batch->count == 0)
            return;
        pthread_mutex_lock(&ahead->mutex);
        ahead->filled++;
        pthread_cond_signal(&ahead->work);
        pthread_mutex_unlock(&ahead->mutex);
    }
}

/* Looks itself where no thread has begun to. */
static void await(struct look_ahead *ahead, const struct batch *batch)
{
    pthread_mutex_lock(&ahead->mutex);
    while (!batch->looked) {
        if (!look_at_next(ahead))
            pthread_cond_wait(&ahead->done, &ahead->mutex);
    }
    pthread_mutex_unlock(&ahead->mutex);
}

/*
 * As sb_pack_source_next. *looked: item->stat is of the file, link or directory; else it could not
 * be looked up, or is an implied directory.
 */
static enum sb_code look_ahead_next(struct look_ahead *ahead, struct sb_pack_item *item,
                                    bool *looked)
{
    struct batch *batch = batch_of(ahead, ahead->given);

    if (batch->given == batch->count) {
        if (batch->count > 0) {
            empty(batch);
            ahead->given++;
        }
        fill_all(ahead);
        batch = batch_of(ahead, ahead->given);
        if (batch->count == 0) {
            *sb_error() = ahead->end_error;
            return ahead->end;
        }
        await(ahead, batch);
    }
    *item = batch->looks[batch->given].item;
    *looked = batch->looks[batch->given++].looked;
    return SB_OK;
}

static void look_ahead_free(struct look_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->closed = true;
    ahead->begun = ahead->filled;
    pthread_cond_broadcast(&ahead->work);
    pthread_mutex_unlock(&ahead->mutex);
    while (ahead->started > 0)
        pthread_join(ahead->threads[--ahead->started], NULL);
    for (unsigned i = 0; ahead->batches && i < ahead->count; i++) {
        empty(&ahead->batches[i]);
        sb_buf_release(&ahead->batches[i].text);
        free(ahead->batches[i].dirs);
    }
    pthread_cond_destroy(&ahead->done);
    pthread_cond_destroy(&ahead->work);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead->threads);
    free(ahead->batches);
    free(ahead);
}

/* Without threads (0 or 1) the caller looks. *out is to be freed whatever is returned. */
static enum sb_code look_ahead_new(struct look_ahead **out, struct sb_pack_source *items,
                                   unsigned threads, bool dereference)
{
    struct look_ahead *ahead;
    unsigned wanted = threads > 1 ? threads : 0;

    TRY(SB_NEW(out));
    ahead = *out;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->work, NULL);
    pthread_cond_init(&ahead->done, NULL);
    ahead->items = items;
    ahead->dereference = dereference;
    ahead->count = wanted > 0 ? 2 * wanted + 2 : 1;
    ahead->dirs_most = sb_tree_dirs_each(ahead->count);
    TRY(SB_NEW_ARRAY(&ahead->batches, ahead->count));
    TRY(SB_NEW_ARRAY(&ahead->threads, wanted + 1));
    while (ahead->started < wanted && sb_thread_start(&ahead->threads[ahead->started], run, ahead))
        ahead->started++;
    return SB_OK;
}

struct members {
    struct sb_source source;
    struct sb_pack_source *items;
    struct look_ahead *ahead; /* NULL: nothing is looked up */
    struct sb_pack_members_options options;
};

static void free_members(struct sb_source *source)
{
    struct members *self = (struct members *)source;

    look_ahead_free(self->ahead);
    sb_pack_source_free(self->items);
    free(self);
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct members *self = (struct members *)source;
    struct sb_pack_item item;
    bool looked = false;

    do {
        TRY(self->ahead ? look_ahead_next(self->ahead, &item, &looked)
                        : sb_pack_source_next(self->items, &item));
    } while (item.node == SB_NODE_DIR && item.implied);
    *member = (struct sb_member){
        .entry.path = item.name,
        .entry.path_size = item.name_size,
        .entry.type = item.node == SB_NODE_DIR    ? SB_DIR
                      : item.node == SB_NODE_LINK ? SB_LINK
                                                  : SB_FILE,
        .entry.size = item.node == SB_NODE_DIR ? 0 : -1,
        .has = SB_KEEPS_OWNER,
        .dir = item.dir,
        .dir_fd = item.dir_fd,
        .component = item.component,
        .disk_path = item.disk_path,
    };
    if (item.node == SB_NODE_DIR || looked)
        sb_tree_metadata(member, &item.stat);
    if (item.node != SB_NODE_DIR && looked)
        member->entry.size = item.stat.st_size;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    const struct members *self = (const struct members *)loader->source;

    return sb_tree_load(&self->options.read, member, data, capacity, loader->sparse, events);
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    const struct members *self = (const struct members *)loader->source;

    return sb_tree_stream(&self->options.read, member, each, context, events);
}

enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options)
{
    static const struct sb_source_ops ops = {
        .free = free_members, .next = next, .load = load, .stream = stream};
    CLEANUP(sb_pack_source_freep) struct sb_pack_source *owned = items;
    CLEANUP(sb_source_freep) struct sb_source *made = NULL;
    struct members *self;

    *out = NULL;
    TRY(SB_NEW(&self));
    made = &self->source;
    self->source = (struct sb_source){.ops = &ops, .name = "files", .loads = true, .unique = true};
    self->items = TAKE(owned);
    self->options = *options;
    if (options->look)
        TRY(look_ahead_new(&self->ahead, items, options->threads, options->read.dereference));
    *out = TAKE(made);
    return SB_OK;
}
