/* lib/archive/schema.h: telling known SQL from other */
#include "archive/schema.h"
#include "check.h"

static bool same(const char *a, const char *b)
{
    return sb_sql_fingerprint(a) == sb_sql_fingerprint(b);
}

static void layout_and_comments_do_not_count(void)
{
    CHECK(same("SELECT a FROM b", "select\ta\n  from /* x */ b -- end"));
    CHECK(same("a(b,c)", " a ( b , c ) "));
    CHECK(same("a /* never closed", "a"));
    CHECK(same("", " \n-- nothing"));
}

static void everything_else_counts(void)
{
    CHECK(!same("SELECT a", "SELECT b"));
    CHECK(!same("SELECT 'a'", "SELECT 'A'"));
    CHECK(!same("SELECT 'a b'", "SELECT 'a  b'"));
    CHECK(!same("SELECT \"a\"", "SELECT a"));
    CHECK(!same("ab", "a b"));
    CHECK(!same("a b", "b a"));
}

static void words_are_found_where_they_mean_something(void)
{
    CHECK(sb_sql_has_word("BEGIN with x AS (SELECT 1) SELECT 1; END", "WITH"));
    CHECK(!sb_sql_has_word("SELECT 'with', \"with\", [with], `with`", "with"));
    CHECK(!sb_sql_has_word("SELECT within -- with", "with"));
    CHECK(!sb_sql_has_word("SELECT 'it''s with', 1", "with"));
}

static void beginnings_are_compared_by_token(void)
{
    CHECK(sb_sql_begins("CREATE  /**/ table x (a)", "create table"));
    CHECK(!sb_sql_begins("CREATE VIRTUAL TABLE x", "create table"));
    CHECK(!sb_sql_begins("CREATE", "create table"));
}

static void expressions_of_parent_are_compared_whole(void)
{
    const char *known = "CREATE TABLE f (path TEXT, parent TEXT AS (trim(path, '/')) VIRTUAL)";

    CHECK(
        sb_sql_same_parent("create table g (parent as ( trim ( path , '/' ) ) stored, x)", known));
    CHECK(!sb_sql_same_parent("CREATE TABLE g (parent AS (trim(path, 'x')))", known));
    CHECK(!sb_sql_same_parent("CREATE TABLE g (parent AS (trim(path, '/') || 'x'))", known));
    CHECK(!sb_sql_same_parent("CREATE TABLE g (parent AS (trim(path", known));
    CHECK(!sb_sql_same_parent("CREATE TABLE g (parent TEXT)", known));
}

int main(void)
{
    RUN(layout_and_comments_do_not_count);
    RUN(everything_else_counts);
    RUN(words_are_found_where_they_mean_something);
    RUN(beginnings_are_compared_by_token);
    RUN(expressions_of_parent_are_compared_whole);
    return check_end();
}
