/*
 * measure_parity [-t THREADS] [-r PER_MILLE] FILE: makes the parity file of FILE, in FILE.parity,
 * checks it, and mends the longest burst that it can, three times each; prints the best of the
 * times, and the processor time of that. FILE should fit into memory.
 */
#include "archive/parity/check.h"
#include "archive/parity/make.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TIMES 3

static double clock_of(clockid_t id)
{
    struct timespec time;

    clock_gettime(id, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct measurement {
    double wall, processor; /* begin as the clocks, end as seconds */
};

static void begin(struct measurement *m)
{
    m->wall = clock_of(CLOCK_MONOTONIC);
    m->processor = clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void end(struct measurement *m, struct measurement *best)
{
    m->wall = clock_of(CLOCK_MONOTONIC) - m->wall;
    m->processor = clock_of(CLOCK_PROCESS_CPUTIME_ID) - m->processor;
    if (best->wall == 0 || m->wall < best->wall)
        *best = *m;
}

static void require(enum sb_code code)
{
    if (!code)
        return;
    fprintf(stderr, "measure_parity: %s\n", sb_error()->text);
    exit(2);
}

static void print(const char *what, const struct measurement *best, int64_t bytes)
{
    printf("%-8s %7.0f MB/s  %7.0f MB/s of processor time\n", what,
           (double)bytes / best->wall / 1e6, (double)bytes / best->processor / 1e6);
}

static void measure_make(const struct sb_file *file, const struct sb_parity_options *options)
{
    struct measurement best = {0}, m;

    for (int i = 0; i < TIMES; i++) {
        begin(&m);
        require(sb_parity_make(file, options));
        end(&m, &best);
    }
    print("make", &best, file->st.st_size);
}

static void measure_check(const struct sb_parity *parity, const struct sb_file *file)
{
    struct sb_parity_check_options options = {.parity = true};
    struct measurement best = {0}, m;
    struct sb_parity_bad *bad;

    for (int i = 0; i < TIMES; i++) {
        begin(&m);
        require(sb_parity_check(&bad, parity, file, &options));
        end(&m, &best);
        sb_parity_bad_free(bad);
    }
    print("check", &best, file->st.st_size);
}

static enum sb_code take(void *context, int64_t offset, const void *bytes, size_t size)
{
    (void)offset, (void)bytes;
    *(int64_t *)context += (int64_t)size;
    return SB_OK;
}

static enum sb_code lose(void *context, int64_t offset, size_t size)
{
    (void)context, (void)offset, (void)size;
    return sb_fail(SB_DAMAGED, "a piece is lost");
}

/* As if the first pieces of parity's size were bad. */
static void measure_mend(const struct sb_parity *parity, const struct sb_file *file)
{
    struct measurement best = {0}, m;
    const struct sb_parity_check_options none = {.from = 0, .to = 1};
    struct sb_parity_section section;
    int64_t bytes = 0;
    struct sb_parity_mender mender = {.mended = take, .lost = lose, .context = &bytes};

    if (sb_parity_sections(&parity->super.shape) == 0)
        return;
    sb_parity_section(&parity->super.shape, 0, &section);
    for (int i = 0; i < TIMES; i++) {
        struct sb_parity_bad *bad;

        bytes = 0;
        require(sb_parity_check(&bad, parity, file, &none));
        for (uint32_t piece = 0; piece < section.checks && piece < section.pieces; piece++)
            require(sb_parity_bad_add(bad, 0, piece));
        begin(&m);
        require(sb_parity_mend(parity, file, bad, &mender));
        end(&m, &best);
        sb_parity_bad_free(bad);
    }
    printf("         %.1f MB mended, by reading %.0f MB:\n", (double)bytes / 1e6,
           (double)section.pieces * parity->super.shape.piece / 1e6);
    print("mend", &best, (int64_t)section.pieces * parity->super.shape.piece);
}

static char *with_suffix(const char *path, const char *suffix)
{
    char *text;

    if (asprintf(&text, "%s%s", path, suffix) < 0)
        exit(2);
    return text;
}

int main(int argc, char **argv)
{
    struct sb_parity_options options = {.threads = 1};
    struct sb_parity *parity;
    unsigned per_mille = 50;
    struct sb_file *file;
    char *path, *temporary;
    int option;

    while ((option = getopt(argc, argv, "t:r:")) != -1) {
        if (option == '?')
            return 2;
        *(option == 't' ? &options.threads : &per_mille) = (unsigned)strtoul(optarg, NULL, 10);
    }
    if (argc - optind != 1) {
        fprintf(stderr, "usage: measure_parity [-t THREADS] [-r PER_MILLE] FILE\n");
        return 2;
    }
    require(sb_parity_redundancy(per_mille, &options.data, &options.parity));
    require(sb_file_open(&file, argv[optind], "file"));
    options.path = path = with_suffix(argv[optind], ".parity");
    options.temporary = temporary = with_suffix(argv[optind], ".parity.new");
    printf("%u + %u, threads: %u\n", options.data, options.parity, options.threads);
    measure_make(file, &options);
    require(sb_parity_open(&parity, options.path));
    measure_check(parity, file);
    measure_mend(parity, file);
    sb_parity_free(parity);
    sb_file_free(file);
    free(path);
    free(temporary);
    return 0;
}
