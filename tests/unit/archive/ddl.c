/* lib/archive/ddl.c: the fast functions give what SQLite's own give */
#include "archive/schema.h"
#include "check.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZED(text) (text), sizeof(text) - 1

/* One of SQLite as it is, and one with the functions in the place of its own. */
struct pair {
    sqlite3 *db[2];
    sqlite3_stmt *statement[2];
};

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static void open_pair(struct pair *pair, const char *sql)
{

    for (int i = 0; i < 2; i++)
        CHECK(sqlite3_open(":memory:", &pair->db[i]) == SQLITE_OK);
    CHECK(sb_register_parent_functions(pair->db[1]) == SB_OK);
    for (int i = 0; i < 2; i++)
        CHECK(sqlite3_prepare_v2(pair->db[i], sql, -1, &pair->statement[i], NULL) == SQLITE_OK);
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(pair->statement[i]);
        sqlite3_close(pair->db[i]);
    }
}

/* Are type and bytes of both answers, in the first row of each, the same? */
static bool answers_agree(struct pair *pair)
{
    sqlite3_stmt *own = pair->statement[0], *fast = pair->statement[1];
    int size;
    bool same;

    CHECK(sqlite3_step(own) == SQLITE_ROW);
    CHECK(sqlite3_step(fast) == SQLITE_ROW);
    same = sqlite3_column_type(own, 0) == sqlite3_column_type(fast, 0);
    size = sqlite3_column_bytes(own, 0);
    same = same && size == sqlite3_column_bytes(fast, 0) &&
           (size == 0 ||
            memcmp(sqlite3_column_blob(own, 0), sqlite3_column_blob(fast, 0), (size_t)size) == 0);
    sqlite3_reset(own);
    sqlite3_reset(fast);
    return same;
}

static bool agree_on_texts(struct pair *pair, const char *first, size_t first_size,
                           const char *second, size_t second_size)
{
    for (int i = 0; i < 2; i++) {
        sqlite3_bind_text(pair->statement[i], 1, first, (int)first_size, SQLITE_STATIC);
        sqlite3_bind_text(pair->statement[i], 2, second, (int)second_size, SQLITE_STATIC);
    }
    return answers_agree(pair);
}

static size_t make_text(char *text, size_t room, const char *alphabet, size_t letters)
{
    size_t size = random_below((uint32_t)room);

    for (size_t i = 0; i < size; i++)
        text[i] = alphabet[random_below((uint32_t)letters)];
    return size;
}

static void compare(const char *alphabet, size_t letters, size_t room, int rounds)
{
    struct pair trim, replace;
    char first[2048], second[16];

    open_pair(&trim, "SELECT rtrim(?1, ?2)");
    open_pair(&replace, "SELECT replace(?1, '/', '') WHERE ?2 IS NOT NULL");
    for (int i = 0; i < rounds; i++) {
        size_t size = make_text(first, room, alphabet, letters);
        size_t set = make_text(second, sizeof(second), alphabet, letters);

        if (!CHECK(agree_on_texts(&trim, first, size, second, set)) ||
            !CHECK(agree_on_texts(&replace, first, size, second, set)))
            break;
    }
    close_pair(&trim);
    close_pair(&replace);
}

static void texts_of_every_kind(void)
{
    static const char zeros[] = "ab/\0\xc3\xa9";

    compare(SIZED("ab/"), 16, 20000);
    compare(SIZED("a/\x80\x81\xc3\xe2"), 16, 20000);
    compare(SIZED("///ab\x80\xbf\xc0\xf0\xff\xbf\xa4\xa4"), 16, 20000);
    compare(zeros, sizeof(zeros) - 1, 16, 20000);
    compare(SIZED("abc/\xc3\xa9"), 2048, 300);
}

static void values_that_are_no_texts(void)
{
    static const char *const values[] = {"NULL", "12.5", "1/1",       "-7",          "''",
                                         "x''",  "'a'",  "x'612f61'", "zeroblob(3)", "x'00'"};
    const size_t count = sizeof(values) / sizeof(values[0]);
    struct pair pair;
    char sql[128];

    for (size_t i = 0; i < count * count; i++) {
        snprintf(sql, sizeof(sql), "SELECT rtrim(%s, %s)", values[i / count], values[i % count]);
        open_pair(&pair, sql);
        CHECK(answers_agree(&pair));
        close_pair(&pair);
        snprintf(sql, sizeof(sql), "SELECT replace(%s, '/', '')", values[i / count]);
        open_pair(&pair, sql);
        CHECK(answers_agree(&pair));
        close_pair(&pair);
    }
}

static void the_parent_of_rows_of_a_table(void)
{
    struct pair pair;

    open_pair(&pair, "WITH names(path) AS (VALUES (?1), (?2), ('a/b'), ('a/bc/d'), (''), ('/'))"
                     " SELECT group_concat(rtrim(rtrim(path, replace(path, '/', '')), '/'), '|')"
                     " FROM names");
    CHECK(agree_on_texts(&pair, SIZED("caf\xc3\xa9/x"), SIZED("one/two/three")));
    CHECK(agree_on_texts(&pair, SIZED("plain"), SIZED("a//b")));
    close_pair(&pair);
}

int main(void)
{
    RUN(texts_of_every_kind);
    RUN(values_that_are_no_texts);
    RUN(the_parent_of_rows_of_a_table);
    return check_end();
}
