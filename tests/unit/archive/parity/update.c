/*
 * lib/archive/parity: files that grow; and what is there if the machine stops at any time.
 *
 * The functions by which the library reads and writes are those of this file. Before each write and
 * sync a process may end, with half of the bytes written, and with any of what was not synced lost.
 */
#include "archive/parity/world.h"

#include "core/io.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define UNSYNCED_MOST 4096

static long calls_left = -1; /* -1: no end */

static struct {
    int fd;
    off_t offset;
    size_t size;
    unsigned char *before;
} unsynced[UNSYNCED_MOST];
static size_t unsynced_count;

/* Bytes of the file of data that cannot be read; how many were read. */
static off_t bad_from, bad_to;
static size_t data_read;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved */

static bool is_data(int fd)
{
    struct stat st, named;

    return fstat(fd, &st) == 0 && stat(data_path, &named) == 0 && st.st_ino == named.st_ino;
}

ssize_t pread64(int fd, void *bytes, size_t size, off_t offset)
{
    if (offset < bad_to && offset + (off_t)size > bad_from && is_data(fd)) {
        errno = EIO;
        return -1;
    }
    if (is_data(fd))
        data_read += size;
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

static ssize_t plain_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

static void power_fails(void)
{
    while (unsynced_count--) {
        /* All, half or nothing of it reached the disk. */
        size_t undone = unsynced[unsynced_count].size * draw(3) / 2;

        (void)!plain_pwrite(unsynced[unsynced_count].fd, unsynced[unsynced_count].before, undone,
                            unsynced[unsynced_count].offset);
    }
    _exit(1);
}

/* What a read finds after the end are zeros, which is what a file has that was made longer. */
static void remember(int fd, size_t size, off_t offset)
{
    size_t i = unsynced_count++;

    if (i == UNSYNCED_MOST)
        abort();
    unsynced[i].fd = fd;
    unsynced[i].offset = offset;
    unsynced[i].size = size;
    unsynced[i].before = calloc(1, size + 1);
    if (!unsynced[i].before || pread(fd, unsynced[i].before, size, offset) < 0)
        abort();
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
    if (calls_left < 0)
        return plain_pwrite(fd, bytes, size, offset);
    remember(fd, size, offset);
    if (calls_left-- == 0) {
        (void)!plain_pwrite(fd, bytes, size / 2, offset);
        power_fails();
    }
    return plain_pwrite(fd, bytes, size, offset);
}

int fsync(int fd)
{
    if (calls_left >= 0 && calls_left-- == 0)
        power_fails();
    if (calls_left >= 0) {
        for (size_t i = 0; i < unsynced_count; i++)
            free(unsynced[i].before);
        unsynced_count = 0;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int64_t valid_bytes, stale_pieces;

/* Opens what is on disk, checks it, and says what is bad. */
static bool look(int64_t *bad_data, int64_t *bad_parity, int64_t *bad_supers)
{
    struct sb_parity_check_options options = {.parity = true};
    struct sb_parity_bad *bad = NULL;
    struct sb_parity *now;
    struct sb_file *file;
    enum sb_code code;

    *bad_data = *bad_parity = *bad_supers = -1;
    if (sb_parity_open(&now, parity_path, SB_PARITY_READ, &err))
        return false;
    file = open_data();
    code = sb_parity_check(&bad, now, file, &options, &err);
    if (!code) {
        *bad_data = sb_parity_bad_count(bad, SB_PARITY_DATA);
        *bad_parity =
            sb_parity_bad_count(bad, SB_PARITY_CHECK) + sb_parity_bad_count(bad, SB_PARITY_PAGE);
        *bad_supers = sb_parity_bad_count(bad, SB_PARITY_SUPER);
        valid_bytes = now->super.valid * now->super.shape.piece;
        stale_pieces = sb_parity_pieces(&now->super.shape) - now->super.valid;
    }
    sb_parity_bad_free(bad);
    sb_file_free(file);
    sb_parity_free(now);
    return code == SB_OK;
}

static enum sb_code update(unsigned k, unsigned m, unsigned words)
{
    struct sb_parity_options options = options_of(k, m, words);
    struct sb_file *file = open_data();
    enum sb_code code = sb_parity_update(file, &options, &err);

    sb_file_free(file);
    return code;
}

static enum sb_code mark(int64_t from)
{
    struct sb_parity *now;
    enum sb_code code;

    if (sb_parity_open(&now, parity_path, SB_PARITY_WRITE, &err))
        return err.code;
    from /= now->super.shape.piece;
    code = sb_parity_mark(now, from < now->super.valid ? from : now->super.valid, NULL, &err);
    sb_parity_free(now);
    return code;
}

/* The file has these bytes from `from` on, and ends with them. */
static void write_data(size_t from, size_t size)
{
    int fd = open(data_path, O_RDWR | O_CLOEXEC);

    resize(&data, size);
    draw_bytes(data.at + from, size - from);
    if (fd < 0 || ftruncate(fd, (off_t)size) ||
        sb_pwrite_full(fd, data.at + from, size - from, (int64_t)from, data_path, &err) ||
        sb_fsync(fd, data_path, &err) || close(fd))
        abort();
}

/* All that is there is as it should be, and is mended if it is damaged. */
static bool is_up_to_date(void)
{
    int64_t bad_data, bad_parity, bad_supers;
    bool right;

    if (!look(&bad_data, &bad_parity, &bad_supers) || bad_data || bad_parity || bad_supers) {
        printf("#   bad: %lld pieces, %lld of parity, %lld superblocks\n", (long long)bad_data,
               (long long)bad_parity, (long long)bad_supers);
        return false;
    }
    load(parity_path, &parity);
    reset_world();
    if (data.size)
        spoil(&data_now, draw((uint32_t)data.size), 1000);
    spoil(&parity_now, draw((uint32_t)parity.size), 1);
    right = mend_world(true) && lost == 0 && same(&data, &data_now);
    if (!right)
        printf("#   lost: %lld\n", (long long)lost);
    store(data_path, &data);
    store(parity_path, &parity);
    return right;
}

static unsigned char *first_bytes(struct bytes *from, size_t size)
{
    struct bytes part = {from->at, size}, to = {NULL, 0};

    copy(&to, &part);
    return to.at;
}

static void a_file_grows_and_shrinks(void)
{
    static const unsigned codes[][3] = {{20, 4, 3}, {240, 12, 0}, {5, 3, 2}};

    for (size_t c = 0; c < 3; c++) {
        unsigned k = codes[c][0], m = codes[c][1], words = codes[c][2];

        if (!make_world(130000, k, m, words))
            return;
        for (unsigned n = 0; n < 60; n++) {
            size_t size = data.size, from = draw((uint32_t)size + 1);

            if (n % 3) /* appended */
                from = size;
            size = n % 10 == 9 ? draw((uint32_t)size + 1) : size + draw(n % 2 ? 100000 : 3000);
            from = from < size ? from : size;
            CHECK(mark((int64_t)from) == SB_OK);
            write_data(from, size);
            if (!CHECK(update(k, m, words) == SB_OK) || !CHECK(is_up_to_date())) {
                printf("#   update %u of %u + %u: %s\n", n, k, m, err.text);
                return;
            }
        }
    }
}

static void sections_that_do_not_change_keep_their_bytes(void)
{
    struct sb_parity_super before, after;
    unsigned char *bytes;
    size_t fifth, size;

    if (!make_world(500000, 20, 4, 1))
        return;
    CHECK(sb_parity_get_super(&before, parity.at, 0));
    CHECK(sb_parity_sections(&before.shape) == 7);
    fifth = (size_t)sb_parity_offset(&before, 4);
    size = (size_t)sb_parity_span(&before.shape, 4, 5);
    bytes = first_bytes(&parity, parity.size);
    CHECK(mark((int64_t)data.size) == SB_OK);
    write_data(500000, 600000);
    CHECK(update(20, 4, 1) == SB_OK);
    load(parity_path, &parity);
    CHECK(sb_parity_get_super(&after, parity.at, 0));
    CHECK(memcmp(before.id, after.id, sizeof(after.id)) == 0);
    CHECK(sb_parity_sections(&after.shape) == 8 && before.middle == after.middle);
    for (int64_t i = 0; i < 5; i++)
        CHECK(sb_parity_offset(&before, i) == sb_parity_offset(&after, i));
    CHECK(memcmp(bytes + 4096, parity.at + 4096, (size_t)before.middle - 4096) == 0);
    CHECK(memcmp(bytes + fifth, parity.at + fifth, size) == 0);
    free(bytes);
    CHECK(is_up_to_date());
}

/* What earlier states left is used again. */
static void the_parity_file_grows_as_the_file_does(void)
{
    if (!make_world(500000, 20, 4, 1))
        return;
    for (unsigned n = 0; n < 100; n++) {
        CHECK(mark((int64_t)data.size) == SB_OK);
        write_data(data.size, data.size + 10000);
        CHECK(update(20, 4, 1) == SB_OK);
    }
    load(parity_path, &parity);
    /* 20 % of the file, and tables, and the space of some sections */
    CHECK(parity.size < data.size * 4 / 10);
    CHECK(is_up_to_date());
}

static struct {
    unsigned calls;
    int64_t from, to; /* of the last */
    enum sb_code answer;
} renewed;

static enum sb_code renews(void *context, int64_t from, int64_t to, struct sb_error *fail)
{
    (void)context;
    renewed.calls++;
    renewed.from = from;
    renewed.to = to;
    return renewed.answer ? sb_fail(fail, renewed.answer, "not to be renewed") : SB_OK;
}

static enum sb_code update_with_renews(unsigned k, unsigned m, unsigned words)
{
    struct sb_parity_options options = options_of(k, m, words);
    struct sb_file *file = open_data();
    enum sb_code code;

    options.renews = renews;
    renewed.calls = 0;
    code = sb_parity_update(file, &options, &err);
    sb_file_free(file);
    return code;
}

/* Changed in the middle, without a mark: that section moves, and all others stay. */
static void only_sections_that_changed_are_made_anew(void)
{
    struct sb_parity_super before, after;
    unsigned char *bytes;

    if (!make_world(500000, 20, 4, 1))
        return;
    CHECK(sb_parity_get_super(&before, parity.at, 0));
    bytes = first_bytes(&parity, parity.size);
    copy(&data_now, &data);
    spoil(&data_now, 300000, 1);
    copy(&data, &data_now);
    store(data_path, &data);
    renewed.answer = SB_DAMAGED;
    CHECK(update_with_renews(20, 4, 1) == SB_DAMAGED);
    CHECK(renewed.calls == 1 && renewed.from <= 300000 && renewed.to > 300000);
    load(parity_path, &parity);
    CHECK(memcmp(parity.at, bytes, parity.size) == 0);
    renewed.answer = SB_OK;
    CHECK(update_with_renews(20, 4, 1) == SB_OK);
    CHECK(renewed.calls == 1 && renewed.from <= 300000 && renewed.to > 300000);
    load(parity_path, &parity);
    CHECK(sb_parity_get_super(&after, parity.at, 0));
    for (int64_t i = 0; i < 7; i++) {
        struct sb_parity_section section;
        int64_t was = sb_parity_offset(&before, i), is = sb_parity_offset(&after, i);

        sb_parity_section(&after.shape, i, &section);
        if (section.first * after.shape.piece == renewed.from) {
            CHECK(is != was);
            continue;
        }
        CHECK(is == was && memcmp(parity.at + is, bytes + was,
                                  (size_t)sb_parity_span(&after.shape, i, i + 1)) == 0);
    }
    free(bytes);
    CHECK(is_up_to_date());
    CHECK(update_with_renews(20, 4, 1) == SB_OK);
    CHECK(renewed.calls == 0);
    CHECK(update_with_renews(10, 4, 1) == SB_OK);
    CHECK(renewed.calls == 1 && renewed.from == 0 && renewed.to == 500000);
}

/* Sections here and there, again and again: what they leave is used again, and there are never too
 * many extents. */
static void changes_all_over_a_file(void)
{
    struct sb_parity_super super;

    if (!make_world(2000000, 20, 4, 1))
        return;
    for (unsigned n = 0; n < 100; n++) {
        copy(&data_now, &data);
        for (unsigned i = draw(12); i < 12; i++)
            spoil(&data_now, draw(1990000), 1);
        copy(&data, &data_now);
        store(data_path, &data);
        if (!CHECK(update(20, 4, 1) == SB_OK) || !CHECK(is_up_to_date()))
            return;
        load(parity_path, &parity);
        CHECK(sb_parity_get_super(&super, parity.at, 0));
        CHECK(parity.size <
              2 * ((size_t)sb_parity_span(&super.shape, 0, sb_parity_sections(&super.shape)) +
                   16384));
    }
}

static void where_nothing_is_it_is_made(void)
{
    if (!make_world(130000, 20, 4, 3))
        return;
    CHECK(unlink(parity_path) == 0);
    CHECK(update(20, 4, 3) == SB_OK);
    CHECK(is_up_to_date());
    copy(&parity_now, &parity);
    memset(parity_now.at, 0, parity_now.size);
    store(parity_path, &parity_now);
    CHECK(update(20, 4, 3) == SB_OK);
    CHECK(is_up_to_date());
    CHECK(update(10, 4, 3) == SB_OK);
    CHECK(is_up_to_date());
}

static void what_the_user_keeps_stays(void)
{
    struct sb_parity_options options = options_of(20, 4, 3);
    unsigned char user[SB_PARITY_USER] = "state 1";
    struct sb_parity *now;
    struct sb_file *file;

    if (!make_world(130000, 20, 4, 3))
        return;
    file = open_data();
    options.user = user;
    CHECK(sb_parity_update(file, &options, &err) == SB_OK);
    options.user = NULL;
    CHECK(sb_parity_update(file, &options, &err) == SB_OK);
    sb_file_free(file);
    if (!CHECK(sb_parity_open(&now, parity_path, SB_PARITY_WRITE, &err) == SB_OK))
        return;
    CHECK_TEXT((const char *)now->super.user, "state 1");
    user[6] = '2';
    CHECK(sb_parity_mark(now, 10, user, &err) == SB_OK);
    CHECK(sb_parity_mark(now, 11, user, &err) == SB_INVALID);
    sb_parity_free(now);
    if (!CHECK(sb_parity_open(&now, parity_path, SB_PARITY_READ, &err) == SB_OK))
        return;
    CHECK_TEXT((const char *)now->super.user, "state 2");
    CHECK(now->super.valid == 10);
    sb_parity_free(now);
}

/* Sectors of the file that its disk has lost, beside some that have other bytes. */
static void what_a_disk_cannot_read_is_mended(void)
{
    for (unsigned n = 0; n < 20; n++) {
        if (!make_world(100000, 20, 4, 3))
            return;
        bad_from = draw(90000);
        bad_to = bad_from + 1 + draw(1000);
        spoil(&data_now, (size_t)bad_to, 1000);
        CHECK(mend_world(true));
        CHECK(lost == 0 && mended >= 3 && same(&data, &data_now));
        bad_from = bad_to = 0;
    }
}

/* 200 pieces in 4 sections; one is bad, and its word has 20 of data. */
static void words_without_loss_are_not_read(void)
{
    if (!make_world(102400, 20, 4, 3))
        return;
    spoil(&data_now, 70000, 1);
    data_read = 0;
    CHECK(mend_world(true));
    CHECK(mended == 1 && lost == 0 && same(&data, &data_now));
    CHECK(data_read > 102400 && data_read <= 102400 + 19 * 512);
}

/* Stale pieces are not checked, and those of their words are mended in spite of them. */
static void stale_pieces_are_passed_over(void)
{
    if (!make_world(100000, 20, 4, 3))
        return;
    CHECK(mark(99000) == SB_OK);
    load(parity_path, &parity);
    reset_world();
    spoil(&data_now, 99000, 1000);
    copy(&data, &data_now);
    spoil(&data_now, 50000, 1000);
    CHECK(mend_world(true));
    CHECK(mended == 3 && lost == 0 && same(&data, &data_now));
}

static void grow_and_update(size_t from, size_t size)
{
    enum sb_code code = mark((int64_t)from);

    if (!code) {
        write_data(from, size);
        code = update(20, 4, 3);
    }
    if (!code)
        return;
    printf("#   %s\n", err.text);
    fflush(stdout);
    abort();
}

/*
 * Whichever state it is in, what is valid is right, and can be mended; unless many pieces of its
 * word may have changed.
 */
static void check_after_kill(void)
{
    int64_t bad_data, bad_parity, bad_supers;
    size_t valid;

    if (!CHECK(look(&bad_data, &bad_parity, &bad_supers))) {
        printf("#   %s\n", err.text);
        return;
    }
    CHECK(bad_data == 0 && bad_parity == 0 && bad_supers < 3);
    load(data_path, &data);
    load(parity_path, &parity);
    reset_world();
    valid = (size_t)valid_bytes < data.size ? (size_t)valid_bytes : data.size;
    spoil(&data_now, draw((uint32_t)valid - 600), 600);
    CHECK(mend_world(true));
    CHECK(lost == 0 || stale_pieces > 1);
    CHECK(memcmp(data_now.at, data.at, valid) == 0);
    store(data_path, &data);
}

/* One run that ends before its call number `calls`; false: it did not. */
static bool kill_at(long calls, size_t from, size_t size)
{
    int status;
    pid_t child;

    fflush(stdout);
    draw(2);
    (void)unlink(temporary_path);
    child = fork();
    if (child == 0) {
        calls_left = calls;
        grow_and_update(from, size);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        abort();
    return WEXITSTATUS(status) != 0;
}

static void kill_everywhere(size_t from, size_t size, size_t old_size, unsigned updates)
{
    bool killed = true;

    for (long calls = 0; killed; calls++) {
        (void)unlink(temporary_path);
        if (!make_world(old_size, 20, 4, 3))
            return;
        while (updates > 0 && data.size < old_size + updates * 700)
            grow_and_update(data.size, data.size + 700);
        killed = kill_at(calls, from, size);
        check_after_kill();
        /* A second run is killed, too, and the third one does it. */
        for (long again = (long)draw(8); killed && again < 40; again += 9) {
            kill_at(again, from < data.size ? from : data.size, size + 2000);
            check_after_kill();
        }
        (void)unlink(temporary_path);
        CHECK(mark((int64_t)from) == SB_OK);
        if (!CHECK(update(20, 4, 3) == SB_OK) || !CHECK(is_up_to_date())) {
            printf("#   killed at call %ld: %s\n", calls, err.text);
            return;
        }
    }
}

static void whenever_the_power_fails_it_is_the_old_or_the_new(void)
{
    kill_everywhere(60000, 62000, 60000, 0);
    kill_everywhere(60000, 122000, 60000, 0);
    kill_everywhere(62100, 64000, 60000, 3);
    kill_everywhere(40000, 60000, 60000, 0);
    kill_everywhere(50000, 50000, 60000, 0);
}

int main(void)
{
    make_top();
    RUN(a_file_grows_and_shrinks);
    RUN(sections_that_do_not_change_keep_their_bytes);
    RUN(the_parity_file_grows_as_the_file_does);
    RUN(only_sections_that_changed_are_made_anew);
    RUN(changes_all_over_a_file);
    RUN(where_nothing_is_it_is_made);
    RUN(what_the_user_keeps_stays);
    RUN(what_a_disk_cannot_read_is_mended);
    RUN(words_without_loss_are_not_read);
    RUN(stale_pieces_are_passed_over);
    RUN(whenever_the_power_fails_it_is_the_old_or_the_new);
    check_remove_tree(top);
    return check_end();
}
