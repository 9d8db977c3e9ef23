/* lib/core/name.h, but for sb_quote */
#include "core/name.h"
#include "check.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>

#define SIZED(text) (text), sizeof(text) - 1

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static void utf8_is_told_from_other_bytes(void)
{
    static const char *const good[] = {
        "",
        "plain",
        "longer than one word of eight bytes",
        "eight..\xc3\xa9",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3(",
        "eight..\xc3",
        "eight...\xa9",
        "\xe0\x9f\xbf",
        "\xe2\x82",
        "\xe2(\xac",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK(sb_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!sb_is_utf8(bad[i], strlen(bad[i])));
    CHECK(!sb_is_utf8("\xe2\x82\xac", 2));
    CHECK(sb_is_utf8(SIZED("a\0b")));
}

static void characters_have_their_code_points(void)
{
    uint32_t c;

    CHECK(sb_utf8_character("a", 1, &c) == 1 && c == 'a');
    CHECK(sb_utf8_character("\xc3\xa9x", 3, &c) == 2 && c == 0xe9);
    CHECK(sb_utf8_character("\xe2\x82\xac", 3, &c) == 3 && c == 0x20ac);
    CHECK(sb_utf8_character("\xf0\x9f\x98\x80", 4, &c) == 4 && c == 0x1f600);
    CHECK(sb_utf8_character("\xf0\x9f\x98\x80", 3, &c) == 0);
}

static void names_that_may_be_stored(void)
{
    static const char *const good[] = {"a",     "a/b", ".a", "a.",        "...", "..a", "a..",
                                       "a/...", "\n",  " ",  "\xff/\xfe", "-",   "a\\b"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK(sb_name_problem(good[i], strlen(good[i])) == NULL);
}

static void names_that_may_not_be_stored(void)
{
    CHECK_TEXT(sb_name_problem("", 0), "is empty");
    CHECK_TEXT(sb_name_problem(SIZED("/")), "begins with /");
    CHECK_TEXT(sb_name_problem(SIZED("/a")), "begins with /");
    CHECK_TEXT(sb_name_problem(SIZED("a/")), "ends with /");
    CHECK_TEXT(sb_name_problem(SIZED("a//b")), "has an empty component");
    CHECK_TEXT(sb_name_problem(SIZED(".")), "has a . component");
    CHECK_TEXT(sb_name_problem(SIZED("a/./b")), "has a . component");
    CHECK_TEXT(sb_name_problem(SIZED("..")), "has a .. component");
    CHECK_TEXT(sb_name_problem(SIZED("a/..")), "has a .. component");
    CHECK_TEXT(sb_name_problem(SIZED("../a")), "has a .. component");
    CHECK_TEXT(sb_name_problem(SIZED("a\0b")), "has a NUL byte");
    CHECK_TEXT(sb_name_problem(SIZED("a\0")), "has a NUL byte");
}

static void limits_of_length_and_depth(void)
{
    char name[2 * (SB_DEPTH_MAX + 2)];
    static char component[SB_NAME_MAX + 1];

    memset(component, 'x', sizeof(component));
    CHECK(sb_name_problem(component, SB_NAME_MAX) == NULL);
    CHECK_TEXT(sb_name_problem(component, SB_NAME_MAX + 1), "is longer than 64 KiB");

    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = i % 2 ? '/' : 'd';
    CHECK(sb_name_problem(name, 2 * SB_DEPTH_MAX + 1) == NULL);
    CHECK_TEXT(sb_name_problem(name, 2 * (SB_DEPTH_MAX + 1) + 1),
               "is more than 900 directories deep");
}

static void parents_and_depths(void)
{
    CHECK(sb_parent_size("", 0) == 0);
    CHECK(sb_parent_size("a", 1) == 0);
    CHECK(sb_parent_size("a/b", 3) == 1);
    CHECK(sb_parent_size("ab/cd/e", 7) == 5);
    CHECK(sb_parent_size("ab/cd/e", 5) == 2);
    CHECK(sb_name_depth("", 0) == 0);
    CHECK(sb_name_depth("a", 1) == 0);
    CHECK(sb_name_depth("ab/cd/e", 7) == 2);
}

static void what_lies_within_a_directory(void)
{
    CHECK(sb_name_within("a/b", 3, "a", 1));
    CHECK(sb_name_within("a", 1, "a", 1));
    CHECK(sb_name_within("a", 1, "", 0));
    CHECK(sb_name_within("", 0, "", 0));
    CHECK(!sb_name_within("ab", 2, "a", 1));
    CHECK(!sb_name_within("a", 1, "a/b", 3));
    CHECK(!sb_name_within("b/a", 3, "a", 1));
    CHECK(!sb_name_within("", 0, "a", 1));
}

static void arguments_become_names_as_with_tar(void)
{
    static const struct {
        const char *text;
        const char *name;
        bool stripped;
    } cases[] = {
        {"a", "a", false},
        {"a/b", "a/b", false},
        {"./a", "a", false},
        {"a/./b/.", "a/b", false},
        {"a//b///", "a/b", false},
        {".", "", false},
        {"./", "", false},
        {"", "", false},
        {"/", "", true},
        {"/a", "a", true},
        {"///a//b", "a/b", true},
        {"..", "", true},
        {"../a", "a", true},
        {"../../a", "a", true},
        {"./../a", "a", true},
        {"a/../b", "b", true},
        {"a/b/../../c/d", "c/d", true},
        {"a/..", "", true},
        {"/../a", "a", true},
        {"..a/...", "..a/...", false},
        {"\xff/\x80", "\xff/\x80", false},
    };
    struct sb_buf out = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool stripped = !cases[i].stripped;

        CHECK(sb_name_normalize(cases[i].text, &out, &stripped) == SB_OK);
        CHECK_TEXT(out.data, cases[i].name);
        CHECK(out.size == strlen(cases[i].name));
        if (!CHECK(stripped == cases[i].stripped))
            printf("#   %s\n", cases[i].text);
    }
    sb_buf_release(&out);
}

static void leading_components_are_stripped(void)
{
    static const struct {
        const char *name;
        unsigned count;
        const char *left; /* NULL: nothing */
    } cases[] = {
        {"a/b/c", 0, "a/b/c"}, {"a/b/c", 1, "b/c"}, {"a/b/c", 2, "c"},
        {"a/b/c", 3, NULL},    {"a/b/c", 99, NULL}, {"a", 0, "a"},
        {"a", 1, NULL},        {"", 0, NULL},       {"", 1, NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = cases[i].name;
        size_t size = strlen(name);
        bool left = sb_strip_components(&name, &size, cases[i].count);

        CHECK(left == (cases[i].left != NULL));
        if (left && cases[i].left) {
            CHECK_TEXT(name, cases[i].left);
            CHECK(size == strlen(name));
        }
    }
}

/* SQLite's own answer, from the expression of the schema. */
static sqlite3_stmt *parent_expression(sqlite3 **db)
{
    static const char sql[] = "SELECT CAST(rtrim(rtrim(path, replace(path, '/', '')), '/') AS BLOB)"
                              " FROM (SELECT CAST(?1 AS TEXT) AS path)";
    sqlite3_stmt *statement = NULL;

    CHECK(sqlite3_open(":memory:", db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(*db, sql, -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static bool sqlite_finds_parent(sqlite3_stmt *statement, const char *name, size_t size)
{
    size_t parent = sb_parent_size(name, size);
    bool same;

    sqlite3_bind_text(statement, 1, name, (int)size, SQLITE_STATIC);
    CHECK(sqlite3_step(statement) == SQLITE_ROW);
    same = (size_t)sqlite3_column_bytes(statement, 0) == parent &&
           (parent == 0 || memcmp(sqlite3_column_blob(statement, 0), name, parent) == 0);
    sqlite3_reset(statement);
    return same;
}

/* Few different bytes, so that broken characters meet again elsewhere in the name. */
static size_t make_name(char *name, const char *alphabet, size_t letters)
{
    size_t size = 1 + random_below(14);

    for (size_t i = 0; i < size; i++)
        name[i] = alphabet[random_below((uint32_t)letters)];
    return size;
}

static void compare_with_sqlite(const char *alphabet, size_t letters, int rounds, int *wrong)
{
    sqlite3 *db;
    sqlite3_stmt *statement = parent_expression(&db);
    char name[16];

    *wrong = 0;
    for (int i = 0; i < rounds; i++) {
        size_t size = make_name(name, alphabet, letters);
        bool computable = sb_parent_is_computable(name, size);

        *wrong += !computable;
        if (CHECK(computable == sqlite_finds_parent(statement, name, size)))
            continue;
        printf("#   ");
        for (size_t k = 0; k < size; k++)
            printf("\\x%02x", (unsigned char)name[k]);
        printf(" computable: %d\n", computable);
        break;
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void parents_of_broken_names_as_sqlite_computes_them(void)
{
    int wrong;

    compare_with_sqlite(SIZED("/a\x80\x81\xc3\xe2"), 60000, &wrong);
    CHECK(wrong > 1000 && wrong < 59000);
    compare_with_sqlite(SIZED("///ab\x80\xbf\xc0\xf0\xff\xbf\xa4\xa4"), 60000, &wrong);
    CHECK(wrong > 1000 && wrong < 59000);
}

static void parents_of_every_kind_of_byte(void)
{
    char alphabet[256];
    int wrong;

    for (size_t i = 0; i < 255; i++)
        alphabet[i] = (char)(i + 1);
    for (size_t i = 0; i < 12; i++)
        alphabet[200 + i] = '/';
    compare_with_sqlite(alphabet, 255, 60000, &wrong);
    CHECK(wrong > 100);
}

static void parents_of_utf8_are_always_computable(void)
{
    static const char *const characters[] = {
        "a", "/", "/", "\xc3\xa9", "\xc3\x80", "\xe2\x80\x80", "\xf0\x9f\x98\x80", "\xe3\x81\x82"};
    sqlite3 *db;
    sqlite3_stmt *statement = parent_expression(&db);

    for (int i = 0; i < 30000; i++) {
        char name[64];
        char *end = name;

        for (uint32_t left = 1 + random_below(12); left; left--)
            end = stpcpy(end, characters[random_below(8)]);
        if (sb_name_problem(name, strlen(name)))
            continue;
        if (!CHECK(sb_is_utf8(name, strlen(name))) ||
            !CHECK(sb_parent_is_computable(name, strlen(name))) ||
            !CHECK(sqlite_finds_parent(statement, name, strlen(name))))
            break;
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void a_name_in_latin_1_or_gbk_may_not_be_computable(void)
{
    /* "\xe9" and "\xa9" become one character once the '/' between them is gone. */
    CHECK(!sb_parent_is_computable(SIZED("caf\xe9/\xa9")));
    CHECK(sb_parent_is_computable(SIZED("caf\xe9/x")));
    CHECK(sb_parent_is_computable(SIZED("x/caf\xe9")));
    CHECK(sb_parent_is_computable("", 0));
}

static void names_are_joined_without_a_slash_too_many(void)
{
    struct sb_buf out = {0};

    CHECK(sb_name_join(&out, "a/b", 3, "c", 1) == SB_OK);
    CHECK_TEXT(out.data, "a/b/c");
    CHECK(sb_name_join(&out, "", 0, "c", 1) == SB_OK);
    CHECK_TEXT(out.data, "c");
    CHECK(sb_name_join(&out, "a", 1, NULL, 0) == SB_OK);
    CHECK_TEXT(out.data, "a");
    sb_buf_release(&out);
    CHECK(sb_name_join(&out, NULL, 0, "", 0) == SB_OK);
    CHECK_TEXT(out.data, "");
    sb_buf_release(&out);
}

static void a_name_has_other_forms_where_it_is_written_otherwise_in_them(void)
{
    struct sb_buf out = {0};

    CHECK(!sb_name_form(NULL, 0, SB_NFC, &out) && !sb_name_form(SIZED("cafe"), SB_NFD, &out));
    CHECK(!sb_name_form(SIZED("caf\xe9"), SB_NFD, &out));
    CHECK(!sb_name_form(SIZED("caf\xc3\xa9"), SB_NFC, &out));
    CHECK(sb_name_form(SIZED("caf\xc3\xa9/\xed\x95\x9c"), SB_NFD, &out));
    CHECK_TEXT(out.data, "cafe\xcc\x81/\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
    CHECK(sb_name_form(SIZED("cafe\xcc\x81/\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), SB_NFC, &out));
    CHECK_TEXT(out.data, "caf\xc3\xa9/\xed\x95\x9c");
    sb_buf_release(&out);
}

int main(void)
{
    RUN(utf8_is_told_from_other_bytes);
    RUN(characters_have_their_code_points);
    RUN(names_that_may_be_stored);
    RUN(names_that_may_not_be_stored);
    RUN(limits_of_length_and_depth);
    RUN(parents_and_depths);
    RUN(what_lies_within_a_directory);
    RUN(arguments_become_names_as_with_tar);
    RUN(leading_components_are_stripped);
    RUN(parents_of_broken_names_as_sqlite_computes_them);
    RUN(parents_of_every_kind_of_byte);
    RUN(parents_of_utf8_are_always_computable);
    RUN(a_name_in_latin_1_or_gbk_may_not_be_computable);
    RUN(names_are_joined_without_a_slash_too_many);
    RUN(a_name_has_other_forms_where_it_is_written_otherwise_in_them);
    return check_end();
}
