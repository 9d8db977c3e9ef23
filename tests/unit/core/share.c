/* lib/core/share.h: the shares of a work, and where a name is. What these are may never change. */
#include "core/share.h"
#include "check.h"

#include <stdlib.h>

#define NAMES 10000
#define BINS  10

static struct sb_share share;

static bool takes(const char *text, int64_t index, int64_t count)
{
    enum sb_code code = sb_share_parse(&share, text);

    if (code)
        printf("# %s: %s\n", text, sb_error()->text);
    return code == SB_OK && share.index == index && share.count == count;
}

static bool refuses(const char *text, const char *why)
{
    enum sb_code code = sb_share_parse(&share, text);
    bool held = code == SB_INVALID && share.count == 0 && strstr(sb_error()->text, why);

    if (!held)
        printf("# %s: %d %s\n", text, (int)code, code ? sb_error()->text : "");
    return held;
}

static void numbers_count_from_one(void)
{
    CHECK(takes("1/1", 0, 1));
    CHECK(takes("2/4", 1, 4));
    CHECK(takes("4/4", 3, 4));
    CHECK(takes("99999/99999", 99998, 99999));
}

static void what_is_no_share_is_refused(void)
{
    static const char *const cases[] = {
        "",
        "1",
        "/",
        "1/",
        "/4",
        "0/4",
        "5/4",
        "-1/4",
        "1/0",
        "1/-4",
        "+1/4",
        " 1/4",
        "1/4 ",
        "1//4",
        "1/2/3",
        "a/b",
        "1/100000",
        "1.0/4",
        "AUTO",
        "auto ",
        "50%",
        "99999999999999999999999999/4",
        "1/99999999999999999999999999",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK(refuses(cases[i], "is not I/N"));
}

/* The environment of a test: names and values in turn, NULL at the end; all else is unset. */
static void set_environment(const char *const *pairs)
{
    clearenv();
    for (; *pairs; pairs += 2)
        setenv(pairs[0], pairs[1], 1);
}

#define SET(...) set_environment((const char *const[]){__VA_ARGS__, NULL})
#define ARRAY(id, min, max, step, count)                                                           \
    "SLURM_ARRAY_TASK_ID", id, "SLURM_ARRAY_TASK_MIN", min, "SLURM_ARRAY_TASK_MAX", max,           \
        "SLURM_ARRAY_TASK_STEP", step, "SLURM_ARRAY_TASK_COUNT", count

static void each_launcher_is_understood(void)
{
    SET("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "4", "SLURM_NTASKS", "8");
    CHECK(takes("auto", 0, 4));
    SET("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4");
    CHECK(takes("auto", 3, 4));
    SET("PMI_RANK", "1", "PMI_SIZE", "2");
    CHECK(takes("auto", 1, 2));
    SET("PARALLEL_SEQ", "4", "SHARDBOX_PARTS", "4", "PARALLEL_JOBSLOT", "1");
    CHECK(takes("auto", 3, 4));
    SET(ARRAY("7", "1", "13", "3", "5"));
    CHECK(takes("auto", 2, 5));
    SET(ARRAY("0", "0", "31", "1", "32"));
    CHECK(takes("auto", 0, 32));
}

static void the_innermost_launcher_counts(void)
{
    /* mpirun's daemons are started by srun, one on each node. */
    SET("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", "OMPI_COMM_WORLD_RANK", "5",
        "OMPI_COMM_WORLD_SIZE", "8");
    CHECK(takes("auto", 5, 8));
    SET("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", "PMI_RANK", "6", "PMI_SIZE", "8");
    CHECK(takes("auto", 6, 8));
    SET("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", "PARALLEL_SEQ", "2", "SHARDBOX_PARTS",
        "3");
    CHECK(takes("auto", 1, 3));
}

static void a_batch_script_is_no_rank(void)
{
    SET("SLURM_PROCID", "0", "SLURM_NTASKS", "4");
    CHECK(refuses("auto", "a batch script is one process: start this by srun"));
    SET("SLURM_PROCID", "0", "SLURM_NTASKS", "1", ARRAY("3", "1", "4", "1", "4"));
    CHECK(takes("auto", 2, 4));
}

static void of_an_array_and_ranks_only_one_may_cut(void)
{
    SET("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", ARRAY("3", "1", "4", "1", "4"));
    CHECK(refuses("auto", "one of 2 ranks in one of 4 jobs of an array"));
    SET("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", ARRAY("3", "1", "4", "1", "4"));
    CHECK(takes("auto", 2, 4));
    SET("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", ARRAY("3", "3", "3", "1", "1"));
    CHECK(takes("auto", 1, 2));
}

static void an_array_with_gaps_is_refused(void)
{
    SET(ARRAY("3", "1", "7", "1", "3"));
    CHECK(refuses("auto", "the array of jobs has gaps"));
    SET(ARRAY("4", "1", "7", "2", "4"));
    CHECK(refuses("auto", "the array of jobs has gaps"));
    SET(ARRAY("1", "0", "9223372036854775807", "1", "2"));
    CHECK(refuses("auto", "the array of jobs has gaps"));
    SET(ARRAY("8", "1", "7", "1", "7"));
    CHECK(refuses("auto", "SLURM_ARRAY_TASK_ID is beyond the 7 parts"));
}

static void half_of_a_pair_is_named(void)
{
    SET("OMPI_COMM_WORLD_RANK", "0");
    CHECK(refuses("auto", "OMPI_COMM_WORLD_SIZE is not set"));
    SET("PMI_SIZE", "4");
    CHECK(refuses("auto", "PMI_RANK is not set"));
    SET("SLURM_STEP_NUM_TASKS", "4");
    CHECK(refuses("auto", "SLURM_PROCID is not set"));
    SET("SLURM_ARRAY_TASK_ID", "4", "SLURM_ARRAY_TASK_MIN", "1");
    CHECK(refuses("auto", "SLURM_ARRAY_TASK_MAX is not set"));
    SET("PARALLEL_SEQ", "4");
    CHECK(refuses("auto", "export SHARDBOX_PARTS=N too"));
    SET("SHARDBOX_PARTS", "4");
    CHECK(refuses("auto", "nothing in the environment says which part this is"));
    clearenv();
    CHECK(refuses("auto", "nothing in the environment says which part this is"));
}

static void nonsense_is_named(void)
{
    SET("PMI_RANK", "x", "PMI_SIZE", "4");
    CHECK(refuses("auto", "PMI_RANK is 'x'"));
    SET("PMI_RANK", "0", "PMI_SIZE", "");
    CHECK(refuses("auto", "PMI_SIZE is ''"));
    SET("PMI_RANK", "4", "PMI_SIZE", "4");
    CHECK(refuses("auto", "PMI_RANK is beyond the 4 parts of PMI_SIZE"));
    SET("PMI_RANK", "0", "PMI_SIZE", "0");
    CHECK(refuses("auto", "PMI_SIZE makes 0 parts"));
    SET("PMI_RANK", "0", "PMI_SIZE", "100000");
    CHECK(refuses("auto", "there may be 1 to 99999"));
    SET("PARALLEL_SEQ", "5", "SHARDBOX_PARTS", "4");
    CHECK(refuses("auto", "PARALLEL_SEQ is beyond the 4 parts"));
    SET("PARALLEL_SEQ", "0", "SHARDBOX_PARTS", "4");
    CHECK(refuses("auto", "PARALLEL_SEQ is beyond the 4 parts"));
}

static void the_total_can_be_held_against_what_it_should_be(void)
{
    SET("SHARDBOX_PARTS", "32", ARRAY("7", "7", "7", "1", "1"));
    CHECK(refuses("auto", "SHARDBOX_PARTS says 32 parts, but the scheduler 1"));
    SET("SHARDBOX_PARTS", "32", ARRAY("7", "0", "31", "1", "32"));
    CHECK(takes("auto", 7, 32));
}

static void runs_are_the_whole_one_behind_the_other(void)
{
    static const int64_t totals[] = {0, 1, 2, 3, 7, 50, 99, 100, 101, 4096};

    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        for (int64_t parts = 1; parts <= 101; parts++) {
            int64_t next = 0, first, count, least = INT64_MAX, most = 0;

            for (int64_t part = 0; part < parts; part++) {
                sb_share_run((struct sb_share){part, parts}, totals[i], &first, &count);
                CHECK(first == next && count >= 0);
                next += count;
                least = count < least ? count : least;
                most = count > most ? count : most;
            }
            CHECK(next == totals[i] && most - least <= 1);
        }
    }
}

static void runs_of_the_largest_total(void)
{
    int64_t first, count;

    sb_share_run((struct sb_share){SB_SHARES_MAX - 1, SB_SHARES_MAX}, INT64_MAX, &first, &count);
    CHECK(first > 0 && count > 0 && first + count == INT64_MAX);
    sb_share_run((struct sb_share){0}, 17, &first, &count);
    CHECK(first == 0 && count == 17);
    sb_share_run((struct sb_share){1, 4}, 10, &first, &count);
    CHECK(first == 3 && count == 3);
    sb_share_run((struct sb_share){2, 4}, 10, &first, &count);
    CHECK(first == 6 && count == 2);
    sb_share_run((struct sb_share){0}, -1, &first, &count);
    CHECK(first == 0 && count == 0);
}

static void each_thing_and_each_name_is_of_one_share(void)
{
    static const int64_t parts[] = {1, 2, 3, 7, 50, SB_SHARES_MAX};
    char name[32];

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) - 1; i++) {
        for (int64_t number = 0; number < 200; number++) {
            int things = 0, names = 0;

            snprintf(name, sizeof(name), "%d", (int)number);
            for (int64_t part = 0; part < parts[i]; part++) {
                things += sb_share_has((struct sb_share){part, parts[i]}, number);
                names += sb_share_has_name((struct sb_share){part, parts[i]}, name, strlen(name));
            }
            CHECK(things == 1 && names == 1);
        }
    }
    CHECK(sb_share_has((struct sb_share){0}, 5));
    CHECK(sb_share_has_name((struct sb_share){0}, "a", 1));
}

static double fraction(int64_t seed, const char *name)
{
    return sb_name_fraction(seed, name, strlen(name));
}

static void a_fraction_is_what_the_manual_page_computes(void)
{
    CHECK(fraction(0, "") == 0x1.ef4c513ca7032p-2);
    CHECK(fraction(0, "a") == 0x1.b7e6407ba1e2cp-2);
    CHECK(fraction(7, "images/000001.jpg") == 0x1.2dd43bcd08144p-3);
    CHECK(fraction(INT64_MAX, "\303\274n\303\257c\303\266d\303\251") == 0x1.4463fbef81716p-1);
}

static void fractions_are_spread_evenly_over_names_that_hardly_differ(void)
{
    int bins[BINS] = {0};
    char name[32];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%08d", i);
        bins[(int)(fraction(0, name) * BINS)]++;
    }
    for (int i = 0; i < BINS; i++)
        CHECK(bins[i] > NAMES / BINS * 9 / 10 && bins[i] < NAMES / BINS * 11 / 10);
}

int main(void)
{
    RUN(numbers_count_from_one);
    RUN(what_is_no_share_is_refused);
    RUN(each_launcher_is_understood);
    RUN(the_innermost_launcher_counts);
    RUN(a_batch_script_is_no_rank);
    RUN(of_an_array_and_ranks_only_one_may_cut);
    RUN(an_array_with_gaps_is_refused);
    RUN(half_of_a_pair_is_named);
    RUN(nonsense_is_named);
    RUN(the_total_can_be_held_against_what_it_should_be);
    RUN(runs_are_the_whole_one_behind_the_other);
    RUN(runs_of_the_largest_total);
    RUN(each_thing_and_each_name_is_of_one_share);
    RUN(a_fraction_is_what_the_manual_page_computes);
    RUN(fractions_are_spread_evenly_over_names_that_hardly_differ);
    return check_end();
}
