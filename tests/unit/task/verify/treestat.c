/* lib/task/verify/treestat.h */
#include "task/verify/treestat.h"
#include "check.h"

#include <stdlib.h>

#define ROWS_MAX 64

struct row {
    char path[64];
    bool is_dir;
    int64_t size;
};

struct world {
    struct row rows[ROWS_MAX];
    size_t count;
    char closed[4096]; /* what came out: "PATH subdirs files files_tree size[ no row];" */
};

static enum sb_code note(void *context, const struct sb_treestat_dir *dir)
{
    struct world *world = context;
    size_t used = strlen(world->closed);

    snprintf(world->closed + used, sizeof(world->closed) - used, "%.*s %d %d %d %d%s;",
             (int)dir->path_size, dir->path, (int)dir->computed.num_subdirs,
             (int)dir->computed.num_files, (int)dir->computed.num_files_tree,
             (int)dir->computed.size_tree, dir->has_row ? "" : " no row");
    return SB_OK;
}

static enum sb_code feed(struct world *world, sb_treestat_closed *closed)
{
    static const struct sb_tree_sums zeros;
    struct sb_treestat *tree = sb_treestat_new(closed, world);
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < world->count; i++) {
        const struct row *row = &world->rows[i];
        code = row->is_dir ? sb_treestat_dir(tree, row->path, strlen(row->path), &zeros, (int64_t)i)
                           : sb_treestat_file(tree, row->path, strlen(row->path), row->size);
    }
    if (code == SB_OK)
        code = sb_treestat_end(tree);
    sb_treestat_free(tree);
    return code;
}

static void add(struct world *world, bool is_dir, const char *path, int64_t size)
{
    struct row *row = &world->rows[world->count++];

    snprintf(row->path, sizeof(row->path), "%s", path);
    row->is_dir = is_dir;
    row->size = size;
}

static void an_empty_archive_is_its_root(void)
{
    struct world world = {0};

    CHECK(feed(&world, note) == SB_OK);
    CHECK_TEXT(world.closed, " 0 0 0 0 no row;");
}

static void strangers_may_sort_between_a_directory_and_its_files(void)
{
    struct world world = {0};

    add(&world, true, "", 0);
    add(&world, true, "a", 0);
    add(&world, true, "a-b", 0);
    add(&world, false, "a-b/y", 5);
    add(&world, false, "a.txt", 7);
    add(&world, false, "a/x", 11);
    CHECK(feed(&world, note) == SB_OK);
    CHECK_TEXT(world.closed, "a-b 0 1 1 5;a 0 1 1 11; 2 1 3 23;");
}

static void directories_without_a_row_are_told(void)
{
    struct world world = {0};

    add(&world, false, "a/b/c/f", 1);
    add(&world, true, "a/d", 0);
    CHECK(feed(&world, note) == SB_OK);
    CHECK_TEXT(world.closed, "a/b/c 0 1 1 1 no row;a/b 1 0 1 1 no row;a/d 0 0 0 0;"
                             "a 2 0 1 1 no row; 1 0 1 1 no row;");
}

static void names_of_no_sense_have_the_parent_that_sqlite_computes(void)
{
    struct world world = {0};

    add(&world, false, "/etc/x", 1);
    add(&world, false, "a//b", 2);
    add(&world, true, "a/c/", 0);
    CHECK(feed(&world, note) == SB_OK);
    CHECK_TEXT(world.closed, "/etc 0 1 1 1 no row;a/c/ 0 0 0 0;a/c 1 0 0 0 no row;"
                             "a 1 1 1 2 no row; 2 0 2 3 no row;");
}

static void a_sum_beyond_63_bits_stays_at_the_top(void)
{
    struct world world = {0};
    struct sb_treestat *tree = sb_treestat_new(note, &world);

    CHECK(sb_treestat_file(tree, "a", 1, INT64_MAX) == SB_OK);
    CHECK(sb_treestat_file(tree, "b", 1, INT64_MAX) == SB_OK);
    CHECK(sb_treestat_end(tree) == SB_OK);
    CHECK_TEXT(world.closed, " 0 2 2 -1 no row;"); /* (int)INT64_MAX */
    sb_treestat_free(tree);
}

static void rows_out_of_order_are_damage(void)
{
    struct world world = {0};

    add(&world, false, "b", 1);
    add(&world, false, "a", 1);
    CHECK(feed(&world, note) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "rows are out of order: 'a' comes after 'b'");
}

/* The slow way: every row against every directory. */
static size_t parent_size(const char *path)
{
    size_t size = strlen(path);

    while (size > 0 && path[size - 1] != '/')
        size--;
    while (size > 0 && path[size - 1] == '/')
        size--;
    return size;
}

static bool is_below(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return *path && (size == 0 || (strncmp(path, dir, size) == 0 && path[size] == '/'));
}

static enum sb_code compare(void *context, const struct sb_treestat_dir *dir)
{
    const struct world *world = context;
    struct sb_tree_sums sums = {0};
    char name[32];
    bool has_row = false;

    snprintf(name, sizeof(name), "%.*s", (int)dir->path_size, dir->path);
    for (size_t i = 0; i < world->count; i++) {
        const struct row *row = &world->rows[i];
        bool is_child = *row->path && parent_size(row->path) == strlen(name) &&
                        strncmp(row->path, name, strlen(name)) == 0;
        has_row = has_row || (row->is_dir && strcmp(row->path, name) == 0);
        sums.num_subdirs += row->is_dir && is_child;
        sums.num_files += !row->is_dir && is_child;
        sums.num_files_tree += !row->is_dir && is_below(row->path, name);
        sums.size_tree += !row->is_dir && is_below(row->path, name) ? row->size : 0;
    }
    CHECK(dir->has_row == has_row);
    CHECK(memcmp(&sums, &dir->computed, sizeof(sums)) == 0);
    return SB_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

static bool has(const struct world *world, const char *path)
{
    for (size_t i = 0; i < world->count; i++) {
        if (strcmp(world->rows[i].path, path) == 0)
            return true;
    }
    return false;
}

/* Adds a name under a random directory, of characters that sort on both sides of '/'. */
static void grow(struct world *world, unsigned *seed)
{
    static const char letters[] = "a!-.0b";
    const struct row *above = &world->rows[(size_t)rand_r(seed) % world->count];
    char path[64];
    int used;

    if (!above->is_dir || strlen(above->path) > 20)
        return;
    used = snprintf(path, sizeof(path), "%s%s", above->path, *above->path ? "/" : "");
    for (int length = 1 + rand_r(seed) % 3; length > 0; length--)
        path[used++] = letters[(size_t)rand_r(seed) % (sizeof(letters) - 1)];
    path[used] = '\0';
    if (!has(world, path))
        add(world, rand_r(seed) % 2, path, rand_r(seed) % 1000);
}

static void random_trees_match_the_slow_way(void)
{
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        struct world world = {0};
        add(&world, true, "", 0);
        for (int i = 0; i < ROWS_MAX - 2; i++)
            grow(&world, &seed);
        qsort(world.rows, world.count, sizeof(world.rows[0]), by_path);
        if (!CHECK(feed(&world, compare) == SB_OK))
            return;
    }
}

int main(void)
{
    RUN(an_empty_archive_is_its_root);
    RUN(strangers_may_sort_between_a_directory_and_its_files);
    RUN(directories_without_a_row_are_told);
    RUN(names_of_no_sense_have_the_parent_that_sqlite_computes);
    RUN(a_sum_beyond_63_bits_stays_at_the_top);
    RUN(rows_out_of_order_are_damage);
    RUN(random_trees_match_the_slow_way);
    return check_end();
}
