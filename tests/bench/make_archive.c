/*
 * make_archive [OPTION...] ARCHIVE COUNT
 * make_archive [OPTION...] --list NUMBER...
 *
 * Writes a synthetic archive of COUNT files of zero bytes, through the writer's door, and prints
 * the seconds that it took: the time of the index alone, for the shards are holes. All of it (row,
 * checksum, length of each shard) is as pack would have written it. With --list it writes nothing,
 * and prints the names of the files with these numbers instead.
 *
 *   -d, --depth=N          directories above each file (2)
 *   -p, --per-directory=N  files in a directory (1000)
 *   -f, --fanout=N         directories in a directory, but for the topmost (100)
 *   -l, --length=N         average length of a path; no shorter than its fixed
 *                          part, which is 26 for a depth of 2 (40)
 *   -b, --bytes=SIZE       size of each file, or LOW-HIGH: drawn so that every doubling is as
 *                          likely as the next (64)
 *   -s, --shard-size=SIZE  limit of a shard (none)
 *   -o, --first=N          number of the first file; names and sizes are decided by number and seed
 *                          alone, so that two archives may continue each other (0)
 *   -r, --seed=N           another choice of sizes, lengths, hexadecimal digits and suffixes (0)
 *   -u, --shuffle          rows come in a random order instead of that of their names
 *   -a, --append           adds to an archive that is there
 *
 * A name is set-00000012/part-00034/0567_9ae31.json: numbers of the directories and of the file
 * in its directory, digits that make up the length, and a suffix.
 */
#include "archive/writer/writer.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "core/permutation.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DEPTH_MAX  100
#define DIGITS_MAX 200
#define PATH_SIZE  4096

#define TABLE_BITS 16
#define TABLE_SIZE (1 << TABLE_BITS)

/* What of a file is drawn; each is a pass of sb_draw_at. */
enum drawn { DRAWN_DOUBLING, DRAWN_SIZE, DRAWN_LENGTH, DRAWN_DIGITS, DRAWN_SUFFIX };

struct settings {
    int64_t depth, per_directory, fanout, length;
    int64_t low, high;
    int64_t shard_size, first, seed;
    bool shuffle, append, list;
};

struct synthesis {
    const struct settings *settings;
    struct sb_writer *writer;
    uint32_t low_zeros[TABLE_SIZE];  /* checksums of N zeros, */
    uint32_t high_zeros[TABLE_SIZE]; /* and of N * TABLE_SIZE zeros */
    struct sb_entry last;            /* placed, and neither written nor skipped */
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t draw(const struct settings *settings, uint64_t number, enum drawn what,
                     uint64_t size)
{
    return sb_draw_at(size, (uint64_t)settings->seed, what, number);
}

static size_t add_directories(const struct settings *settings, uint64_t directory, char *path)
{
    static const char *const words[] = {"part", "clip", "shot", "view"};
    uint64_t numbers[DEPTH_MAX] = {0};
    size_t size = 0;

    for (int64_t level = settings->depth - 1; level >= 0; level--) {
        numbers[level] = level ? directory % (uint64_t)settings->fanout : directory;
        directory /= (uint64_t)settings->fanout;
    }
    for (int64_t level = 0; level < settings->depth; level++) {
        int added = level ? snprintf(path + size, PATH_SIZE - size, "%s-%05" PRIu64 "/",
                                     words[(level - 1) % 4], numbers[level])
                          : snprintf(path, PATH_SIZE, "set-%08" PRIu64 "/", numbers[0]);

        size += (size_t)added;
    }
    return size;
}

/* Digits are as many as the length wants, more or less by up to four. */
static size_t make_path(const struct settings *settings, uint64_t number, char *path)
{
    static const char *const suffixes[] = {".jpg", ".txt", ".npy", ".json"};
    uint64_t per_directory = (uint64_t)settings->per_directory;
    const char *suffix = suffixes[draw(settings, number, DRAWN_SUFFIX, 4)];
    size_t size = add_directories(settings, number / per_directory, path);
    int64_t digits;

    size +=
        (size_t)snprintf(path + size, PATH_SIZE - size, "%04" PRIu64 "_", number % per_directory);
    digits = settings->length - (int64_t)size - (int64_t)strlen(suffix) +
             (int64_t)draw(settings, number, DRAWN_LENGTH, 9) - 4;
    for (int64_t i = 0; i < digits && i < DIGITS_MAX; i++)
        path[size++] = "0123456789abcdef"[draw(settings, number, DRAWN_DIGITS, UINT64_C(1) << 48) >>
                                              (4 * (i % 12)) &
                                          15];
    return size + (size_t)snprintf(path + size, PATH_SIZE - size, "%s", suffix);
}

static int64_t draw_size(const struct settings *settings, uint64_t number)
{
    int64_t base = settings->low, size;
    unsigned doublings = 0;

    if (settings->low == settings->high)
        return base;
    while (base << (doublings + 1) <= settings->high && base << doublings < INT64_MAX / 4)
        doublings++;
    base <<= draw(settings, number, DRAWN_DOUBLING, doublings + 1);
    size = base + (int64_t)draw(settings, number, DRAWN_SIZE, (uint64_t)base);
    return size < settings->high ? size : settings->high;
}

static void fill_tables(struct synthesis *synthesis)
{
    static const char zeros[TABLE_SIZE];
    uint32_t block = sb_crc32c(0, zeros, sizeof(zeros));

    for (size_t i = 1; i < TABLE_SIZE; i++) {
        synthesis->low_zeros[i] = sb_crc32c(synthesis->low_zeros[i - 1], zeros, 1);
        synthesis->high_zeros[i] =
            sb_crc32c_combine(synthesis->high_zeros[i - 1], block, sizeof(zeros));
    }
}

static uint32_t crc_of_zeros(const struct synthesis *synthesis, int64_t size)
{
    uint32_t low = synthesis->low_zeros[size % TABLE_SIZE];

    if (size < TABLE_SIZE)
        return low;
    return sb_crc32c_combine(synthesis->high_zeros[size / TABLE_SIZE], low, size % TABLE_SIZE);
}

/* The last extent of a shard is where the file has to end; all others are left out. */
static enum sb_code settle_last(struct synthesis *synthesis, bool at_end)
{
    const struct sb_entry *last = &synthesis->last;
    enum sb_code code;

    if (last->size == 0)
        return SB_OK;
    code = sb_writer_skip(synthesis->writer, last->shard, last->size - at_end);
    if (code || !at_end)
        return code;
    return sb_writer_write(synthesis->writer, last->shard, last->offset + last->size - 1, "", 1);
}

static enum sb_code add_one(struct synthesis *synthesis, uint64_t number)
{
    char path[PATH_SIZE];
    struct sb_entry entry = {
        .path = path,
        .path_size = make_path(synthesis->settings, number, path),
        .type = SB_FILE,
        .has = SB_HAS_CRC | SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .mode = S_IFREG | 0644,
        .uid = 1000,
        .gid = 1000,
        .mtime_ns = INT64_C(1600000000123456789) + (int64_t)number,
        .size = draw_size(synthesis->settings, number),
    };

    entry.crc32c = crc_of_zeros(synthesis, entry.size);
    if (sb_writer_place(synthesis->writer, entry.size, &entry.shard, &entry.offset) ||
        settle_last(synthesis, entry.shard != synthesis->last.shard))
        return sb_error()->code;
    synthesis->last = entry;
    synthesis->last.path = NULL;
    return sb_writer_add_file(synthesis->writer, &entry);
}

static enum sb_code add_all(struct synthesis *synthesis, uint64_t count)
{
    const struct settings *settings = synthesis->settings;
    struct sb_permutation order;
    enum sb_code code = SB_OK;

    sb_permutation_begin(&order, count, (uint64_t)settings->seed, 0);
    for (uint64_t i = 0; code == SB_OK && i < count; i++) {
        uint64_t place = settings->shuffle ? sb_permutation_at(&order, i) : i;

        code = add_one(synthesis, (uint64_t)settings->first + place);
    }
    return code ? code : settle_last(synthesis, true);
}

static enum sb_code make(const struct settings *settings, const char *path, uint64_t count)
{
    struct sb_writer_options options = {.mode = settings->append ? SB_APPEND : SB_CREATE,
                                        .shard_size = settings->shard_size};
    struct synthesis *synthesis = calloc(1, sizeof(*synthesis));
    enum sb_code code;

    if (!synthesis)
        return sb_fail_memory();
    synthesis->settings = settings;
    fill_tables(synthesis);
    code = sb_writer_open(&synthesis->writer, path, &options);
    if (code == SB_OK)
        code = add_all(synthesis, count);
    if (code == SB_OK)
        code = sb_writer_commit(synthesis->writer);
    sb_writer_free(synthesis->writer);
    free(synthesis);
    return code;
}

static bool parse_bytes(char *text, struct settings *settings)
{
    char *dash = strchr(text, '-');

    if (dash)
        *dash = '\0';
    if (!sb_parse_size(text, &settings->low) ||
        !sb_parse_size(dash ? dash + 1 : text, &settings->high))
        return false;
    return settings->low <= settings->high && settings->high < (int64_t)TABLE_SIZE * TABLE_SIZE &&
           (settings->low > 0 || settings->high == 0);
}

static bool take_option(int letter, char *value, struct settings *settings)
{
    switch (letter) {
    case 'd':
        return sb_parse_integer(value, 0, DEPTH_MAX, &settings->depth);
    case 'p':
        return sb_parse_integer(value, 1, INT64_MAX, &settings->per_directory);
    case 'f':
        return sb_parse_integer(value, 1, INT64_MAX, &settings->fanout);
    case 'l':
        return sb_parse_integer(value, 0, PATH_SIZE / 2, &settings->length);
    case 'b':
        return parse_bytes(value, settings);
    case 's':
        return sb_parse_size(value, &settings->shard_size);
    case 'o':
        return sb_parse_integer(value, 0, INT64_MAX / 2, &settings->first);
    case 'r':
        return sb_parse_integer(value, 0, INT64_MAX, &settings->seed);
    case 'u':
        return settings->shuffle = true;
    case 'a':
        return settings->append = true;
    case 'L':
        return settings->list = true;
    default:
        return false;
    }
}

static bool parse_options(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"depth", required_argument, NULL, 'd'},  {"per-directory", required_argument, NULL, 'p'},
        {"fanout", required_argument, NULL, 'f'}, {"length", required_argument, NULL, 'l'},
        {"bytes", required_argument, NULL, 'b'},  {"shard-size", required_argument, NULL, 's'},
        {"first", required_argument, NULL, 'o'},  {"seed", required_argument, NULL, 'r'},
        {"shuffle", no_argument, NULL, 'u'},      {"append", no_argument, NULL, 'a'},
        {"list", no_argument, NULL, 'L'},         {0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "d:p:f:l:b:s:o:r:uaL", options, NULL)) != -1) {
        if (!take_option(letter, optarg, settings))
            return false;
    }
    return settings->list ? optind < argc : optind == argc - 2;
}

static bool list(const struct settings *settings, char **numbers)
{
    char path[PATH_SIZE];
    int64_t number;

    for (; *numbers; numbers++) {
        if (!sb_parse_integer(*numbers, 0, INT64_MAX, &number))
            return false;
        make_path(settings, (uint64_t)number, path);
        puts(path);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .depth = 2, .per_directory = 1000, .fanout = 100, .length = 40, .low = 64, .high = 64};
    double start = now();
    int64_t count = 0;
    bool fine = parse_options(argc, argv, &settings);

    if (fine && settings.list)
        fine = list(&settings, argv + optind);
    else if (fine)
        fine = sb_parse_integer(argv[optind + 1], 1, INT64_MAX / 2, &count);
    if (!fine) {
        fprintf(stderr, "usage: make_archive [OPTION...] ARCHIVE COUNT\n"
                        "       make_archive [OPTION...] --list NUMBER...\n");
        return 2;
    }
    if (settings.list)
        return 0;
    if (make(&settings, argv[optind], (uint64_t)count)) {
        fprintf(stderr, "make_archive: %s\n", sb_error()->text);
        return 1;
    }
    printf("%.6f\n", now() - start);
    return 0;
}
