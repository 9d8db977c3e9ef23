/* lib/store/part_sets.h */
#include "store/part_sets.h"
#include "check.h"
#include "core/buf.h"

#include <string.h>

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    CHECK(level == SB_PROBLEM);
    CHECK_TEXT(kind, "part");
    CHECK(!sb_buf_add_format(context, "%s: %.*s\n", subject, (int)strcspn(text, ";"), text));
}

/* What is told of these paths, as far as the first semicolon of each. */
#define TOLD(...)                                                                                  \
    told((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static const char *told(const char *const *paths, size_t count)
{
    static struct sb_buf text;
    struct sb_notify notify = {.call = hear, .context = &text};

    sb_buf_clear(&text);
    CHECK(!sb_part_sets_check((char *const *)paths, count, &notify));
    return text.size > 0 ? text.data : "";
}

static void a_whole_set_is_passed_in_silence(void)
{
    CHECK_TEXT(TOLD("x-00000-of-00002.barecat", "x-00001-of-00002.barecat"), "");
    CHECK_TEXT(TOLD("b/x-00001-of-00002.tar.zst", "a/x-00000-of-00002.tar.zst"), "");
    CHECK_TEXT(TOLD("x-00000-of-00002/", "x-00001-of-00002"), "");
    CHECK_TEXT(TOLD("x-00000-of-00001.zip"), "");
}

static void those_that_are_missing_are_counted_as_part_counts_them(void)
{
    CHECK_TEXT(TOLD("d/x-00003-of-00004.barecat", "d/x-00000-of-00004.barecat",
                    "d/x-00001-of-00004.barecat"),
               "x-*-of-00004.barecat: parts are missing: 3 of 4\n");
    CHECK_TEXT(TOLD("x-00004-of-00010", "x-00006-of-00010"),
               "x-*-of-00010: parts are missing: 1-4,6,8-10 of 10\n");
    CHECK_TEXT(TOLD("x-00004-of-99999", "x-00004-of-99999"),
               "x-*-of-99999: parts are missing: 1-4,6-99999 of 99999\n");
}

static void a_list_that_has_no_end_is_cut(void)
{
    char names[40][32];
    const char *paths[40];

    for (size_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof(names[i]), "x-%05zu-of-00080.zip", 2 * i + 1);
        paths[i] = names[i];
    }
    CHECK_TEXT(told(paths, 40),
               "x-*-of-00080.zip: parts are missing: 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,... "
               "of 80\n");
}

static void sets_of_other_names_numbers_and_suffixes_are_others(void)
{
    CHECK_TEXT(TOLD("x-00000-of-00002.zip", "y-00000-of-00002.zip", "x-00000-of-00002.tar",
                    "x-00000-of-00003.zip"),
               "x-*-of-00002.tar: parts are missing: 2 of 2\n"
               "x-*-of-00002.zip: parts are missing: 2 of 2\n"
               "x-*-of-00003.zip: parts are missing: 2-3 of 3\n"
               "y-*-of-00002.zip: parts are missing: 2 of 2\n");
}

static void what_is_no_part_or_a_shard_of_a_bag_is_passed_over(void)
{
    CHECK_TEXT(TOLD("x-00000-of-00002.bagz", "x-00000-of-00002.bag"), "");
    CHECK_TEXT(TOLD("-00000-of-00002.zip", "d/-00000-of-00002", "x-00002-of-00002", "", "/", "-",
                    "x-0000-of-00002", "x-00000-of-0002", "x-0000a-of-00002", "x_00000-of-00002",
                    "x-00000-of-00000", "x-00000-of-00002.part", "x-00000_of_00002"),
               "");
}

int main(void)
{
    RUN(a_whole_set_is_passed_in_silence);
    RUN(those_that_are_missing_are_counted_as_part_counts_them);
    RUN(a_list_that_has_no_end_is_cut);
    RUN(sets_of_other_names_numbers_and_suffixes_are_others);
    RUN(what_is_no_part_or_a_shard_of_a_bag_is_passed_over);
    return check_end();
}
