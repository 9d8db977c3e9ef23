/* lib/store/dictionary_trainer.h */
#include "store/codec/dictionary_trainer.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static struct sb_error err;

/* A source of `count` records of `size` bytes each, or of one byte more where odd. */
struct records {
    struct sb_source base;
    int64_t count;
    size_t size;
    int64_t given;
    size_t left;
    int64_t read; /* records whose bytes were asked for */
    char block[1 << 16];
};

static enum sb_code next(struct sb_source *source, struct sb_member *member, struct sb_error *error)
{
    struct records *records = (struct records *)source;

    (void)error;
    if (records->given == records->count)
        return SB_END;
    records->left = records->size;
    *member = (struct sb_member){.entry = {.path = "record", .path_size = 6, .size = -1}};
    records->given++;
    return SB_OK;
}

static enum sb_code block(struct sb_source *source, const void **data, size_t *size,
                          struct sb_error *error)
{
    struct records *records = (struct records *)source;
    size_t part = records->left < sizeof(records->block) ? records->left : sizeof(records->block);

    (void)error;
    if (part == 0)
        return SB_END;
    if (records->left == records->size)
        records->read++;
    for (size_t i = 0; i < part; i++)
        records->block[i] =
            (char)('a' + (i * 7 + (size_t)records->given * (i % 13 == 0 ? 31 : 0)) % 26);
    records->left -= part;
    *data = records->block;
    *size = part;
    return SB_OK;
}

static const struct sb_source_ops ops = {.next = next, .block = block};

/* Trains on them into a file; returns how many records were looked at, -1 if it failed. */
static int64_t train(int64_t count, size_t size, int64_t dictionary, const char *path)
{
    struct records records = {.base = {.ops = &ops}, .count = count, .size = size};
    struct sb_trainer *trainer;
    bool good = sb_trainer_new(&trainer, dictionary, &err) == SB_OK &&
                sb_trainer_take(trainer, &records.base, &err) == SB_OK &&
                sb_trainer_write(trainer, path, true, &err) == SB_OK;

    sb_trainer_free(trainer);
    return good ? records.read : -1;
}

static int64_t file_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (file)
        fclose(file);
    return size;
}

static void sizes_of_dictionaries(void)
{
    struct sb_trainer *trainer;

    CHECK(sb_trainer_new(&trainer, SB_DICTIONARY_LEAST - 1, &err) == SB_INVALID);
    CHECK(sb_trainer_new(&trainer, SB_DICTIONARY_MOST + 1, &err) == SB_INVALID);
    CHECK(train(5000, 100, 1024, "trained") == 5000);
    CHECK(file_size("trained") > 0 && file_size("trained") <= 1024);
    unlink("trained");
}

static void the_sample_is_bounded_and_spread(void)
{
    /* 400 MB, of which a hundred times 4 kB, that is a MiB at least, are kept. */
    int64_t read = train(4000000, 100, 4096, "trained");

    CHECK(read > 10000 && read < 100000);
    CHECK(file_size("trained") > 0);
    unlink("trained");
}

static void of_a_large_record_the_beginning_counts(void)
{
    CHECK(train(200, 10 << 20, 4096, "trained") > 0);
    unlink("trained");
}

static void too_few_records(void)
{
    CHECK(train(2, 10, 1024, "trained") == -1);
    CHECK(err.code == SB_INVALID && strstr(err.text, "2 records"));
    CHECK(file_size("trained") == -1);
    CHECK(train(0, 10, 1024, "trained") == -1);
    CHECK(err.code == SB_INVALID);
}

int main(void)
{
    char directory[] = "/tmp/trainer-XXXXXX";

    if (!mkdtemp(directory) || chdir(directory) != 0)
        return 1;
    RUN(sizes_of_dictionaries);
    RUN(the_sample_is_bounded_and_spread);
    RUN(of_a_large_record_the_beginning_counts);
    RUN(too_few_records);
    if (chdir("/") != 0 || rmdir(directory) != 0)
        return 1;
    return check_end();
}
