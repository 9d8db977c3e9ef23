#include "core/glob.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/time.h"
#include "store/own_files.h"
#include "store/tree/impl.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE 65536

/*
 * head holds the 8 bytes that follow what all names have in common, so that most comparisons need
 * no look into the arena.
 */
struct sb_names_key {
    uint64_t head;
    uint32_t at;   /* place in the arena */
    uint32_t type; /* S_IFMT bits */
};

void sb_names_release(struct sb_names *names)
{
    sb_buf_release(&names->arena);
    free(names->keys);
    *names = (struct sb_names){0};
}

const char *sb_names_at(const struct sb_names *names, size_t place, unsigned *type)
{
    *type = names->keys[place].type;
    return names->arena.data + names->keys[place].at;
}

/* 0 when the name is gone. */
static unsigned type_of(int dir_fd, const struct dirent64 *item, bool follow)
{
    struct stat st;

    if (item->d_type != DT_UNKNOWN && !(follow && item->d_type == DT_LNK))
        return (unsigned)DTTOIF(item->d_type);
    if (follow && fstatat(dir_fd, item->d_name, &st, 0) == 0)
        return st.st_mode & S_IFMT;
    if (fstatat(dir_fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return st.st_mode & S_IFMT;
    return 0;
}

static enum sb_code add(struct sb_names *names, const char *name, unsigned type, bool slash)
{
    size_t size = strlen(name);

    if (names->most && names->arena.size > names->most)
        return sb_fail(SB_LIMIT, "a directory with more names than are wanted");
    if (names->arena.size + size + 2 > UINT32_MAX)
        return sb_fail(SB_LIMIT, "a directory with more than 4 GiB of names");
    TRY(sb_grow(&names->keys, &names->capacity, names->count, sizeof(*names->keys)));
    names->keys[names->count++] =
        (struct sb_names_key){.at = (uint32_t)names->arena.size, .type = type};
    /* The slash is for sorting; it becomes a second NUL afterwards. */
    if (sb_buf_add(&names->arena, name, size) ||
        (slash && type == S_IFDIR && sb_buf_add_char(&names->arena, '/')) ||
        sb_buf_add_char(&names->arena, '\0'))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code read_names(struct sb_names *names, int dir_fd, bool slash, bool follow,
                               char *block)
{
    unsigned tries = 0;

    for (;;) {
        ssize_t got = getdents64(dir_fd, block, BLOCK_SIZE);

        if (got < 0 && errno == EINTR && sb_may_try_again(&tries))
            continue;
        if (got < 0)
            return sb_fail_errno(errno, "directory");
        tries = 0;
        if (got == 0)
            return SB_OK;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *item = (const struct dirent64 *)(const void *)(block + at);
            unsigned type;

            at += item->d_reclen;
            if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
                continue;
            type = type_of(dir_fd, item, follow);
            if (type)
                TRY(add(names, item->d_name, type, slash));
        }
    }
}

static size_t common_size(const struct sb_names *names)
{
    const char *first = names->arena.data + names->keys[0].at;
    size_t common = strlen(first);

    for (size_t i = 1; i < names->count && common > 0; i++) {
        const char *name = names->arena.data + names->keys[i].at;
        size_t same = 0;

        while (same < common && name[same] == first[same])
            same++;
        common = same;
    }
    return common;
}

static int compare(const void *a, const void *b, void *arena)
{
    const struct sb_names_key *x = a, *y = b;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return strcmp((const char *)arena + x->at, (const char *)arena + y->at);
}

static void sort(struct sb_names *names)
{
    size_t common = common_size(names);

    for (size_t i = 0; i < names->count; i++) {
        struct sb_names_key *key = &names->keys[i];
        char head[sizeof(uint64_t)] = {0};
        uint64_t word;

        memcpy(head, names->arena.data + key->at + common,
               strnlen(names->arena.data + key->at + common, sizeof(head)));
        memcpy(&word, head, sizeof(word));
        key->head = be64toh(word);
    }
    qsort_r(names->keys, names->count, sizeof(*names->keys), compare, names->arena.data);
}

enum sb_code sb_names_read(struct sb_names *names, int dir_fd, enum sb_names_order order,
                           bool follow)
{
    bool slash = order == SB_NAMES_AS_PATH;
    CLEANUP(sb_freep) char *block = NULL;

    names->count = 0;
    sb_buf_clear(&names->arena);
    TRY(sb_alloc(&block, BLOCK_SIZE));
    TRY(read_names(names, dir_fd, slash, follow, block));
    if (names->count == 0)
        return SB_OK;
    sort(names);
    for (size_t i = 0; slash && i < names->count; i++) {
        char *name = names->arena.data + names->keys[i].at;

        if (names->keys[i].type == S_IFDIR)
            name[strlen(name) - 1] = '\0';
    }
    return SB_OK;
}

/* Less two: the directory of the start, and one being opened. */
#define OPEN_LEVELS (SB_TREE_OPEN_MAX - 2)

struct sb_tree {
    struct sb_tree_options options;
    struct sb_tree_level **levels; /* directories whose contents are being walked */
    size_t depth;
    size_t capacity;
    struct sb_tree_ahead *ahead; /* NULL: everything is done when the walk comes to it */
    bool entered;                /* the innermost level is new to it */
    struct sb_buf name;          /* of the current item */
    struct sb_buf disk;

    struct sb_tree_dir *base; /* the directory that holds the start, opened from base_fd */
    int base_fd;
    struct sb_buf base_path;
    struct sb_buf component; /* the start within it */
    bool follow_start;
    bool start_waits;
    unsigned start_type; /* S_IFMT bits, where they are known; else 0 */
    dev_t start_dev;
};

enum sb_code sb_tree_new(struct sb_tree **out, const struct sb_tree_options *options)
{
    CLEANUP(sb_tree_freep) struct sb_tree *tree = NULL;
    unsigned threads = options->no_recursion ? 0 : sb_tree_ahead_threads(options->threads);

    *out = NULL;
    TRY(SB_NEW(&tree));
    tree->options = *options;
    if (threads > 0)
        TRY(sb_tree_ahead_new(&tree->ahead, &tree->options, threads));
    *out = TAKE(tree);
    return SB_OK;
}

static struct sb_tree_level *innermost(const struct sb_tree *tree)
{
    return tree->depth > 0 ? tree->levels[tree->depth - 1] : NULL;
}

/* Leaves the innermost directory; there is one. */
static void leave(struct sb_tree *tree)
{
    struct sb_tree_level *level = innermost(tree);

    if (tree->ahead)
        sb_tree_ahead_leave(tree->ahead, level);
    tree->depth--;
    sb_tree_level_free(level);
}

void sb_tree_free(struct sb_tree *tree)
{
    if (!tree)
        return;
    while (tree->depth > 0)
        leave(tree);
    sb_tree_ahead_free(tree->ahead);
    free(tree->levels);
    sb_tree_dir_unref(tree->base);
    sb_buf_release(&tree->name);
    sb_buf_release(&tree->disk);
    sb_buf_release(&tree->base_path);
    sb_buf_release(&tree->component);
    free(tree);
}

/* Says what is wrong with what is at hand, and the error's text unless that is 0. */
static void problem(const struct sb_tree *tree, const char *kind, const char *text,
                    int error_number)
{
    char reason[128];

    if (error_number)
        sb_report(tree->options.notify, SB_PROBLEM, kind, tree->disk.data, "%s: %s", text,
                  strerror_r(error_number, reason, sizeof(reason)));
    else
        sb_report(tree->options.notify, SB_PROBLEM, kind, tree->disk.data, "%s", text);
}

/* Why it cannot begin. */
static void start_problem(const struct sb_tree *tree, int error_number)
{
    bool missing = error_number == ENOENT || error_number == ENOTDIR;

    problem(tree, missing ? "missing" : "unreadable", "cannot be packed", error_number);
}

/* Splits path into the directory to open and the component in it. */
static enum sb_code split_start(struct sb_tree *tree, const char *path, struct sb_buf *base)
{
    size_t end = strlen(path);
    size_t last;

    tree->follow_start = tree->options.dereference || (end > 0 && path[end - 1] == '/');
    while (end > 0 && path[end - 1] == '/')
        end--;
    last = end;
    while (last > 0 && path[last - 1] != '/')
        last--;
    if (end == 0 || (end - last == 1 && path[last] == '.') ||
        (end - last == 2 && path[last] == '.' && path[last + 1] == '.')) {
        TRY(sb_buf_set(base, path, strlen(path)));
        return sb_buf_set(&tree->component, ".", 1);
    }
    TRY(sb_buf_set(base, last > 0 ? path : ".", last > 0 ? last : 1));
    return sb_buf_set(&tree->component, path + last, end - last);
}

/* Opens the directory that holds the start. SB_END: it was said why that cannot be. */
static enum sb_code open_base(struct sb_tree *tree, int base_fd, const struct sb_buf *path)
{
    int fd;

    if (tree->base && tree->base_fd == base_fd && tree->base_path.size == path->size &&
        memcmp(tree->base_path.data, path->data, path->size) == 0)
        return SB_OK;
    sb_tree_dir_unref(tree->base);
    tree->base = NULL;
    fd = sb_tree_open_directory(base_fd, path->data, true);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return sb_fail_errno(errno, "%s", tree->disk.data);
    if (fd < 0) {
        start_problem(tree, errno);
        return SB_END;
    }
    tree->base = sb_tree_dir_new(fd);
    tree->base_fd = base_fd;
    if (!tree->base || sb_buf_set(&tree->base_path, path->data, path->size))
        return sb_fail_memory();
    return SB_OK;
}

enum sb_code sb_tree_start(struct sb_tree *tree, int base_fd, const char *path, const char *name,
                           size_t name_size, const struct stat *found)
{
    CLEANUP(sb_buf_release) struct sb_buf base = {0};
    unsigned type = found ? found->st_mode & S_IFMT : 0;
    enum sb_code code;

    while (tree->depth > 0)
        leave(tree);
    tree->start_waits = false;
    tree->start_type = 0;
    if (path[0] == '\0')
        return sb_fail(SB_INVALID, "an empty path");
    if (!found || type == S_IFDIR || (type == S_IFLNK && tree->options.dereference)) {
        TRY(split_start(tree, path, &base));
    } else {
        tree->start_type = type;
        tree->follow_start = false;
        TRY(sb_buf_set(&base, ".", 1));
        TRY(sb_buf_set(&tree->component, path, strlen(path)));
    }
    TRY(sb_buf_set(&tree->name, name, name_size));
    TRY(sb_buf_set(&tree->disk, path, strlen(path)));
    code = open_base(tree, base_fd, &base);
    tree->start_waits = code == SB_OK;
    return code == SB_END ? SB_OK : code;
}

/* Makes a directory, which is taken over, the one that is walked next. */
static enum sb_code enter(struct sb_tree *tree, struct sb_tree_level *level)
{
    if (sb_grow(&tree->levels, &tree->capacity, tree->depth, sizeof(struct sb_tree_level *))) {
        sb_tree_level_free(level);
        return sb_error()->code;
    }
    tree->levels[tree->depth++] = level;
    tree->entered = true;
    level->disk_size = tree->disk.size;
    if (tree->depth > OPEN_LEVELS) {
        struct sb_tree_level *far = tree->levels[tree->depth - 1 - OPEN_LEVELS];

        sb_tree_dir_unref(far->dir);
        far->dir = NULL;
    }
    return SB_OK;
}

/* Lists the directory of fd, which is taken over, and enters it. */
static enum sb_code list(struct sb_tree *tree, int fd, const struct stat *st)
{
    struct sb_tree_dir *dir = sb_tree_dir_new(fd);
    struct sb_tree_level *level =
        dir ? sb_tree_level_new(innermost(tree), tree->name.data, tree->name.size) : NULL;
    enum sb_code code;

    if (!level) {
        sb_tree_dir_unref(dir);
        return sb_fail_memory();
    }
    level->dir = dir;
    level->stat = *st;
    TRY(enter(tree, level));
    code = sb_names_read(&level->names, fd, SB_NAMES_AS_PATH, tree->options.dereference);
    if (code == SB_SYSTEM || code == SB_NOENT) {
        problem(tree, "unreadable", "cannot be read, its contents are left out",
                sb_error()->sys_errno);
        level->names.count = 0;
        return SB_OK;
    }
    return code;
}

static bool stat_directory(int at, const char *component, bool follow, struct stat *st)
{
    return fstatat(at, component, st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st->st_mode);
}

/*
 * The stat of a directory, and a descriptor for its contents: -1 when they cannot be had or are not
 * wanted. SB_END: it was said why it is not an item.
 */
static enum sb_code look_into(struct sb_tree *tree, int at, const char *component, bool follow,
                              int *fd, struct stat *st)
{
    int why;

    *fd = -1;
    if (tree->options.no_recursion && stat_directory(at, component, follow, st))
        return SB_OK;
    *fd = sb_tree_open_directory(at, component, follow);
    if (*fd >= 0 && fstat(*fd, st) == 0)
        return SB_OK;
    why = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    if (why == EMFILE || why == ENFILE || why == ENOMEM)
        return sb_fail_errno(why, "%s", tree->disk.data);
    if (why == ENOENT) {
        problem(tree, "vanished", "vanished while the tree was read", 0);
        return SB_END;
    }
    if (!stat_directory(at, component, follow, st)) {
        problem(tree, "changed", "changed while the tree was read", why);
        return SB_END;
    }
    problem(tree, "unreadable", "cannot be opened, its contents are left out", why);
    return SB_OK;
}

/* A directory as an item, entered unless options say otherwise. SB_END: it is no item. */
static enum sb_code take_directory(struct sb_tree *tree, struct sb_tree_item *item, bool follow)
{
    const struct sb_tree_options *options = &tree->options;
    struct sb_tree_level *above = innermost(tree), *listed = NULL;
    bool elsewhere, taken;
    int64_t began;
    int fd;

    if (tree->name.size > 0 && sb_filter_prunes(options->filter, tree->name.data, tree->name.size))
        return SB_END;
    taken = tree->name.size == 0 ||
            sb_filter_takes(options->filter, tree->name.data, tree->name.size, true);
    if (tree->ahead && above)
        listed = sb_tree_ahead_take(tree->ahead, above, above->next - 1);
    if (listed) {
        item->stat = listed->stat;
        TRY(enter(tree, listed));
        return taken ? SB_OK : SB_END;
    }
    began = tree->ahead ? sb_clock_ns() : 0;
    TRY(look_into(tree, sb_tree_dir_fd(item->dir), item->component, follow, &fd, &item->stat));
    if (follow && sb_tree_is_within(above, &item->stat)) {
        problem(tree, "loop", "links back to a directory above it; left out", 0);
        close(fd);
        return SB_END;
    }
    if (!above)
        tree->start_dev = item->stat.st_dev;
    elsewhere = options->one_file_system && item->stat.st_dev != tree->start_dev;
    if (elsewhere)
        sb_report(options->notify, SB_NOTE, "mount", tree->disk.data,
                  "is on another file system, its contents are left out");
    if (fd >= 0 && elsewhere)
        close(fd);
    else if (fd >= 0)
        TRY(list(tree, fd, &item->stat));
    if (tree->ahead)
        sb_tree_ahead_took(tree->ahead, began);
    return taken ? SB_OK : SB_END;
}

/* The item called component in item->dir, of a type as S_IFMT bits. SB_END: it is none. */
static enum sb_code take(struct sb_tree *tree, struct sb_tree_item *item, unsigned type,
                         bool follow)
{
    enum sb_code code = SB_OK;

    item->mode = type;
    if (type == S_IFDIR) {
        item->node = SB_NODE_DIR;
        code = take_directory(tree, item, follow);
    } else if (!sb_filter_takes(tree->options.filter, tree->name.data, tree->name.size, false)) {
        code = SB_END;
    } else if (sb_own_files_is_one(tree->options.own, sb_tree_dir_fd(item->dir), item->component,
                                   NULL, false)) {
        sb_report(tree->options.notify, SB_WARNING, "self", tree->disk.data, SB_SELF_TEXT);
        code = SB_END;
    } else if (tree->options.takes &&
               (code = tree->options.takes(tree->options.context, tree->name.data, tree->name.size,
                                           tree->disk.data))) {
        item->node = SB_NODE_OTHER;
    } else if (type == S_IFLNK && follow) {
        problem(tree, "dangling", "a link that leads nowhere; left out", 0);
        code = SB_END;
    } else {
        item->node = type == S_IFREG   ? SB_NODE_FILE
                     : type == S_IFLNK ? SB_NODE_LINK
                                       : SB_NODE_OTHER;
    }
    item->name = tree->name.data;
    item->name_size = tree->name.size;
    item->disk_path = tree->disk.data;
    return code;
}

static enum sb_code take_start(struct sb_tree *tree, struct sb_tree_item *item)
{
    struct stat st;
    int at = sb_tree_dir_fd(tree->base);
    bool follow = tree->follow_start;

    tree->start_waits = false;
    item->dir = tree->base;
    item->component = tree->component.data;
    if (tree->start_type)
        return take(tree, item, tree->start_type, false);
    if (fstatat(at, item->component, &st, AT_SYMLINK_NOFOLLOW) ||
        (S_ISLNK(st.st_mode) && follow && fstatat(at, item->component, &st, 0) &&
         !tree->options.dereference)) {
        start_problem(tree, errno);
        return SB_END;
    }
    return take(tree, item, st.st_mode & S_IFMT, follow);
}

/* Opens again a directory that was closed to save descriptors; its name may lead elsewhere now. */
static enum sb_code reopen(struct sb_tree *tree, struct sb_tree_level *level)
{
    bool follow = tree->options.dereference;
    struct stat st;
    int fd = sb_tree_open_directory(sb_tree_dir_fd(tree->base), tree->component.data,
                                    tree->follow_start);

    for (size_t i = 0; i + 1 < tree->depth && fd >= 0; i++) {
        const struct sb_tree_level *above = tree->levels[i];
        unsigned type;
        int below =
            sb_tree_open_directory(fd, sb_names_at(&above->names, above->next - 1, &type), follow);

        close(fd);
        fd = below;
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && sb_is_same_file(&st, &level->stat)) {
        level->dir = sb_tree_dir_new(fd);
        return level->dir ? SB_OK : sb_fail_memory();
    }
    if (fd >= 0)
        close(fd);
    problem(tree, "changed", "was moved while the tree was read; the rest of it is left out", 0);
    level->next = level->names.count;
    return SB_OK;
}

/* The next name of the innermost directory. SB_END: it is no item. */
static enum sb_code take_next(struct sb_tree *tree, struct sb_tree_item *item)
{
    struct sb_tree_level *level = innermost(tree);
    unsigned type;

    if (!level->dir) {
        sb_buf_cut(&tree->disk, level->disk_size);
        TRY(reopen(tree, level));
        if (!level->dir)
            return SB_END;
    }
    item->dir = level->dir;
    item->component = sb_names_at(&level->names, level->next++, &type);
    sb_buf_cut(&tree->name, level->name.size);
    sb_buf_cut(&tree->disk, level->disk_size);
    if ((tree->name.size > 0 && sb_buf_add_char(&tree->name, '/')) ||
        sb_buf_add_text(&tree->name, item->component) ||
        (tree->disk.data[tree->disk.size - 1] != '/' && sb_buf_add_char(&tree->disk, '/')) ||
        sb_buf_add_text(&tree->disk, item->component))
        return sb_fail_memory();
    return take(tree, item, type, tree->options.dereference);
}

enum sb_code sb_tree_next(struct sb_tree *tree, struct sb_tree_item *item)
{
    enum sb_code code = SB_END;

    if (tree->start_waits)
        code = take_start(tree, item);
    while (code == SB_END && tree->depth > 0) {
        const struct sb_tree_level *level = innermost(tree);

        if (tree->ahead)
            sb_tree_ahead_look(tree->ahead, innermost(tree), tree->entered);
        tree->entered = false;
        if (level->next == level->names.count)
            leave(tree);
        else
            code = take_next(tree, item);
    }
    return code;
}
