/* lib/store/tree/target.h: the umask, of two trees at once beside a thread that makes files */
#include "store/tree/target.h"
#include "check.h"
#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static const struct sb_making a_file = {0};
static char top[] = "/tmp/shardbox-target-XXXXXX";
static bool can_part; /* a container may forbid it */

static mode_t present_umask(void)
{
    mode_t mask = umask(077);

    umask(mask);
    return mask;
}

static mode_t mode_of(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, 0) == 0 ? st.st_mode & 07777 : 07777;
}

struct tree {
    const char *name;
    mode_t umask;
    pthread_barrier_t *met;
};

/* A file that everybody may write to, and one of unknown mode. */
static void make_files(const struct sb_target *target, mode_t unknown)
{
    struct sb_entry entry = {.type = SB_FILE, .has = SB_HAS_MODE, .mode = 0666};
    struct sb_attributes attributes;
    struct sb_newcomer newcomer;

    attributes = sb_target_attributes(target, &entry);
    CHECK(sb_newcomer_open(&newcomer, target->fd, "known", &a_file, &attributes, false, NULL) ==
          SB_OK);
    CHECK(mode_of(target->fd, "known") == 0666);
    CHECK(sb_newcomer_finish(&newcomer, &attributes, false) == SB_OK);
    entry.has = 0;
    attributes = sb_target_attributes(target, &entry);
    CHECK(sb_newcomer_open(&newcomer, target->fd, "unknown", &a_file, &attributes, false, NULL) ==
          SB_OK);
    CHECK(sb_newcomer_finish(&newcomer, &attributes, false) == SB_OK);
    CHECK(mode_of(target->fd, "unknown") == unknown);
}

static void *make_tree(void *argument)
{
    const struct tree *tree = argument;
    struct sb_context context;
    struct sb_target target;
    int fd = open(top, O_RDONLY | O_DIRECTORY);
    char *path = NULL;

    sb_context_init(&context);
    context.umask = tree->umask;
    sb_context_enter(&context);
    CHECK(asprintf(&path, "%s/%s", top, tree->name) > 0);
    CHECK(sb_target_open(&target, path, false) == SB_OK);
    CHECK(mode_of(fd, tree->name) == (0777 & ~tree->umask));
    pthread_barrier_wait(tree->met);
    pthread_barrier_wait(tree->met);
    make_files(&target, 0666 & ~tree->umask);
    pthread_barrier_wait(tree->met);
    sb_target_release(&target);
    CHECK(present_umask() != 0);
    close(fd);
    free(path);
    return NULL;
}

static void two_trees_leave_the_umask_of_others(void)
{
    pthread_barrier_t met;
    struct tree trees[2] = {{"a", 022, &met}, {"b", 027, &met}};
    mode_t before = umask(026);
    pthread_t threads[2];

    pthread_barrier_init(&met, NULL, 3);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, make_tree, &trees[i]) == 0);
    pthread_barrier_wait(&met);
    if (can_part)
        CHECK(present_umask() == 026);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(can_part ? present_umask() == 026 : present_umask() != 0);
    umask(before);
    pthread_barrier_destroy(&met);
}

static void *try_to_part(void *unused)
{
    can_part = unshare(CLONE_FS) == 0;
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (!mkdtemp(top) || pthread_create(&thread, NULL, try_to_part, NULL))
        return 1;
    pthread_join(thread, NULL);
    RUN(two_trees_leave_the_umask_of_others);
    CHECK(check_remove_tree(top));
    return check_end();
}
