/*
 * Caches for unit tests, in an empty directory of their own, and what is told of them.
 */
#ifndef TESTS_UNIT_MAKE_CACHE_H
#define TESTS_UNIT_MAKE_CACHE_H

#include "check.h"
#include "core/io.h"
#include "store/arrow/writer.h"
#include "store/cache/cache.h"
#include "store/cache/index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char told[4096];
static const char *test_directory;

static inline void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                        const char *text)
{
    size_t size = strlen(told);

    (void)context;
    snprintf(told + size, sizeof(told) - size, "%s%s: %s: %s\n", level == SB_PROBLEM ? "" : "?",
             kind, subject, text);
}

static const struct sb_notify notify = {.call = hear};

static inline enum sb_code write_block(void *context, const void *data, size_t size)
{
    return sb_write_full(*(int *)context, data, size, "segment");
}

static inline char *segment_path(const char *dir, int number)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/segments/segment_%06d.arrow", dir, number);
    return path;
}

static inline void finish(struct sb_arrow_writer *writer, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(sb_arrow_writer_finish(writer, write_block, &fd) == SB_OK);
    CHECK(close(fd) == 0);
    sb_arrow_writer_free(writer);
}

static inline void add(struct sb_arrow_writer *writer, size_t column, const void *data, size_t size)
{
    CHECK(sb_arrow_writer_add(writer, column, data, size) == SB_OK);
    CHECK(sb_arrow_writer_end_value(writer, column) == SB_OK);
}

static inline void make_cache(const char *dir)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/segments", dir);
    CHECK(mkdir(dir, 0700) == 0 && mkdir(path, 0700) == 0);
    told[0] = '\0';
}

/* What stands before a '=', which is passed over. */
static inline void take_word(char word[100], const char **text)
{
    size_t size = strcspn(*text, "=");

    snprintf(word, 100, "%.*s", (int)size, *text);
    *text += size + 1;
}

/* Tensors of one int64 each: "key=value key=value". */
static inline void make_segment(const char *dir, int number, const char *rows)
{
    static const struct sb_arrow_column columns[] = {
        {"key", SB_ARROW_TEXT, SB_DTYPE_NONE},
        {"data", SB_ARROW_LIST, SB_DTYPE_INT64},
        {"shape", SB_ARROW_LIST, SB_DTYPE_INT64},
    };
    struct sb_arrow_schema schema = {.columns = columns, .column_count = 3, .beside = "."};
    struct sb_arrow_writer *writer;
    int64_t value, one = 1;
    char key[100], *end;

    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    while (*(rows += strspn(rows, " "))) {
        take_word(key, &rows);
        value = strtol(rows, &end, 10);
        rows = end;
        add(writer, 0, key, strlen(key));
        add(writer, 1, &value, sizeof(value));
        add(writer, 2, &one, sizeof(one));
        sb_arrow_writer_end_row(writer);
    }
    finish(writer, segment_path(dir, number));
}

static inline void write_file(const char *dir, const char *name, const void *data, size_t size)
{
    char path[200];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(sb_write_full(fd, data, size, name) == SB_OK);
    CHECK(close(fd) == 0);
}

static inline enum sb_code add_to_index(void *out, const void *data, size_t size)
{
    return sb_buf_add(out, data, size) ? sb_fail_memory() : SB_OK;
}

/* index.pkl: "key=segment:row ..."; `cut` bytes are missing at its end. */
static inline void make_index(const char *dir, const char *entries, size_t cut)
{
    struct sb_pickle_writer writer;
    struct sb_buf out = {0};
    char key[100], *end;

    CHECK(sb_pickle_index_begin(&writer, add_to_index, &out) == SB_OK);
    while (*(entries += strspn(entries, " "))) {
        struct sb_pickle_entry entry = {.key = key};

        take_word(key, &entries);
        entry.key_size = strlen(key);
        entry.segment = strtol(entries, &end, 10);
        entry.row = strtol(end + 1, &end, 10);
        entries = end;
        CHECK(sb_pickle_index_add(&writer, &entry) == SB_OK);
    }
    CHECK(sb_pickle_index_end(&writer) == SB_OK);
    write_file(dir, "index.pkl", out.data, out.size - cut);
    sb_buf_release(&out);
}

static inline struct sb_cache *open_cache(const char *dir)
{
    struct sb_cache *cache = NULL;

    CHECK(sb_cache_open(&cache, &dir, 1, &notify) == SB_OK);
    return cache;
}

/* Makes a directory for the test program and goes there; leave_directory removes it. */
static inline void enter_directory(void)
{
    static char path[] = "/tmp/cache.XXXXXX";

    if (!mkdtemp(path) || chdir(path))
        exit(99);
    test_directory = path;
}

static inline void leave_directory(void)
{
    (void)check_remove_tree(test_directory);
}

#endif
