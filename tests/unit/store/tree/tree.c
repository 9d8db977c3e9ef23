/* lib/store/tree/tree.h */
#include "store/tree/tree.h"
#include "check.h"
#include "core/buf.h"
#include "core/glob.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char top[] = "/tmp/tree-test-XXXXXX";
static struct sb_buf walked; /* a letter and a name for each item, "!kind" for each event */

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

    CHECK(fd >= 0);
    close(fd);
}

static void make_dir(const char *path)
{
    CHECK(mkdir(path, 0755) == 0);
}

static void make_link(const char *target, const char *path)
{
    CHECK(symlink(target, path) == 0);
}

/* Each test has an empty directory as its working directory. */
static void begin(const char *name)
{
    CHECK(chdir(top) == 0);
    make_dir(name);
    CHECK(chdir(name) == 0);
}

static void note(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context, (void)level, (void)subject, (void)text;
    CHECK(sb_buf_add_format(&walked, "!%s ", kind) == SB_OK);
}

static struct sb_notify notify = {.call = note};

static void add_item(const struct sb_tree_item *item)
{
    struct stat st;

    CHECK(sb_buf_add_format(&walked, "%c:%s ", "fdlo"[item->node], item -> name) == SB_OK);
    CHECK(item->name_size == strlen(item->name));
    CHECK(fstatat(sb_tree_dir_fd(item->dir), item->component, &st, AT_SYMLINK_NOFOLLOW) == 0);
    if (item->node == SB_NODE_DIR && !S_ISLNK(st.st_mode))
        CHECK(item->stat.st_ino == st.st_ino);
}

static void walk_once(const struct sb_tree_options *options, const char *path, const char *name)
{
    struct sb_tree_item item;
    struct sb_tree *tree;
    enum sb_code code;

    sb_buf_clear(&walked);
    CHECK(sb_tree_new(&tree, options) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, path, name, strlen(name), NULL) == SB_OK);
    while (!(code = sb_tree_next(tree, &item)))
        add_item(&item);
    CHECK(code == SB_END);
    CHECK(sb_tree_next(tree, &item) == SB_END);
    sb_tree_free(tree);
}

/* Whatever is listed ahead, the walk is the same. */
static const char *walk_named(const struct sb_tree_options *options, const char *path,
                              const char *name)
{
    struct sb_tree_options threaded = *options;
    char *alone;

    walk_once(options, path, name);
    alone = strdup(walked.data ? walked.data : "");
    threaded.threads = 8;
    walk_once(&threaded, path, name);
    CHECK_TEXT(walked.data ? walked.data : "", alone);
    threaded.ahead_from = 5000; /* so that it may change its mind */
    walk_once(&threaded, path, name);
    CHECK_TEXT(walked.data ? walked.data : "", alone);
    free(alone);
    return walked.data ? walked.data : "";
}

static const char *walk(const struct sb_tree_options *options)
{
    return walk_named(options, ".", "");
}

static void files_come_in_order_of_whole_names(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};

    begin("order");
    make_dir("a");
    make_file("a/z");
    make_dir("a/b");
    make_file("a/b/c");
    make_file("a-");
    make_file("a.x");
    make_file("a0");
    make_dir("empty");
    make_file("A");
    make_file("\xff\n");
    CHECK_TEXT(walk(&plain), "d: f:A f:a- f:a.x d:a d:a/b f:a/b/c f:a/z f:a0 d:empty f:\xff\n ");
}

static void names_with_a_long_common_beginning_are_sorted(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};

    begin("common");
    make_file("image-000000012");
    make_file("image-000000003");
    make_dir("image-0000000");
    make_file("image-000000003.json");
    make_file("image-0000000120");
    CHECK_TEXT(walk(&plain), "d: d:image-0000000 f:image-000000003 f:image-000000003.json "
                             "f:image-000000012 f:image-0000000120 ");
}

static void the_start_may_be_anything(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};

    begin("start");
    make_dir("d");
    make_file("d/f");
    make_link("d", "l");
    CHECK_TEXT(walk_named(&plain, "d", "stored/as"), "d:stored/as f:stored/as/f ");
    CHECK_TEXT(walk_named(&plain, "d/f", "f"), "f:f ");
    CHECK_TEXT(walk_named(&plain, "l", "l"), "l:l ");
    CHECK_TEXT(walk_named(&plain, "l/", "l"), "d:l f:l/f ");
    CHECK_TEXT(walk_named(&plain, "d/../d/.", "x"), "d:x f:x/f ");
}

static void a_start_that_is_not_there_is_told(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};
    struct sb_tree *tree;

    begin("absent");
    make_file("f");
    CHECK_TEXT(walk_named(&plain, "no", "x"), "!missing ");
    CHECK_TEXT(walk_named(&plain, "no/such", "x"), "!missing ");
    CHECK_TEXT(walk_named(&plain, "f/such", "x"), "!missing ");
    CHECK_TEXT(walk_named(&plain, "f/", "x"), "f:x ");
    CHECK(sb_tree_new(&tree, &plain) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, "", "x", 1, NULL) == SB_INVALID);
    sb_tree_free(tree);
}

static void special_files_are_told_apart(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};

    begin("special");
    CHECK(mkfifo("p", 0600) == 0);
    make_link("nowhere", "l");
    CHECK_TEXT(walk(&plain), "d: l:l o:p ");
}

static void links_are_followed_if_asked(void)
{
    static const struct sb_tree_options following = {.dereference = true, .notify = &notify};

    begin("follow");
    make_dir("d");
    make_file("d/f");
    make_link("d/f", "file");
    make_link("d", "dir");
    make_link("nowhere", "dangling");
    make_link("..", "d/loop");
    make_link("self", "self");
    CHECK_TEXT(walk(&following), "d: d:d f:d/f !loop !dangling d:dir f:dir/f !loop f:file "
                                 "!dangling ");
}

static void a_directory_may_come_alone(void)
{
    static const struct sb_tree_options alone = {.no_recursion = true, .notify = &notify};

    begin("alone");
    make_dir("d");
    make_file("d/f");
    CHECK_TEXT(walk_named(&alone, "d", "d"), "d:d ");
}

/* /dev/pts is one of its own wherever it is mounted; to mount another here takes privileges. */
static void another_file_system_is_not_entered(void)
{
    static const struct sb_tree_options one = {.one_file_system = true, .threads = 8};
    unsigned entries = 0, below = 0;
    struct stat dev, pts;
    struct sb_tree_item item;
    struct sb_tree *tree;

    if (stat("/dev", &dev) || stat("/dev/pts", &pts) || dev.st_dev == pts.st_dev) {
        printf("# skipped: /dev/pts is no file system of its own\n");
        return;
    }
    CHECK(sb_tree_new(&tree, &one) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, "/dev", "", 0, NULL) == SB_OK);
    while (!sb_tree_next(tree, &item)) {
        entries += strcmp(item.name, "pts") == 0;
        below += strncmp(item.name, "pts/", 4) == 0;
    }
    CHECK(entries == 1 && below == 0);
    sb_tree_free(tree);
}

static void filters_prune(void)
{
    struct sb_filter *filter = sb_filter_new();
    struct sb_tree_options filtered = {.filter = filter, .notify = &notify};

    begin("filter");
    make_dir("cache");
    CHECK(mkdir("cache/locked", 0) == 0);
    make_dir("src");
    make_file("src/a.c");
    make_file("src/a.o");
    CHECK(sb_filter_add(filter, false, "cache") == SB_OK);
    CHECK(sb_filter_add(filter, false, "*.o") == SB_OK);
    CHECK_TEXT(walk(&filtered), "d: d:src f:src/a.c ");
    sb_filter_free(filter);
}

static void a_deep_tree_needs_few_descriptors(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};
    struct rlimit old, few = {.rlim_cur = SB_TREE_OPEN_MAX + 8};
    const char *items;
    size_t found = 0;

    begin("deep");
    for (int i = 0; i < 200; i++) {
        make_dir("d");
        make_file("e");
        CHECK(chdir("d") == 0);
    }
    CHECK(chdir(top) == 0 && chdir("deep") == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    few.rlim_max = old.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    items = walk(&plain);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    for (const char *at = items; (at = strstr(at, "/e ")); at++)
        found++;
    CHECK(found == 199);
    CHECK(strstr(items, "!") == NULL);
}

static void make_bushes(const char *path, unsigned depth)
{
    char below[64];

    for (char c = 'a'; depth > 0 && c < 'a' + 12; c++) {
        snprintf(below, sizeof(below), "%s/%c", path, c);
        make_dir(below);
        make_bushes(below, c % 3 ? depth - 1 : 0);
        snprintf(below, sizeof(below), "%s/%c.f", path, c);
        make_file(below);
    }
}

static void directories_are_listed_ahead_and_come_in_their_order(void)
{
    static const struct sb_tree_options following = {.dereference = true, .notify = &notify};
    static const struct sb_tree_options plain = {.notify = &notify};
    const char *items;
    size_t found = 0;

    begin("bushes");
    make_bushes(".", 3);
    make_link("..", "b/b/up");
    items = walk(&plain);
    for (const char *at = items; (at = strchr(at, ':')); at++)
        found++;
    CHECK(found == 1 + 2 * (12 + 8 * 12 + 64 * 12) + 1);
    CHECK(strstr(walk(&following), "!loop "));
}

/* How many threads there are after a walk, but before its tree is freed. */
static size_t threads_of_walk(const struct sb_tree_options *options)
{
    struct sb_tree_item item;
    struct sb_tree *tree;
    DIR *tasks;
    size_t count = 0;

    CHECK(sb_tree_new(&tree, options) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, ".", "", 0, NULL) == SB_OK);
    while (!sb_tree_next(tree, &item))
        ;
    tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    sb_tree_free(tree);
    return count;
}

static void directories_that_are_listed_at_once_are_not_listed_by_threads(void)
{
    static const struct sb_tree_options alone = {.notify = &notify};
    static const struct sb_tree_options always = {.threads = 8, .notify = &notify};
    static const struct sb_tree_options from_an_hour_on = {
        .threads = 8, .ahead_from = 3600000000000, .notify = &notify};

    CHECK(chdir(top) == 0 && chdir("bushes") == 0);
    CHECK(threads_of_walk(&always) > threads_of_walk(&alone));
    CHECK(threads_of_walk(&from_an_hour_on) == threads_of_walk(&alone));
}

static void a_walk_is_given_up_while_directories_are_listed(void)
{
    static const struct sb_tree_options threaded = {.threads = 8, .notify = &notify};
    struct sb_tree_item item;
    struct sb_tree *tree;

    CHECK(chdir(top) == 0 && chdir("bushes") == 0);
    CHECK(sb_tree_new(&tree, &threaded) == SB_OK);
    for (int i = 0; i < 20; i++) {
        CHECK(sb_tree_start(tree, AT_FDCWD, ".", "", 0, NULL) == SB_OK);
        for (int j = 0; j < 9 * i; j++)
            CHECK(sb_tree_next(tree, &item) == SB_OK);
    }
    sb_tree_free(tree);
}

static void a_directory_handle_outlives_the_walk(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};
    struct sb_tree_dir *kept = NULL;
    struct sb_tree_item item;
    struct sb_tree *tree;
    struct stat st;

    begin("handle");
    make_dir("d");
    make_file("d/f");
    CHECK(sb_tree_new(&tree, &plain) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, "d", "d", 1, NULL) == SB_OK);
    while (!sb_tree_next(tree, &item)) {
        if (item.node == SB_NODE_FILE)
            kept = sb_tree_dir_ref(item.dir);
    }
    sb_tree_free(tree);
    CHECK(kept && fstatat(sb_tree_dir_fd(kept), "f", &st, 0) == 0);
    sb_tree_dir_unref(kept);
    sb_tree_dir_unref(NULL);
}

static void a_tree_that_vanishes_ends_the_walk(void)
{
    static const struct sb_tree_options plain = {.notify = &notify};
    struct sb_tree_item item;
    struct sb_tree *tree;
    enum sb_code code;

    begin("vanish");
    make_dir("a");
    make_dir("b");
    sb_buf_clear(&walked);
    CHECK(sb_tree_new(&tree, &plain) == SB_OK);
    CHECK(sb_tree_start(tree, AT_FDCWD, ".", "", 0, NULL) == SB_OK);
    CHECK(sb_tree_next(tree, &item) == SB_OK);
    CHECK(sb_tree_next(tree, &item) == SB_OK);
    CHECK_TEXT(item.name, "a");
    CHECK(rmdir("b") == 0);
    make_link("a", "b");
    code = sb_tree_next(tree, &item);
    CHECK(code == SB_END);
    CHECK_TEXT(walked.data, "!changed ");
    sb_tree_free(tree);
}

int main(void)
{
    CHECK(mkdtemp(top) != NULL);
    RUN(files_come_in_order_of_whole_names);
    RUN(names_with_a_long_common_beginning_are_sorted);
    RUN(the_start_may_be_anything);
    RUN(a_start_that_is_not_there_is_told);
    RUN(special_files_are_told_apart);
    RUN(links_are_followed_if_asked);
    RUN(a_directory_may_come_alone);
    RUN(another_file_system_is_not_entered);
    RUN(filters_prune);
    RUN(a_deep_tree_needs_few_descriptors);
    RUN(directories_are_listed_ahead_and_come_in_their_order);
    RUN(directories_that_are_listed_at_once_are_not_listed_by_threads);
    RUN(a_walk_is_given_up_while_directories_are_listed);
    RUN(a_directory_handle_outlives_the_walk);
    RUN(a_tree_that_vanishes_ends_the_walk);
    sb_buf_release(&walked);
    CHECK(chdir("/") == 0);
    CHECK(check_remove_tree(top));
    return check_end();
}
