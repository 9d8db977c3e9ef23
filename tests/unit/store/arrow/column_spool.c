/* lib/store/arrow/column_spool.h */
#include "store/arrow/column_spool.h"
#include "check.h"

#define COLUMNS 3
#define MEMORY  100000

/* What a column must be: byte i of column c is c + i, but for the bits above. */
struct expected {
    size_t column;
    int64_t at;
    bool wrong;
};

static enum sb_code compare(void *context, const void *data, size_t size)
{
    struct expected *expected = context;
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++, expected->at++) {
        if (bytes[i] != (unsigned char)((int64_t)expected->column + expected->at % 251))
            expected->wrong = true;
    }
    return SB_OK;
}

static void add(struct sb_column_spool *spool, size_t column, size_t size)
{
    static unsigned char bytes[3 * MEMORY];
    int64_t at = sb_column_spool_size(spool, column);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((int64_t)column + (at + (int64_t)i) % 251);
    CHECK(sb_column_spool_add(spool, column, bytes, size) == SB_OK);
    CHECK(sb_column_spool_size(spool, column) == at + (int64_t)size);
}

static void check_all(struct sb_column_spool *spool)
{
    for (size_t column = 0; column < COLUMNS; column++) {
        struct expected expected = {.column = column};

        CHECK(sb_column_spool_feed(spool, column, compare, &expected) == SB_OK);
        CHECK(!expected.wrong && expected.at == sb_column_spool_size(spool, column));
    }
}

static struct sb_column_spool *new_spool(size_t memory)
{
    struct sb_column_spool *spool;

    CHECK(sb_column_spool_new(&spool, COLUMNS, memory, "/tmp/x") == SB_OK);
    return spool;
}

/* Column 2 has little, and stays in memory for long. */
static void fill(struct sb_column_spool *spool)
{
    for (size_t i = 1; i < 60; i++) {
        add(spool, 0, i * 331);
        add(spool, 1, i * 77);
        add(spool, 2, i);
    }
    add(spool, 1, 3 * MEMORY);
}

static void columns_come_back_from_memory_and_file(void)
{
    const size_t memories[] = {1, MEMORY, 100 * MEMORY};

    for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
        struct sb_column_spool *spool = new_spool(memories[i]);

        check_all(spool);
        fill(spool);
        check_all(spool);
        sb_column_spool_free(spool);
    }
}

static void what_is_cut_is_gone_and_more_may_follow(void)
{
    struct sb_column_spool *spool = new_spool(MEMORY);

    fill(spool);
    for (int64_t size = sb_column_spool_size(spool, 0); size > 0; size = size * 2 / 3) {
        sb_column_spool_cut(spool, 0, size);
        CHECK(sb_column_spool_size(spool, 0) == size);
        check_all(spool);
        add(spool, 0, (size_t)size / 5);
        add(spool, 2, 9000);
        check_all(spool);
        sb_column_spool_cut(spool, 0, size);
    }
    sb_column_spool_free(spool);
}

static void one_that_is_cleared_begins_anew(void)
{
    struct sb_column_spool *spool = new_spool(MEMORY);

    for (int i = 0; i < 3; i++) {
        fill(spool);
        check_all(spool);
        sb_column_spool_clear(spool);
        CHECK(sb_column_spool_size(spool, 0) == 0);
    }
    sb_column_spool_free(spool);
}

int main(void)
{
    RUN(columns_come_back_from_memory_and_file);
    RUN(what_is_cut_is_gone_and_more_may_follow);
    RUN(one_that_is_cleared_begins_anew);
    return check_end();
}
