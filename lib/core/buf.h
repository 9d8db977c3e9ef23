/*
 * A growing array of bytes, always followed by a NUL that is not counted.
 *
 * {0} is an empty buffer. The caller holds it and calls sb_buf_release at the end; release of an
 * empty or released buffer is allowed. Functions that grow return SB_OK or fail with SB_NOMEM, and
 * leave the contents unchanged then. Not thread-safe.
 */
#ifndef SB_CORE_BUF_H
#define SB_CORE_BUF_H

#include "core/error.h"

#include <stddef.h>

struct sb_buf {
    char *data; /* NULL while nothing was ever added */
    size_t size;
    size_t capacity; /* bytes allocated, including the NUL */
};

void sb_buf_release(struct sb_buf *buf);

/* Forgets the contents, keeps the memory. */
void sb_buf_clear(struct sb_buf *buf);

/* Allocates so that `more` bytes can be added to size. */
enum sb_code sb_buf_reserve(struct sb_buf *buf, size_t more) SB_CHECKED;

enum sb_code sb_buf_add(struct sb_buf *buf, const void *data, size_t size) SB_CHECKED;
enum sb_code sb_buf_add_text(struct sb_buf *buf, const char *text) SB_CHECKED;
enum sb_code sb_buf_add_char(struct sb_buf *buf, char c) SB_CHECKED;
enum sb_code sb_buf_add_format(struct sb_buf *buf, const char *format, ...)
    SB_PRINTF(2, 3) SB_CHECKED;

/* Replaces the contents. */
enum sb_code sb_buf_set(struct sb_buf *buf, const void *data, size_t size) SB_CHECKED;

/* Shortens to size, which may not be larger than the current one. */
void sb_buf_cut(struct sb_buf *buf, size_t size);

/* Bytewise, a prefix first. Pure. */
int sb_compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size);

/*
 * Grows the caller's array of elements of `size` bytes until it holds element number `count`; each
 * growth at least doubles it. `array` is the address of the caller's pointer, which is unchanged on
 * SB_NOMEM. New elements are not initialised.
 */
enum sb_code sb_grow(void *array, size_t *capacity, size_t count, size_t size) SB_CHECKED;

#endif
