/* lib/core/buf.h and lib/core/error.h */
#include "core/buf.h"
#include "check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static void starts_empty_and_can_be_released(void)
{
    struct sb_buf buf = {0};

    CHECK(buf.data == NULL);
    sb_buf_clear(&buf);
    sb_buf_cut(&buf, 0);
    sb_buf_release(&buf);
    sb_buf_release(&buf);
    CHECK(buf.data == NULL && buf.size == 0 && buf.capacity == 0);
}

static void ends_in_a_nul_that_is_not_counted(void)
{
    struct sb_buf buf = {0};

    CHECK(sb_buf_reserve(&buf, 0) == SB_OK);
    CHECK_TEXT(buf.data, "");
    CHECK(sb_buf_add(&buf, "ab", 2) == SB_OK);
    CHECK(buf.data[2] == '\0' && buf.size == 2);
    CHECK(sb_buf_add(&buf, NULL, 0) == SB_OK);
    CHECK(sb_buf_add_char(&buf, 'c') == SB_OK);
    CHECK(sb_buf_add_text(&buf, "de") == SB_OK);
    CHECK(sb_buf_add_format(&buf, "%d-%s", 42, "x") == SB_OK);
    CHECK_TEXT(buf.data, "abcde42-x");
    sb_buf_cut(&buf, 3);
    CHECK_TEXT(buf.data, "abc");
    CHECK(sb_buf_set(&buf, "new", 3) == SB_OK);
    CHECK_TEXT(buf.data, "new");
    sb_buf_clear(&buf);
    CHECK_TEXT(buf.data, "");
    CHECK(buf.size == 0 && buf.capacity > 0);
    sb_buf_release(&buf);
}

static void keeps_bytes_of_any_value(void)
{
    struct sb_buf buf = {0};

    for (int round = 0; round < 1000; round++) {
        if (!CHECK(sb_buf_add(&buf, "\0\xff/", 3) == SB_OK))
            break;
    }
    CHECK(buf.size == 3000);
    CHECK(memcmp(buf.data + 2997, "\0\xff/", 4) == 0);
    sb_buf_release(&buf);
}

static void formats_longer_than_its_room(void)
{
    struct sb_buf buf = {0};

    CHECK(sb_buf_add_format(&buf, "%01000d", 7) == SB_OK);
    CHECK(buf.size == 1000 && buf.data[999] == '7' && buf.data[1000] == '\0');
    sb_buf_release(&buf);
}

static void refuses_sizes_that_overflow(void)
{
    struct sb_buf buf = {0};

    CHECK(sb_buf_add_text(&buf, "kept") == SB_OK);
    CHECK(sb_buf_reserve(&buf, SIZE_MAX) == SB_NOMEM);
    CHECK(sb_buf_reserve(&buf, SIZE_MAX - 4) == SB_NOMEM);
    CHECK(sb_buf_reserve(&buf, SIZE_MAX / 2 + 1) == SB_NOMEM);
    CHECK_TEXT(buf.data, "kept");
    CHECK(buf.size == 4);
    sb_buf_release(&buf);
}

static void errors_carry_code_text_and_errno(void)
{

    CHECK(sb_fail(SB_DAMAGED, "%s: %d", "a", 3) == SB_DAMAGED);
    CHECK(sb_error()->code == SB_DAMAGED && sb_error()->sys_errno == 0);
    CHECK_TEXT(sb_error()->text, "a: 3");

    CHECK(sb_fail_errno(EACCES, "%s", "a") == SB_SYSTEM);
    CHECK(sb_error()->code == SB_SYSTEM && sb_error()->sys_errno == EACCES);
    CHECK_TEXT(sb_error()->text, "a: Permission denied");

    CHECK(sb_fail_errno(ENOENT, "a") == SB_NOENT);
    CHECK(sb_fail_errno(ENOMEM, "a") == SB_NOMEM);
    CHECK(sb_fail_memory() == SB_NOMEM);
}

static void errors_longer_than_their_room_are_cut(void)
{
    char subject[3000];

    memset(subject, 'x', sizeof(subject) - 1);
    subject[sizeof(subject) - 1] = '\0';
    CHECK(sb_fail_errno(EACCES, "%s", subject) == SB_SYSTEM);
    CHECK(strlen(sb_error()->text) == sizeof(sb_error()->text) - 1);
}

static void remember_kind(void *context, enum sb_level level, const char *kind, const char *subject,
                          const char *text)
{
    snprintf(context, 100, "%d %s %s %s", level, kind, subject ? subject : "-", text);
}

static void events_reach_their_sink(void)
{
    char seen[100] = "";
    struct sb_notify notify = {remember_kind, seen};

    sb_report(&notify, SB_PROBLEM, "missing", "a/b", "no such %s", "file");
    CHECK_TEXT(seen, "3 missing a/b no such file");
    sb_report(NULL, SB_NOTE, "missing", NULL, "nobody listens");
    sb_report(&(struct sb_notify){0}, SB_NOTE, "missing", NULL, "nobody listens");
}

static void an_array_grows_to_hold_its_next_element(void)
{
    int64_t *numbers = NULL;
    size_t room = 0;

    for (size_t i = 0; i < 1000; i++) {
        size_t before = room;

        CHECK(sb_grow(&numbers, &room, i, sizeof(*numbers)) == SB_OK);
        CHECK(room > i && (room == before || room >= 2 * before));
        numbers[i] = (int64_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        CHECK(numbers[i] == (int64_t)i);
    CHECK(sb_grow(&numbers, &room, 5000, sizeof(*numbers)) == SB_OK && room > 5000);
    CHECK(numbers[999] == 999);
    free(numbers);
}

static void bytes_are_in_order_and_a_prefix_comes_first(void)
{
    CHECK(sb_compare_bytes("ab", 2, "ab", 2) == 0 && sb_compare_bytes(NULL, 0, "", 0) == 0);
    CHECK(sb_compare_bytes("ab", 2, "abc", 3) < 0 && sb_compare_bytes("abc", 3, "ab", 2) > 0);
    CHECK(sb_compare_bytes("b", 1, "abc", 3) > 0 && sb_compare_bytes("a\xff", 2, "aa", 2) > 0);
    CHECK(sb_compare_bytes("a\0b", 3, "a\0c", 3) < 0 && sb_compare_bytes(NULL, 0, "a", 1) < 0);
}

int main(void)
{
    RUN(starts_empty_and_can_be_released);
    RUN(ends_in_a_nul_that_is_not_counted);
    RUN(keeps_bytes_of_any_value);
    RUN(formats_longer_than_its_room);
    RUN(refuses_sizes_that_overflow);
    RUN(errors_carry_code_text_and_errno);
    RUN(errors_longer_than_their_room_are_cut);
    RUN(events_reach_their_sink);
    RUN(an_array_grows_to_hold_its_next_element);
    RUN(bytes_are_in_order_and_a_prefix_comes_first);
    return check_end();
}
