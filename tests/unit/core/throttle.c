/* lib/core/throttle.h, on a clock that only waiting moves */
#include "core/throttle.h"
#include "check.h"
#include "core/context.h"
#include "core/io.h"
#include "core/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define MS     (SECOND / 1000)

static _Atomic int64_t time_now;

static int64_t tell_time(void)
{
    return atomic_load(&time_now);
}

static void wait_until(int64_t time)
{
    int64_t seen = atomic_load(&time_now);

    while (seen < time && !atomic_compare_exchange_weak(&time_now, &seen, time))
        ;
}

static const struct sb_throttle_clock fake = {tell_time, wait_until};
static struct sb_context context = {.throttle.clock = &fake};

static void begin(int64_t rate)
{
    atomic_store(&time_now, 1000 * SECOND);
    sb_throttle_set(&context.throttle, rate);
}

static int64_t elapsed(void)
{
    return atomic_load(&time_now) - 1000 * SECOND;
}

static void without_a_limit_nothing_waits(void)
{
    begin(0);
    CHECK(!sb_throttle_limits());
    CHECK(sb_throttle_piece((size_t)1 << 40) == (size_t)1 << 40);
    sb_throttle_read(INT64_C(1) << 40);
    CHECK(elapsed() == 0);
}

static void bytes_take_their_time(void)
{
    begin(1000);
    CHECK(sb_throttle_limits());
    for (int i = 0; i < 100; i++)
        sb_throttle_read(100);
    CHECK(elapsed() == 10 * SECOND);
}

static void reading_and_writing_have_a_limit_each(void)
{
    begin(1000);
    sb_throttle_read(5000);
    CHECK(elapsed() == 5 * SECOND);
    sb_throttle_write(5000);
    /* Of the five seconds without a write a tenth of one counts. */
    CHECK(elapsed() == 10 * SECOND - 100 * MS);
}

static void little_of_idle_time_is_made_up_for(void)
{
    begin(1000);
    atomic_fetch_add(&time_now, 60 * SECOND);
    sb_throttle_read(100);
    CHECK(elapsed() == 60 * SECOND);
    sb_throttle_read(1000);
    CHECK(elapsed() == 61 * SECOND);
}

static void pieces_are_an_eighth_of_a_second_within_bounds(void)
{
    begin(800000);
    CHECK(sb_throttle_piece(1 << 20) == 100000);
    CHECK(sb_throttle_piece(99) == 99);
    begin(1);
    CHECK(sb_throttle_piece(1 << 20) == 4096);
    begin(INT64_MAX);
    CHECK(sb_throttle_piece((size_t)1 << 40) == 256 << 10);
}

static void extremes_stay_in_range(void)
{
    begin(INT64_MAX);
    sb_throttle_read(INT64_MAX);
    CHECK(elapsed() <= SECOND);
    begin(1);
    for (int i = 0; i < 1000; i++)
        sb_throttle_write(INT64_MAX);
    CHECK(elapsed() == 1000 * INT64_C(1000000) * SECOND);
}

static void *read_some(void *unused)
{
    for (int i = 0; i < 1000; i++)
        sb_throttle_read(1000);
    return unused;
}

static void threads_share_the_limit(void)
{
    pthread_t threads[4];

    begin(1000000);
    for (int i = 0; i < 4; i++)
        CHECK(sb_thread_start(&threads[i], read_some, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(elapsed() == 4 * SECOND);
}

static int new_file(void)
{
    int fd = -1;

    CHECK(sb_temp_file(&fd, "/tmp/") == SB_OK);
    return fd;
}

static void each_byte_of_io_counts_once(void)
{
    static char bytes[1000000];
    int fd = new_file(), other = new_file();
    size_t got;

    begin(1000000);
    CHECK(sb_write_full(fd, bytes, sizeof(bytes), "file") == SB_OK);
    CHECK(elapsed() == SECOND);
    begin(1000000);
    CHECK(sb_pwrite_full(fd, bytes, sizeof(bytes), 1, "file") == SB_OK);
    CHECK(elapsed() == SECOND);
    begin(1000000);
    CHECK(sb_pread_full(fd, bytes, sizeof(bytes), 500001, &got, "file") == SB_OK);
    CHECK(got == 500000 && elapsed() == SECOND / 2);
    CHECK(lseek(fd, 1, SEEK_SET) == 1);
    begin(1000000);
    CHECK(sb_read_full(fd, bytes, sizeof(bytes), &got, "file") == SB_OK);
    CHECK(got == sizeof(bytes) && elapsed() == SECOND);
    begin(1000000);
    CHECK(sb_copy_range(fd, 0, other, 1000000, "file", "other") == SB_OK);
    /* Read and written beside each other; the last piece of writing may still be to wait for. */
    CHECK(elapsed() >= SECOND && elapsed() <= SECOND + SECOND / 8);
    close(fd);
    close(other);
}

int main(void)
{
    sb_context_enter(&context);
    RUN(without_a_limit_nothing_waits);
    RUN(bytes_take_their_time);
    RUN(reading_and_writing_have_a_limit_each);
    RUN(little_of_idle_time_is_made_up_for);
    RUN(pieces_are_an_eighth_of_a_second_within_bounds);
    RUN(extremes_stay_in_range);
    RUN(threads_share_the_limit);
    RUN(each_byte_of_io_counts_once);
    return check_end();
}
