#include "task/pack/source.h"

#include "core/buf.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/name.h"
#include "core/pipeline.h"
#include "store/tree/read.h"
#include "task/fetch/stored_names.h"
#include "task/pack/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct sb_pack_dirs {
    struct sb_pack_dir {
        size_t name_size; /* of its name, the beginning of `name` */
        size_t disk_size;
        struct stat stat;
    } * held;
    size_t count, capacity;
    size_t given;             /* this many of them, from the top, were returned */
    struct sb_buf name, disk; /* of the innermost */
    struct sb_buf text;       /* for the strings that are returned */
};

struct sb_pack_source {
    struct sb_pack_source_options options;
    struct sb_problem_counter counter;
    int64_t problems;

    struct sb_tree *tree;
    struct sb_stored_names *names;
    struct sb_pack_spool *spool; /* NULL: items come from the tree */
    struct sb_pack_dirs dirs;    /* of a walk that is not spooled */
    struct sb_pack_item waiting; /* the item below the directories that are returned */
    bool is_waiting;
    struct sb_buf start; /* stored name of the walk's start */
    bool warned_strip;

    int *bases; /* descriptors of the directories that inputs are relative to; closed at the end */
    size_t base_count;
};

/* The walk has reached this name: forgets the directories that it is not below. */
static void pack_dirs_leave(struct sb_pack_dirs *dirs, const char *name, size_t size)
{
    while (dirs->count > 0 &&
           !sb_name_within(name, size, dirs->name.data, dirs->held[dirs->count - 1].name_size))
        dirs->count--;
    if (dirs->given > dirs->count)
        dirs->given = dirs->count;
}

/* Holds a directory that the walk has reached; copies it. */
static enum sb_code pack_dirs_hold(struct sb_pack_dirs *dirs, const struct sb_pack_item *item)
{
    size_t disk_size = strlen(item->disk_path);

    TRY(sb_grow(&dirs->held, &dirs->capacity, dirs->count, sizeof(*dirs->held)));
    TRY(sb_buf_set(&dirs->name, item->name, item->name_size));
    TRY(sb_buf_set(&dirs->disk, item->disk_path, disk_size));
    dirs->held[dirs->count++] = (struct sb_pack_dir){
        .name_size = item->name_size, .disk_size = disk_size, .stat = item->stat};
    return SB_OK;
}

/*
 * The next directory that was not returned yet; SB_END when all were. Its strings live until the
 * next call.
 */
static enum sb_code pack_dirs_give(struct sb_pack_dirs *dirs, struct sb_pack_item *item)
{
    const struct sb_pack_dir *dir;

    if (dirs->given == dirs->count)
        return SB_END;
    dir = &dirs->held[dirs->given];
    /* Both end with a NUL within the text. */
    TRY(sb_buf_set(&dirs->text, dirs->name.data, dir->name_size));
    TRY(sb_buf_add_char(&dirs->text, '\0'));
    TRY(sb_buf_add(&dirs->text, dirs->disk.data, dir->disk_size));
    dirs->given++;
    *item = (struct sb_pack_item){
        .name = dirs->text.data,
        .name_size = dir->name_size,
        .node = SB_NODE_DIR,
        .of_share = true,
        .dir_fd = -1,
        .component = "",
        .disk_path = dirs->text.data + dir->name_size + 1,
        .stat = dir->stat,
    };
    return SB_OK;
}

/* found is the result of lstat, or NULL if unknown. */
static enum sb_code start_walk(struct sb_pack_source *source, const char *path,
                               const struct stat *found)
{
    const char *name;
    int base = source->bases[source->base_count - 1];
    bool stripped = false;

    TRY(sb_name_normalize(path, &source->start, &stripped));
    if (stripped && !source->warned_strip) {
        source->warned_strip = true;
        sb_report(&source->counter.notify, SB_WARNING, "stripped", path,
                  "stored as '%s': names in an archive are relative (said once)",
                  source->start.data ? source->start.data : "");
    }
    name = source->start.data ? source->start.data : "";
    if (found)
        return sb_tree_start_found(source->tree, base, path, name, source->start.size, found);
    return sb_tree_start(source->tree, base, path, name, source->start.size);
}

static const char *kind_of_special(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "a special file";
    }
}

static bool is_of_share(const struct sb_pack_source *source, const struct sb_buf *name)
{
    return name->size == 0 || sb_share_has_name(source->options.share, name->data, name->size);
}

static void pass_over(const struct sb_pack_source *source)
{
    if (source->options.others)
        ++*source->options.others;
}

/* For the walk: is a file or link in the share? */
static enum sb_code takes(void *context, const char *name, size_t size, const char *disk_path)
{
    struct sb_pack_source *source = context;
    const struct sb_buf *stored;

    TRY(sb_stored_names_map(source->names, name, size, disk_path, &stored));
    if (is_of_share(source, stored))
        return SB_OK;
    pass_over(source);
    return SB_END;
}

/* The next item of the walk that can be stored. */
static enum sb_code next_of_walk(struct sb_pack_source *source, struct sb_pack_item *item)
{
    struct sb_tree_item found;
    const struct sb_buf *name;
    enum sb_code code = SB_OK;

    for (;;) {
        TRY(sb_interrupted() ? sb_fail_interrupt() : sb_tree_next(source->tree, &found));
        if (found.node == SB_NODE_OTHER) {
            sb_report(&source->counter.notify, SB_PROBLEM, "special", found.disk_path,
                      "%s: an archive cannot hold it; left out", kind_of_special(found.mode));
            continue;
        }
        code =
            sb_stored_names_map(source->names, found.name, found.name_size, found.disk_path, &name);
        if (code == SB_END || (code == SB_OK && name->size == 0 && found.node != SB_NODE_DIR))
            continue;
        if (code)
            return code;
        *item = (struct sb_pack_item){
            .name = name->data ? name->data : "",
            .name_size = name->size,
            .node = found.node,
            .of_share = is_of_share(source, name),
            .dir_fd = sb_tree_dir_fd(found.dir),
            .dir = found.dir,
            .component = found.component,
            .disk_path = found.disk_path,
        };
        if (found.node == SB_NODE_DIR)
            item->stat = found.stat;
        if (!item->of_share)
            pass_over(source);
        return SB_OK;
    }
}

/* The same, without directories that have nothing in the share. */
static enum sb_code next_of_share(struct sb_pack_source *source, struct sb_pack_item *item)
{
    struct sb_pack_item *found = &source->waiting;
    enum sb_code code = SB_OK;

    for (;;) {
        if (source->is_waiting) {
            code = pack_dirs_give(&source->dirs, item);
            if (code != SB_END)
                return code;
            source->is_waiting = false;
            if (found->node != SB_NODE_DIR) {
                *item = *found;
                return SB_OK;
            }
        }
        TRY(next_of_walk(source, found));
        pack_dirs_leave(&source->dirs, found->name, found->name_size);
        if (found->node == SB_NODE_DIR)
            TRY(pack_dirs_hold(&source->dirs, found));
        source->is_waiting = found->of_share;
    }
}

/*
 * Reports what only strict refuses: unreadable files, and attributes that an archive cannot hold.
 */
static void check_strictly(struct sb_pack_source *source, const struct sb_pack_item *item)
{
    int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    struct sb_member member = {0};
    struct stat st;
    int fd;

    if (item->node == SB_NODE_LINK)
        return;
    fd = openat(item->dir_fd, item->component,
                source->options.dereference ? flags : flags | O_NOFOLLOW);
    if (fd < 0) {
        sb_report(&source->counter.notify, SB_PROBLEM, "unreadable", item->disk_path, "%s",
                  strerror(errno));
        return;
    }
    if (flistxattr(fd, NULL, 0) > 0)
        sb_report(&source->counter.notify, SB_PROBLEM, "xattr", item->disk_path,
                  "has extended attributes or an ACL, which an archive cannot hold");
    if (fstat(fd, &st) == 0)
        sb_tree_metadata(&member, &st);
    if (member.has & SB_KEEPS_HARD_LINKS)
        sb_report(&source->counter.notify, SB_PROBLEM, "hard-link", item->disk_path,
                  "is a hard link, which an archive holds as a file of its own");
    if (member.has & SB_KEEPS_FAR_TIME)
        sb_report(&source->counter.notify, SB_PROBLEM, "time", item->disk_path,
                  "is of a time that an archive cannot hold, before 1678 or after 2262");
    close(fd);
}

static enum sb_code spool_walk(struct sb_pack_source *source, const char *path,
                               const struct stat *found)
{
    int base = source->bases[source->base_count - 1];
    struct sb_pack_item item;
    enum sb_code code;

    TRY(start_walk(source, path, found));
    while ((code = next_of_walk(source, &item)) == SB_OK) {
        if (source->options.strict)
            check_strictly(source, &item);
        TRY(sb_pack_spool_add(source->spool, &item, base));
    }
    return code == SB_END ? SB_OK : code;
}

#define SLOT_PATHS 32
#define SLOT_BYTES ((size_t)64 << 10) /* or a single longer path */

/* Paths of a list, without empty ones, which workers look at. */
struct slot {
    struct sb_buf paths;
    size_t count;
    struct listed {
        size_t at;
        size_t size;
        bool found;
        struct stat stat;
    } listed[SLOT_PATHS];
};

struct reading {
    struct sb_pack_source *source;
    struct sb_list *list;
    int base; /* what paths are relative to */
};

static enum sb_code fill(void *context, void *filled)
{
    const struct reading *reading = context;
    struct slot *slot = filled;
    enum sb_code code = SB_OK;
    const char *path;
    size_t size;

    slot->count = 0;
    sb_buf_clear(&slot->paths);
    while (slot->count < SLOT_PATHS && slot->paths.size < SLOT_BYTES) {
        code = sb_list_next(reading->list, &path, &size);
        if (code)
            break;
        if (size == 0)
            continue;
        slot->listed[slot->count++] = (struct listed){.at = slot->paths.size, .size = size};
        TRY(sb_buf_add(&slot->paths, path, size + 1));
    }
    return code == SB_END && slot->count > 0 ? SB_OK : code;
}

static enum sb_code work(void *context, void *worked, struct sb_pipeline *turns)
{
    const struct reading *reading = context;
    struct slot *slot = worked;

    (void)turns;
    for (size_t i = 0; i < slot->count; i++) {
        struct listed *listed = &slot->listed[i];

        listed->found = fstatat(reading->base, slot->paths.data + listed->at, &listed->stat,
                                AT_SYMLINK_NOFOLLOW) == 0;
    }
    return SB_OK;
}

static enum sb_code drain(void *context, void *drained)
{
    struct sb_pack_source *source = ((const struct reading *)context)->source;
    struct slot *slot = drained;

    for (size_t i = 0; i < slot->count; i++) {
        const struct listed *listed = &slot->listed[i];
        const char *path = slot->paths.data + listed->at;

        if (strlen(path) == listed->size)
            TRY(spool_walk(source, path, listed->found ? &listed->stat : NULL));
        else
            sb_report(&source->counter.notify, SB_PROBLEM, "name", path,
                      "has a NUL in the list; left out");
    }
    return SB_OK;
}

/* Memory is bounded whatever the list. Errors of sb_list_open and sb_list_next. */
static enum sb_code spool_list(struct sb_pack_source *source, const struct sb_pack_input *input)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = source->options.threads, count = threads > 1 ? 2 * threads : 1;
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    CLEANUP(sb_freep) struct slot *slots = NULL;
    struct reading reading = {.source = source, .base = source->bases[source->base_count - 1]};
    enum sb_code code;

    TRY(sb_list_open(&list, input->text, input->kind == SB_INPUT_LIST_NUL ? '\0' : '\n'));
    reading.list = list;
    if (source->options.lists_must_name)
        sb_list_must_name(list);
    TRY(SB_NEW_ARRAY(&slots, count));
    code = sb_pipeline_run(&ops, &reading, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_buf_release(&slots[i].paths);
    return code;
}

static enum sb_code enter_directory(struct sb_pack_source *source, const char *path)
{
    int *grown = realloc(source->bases, (source->base_count + 1) * sizeof(*grown));
    int fd, from = AT_FDCWD;

    if (!grown)
        return sb_fail_memory();
    source->bases = grown;
    if (source->base_count > 0)
        from = grown[source->base_count - 1];
    fd = openat(from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    grown[source->base_count++] = fd;
    return SB_OK;
}

/* Is there nothing to sort, and can no name occur twice? */
static bool is_single_tree(const struct sb_pack_source *source, const struct sb_pack_input *inputs,
                           size_t count)
{
    size_t paths = 0;

    if (source->options.strict || source->options.order == SB_PACK_BY_INODE)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].kind == SB_INPUT_LIST || inputs[i].kind == SB_INPUT_LIST_NUL)
            return false;
        paths += inputs[i].kind == SB_INPUT_PATH;
    }
    /* In another character set, names below a directory need not begin with its name. */
    if (source->options.share.count > 0 && source->options.charset)
        return false;
    /* Stripping can make two names one. */
    return paths == 1 && source->options.strip == 0;
}

static enum sb_code take_inputs(struct sb_pack_source *source, const struct sb_pack_input *inputs,
                                size_t count)
{
    TRY(enter_directory(source, "."));
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].kind == SB_INPUT_DIRECTORY)
            TRY(enter_directory(source, inputs[i].text));
        else if (inputs[i].kind != SB_INPUT_PATH)
            TRY(spool_list(source, &inputs[i]));
        else if (source->spool)
            TRY(spool_walk(source, inputs[i].text, NULL));
        else
            TRY(start_walk(source, inputs[i].text, NULL));
    }
    if (source->options.strict && source->problems > 0)
        return sb_fail(SB_INVALID, "nothing was written: %lld things cannot be stored as they are",
                       (long long)source->problems);
    if (source->spool)
        TRY(sb_pack_spool_rewind(source->spool));
    return SB_OK;
}

enum sb_code sb_pack_source_new(struct sb_pack_source **out, const struct sb_pack_input *inputs,
                                size_t count, const struct sb_pack_source_options *options)
{
    CLEANUP(sb_pack_source_freep) struct sb_pack_source *source = calloc(1, sizeof(*source));
    const struct sb_tree_options tree = {
        .dereference = options->dereference,
        .one_file_system = options->one_file_system,
        .no_recursion = options->no_recursion,
        .threads = options->threads,
        .ahead_from = SB_TREE_SLOW,
        .filter = options->filter,
        .own = options->own,
        .takes = options->share.count > 0 ? takes : NULL,
        .context = source,
        .notify = source ? &source->counter.notify : NULL,
    };

    *out = NULL;
    if (!source)
        return sb_fail_memory();
    source->options = *options;
    sb_count_problems(&source->counter, source->options.notify, &source->problems);
    TRY(sb_tree_new(&source->tree, &tree));
    TRY(sb_stored_names_new(&source->names, options->prefix, options->strip, options->charset,
                            false, &source->counter.notify));
    if (!is_single_tree(source, inputs, count))
        TRY(sb_pack_spool_new(&source->spool, options->order, options->duplicates, options->beside,
                              &source->counter.notify));
    TRY(take_inputs(source, inputs, count));
    *out = TAKE(source);
    return SB_OK;
}

void sb_pack_source_free(struct sb_pack_source *source)
{
    if (!source)
        return;
    sb_pack_spool_free(source->spool);
    sb_tree_free(source->tree);
    sb_stored_names_free(source->names);
    free(source->dirs.held);
    sb_buf_release(&source->dirs.name);
    sb_buf_release(&source->dirs.disk);
    sb_buf_release(&source->dirs.text);
    sb_buf_release(&source->start);
    for (size_t i = 0; i < source->base_count; i++)
        close(source->bases[i]);
    free(source->bases);
    free(source);
}

enum sb_code sb_pack_source_next(struct sb_pack_source *source, struct sb_pack_item *item)
{
    if (source->spool)
        return sb_pack_spool_next(source->spool, item);
    return source->options.share.count > 0 ? next_of_share(source, item)
                                           : next_of_walk(source, item);
}
