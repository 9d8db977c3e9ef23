/*
 * Names, patterns and quoting under libFuzzer. The input up to its first newline is a pattern, the
 * rest a name; properties that hold for every name are checked, and SQLite is asked for a second
 * opinion on its parent.
 */
#include "core/glob.h"
#include "core/name.h"
#include "require.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE 4096

static void try_problem(const char *name, size_t size)
{
    if (sb_name_problem(name, size))
        return;
    REQUIRE(size > 0 && !memchr(name, '\0', size));
    REQUIRE(name[0] != '/' && name[size - 1] != '/');
    for (size_t depth = sb_name_depth(name, size); depth; depth--) {
        size_t parent = sb_parent_size(name, size);

        REQUIRE(parent > 0 && parent < size && name[parent] == '/');
        REQUIRE(sb_name_within(name, size, name, parent));
        REQUIRE(sb_name_depth(name, parent) == depth - 1);
        REQUIRE(!sb_name_problem(name, parent));
        size = parent;
    }
    REQUIRE(sb_parent_size(name, size) == 0);
}

static sqlite3_stmt *parent_expression(void)
{
    static sqlite3_stmt *statement;
    sqlite3 *db;

    if (statement)
        return statement;
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db,
                               "SELECT CAST(rtrim(rtrim(path, replace(path, '/', '')), '/') AS"
                               " BLOB) FROM (SELECT CAST(?1 AS TEXT) AS path)",
                               -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static void try_parent(const char *name, size_t size)
{
    size_t parent = sb_parent_size(name, size);
    sqlite3_stmt *statement;
    bool same;

    /* SQLite takes a NUL for the end of its text here and there: no stored name has one. */
    if (memchr(name, '\0', size))
        return;
    statement = parent_expression();
    REQUIRE(sqlite3_bind_text(statement, 1, name, (int)size, SQLITE_STATIC) == SQLITE_OK);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    same = (size_t)sqlite3_column_bytes(statement, 0) == parent &&
           (parent == 0 || memcmp(sqlite3_column_blob(statement, 0), name, parent) == 0);
    REQUIRE(same == sb_parent_is_computable(name, size));
    sqlite3_reset(statement);
    if (!sb_name_problem(name, size) && sb_is_utf8(name, size))
        REQUIRE(same);
}

static void try_normalize(const char *text)
{
    struct sb_buf once = {0}, twice = {0};
    bool stripped;
    const char *problem;

    REQUIRE(sb_name_normalize(text, &once, &stripped) == SB_OK);
    REQUIRE(once.size <= strlen(text));
    REQUIRE(stripped || *text != '/');
    problem = once.size ? sb_name_problem(once.data, once.size) : NULL;
    REQUIRE(!problem || strstr(problem, "64 KiB") || strstr(problem, "900 directories"));
    REQUIRE(sb_name_normalize(once.data, &twice, &stripped) == SB_OK && !stripped);
    REQUIRE(strcmp(once.data, twice.data) == 0);
    sb_buf_release(&once);
    sb_buf_release(&twice);
}

static void try_quote(const char *name, size_t size)
{
    struct sb_buf out = {0};

    REQUIRE(sb_quote(&out, name, size, SB_RAW) == SB_OK);
    REQUIRE(out.size == size && (size == 0 || memcmp(out.data, name, size) == 0));
    for (int quoting = SB_SHELL; quoting <= SB_ESCAPE; quoting++) {
        sb_buf_clear(&out);
        REQUIRE(sb_quote(&out, name, size, (enum sb_quoting)quoting) == SB_OK);
        REQUIRE(sb_is_utf8(out.data, out.size));
        for (size_t i = 0; i < out.size; i++)
            REQUIRE((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
    }
    sb_buf_release(&out);
}

/* A pattern with every byte of the name made literal. */
static void try_literal(const char *name, size_t size)
{
    char *pattern = malloc(2 * size + 1);
    size_t used = 0;

    REQUIRE(pattern);
    for (size_t i = 0; i < size; i++) {
        if (name[i] != '/')
            pattern[used++] = '\\';
        pattern[used++] = name[i];
    }
    pattern[used] = '\0';
    if (!sb_name_problem(name, size))
        REQUIRE(sb_glob_match(pattern, name, size));
    free(pattern);
}

static void try_glob(const char *pattern, const char *name, size_t size)
{
    bool matched = sb_glob_match(pattern, name, size);
    size_t prefix = sb_glob_prefix(pattern);

    REQUIRE(prefix <= strlen(pattern));
    REQUIRE(sb_glob_match("**", name, size));
    if (!sb_is_glob(pattern)) {
        REQUIRE(prefix == strlen(pattern));
        REQUIRE(matched == (prefix == size && memcmp(pattern, name, size) == 0));
    }
    if (matched && prefix)
        REQUIRE(sb_name_within(name, size, pattern, prefix));
    if (size)
        try_literal(name, size);
}

static void try_filter(const char *pattern, const char *name, size_t size)
{
    struct sb_filter *filter = sb_filter_new();
    enum sb_code code;

    REQUIRE(filter);
    code = sb_filter_add(filter, pattern[0] & 1, pattern);
    REQUIRE(code == SB_OK || (code == SB_INVALID && strspn(pattern, "/") == strlen(pattern)));
    REQUIRE(sb_filter_add(filter, false, "a*/") == SB_OK);
    if (sb_filter_prunes(filter, name, size))
        REQUIRE(!sb_filter_takes(filter, name, size, true));
    if (sb_name_depth(name, size) && sb_filter_prunes(filter, name, sb_parent_size(name, size)))
        REQUIRE(!sb_filter_takes(filter, name, size, false));
    sb_filter_free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    size_t pattern_size = newline ? (size_t)(newline - data) : 0;
    size_t name_size = newline ? size - pattern_size - 1 : size;
    char *pattern = strndup((const char *)data, pattern_size);
    char *name = malloc(name_size + 1);

    REQUIRE(pattern && name);
    if (size <= NAME_MAX_SIZE) {
        /* Of the exact size, so that a read behind it shows. */
        char *exact = malloc(name_size ? name_size : 1);

        REQUIRE(exact);
        memcpy(exact, data + size - name_size, name_size);
        memcpy(name, exact, name_size);
        name[name_size] = '\0';
        try_problem(exact, name_size);
        try_parent(exact, name_size);
        try_normalize(name);
        try_quote(exact, name_size);
        try_glob(pattern, exact, name_size);
        try_filter(pattern, exact, name_size);
        free(exact);
    }
    free(name);
    free(pattern);
    return 0;
}
