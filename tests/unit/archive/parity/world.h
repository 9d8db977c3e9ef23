/*
 * For the tests of lib/archive/parity: a file and its parity file, in memory as they should be, and
 * on disk as damage has left them.
 */
#ifndef TESTS_UNIT_ARCHIVE_PARITY_WORLD_H
#define TESTS_UNIT_ARCHIVE_PARITY_WORLD_H

#include "archive/parity/check.h"
#include "archive/parity/make.h"
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct bytes {
    unsigned char *at;
    size_t size;
};

static uint32_t state = 7;
static char top[64], data_path[128], parity_path[128], temporary_path[128];

/* What should be there, and what mending made of what was. */
static struct bytes data, parity, data_now, parity_now;
static int64_t lost, mended; /* pieces */
static int64_t parity_bad;   /* parts of the parity file */
static int64_t unknown;      /* bytes of the file, whose table is lost */
static bool lost_all_bad;    /* was each lost piece wrong, in fact? */

static inline uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(state ^ state >> 15) * below >> 32);
}

static inline void make_top(void)
{
    snprintf(top, sizeof(top), "%s/parity.XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(top))
        abort();
    snprintf(data_path, sizeof(data_path), "%s/data", top);
    snprintf(parity_path, sizeof(parity_path), "%s/data.parity", top);
    snprintf(temporary_path, sizeof(temporary_path), "%s/.data.parity.new", top);
}

static inline void resize(struct bytes *bytes, size_t size)
{
    bytes->at = realloc(bytes->at, size + 1);
    if (!bytes->at)
        abort();
    bytes->size = size;
}

static inline void copy(struct bytes *to, const struct bytes *from)
{
    resize(to, from->size);
    memcpy(to->at, from->at, from->size);
}

static inline void draw_bytes(unsigned char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)draw(256);
}

static inline void store(const char *path, const struct bytes *bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, bytes->at, bytes->size) != (ssize_t)bytes->size || close(fd))
        abort();
}

static inline void load(const char *path, struct bytes *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        abort();
    resize(bytes, (size_t)st.st_size);
    if (read(fd, bytes->at, bytes->size) != st.st_size)
        abort();
    close(fd);
}

static inline struct sb_file *open_data(void)
{
    struct sb_file *file;

    if (sb_file_open(&file, data_path, "file"))
        abort();
    return file;
}

static inline struct sb_parity_options options_of(unsigned k, unsigned m, unsigned words)
{
    return (struct sb_parity_options){.path = parity_path,
                                      .temporary = temporary_path,
                                      .data = k,
                                      .parity = m,
                                      .words = words,
                                      .threads = 1 + draw(3)};
}

/* A new file of random bytes, and its parity file. */
static inline bool make_world(size_t size, unsigned k, unsigned m, unsigned words)
{
    struct sb_parity_options options = options_of(k, m, words);
    struct sb_file *file;
    enum sb_code code;

    resize(&data, size);
    draw_bytes(data.at, size);
    store(data_path, &data);
    file = open_data();
    code = sb_parity_make(file, &options);
    sb_file_free(file);
    if (!CHECK(code == SB_OK)) {
        printf("#   %s\n", sb_error()->text);
        return false;
    }
    load(parity_path, &parity);
    copy(&data_now, &data);
    copy(&parity_now, &parity);
    return CHECK(access(temporary_path, F_OK) != 0);
}

static inline enum sb_code take_mended(void *context, int64_t offset, const void *bytes,
                                       size_t size)
{
    size_t old = data_now.size, end = (size_t)offset + size;

    (void)context;
    mended++;
    if (end > old) {
        resize(&data_now, end);
        memset(data_now.at + old, 0, end - old);
    }
    memcpy(data_now.at + offset, bytes, size);
    return SB_OK;
}

/* The lost bytes are put there, so that what is compared then is all the rest. */
static inline enum sb_code take_lost(void *context, int64_t offset, size_t size)
{
    size_t end = (size_t)offset + size;
    int64_t before = mended;

    (void)context;
    lost++;
    if (end > data.size)
        return sb_fail(SB_INVALID, "more is lost than there was");
    if (end <= data_now.size && memcmp(data_now.at + offset, data.at + offset, size) == 0)
        lost_all_bad = false;
    (void)take_mended(NULL, offset, data.at + offset, size);
    mended = before;
    return SB_OK;
}

/* What is on disk is checked and mended, in memory. False: it could not be done at all. */
static inline bool mend_world(bool whole_check)
{
    static const struct sb_parity_mender mender = {.mended = take_mended, .lost = take_lost};
    struct sb_parity_check_options options = {.parity = whole_check};
    struct sb_parity_bad *bad = NULL;
    struct sb_parity *open_parity;
    struct sb_file *file;
    enum sb_code code;

    lost = mended = parity_bad = unknown = 0;
    lost_all_bad = true;
    store(data_path, &data_now);
    store(parity_path, &parity_now);
    if (sb_parity_open(&open_parity, parity_path))
        return false;
    file = open_data();
    code = sb_parity_check(&bad, open_parity, file, &options);
    if (!code && bad->of_another)
        code = sb_fail(SB_DAMAGED, "of another state");
    if (!code)
        code = sb_parity_mend(open_parity, file, bad, &mender);
    if (!code) {
        parity_bad = bad->rest;
        unknown = bad->unknown;
    }
    sb_parity_bad_free(bad);
    sb_file_free(file);
    sb_parity_free(open_parity);
    return code == SB_OK;
}

static inline bool same(const struct bytes *a, const struct bytes *b)
{
    return a->size == b->size && memcmp(a->at, b->at, a->size) == 0;
}

/* The parity file as it should be, but for the zeros that align what is in it. */
static inline bool same_parity(void)
{
    struct sb_parity_super super;

    if (!sb_parity_get_super(&super, parity.at, 0) || parity_now.size != parity.size)
        return false;
    for (int64_t i = 0; i < sb_parity_sections(&super.shape); i++) {
        struct sb_parity_section section;
        int64_t begin = sb_parity_offset(&super.shape, i), from, to;

        sb_parity_section(&super.shape, i, &section);
        from = begin + sb_parity_piece_offset(&super.shape, &section, section.checks);
        to = begin + sb_parity_page_offset(&super.shape, &section, 1, 0);
        memset(parity_now.at + from, 0, (size_t)(to - from));
    }
    return same(&parity, &parity_now);
}

static inline void reset_world(void)
{
    copy(&data_now, &data);
    copy(&parity_now, &parity);
}

/* Other bytes than those that are there. */
static inline void spoil(struct bytes *bytes, size_t from, size_t size)
{
    for (size_t i = from; i < from + size && i < bytes->size; i++)
        bytes->at[i] = (unsigned char)(bytes->at[i] + 1 + draw(255));
}

#endif
