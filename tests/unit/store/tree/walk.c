/* lib/store/tree/target.h: the way to directories */
#include "check.h"
#include "store/tree/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/walk-test-XXXXXX";
static int root;

static enum sb_code go(struct sb_walk *walk, const char *dir, mode_t make, struct stat *st)
{
    int fd;
    enum sb_code code = sb_walk_to(walk, dir, strlen(dir), make, &fd);

    if (code)
        CHECK(sb_error()->code == code && sb_error()->text[0]);
    else
        CHECK(fstat(fd, st) == 0);
    return code;
}

/* The walk must come to the directory that the kernel finds under the same name. */
static void expect_there(struct sb_walk *walk, const char *dir)
{
    struct stat got = {0}, wanted;

    CHECK(fstatat(root, dir[0] ? dir : ".", &wanted, 0) == 0);
    CHECK(go(walk, dir, SB_WALK_NO_MAKING, &got) == SB_OK);
    CHECK(got.st_ino == wanted.st_ino);
}

static void every_way_between_directories(void)
{
    static const char *const dirs[] = {
        "", "a", "a/b", "a/b/c/d/e/f/g/h/i", "a/b/c/d/e/f/g/h", "a-b", "ab", "ab/c", "a/b/x"};
    const size_t count = sizeof(dirs) / sizeof(dirs[0]);
    struct sb_walk walk;
    struct stat st;

    sb_walk_init(&walk, root, NULL);
    for (size_t i = 0; i < count; i++)
        CHECK(go(&walk, dirs[i], 0755, &st) == SB_OK);
    for (size_t from = 0; from < count; from++) {
        for (size_t to = 0; to < count; to++) {
            expect_there(&walk, dirs[from]);
            expect_there(&walk, dirs[to]);
        }
    }
    sb_walk_release(&walk);
}

static void the_parent_of_a_name(void)
{
    struct sb_walk walk;
    const char *component;
    int fd;

    sb_walk_init(&walk, root, NULL);
    CHECK(sb_walk_to_parent(&walk, "top", 3, SB_WALK_NO_MAKING, &fd, &component) == SB_OK);
    CHECK(fd == root);
    CHECK_TEXT(component, "top");
    CHECK(sb_walk_to_parent(&walk, "p/q/name", 8, 0700, &fd, &component) == SB_OK);
    CHECK_TEXT(component, "name");
    CHECK(fd != root);
    sb_walk_release(&walk);
}

static void what_is_missing_is_made_only_if_asked(void)
{
    struct sb_walk walk;
    struct stat st;

    sb_walk_init(&walk, root, NULL);
    CHECK(go(&walk, "m/n", SB_WALK_NO_MAKING, &st) == SB_NOENT);
    CHECK(fstatat(root, "m", &st, 0) != 0);
    CHECK(go(&walk, "m/n", 0710, &st) == SB_OK);
    CHECK((st.st_mode & 07777) == 0710);
    sb_walk_release(&walk);
}

static void no_link_is_followed(void)
{
    struct sb_walk walk;
    struct stat st;

    sb_walk_init(&walk, root, NULL);
    CHECK(mkdirat(root, "real", 0755) == 0);
    CHECK(symlinkat("real", root, "link") == 0);
    CHECK(symlinkat("..", root, "up") == 0);
    CHECK(go(&walk, "link", 0755, &st) == SB_INVALID);
    CHECK(go(&walk, "link/below", 0755, &st) == SB_INVALID);
    CHECK(go(&walk, "up/x", 0755, &st) == SB_INVALID);
    expect_there(&walk, "real");
    CHECK(fstatat(root, "real/below", &st, 0) != 0);
    sb_walk_release(&walk);
}

static void what_is_no_directory_is_no_way(void)
{
    struct sb_walk walk;
    struct stat st;
    int fd = openat(root, "file", O_WRONLY | O_CREAT, 0644);

    CHECK(fd >= 0);
    close(fd);
    sb_walk_init(&walk, root, NULL);
    CHECK(go(&walk, "file", 0755, &st) == SB_INVALID);
    CHECK(go(&walk, "file/x", 0755, &st) == SB_INVALID);
    sb_walk_release(&walk);
}

static void a_component_has_a_limit(void)
{
    char name[302];
    struct sb_walk walk;
    struct stat st;

    memset(name, 'n', sizeof(name));
    name[301] = '\0';
    sb_walk_init(&walk, root, NULL);
    CHECK(go(&walk, name, 0755, &st) == SB_SYSTEM);
    expect_there(&walk, "");
    sb_walk_release(&walk);
}

int main(void)
{
    CHECK(mkdtemp(top) != NULL);
    umask(0);
    root = open(top, O_PATH | O_DIRECTORY);
    CHECK(root >= 0);
    RUN(every_way_between_directories);
    RUN(the_parent_of_a_name);
    RUN(what_is_missing_is_made_only_if_asked);
    RUN(no_link_is_followed);
    RUN(what_is_no_directory_is_no_way);
    RUN(a_component_has_a_limit);
    close(root);
    CHECK(check_remove_tree(top));
    return check_end();
}
