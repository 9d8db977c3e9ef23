/*
 * Unit tests that speak TAP: each tests/unit/NAME.c is a program.
 *
 *     static void sizes(void) { CHECK(parse("1K") == 1024); CHECK_TEXT(text, "abc"); }
 *     int main(void) { RUN(sizes); return check_end(); }
 *
 * RUN is one test, which passes when every CHECK in it held. A failed CHECK is shown with its place
 * and the test goes on.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int check_tests;
static int check_failed_tests;
static bool check_failed;

static inline bool check_that(bool held, const char *what, const char *file, int line)
{
    if (!held) {
        check_failed = true;
        printf("# %s:%d: %s\n", file, line, what);
    }
    return held;
}

static inline bool check_text(const char *got, const char *wanted, const char *what,
                              const char *file, int line)
{
    bool held = got && strcmp(got, wanted) == 0;
    check_that(held, what, file, line);
    if (!held)
        printf("#   got \"%s\", wanted \"%s\"\n", got ? got : "(null)", wanted);
    return held;
}

static inline void check_run(void (*test)(void), const char *name)
{
    check_failed = false;
    test();
    check_failed_tests += check_failed;
    printf("%s %d - %s\n", check_failed ? "not ok" : "ok", ++check_tests, name);
    fflush(stdout);
}

static inline int check_remove_entry(const char *path, const struct stat *st, int type,
                                     struct FTW *place)
{
    (void)st, (void)type, (void)place;
    return remove(path);
}

/* Removes the directory of a test program, with all in it; false: something is still there. */
static inline bool check_remove_tree(const char *top)
{
    return nftw(top, check_remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

/* Prints the plan; the exit status of main. */
static inline int check_end(void)
{
    printf("1..%d\n", check_tests);
    return check_failed_tests != 0;
}

/* Both are true when the check held, so that a test can stop early. */
#define CHECK(condition)        check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), #got, __FILE__, __LINE__)

#define RUN(test) check_run(test, #test)

#endif
