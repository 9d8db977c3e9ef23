#include "task/pack.h"

#include "archive/archive.h"
#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "task/pack_batch.h"
#include "task/pack_names.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A batch of few items at first, and as long as files are large: every thread gets some of them. */
#define FIRST_BATCH_ITEMS 16

#define STDIN_BLOCK ((size_t)1 << 20)

struct packer {
    struct sb_notify notify; /* counts problems and passes them on */
    int64_t problems;
    const struct sb_pack_options *options;
    struct sb_pack_counts *counts;
    struct sb_pack_source *source;
    struct sb_writer *writer;    /* NULL in a dry run */
    struct sb_archive *existing; /* dry run of an append: what names are looked up in */
    struct sb_own_files own;
    char *own_dir; /* what own points into */
    char *own_base;
    size_t batch_items;
    size_t batch_dirs;
    struct sb_buf checked_parent; /* its ancestors are known to be no files of the archive */
    bool parent_is_dir;
};

static void count_and_pass(void *context, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    struct packer *packer = context;

    packer->problems += level == SB_PROBLEM;
    sb_tell(packer->options->notify, level, kind, subject, "%s", text);
}

static enum sb_code look_up(struct packer *packer, const char *name, size_t size,
                            struct sb_entry *entry, struct sb_error *err)
{
    if (packer->writer)
        return sb_writer_lookup(packer->writer, name, size, entry, err);
    if (packer->existing)
        return sb_archive_lookup(packer->existing, name, size, entry, err);
    return SB_NOENT;
}

/* Would the item stand below a file of the archive? Asked once for each directory. */
static enum sb_code check_parent(struct packer *packer, const struct sb_pack_item *item,
                                 struct sb_error *err)
{
    size_t size = sb_parent_size(item->name, item->name_size);
    struct sb_buf *checked = &packer->checked_parent;
    struct sb_buf name = {0};
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    if (checked->data && size == checked->size && memcmp(checked->data, item->name, size) == 0)
        return SB_OK;
    packer->parent_is_dir = true;
    if (sb_buf_set(checked, item->name, size) || sb_buf_set(&name, item->name, size))
        code = sb_fail_memory(err);
    while (code == SB_OK && name.size > 0) {
        code = look_up(packer, name.data, name.size, &entry, err);
        if (code == SB_OK && entry.type != SB_DIR)
            packer->parent_is_dir = false;
        if (code == SB_OK && entry.type == SB_DIR)
            break;
        if (code == SB_NOENT)
            code = SB_OK;
        sb_buf_cut(&name, sb_parent_size(name.data, name.size));
    }
    sb_buf_release(&name);
    return code;
}

static bool is_outdated(const struct packer *packer, const struct sb_pack_item *item,
                        const struct sb_entry *old)
{
    bool follow = packer->options->source.dereference;
    struct stat st;
    int64_t mtime;

    if (fstatat(item->dir_fd, item->component, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW))
        return false;
    mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return !(old->has & SB_HAS_MTIME) || mtime > old->mtime_ns || st.st_size != old->size;
}

/*
 * What becomes of an item whose name the archive may hold: SB_OK to store it (in place of *old when
 * *replaces), SB_END to pass over it.
 */
static enum sb_code meet_existing(struct packer *packer, const struct sb_pack_item *item,
                                  struct sb_entry *old, bool *replaces, struct sb_error *err)
{
    const struct sb_pack_options *options = packer->options;
    enum sb_code code;

    *replaces = false;
    if (options->writer.mode != SB_APPEND)
        return SB_OK;
    code = check_parent(packer, item, err);
    if (code)
        return code;
    if (!packer->parent_is_dir) {
        sb_tell(&packer->notify, SB_PROBLEM, "clash", item->name,
                "a name above it is a file in the archive; left out");
        return SB_END;
    }
    code = look_up(packer, item->name, item->name_size, old, err);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if ((old->type == SB_DIR) != (item->node == SB_NODE_DIR)) {
        sb_tell(&packer->notify, SB_PROBLEM, "clash", item->name,
                "is a %s in the archive; left out", old->type == SB_DIR ? "directory" : "file");
        return SB_END;
    }
    if (item->node == SB_NODE_DIR)
        return SB_OK;
    *replaces = options->update ? is_outdated(packer, item, old)
                                : options->source.duplicates == SB_DUPLICATE_LAST;
    if (*replaces)
        return SB_OK;
    if (!options->update && !options->duplicates_given)
        sb_tell(&packer->notify, SB_PROBLEM, "exists", item->name,
                "is in the archive already; left out (see --update and --duplicates)");
    return SB_END;
}

static enum sb_code fill(void *context, void *slot, struct sb_error *err)
{
    struct packer *packer = context;
    struct sb_pack_batch *batch = slot;
    struct sb_packed *added;
    struct sb_pack_item item;
    struct sb_entry old;
    bool replaces;
    enum sb_code code;

    sb_pack_batch_clear(batch);
    while (batch->count < packer->batch_items && batch->dirs < packer->batch_dirs) {
        code = sb_pack_source_next(packer->source, &item, err);
        if (code == SB_END && batch->count > 0)
            return SB_OK;
        if (code)
            return code;
        if (item.node == SB_NODE_DIR && item.implied)
            continue;
        code = meet_existing(packer, &item, &old, &replaces, err);
        if (code == SB_END)
            continue;
        if (code == SB_OK)
            code = sb_pack_batch_add(batch, &item, &added, err);
        if (code)
            return code;
        added->replaces = replaces;
        added->old_size = replaces ? old.size : 0;
    }
    return SB_OK;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    struct packer *packer = context;

    return sb_pack_batch_store(slot, packer->writer, packer->options->source.dereference,
                               &packer->own, turns, err);
}

static struct sb_entry entry_of(const struct sb_pack_batch *batch, const struct sb_packed *item)
{
    const struct stat *st = &item->stat;

    return (struct sb_entry){
        .path = batch->texts.data + item->name_at,
        .path_size = item->name_size,
        .type = item->node == SB_NODE_DIR ? SB_DIR : SB_FILE,
        .has = SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME |
               (item->node == SB_NODE_DIR ? 0 : SB_HAS_CRC),
        .mode = item->node == SB_NODE_LINK ? (S_IFLNK | 0777) : st->st_mode,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .size = item->size,
        .offset = item->offset,
        .shard = item->shard,
        .crc32c = item->crc32c,
    };
}

static enum sb_code add_item(struct packer *packer, const struct sb_pack_batch *batch,
                             const struct sb_packed *item, struct sb_error *err)
{
    struct sb_entry entry = entry_of(batch, item), old;
    enum sb_code code = SB_OK;

    if (item->node == SB_NODE_DIR) {
        packer->counts->dirs++;
        return sb_writer_add_dir(packer->writer, &entry, err);
    }
    if (item->replaces) {
        old = (struct sb_entry){
            .path = entry.path, .path_size = entry.path_size, .size = item->old_size};
        code = sb_writer_drop_file(packer->writer, &old, err);
    }
    if (code == SB_OK)
        code = sb_writer_add_file(packer->writer, &entry, err);
    packer->counts->files++;
    packer->counts->bytes += item->size;
    return code;
}

static void tell_problem(struct packer *packer, const struct sb_pack_batch *batch,
                         const struct sb_packed *item)
{
    const char *disk_path = batch->texts.data + item->disk_path_at;

    if (item->kind)
        sb_tell(&packer->notify, SB_PROBLEM, item->kind, disk_path, "%s", item->text);
    else if (item->state == SB_ITEM_FAILED)
        sb_tell(&packer->notify, SB_WARNING, "self", disk_path, "%s", item->text);
}

static enum sb_code drain(void *context, void *slot, struct sb_error *err)
{
    struct packer *packer = context;
    struct sb_pack_batch *batch = slot;
    size_t stored = 0, average;
    int64_t bytes = packer->counts->bytes;
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        const struct sb_packed *item = &batch->items[i];

        tell_problem(packer, batch, item);
        if (item->state == SB_ITEM_FAILED)
            continue;
        stored++;
        code = add_item(packer, batch, item, err);
    }
    average = stored ? (size_t)(packer->counts->bytes - bytes) / stored : 0;
    packer->batch_items = SB_PACK_BATCH_BYTES / (average + 1) + 1;
    if (packer->batch_items > SB_PACK_BATCH_ITEMS)
        packer->batch_items = SB_PACK_BATCH_ITEMS;
    sb_pack_batch_clear(batch);
    if (packer->options->progress)
        packer->options->progress(packer->counts->bytes, packer->counts->files);
    return code;
}

/* Descriptors for directories that all batches together may keep open: an eighth of those allowed.
 */
static unsigned directories_in_flight(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 128)
        return 16;
    return limit.rlim_cur < 2048 ? (unsigned)limit.rlim_cur / 8 : 256;
}

static enum sb_code store_tree(struct packer *packer, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = packer->options->threads ? packer->options->threads : 1;
    unsigned count = threads == 1 ? 1 : 2 * threads + 2;
    struct sb_pack_batch *batches = calloc(count, sizeof(*batches));
    enum sb_code code;

    if (!batches)
        return sb_fail_memory(err);
    packer->batch_items = FIRST_BATCH_ITEMS;
    packer->batch_dirs = count < directories_in_flight() ? directories_in_flight() / count : 1;
    code = sb_pipeline_run(&ops, packer, batches, sizeof(*batches), count, threads, err);
    for (unsigned i = 0; i < count; i++)
        sb_pack_batch_release(&batches[i]);
    free(batches);
    return code;
}

static enum sb_code would_store(struct packer *packer, struct sb_error *err)
{
    bool follow = packer->options->source.dereference;
    struct sb_pack_item item;
    struct sb_entry old;
    struct stat st;
    bool replaces;
    enum sb_code code;

    while ((code = sb_pack_source_next(packer->source, &item, err)) == SB_OK) {
        if (item.node == SB_NODE_DIR && item.implied)
            continue;
        code = meet_existing(packer, &item, &old, &replaces, err);
        if (code == SB_END)
            continue;
        if (code)
            return code;
        sb_tell(&packer->notify, SB_NOTE, "would-store", item.name, "would be %s",
                replaces ? "replaced" : "stored");
        if (item.node == SB_NODE_DIR) {
            packer->counts->dirs++;
            continue;
        }
        packer->counts->files++;
        if (fstatat(item.dir_fd, item.component, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
            packer->counts->bytes += st.st_size;
    }
    return code == SB_END ? SB_OK : code;
}

/* The length is not known: what fits into one block is placed as any file is. */
static enum sb_code copy_stdin(struct packer *packer, char *block, struct sb_entry *entry,
                               struct sb_error *err)
{
    struct sb_writer *writer = packer->writer;
    size_t got;
    enum sb_code code;

    code = sb_read_full(STDIN_FILENO, block, STDIN_BLOCK, &got, "standard input", err);
    if (code)
        return code;
    if (got < STDIN_BLOCK)
        code = sb_writer_place(writer, (int64_t)got, &entry->shard, &entry->offset, err);
    else
        code = sb_writer_place_open(writer, &entry->shard, &entry->offset, err);
    if (code == SB_OK && got == STDIN_BLOCK)
        code = sb_writer_resize_last(writer, 0, (int64_t)got, err);
    while (code == SB_OK && got > 0) {
        entry->crc32c = sb_crc32c(entry->crc32c, block, got);
        code = sb_writer_write(writer, entry->shard, entry->offset + entry->size, block, got, err);
        entry->size += (int64_t)got;
        if (code || got < STDIN_BLOCK)
            break;
        code = sb_read_full(STDIN_FILENO, block, STDIN_BLOCK, &got, "standard input", err);
        if (code == SB_OK)
            code = sb_writer_resize_last(writer, entry->size, entry->size + (int64_t)got, err);
        if (packer->options->progress)
            packer->options->progress(entry->size, 0);
    }
    return code;
}

/* The name that standard input is stored under, as those of files are made. */
static enum sb_code name_stdin(struct packer *packer, struct sb_buf *name, struct sb_error *err)
{
    const struct sb_pack_source_options *source = &packer->options->source;
    const char *wanted = packer->options->stdin_name;
    struct sb_pack_names *names = NULL;
    struct sb_buf normal = {0};
    const struct sb_buf *mapped = NULL;
    bool stripped = false;
    enum sb_code code;

    code = sb_pack_names_new(&names, source->prefix, source->strip, source->charset, false,
                             &packer->notify, err);
    if (code == SB_OK && sb_name_normalize(wanted, &normal, &stripped))
        code = sb_fail_memory(err);
    if (code == SB_OK && stripped)
        sb_tell(&packer->notify, SB_WARNING, "stripped", wanted,
                "stored as '%s': names in an archive are relative (said once)",
                normal.data ? normal.data : "");
    if (code == SB_OK)
        code = sb_pack_names_map(names, normal.data ? normal.data : "", normal.size, wanted,
                                 &mapped, err);
    if (code == SB_END || (code == SB_OK && normal.size == 0))
        code = sb_fail(err, SB_INVALID, "%s: not a name that can be stored", wanted);
    if (code == SB_OK && sb_buf_set(name, mapped->data, mapped->size))
        code = sb_fail_memory(err);
    sb_pack_names_free(names);
    sb_buf_release(&normal);
    return code;
}

static enum sb_code store_stdin(struct packer *packer, struct sb_error *err)
{
    struct sb_pack_item item = {
        .node = SB_NODE_FILE, .dir_fd = AT_FDCWD, .component = "/dev/stdin"};
    struct sb_entry entry = {.type = SB_FILE}, old;
    struct sb_buf name = {0};
    struct timespec now;
    bool replaces;
    char *block = malloc(STDIN_BLOCK);
    mode_t mask = umask(0);
    enum sb_code code;

    umask(mask);
    code = block ? name_stdin(packer, &name, err) : sb_fail_memory(err);
    if (code)
        goto out;
    item.name = name.data;
    item.name_size = name.size;
    code = meet_existing(packer, &item, &old, &replaces, err);
    if (code)
        goto out;
    clock_gettime(CLOCK_REALTIME, &now);
    entry.path = name.data;
    entry.path_size = name.size;
    entry.has = SB_HAS_CRC | SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME;
    entry.mode = S_IFREG | (0666 & ~mask);
    entry.uid = geteuid();
    entry.gid = getegid();
    entry.mtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    code = copy_stdin(packer, block, &entry, err);
    if (code == SB_OK && replaces)
        code = sb_writer_drop_file(packer->writer, &old, err);
    if (code == SB_OK)
        code = sb_writer_add_file(packer->writer, &entry, err);
    packer->counts->files = 1;
    packer->counts->bytes = entry.size;
out:
    sb_buf_release(&name);
    free(block);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code split_archive_name(struct packer *packer, const char *archive,
                                       struct sb_error *err)
{
    packer->own_dir = strdup(archive);
    packer->own_base = strdup(archive);
    if (!packer->own_dir || !packer->own_base)
        return sb_fail_memory(err);
    packer->own.dir = dirname(packer->own_dir);
    packer->own.base = basename(packer->own_base);
    return SB_OK;
}

static enum sb_code open_target(struct packer *packer, const char *archive, struct sb_error *err)
{
    const struct sb_pack_options *options = packer->options;

    if (!options->dry_run)
        return sb_writer_open(&packer->writer, archive, &options->writer, err);
    if (options->writer.mode == SB_APPEND)
        return sb_archive_open(&packer->existing, archive, err);
    return SB_OK;
}

enum sb_code sb_pack(const char *archive, const struct sb_pack_input *inputs, size_t count,
                     const struct sb_pack_options *options, struct sb_pack_counts *counts,
                     struct sb_error *err)
{
    struct packer packer = {.options = options, .counts = counts};
    struct sb_pack_source_options source = options->source;
    enum sb_code code;

    *counts = (struct sb_pack_counts){0};
    source.beside = archive;
    packer.notify = (struct sb_notify){.call = count_and_pass, .context = &packer};
    source.notify = &packer.notify;
    code = split_archive_name(&packer, archive, err);
    /* Strict promises that nothing is written before everything was looked at. */
    if (code == SB_OK && source.strict && !options->stdin_name)
        code = sb_pack_source_new(&packer.source, inputs, count, &source, err);
    if (code == SB_OK)
        code = open_target(&packer, archive, err);
    if (code == SB_OK && !source.strict && !options->stdin_name)
        code = sb_pack_source_new(&packer.source, inputs, count, &source, err);
    if (code)
        goto out;
    if (options->dry_run)
        code = would_store(&packer, err);
    else if (options->stdin_name)
        code = store_stdin(&packer, err);
    else
        code = store_tree(&packer, err);
    if (code == SB_OK && options->writer.mode != SB_APPEND && packer.problems > 0 &&
        counts->files + counts->dirs == 0)
        code = sb_fail(err, SB_INVALID, "%s: nothing could be stored, so nothing was written",
                       archive);
    if (code == SB_OK && !options->dry_run)
        code = sb_writer_commit(packer.writer, err);
out:
    sb_pack_source_free(packer.source);
    sb_writer_free(packer.writer);
    sb_archive_free(packer.existing);
    sb_buf_release(&packer.checked_parent);
    free(packer.own_dir);
    free(packer.own_base);
    return code;
}
