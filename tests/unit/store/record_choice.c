/* lib/store/record_choice.h */
#include "store/record_choice.h"
#include "check.h"
#include "core/buf.h"
#include "core/list.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 64

/* What is chosen, as "3 4 5"; a number that is not there as "(99)". */
static const char *chosen(const struct sb_record_choice_options *options, int64_t count)
{
    static struct sb_buf out;
    struct sb_record_choice *choice;
    struct sb_record_run run;
    enum sb_code code;
    int given = 0;

    sb_buf_clear(&out);
    if (sb_buf_add_text(&out, "") || sb_record_choice_new(&choice, options, count))
        return "failed";
    while (given < MOST && (code = sb_record_choice_next(choice, &run)) != SB_END) {
        if (code)
            CHECK(code == SB_INVALID && run.count <= 0);
        if (code && sb_buf_add_format(&out, " (%" PRId64 ")", run.count < 0 ? -1 : run.first))
            break;
        for (int64_t i = 0; !code && i < run.count && given < MOST; i++, given++) {
            if (sb_buf_add_format(&out, " %" PRId64, run.first + i * run.step))
                break;
        }
    }
    sb_record_choice_free(choice);
    return out.size ? out.data + 1 : "";
}

static const char *sliced(const char *text, int64_t count)
{
    struct sb_slice slice;
    struct sb_record_choice_options options = {.slices = &slice, .slice_count = 1, .sample = -1};

    return sb_slice_parse(&slice, text) ? "refused" : chosen(&options, count);
}

static void slices_are_those_of_python(void)
{
    CHECK_TEXT(sliced(":", 4), "0 1 2 3");
    CHECK_TEXT(sliced("1:3", 4), "1 2");
    CHECK_TEXT(sliced("::2", 5), "0 2 4");
    CHECK_TEXT(sliced("::-1", 4), "3 2 1 0");
    CHECK_TEXT(sliced("-2:", 4), "2 3");
    CHECK_TEXT(sliced(":-2", 4), "0 1");
    CHECK_TEXT(sliced("3:0:-2", 4), "3 1");
    CHECK_TEXT(sliced("9::-3", 5), "4 1");
    CHECK_TEXT(sliced("3:1", 4), "");
    CHECK_TEXT(sliced(":", 0), "");
    CHECK_TEXT(sliced("::-1", 0), "");
    CHECK_TEXT(sliced("-99:99", 3), "0 1 2");
    CHECK_TEXT(sliced("2::99999999999999999999999", 4), "2");
    CHECK_TEXT(sliced("::-99999999999999999999999", 4), "3");
    CHECK_TEXT(sliced("-99999999999999999999:99999999999999999999", 2), "0 1");
}

/* Held against the definition, element by element. */
static void every_small_slice_is_right(void)
{
    for (int64_t n = 0; n < 6; n++)
        for (int64_t start = -7; start < 8; start++)
            for (int64_t stop = -7; stop < 8; stop++)
                for (int64_t step = -3; step <= 3; step++) {
                    struct sb_slice slice = {.has_start = true,
                                             .has_stop = true,
                                             .start = start,
                                             .stop = stop,
                                             .step = step};
                    struct sb_record_choice_options options = {
                        .slices = &slice, .slice_count = 1, .sample = -1};
                    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
                    int64_t from = start < 0 ? start + n : start, to = stop < 0 ? stop + n : stop;
                    struct sb_buf wanted = {0};

                    if (step == 0)
                        continue;
                    from = from < low ? low : from > high ? high : from;
                    to = to < low ? low : to > high ? high : to;
                    for (int64_t i = from; step > 0 ? i < to : i > to; i += step)
                        CHECK(!sb_buf_add_format(&wanted, "%s%" PRId64, wanted.size ? " " : "", i));
                    CHECK_TEXT(chosen(&options, n), wanted.size ? wanted.data : "");
                    sb_buf_release(&wanted);
                }
}

/* Whoever adds the step to the last number must be able to. */
static void a_run_of_one_has_a_small_step(void)
{
    struct sb_slice slice = {.has_start = true, .start = 1, .step = INT64_MAX};
    struct sb_record_choice_options options = {.slices = &slice, .slice_count = 1, .sample = -1};
    struct sb_record_choice *choice;
    struct sb_record_run run;

    CHECK(sb_record_choice_new(&choice, &options, 4) == SB_OK);
    CHECK(sb_record_choice_next(choice, &run) == SB_OK);
    CHECK(run.first == 1 && run.count == 1 && run.step == 1);
    sb_record_choice_free(choice);
}

static void single_numbers_must_be_there(void)
{
    CHECK_TEXT(sliced("2", 4), "2");
    CHECK_TEXT(sliced("-1", 4), "3");
    CHECK_TEXT(sliced("-4", 4), "0");
    CHECK_TEXT(sliced("4", 4), "(4)");
    CHECK_TEXT(sliced("-5", 4), "(-5)");
    CHECK_TEXT(sliced("0", 0), "(0)");
}

static void what_is_no_slice_is_refused(void)
{
    static const char *const wrong[] = {"",   "a",  "1:2:0", "1:2:3:4", "1-2", "1 ",   " 1",
                                        "--", "+1", "1.5",   "1:x",     "::-", "0x10", "1,2"};
    struct sb_slice slice;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK(sb_slice_parse(&slice, wrong[i]) == SB_INVALID);
}

static void slices_come_one_after_the_other(void)
{
    struct sb_slice slices[3] = {{.single = true, .start = 3, .step = 1},
                                 {.single = true, .start = 9, .step = 1},
                                 {.has_stop = true, .stop = 2, .step = 1}};
    struct sb_record_choice_options options = {.slices = slices, .slice_count = 3, .sample = -1};

    CHECK_TEXT(chosen(&options, 5), "3 (9) 0 1");
    options.forever = true;
    CHECK(strncmp(chosen(&options, 5), "3 (9) 0 1 3 0 1 3 0 1", 21) == 0);
}

static void all_is_the_default(void)
{
    struct sb_record_choice_options options = {.sample = -1};

    CHECK_TEXT(chosen(&options, 3), "0 1 2");
    options.forever = true;
    CHECK_TEXT(chosen(&options, 0), "");
    CHECK(strncmp(chosen(&options, 2), "0 1 0 1 0 1", 11) == 0);
}

static void lists_are_read_line_by_line(void)
{
    char file[] = "/tmp/choice-test-XXXXXX";
    static const char text[] = "3\n-1\n::2\n7\nx\n0:0\n1";
    struct sb_record_choice_options options = {.sample = -1};
    int fd = mkstemp(file);

    CHECK(write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    close(fd);
    CHECK(!sb_list_open(&options.list, file, '\n'));
    CHECK_TEXT(chosen(&options, 5), "3 4 0 2 4 (7) (-1) 1");
    options.shuffle = true;
    CHECK_TEXT(chosen(&options, 5), "failed");
    sb_list_free(options.list);
    unlink(file);
}

static bool holds_each_once(const char *text, int count)
{
    int seen[MOST] = {0}, found = 0;

    for (char *end; *text; text = end + (*end == ' '), found++)
        seen[strtol(text, &end, 10)]++;
    for (int i = 0; i < count; i++) {
        if (seen[i] != 1)
            return false;
    }
    return found == count;
}

static void a_shuffle_has_each_once(void)
{
    struct sb_record_choice_options options = {.sample = -1, .shuffle = true, .seed = 5};
    char first[256];

    CHECK(holds_each_once(chosen(&options, 20), 20));
    snprintf(first, sizeof(first), "%s", chosen(&options, 20));
    CHECK_TEXT(chosen(&options, 20), first);
    options.seed = 6;
    CHECK(strcmp(chosen(&options, 20), first) != 0);
    CHECK_TEXT(chosen(&options, 0), "");
    CHECK_TEXT(chosen(&options, 1), "0");
}

static void a_sample_is_the_beginning_of_the_shuffle(void)
{
    struct sb_record_choice_options options = {.sample = -1, .shuffle = true, .seed = 5};
    char all[256];
    const char *some;

    snprintf(all, sizeof(all), "%s", chosen(&options, 20));
    options.shuffle = false;
    options.sample = 6;
    some = chosen(&options, 20);
    CHECK(strncmp(all, some, strlen(some)) == 0);
    options.sample = 100;
    CHECK_TEXT(chosen(&options, 20), all);
    options.sample = 0;
    CHECK_TEXT(chosen(&options, 20), "");
}

static void with_replacement_there_may_be_more_than_there_are(void)
{
    struct sb_record_choice_options options = {.sample = 50, .replace = true, .seed = 1};
    int count = 0;

    for (const char *c = chosen(&options, 3); *c; c++)
        count += *c == ' ';
    CHECK(count == 49);
    CHECK_TEXT(chosen(&options, 0), "");
}

static void samples_are_of_the_slices(void)
{
    struct sb_slice slices[2] = {{.has_start = true, .start = 10, .step = 5},
                                 {.single = true, .start = 0, .step = 1}};
    struct sb_record_choice_options options = {
        .slices = slices, .slice_count = 2, .sample = -1, .shuffle = true};
    int got[8], n = 0, sum = 0;
    char *end;

    for (const char *c = chosen(&options, 30); *c && n < 8; c = end + (*end == ' '), n++)
        sum += got[n] = (int)strtol(c, &end, 10);
    CHECK(n == 5);
    CHECK(sum == 0 + 10 + 15 + 20 + 25);
}

static void each_pass_is_shuffled_anew(void)
{
    struct sb_record_choice_options options = {.sample = -1, .shuffle = true, .forever = true};
    char text[512], *second;

    snprintf(text, sizeof(text), "%s", chosen(&options, 32));
    second = text;
    for (int i = 0; i < 32; i++)
        second = strchr(second, ' ') + 1;
    second[-1] = '\0';
    CHECK(holds_each_once(text, 32));
    CHECK(holds_each_once(second, 32));
    CHECK(strcmp(text, second) != 0);
}

static void totals_are_known_beforehand(void)
{
    struct sb_slice slice = {.has_start = true, .start = 3, .step = 2};
    struct sb_record_choice_options options = {.slices = &slice, .slice_count = 1, .sample = -1};
    struct sb_record_choice *choice;

    CHECK(!sb_record_choice_new(&choice, &options, 10));
    CHECK(sb_record_choice_total(choice) == 4);
    CHECK(sb_record_choice_ready(choice));
    sb_record_choice_free(choice);
    options.forever = true;
    CHECK(!sb_record_choice_new(&choice, &options, 10));
    CHECK(sb_record_choice_total(choice) == -1);
    sb_record_choice_free(choice);
}

/* The shares of what is chosen, one behind the other, as the whole. */
static void are_the_whole(struct sb_record_choice_options options, int64_t count)
{
    char whole[1024], joined[1024] = "";

    snprintf(whole, sizeof(whole), "%s", chosen(&options, count));
    for (int64_t parts = 1; parts <= 9; parts++) {
        size_t used = 0;

        joined[0] = '\0';
        for (int64_t part = 0; part < parts; part++) {
            const char *text;

            CHECK(!sb_record_choice_share(&options, (struct sb_share){part, parts}, count));
            text = chosen(&options, count);
            if (*text)
                used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s",
                                         used ? " " : "", text);
        }
        CHECK_TEXT(joined, whole);
    }
}

static void shares_one_behind_the_other_are_the_whole(void)
{
    struct sb_slice slices[3] = {
        {.single = true, .start = 5}, {.step = -3}, {.has_start = true, .start = 2, .step = 2}};

    are_the_whole((struct sb_record_choice_options){.sample = -1}, 20);
    are_the_whole((struct sb_record_choice_options){.sample = -1}, 0);
    are_the_whole((struct sb_record_choice_options){.sample = -1, .shuffle = true, .seed = 3}, 20);
    are_the_whole((struct sb_record_choice_options){.sample = 7}, 20);
    are_the_whole((struct sb_record_choice_options){.sample = 30, .replace = true}, 20);
    are_the_whole(
        (struct sb_record_choice_options){.slices = slices, .slice_count = 3, .sample = -1}, 20);
    are_the_whole(
        (struct sb_record_choice_options){
            .slices = slices, .slice_count = 3, .sample = -1, .shuffle = true},
        20);
}

static void a_number_that_is_not_there_is_told_by_one_share(void)
{
    struct sb_slice slices[3] = {
        {.has_stop = true, .stop = 4, .step = 1}, {.single = true, .start = 99}, {.step = 1}};
    struct sb_record_choice_options options = {.slices = slices, .slice_count = 3, .sample = -1};

    CHECK(!sb_record_choice_share(&options, (struct sb_share){0, 2}, 8));
    CHECK_TEXT(chosen(&options, 8), "0 1 2 3 (99) 0 1");
    CHECK(!sb_record_choice_share(&options, (struct sb_share){1, 2}, 8));
    CHECK_TEXT(chosen(&options, 8), "2 3 4 5 6 7");
}

static void of_an_endless_order_each_round_is_cut(void)
{
    struct sb_record_choice_options options = {.sample = -1, .forever = true};
    struct sb_record_choice *choice;
    char text[MOST * 4];

    CHECK(!sb_record_choice_share(&options, (struct sb_share){1, 3}, 7));
    snprintf(text, sizeof(text), "%s", chosen(&options, 7));
    CHECK(strncmp(text, "3 4 3 4 3 4", 11) == 0);
    CHECK(!sb_record_choice_new(&choice, &options, 7));
    CHECK(sb_record_choice_total(choice) == -1);
    sb_record_choice_free(choice);

    CHECK(!sb_record_choice_share(&options, (struct sb_share){7, 8}, 7));
    CHECK_TEXT(chosen(&options, 7), "");
    options.shuffle = true;
    CHECK(!sb_record_choice_share(&options, (struct sb_share){0, 1}, 7));
    options.cut = (struct sb_record_cut){.given = true, .first = 2, .count = 3};
    CHECK(!sb_record_choice_new(&choice, &options, 7));
    CHECK(sb_record_choice_round(choice) >= 7 * 7);
    sb_record_choice_free(choice);
}

int main(void)
{
    RUN(slices_are_those_of_python);
    RUN(every_small_slice_is_right);
    RUN(a_run_of_one_has_a_small_step);
    RUN(single_numbers_must_be_there);
    RUN(what_is_no_slice_is_refused);
    RUN(slices_come_one_after_the_other);
    RUN(all_is_the_default);
    RUN(lists_are_read_line_by_line);
    RUN(a_shuffle_has_each_once);
    RUN(a_sample_is_the_beginning_of_the_shuffle);
    RUN(with_replacement_there_may_be_more_than_there_are);
    RUN(samples_are_of_the_slices);
    RUN(each_pass_is_shuffled_anew);
    RUN(totals_are_known_beforehand);
    RUN(shares_one_behind_the_other_are_the_whole);
    RUN(a_number_that_is_not_there_is_told_by_one_share);
    RUN(of_an_endless_order_each_round_is_cut);
    return check_end();
}
