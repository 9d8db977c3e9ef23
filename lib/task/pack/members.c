#include "task/pack/members.h"

#include "core/buf.h"
#include "core/thread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

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

/* Without threads (0 or 1) the caller looks. */
static enum sb_code look_ahead_new(struct look_ahead **out, struct sb_pack_source *items,
                                   unsigned threads, bool dereference)
{
    struct look_ahead *ahead = calloc(1, sizeof(*ahead));
    unsigned wanted = threads > 1 ? threads : 0;

    *out = ahead;
    if (!ahead)
        return sb_fail_memory();
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->work, NULL);
    pthread_cond_init(&ahead->done, NULL);
    ahead->items = items;
    ahead->dereference = dereference;
    ahead->count = wanted > 0 ? 2 * wanted + 2 : 1;
    ahead->dirs_most = sb_tree_dirs_each(ahead->count);
    ahead->batches = calloc(ahead->count, sizeof(*ahead->batches));
    ahead->threads = calloc(wanted + 1, sizeof(*ahead->threads));
    if (!ahead->batches || !ahead->threads) {
        look_ahead_free(ahead);
        *out = NULL;
        return sb_fail_memory();
    }
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

static struct members *self_of(struct sb_source *source)
{
    return (struct members *)source;
}

static void free_members(struct sb_source *source)
{
    struct members *self = self_of(source);

    look_ahead_free(self->ahead);
    sb_pack_source_free(self->items);
    free(self);
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct members *self = self_of(source);
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
    return sb_tree_load(&self_of(loader->source)->options.read, member, data, capacity,
                        loader->sparse, events);
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    return sb_tree_stream(&self_of(loader->source)->options.read, member, each, context, events);
}

enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options)
{
    static const struct sb_source_ops ops = {
        .free = free_members, .next = next, .load = load, .stream = stream};
    struct members *self = calloc(1, sizeof(*self));
    enum sb_code code = SB_OK;

    *out = NULL;
    if (!self) {
        sb_pack_source_free(items);
        return sb_fail_memory();
    }
    self->source = (struct sb_source){.ops = &ops, .name = "files", .loads = true, .unique = true};
    self->items = items;
    self->options = *options;
    if (options->look)
        code = look_ahead_new(&self->ahead, items, options->threads, options->read.dereference);
    if (code) {
        free_members(&self->source);
        return code;
    }
    *out = &self->source;
    return SB_OK;
}
