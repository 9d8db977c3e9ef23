/*
 * A growing run of bytes, always followed by a NUL that is not counted.
 *
 * {0} is an empty buffer. The caller holds it and calls sb_buf_release at the end; release of an
 * empty or released buffer is allowed. Functions that grow return SB_OK or SB_NOMEM and leave the
 * contents unchanged on failure. Not thread-safe.
 */
#ifndef SB_CORE_BUF_H
#define SB_CORE_BUF_H

#include "core/error.h"

#include <stddef.h>

struct sb_buf {
    char *data; /* NULL while nothing was ever added */
    size_t size;
    size_t capacity; /* bytes allocated, the NUL's included */
};

void sb_buf_release(struct sb_buf *buf);

/* Forgets the contents, keeps the memory. */
void sb_buf_clear(struct sb_buf *buf);

/* Makes room for `more` further bytes beyond size. */
enum sb_code sb_buf_reserve(struct sb_buf *buf, size_t more) SB_CHECKED;

enum sb_code sb_buf_add(struct sb_buf *buf, const void *data, size_t size) SB_CHECKED;
enum sb_code sb_buf_add_text(struct sb_buf *buf, const char *text) SB_CHECKED;
enum sb_code sb_buf_add_char(struct sb_buf *buf, char c) SB_CHECKED;
enum sb_code sb_buf_add_format(struct sb_buf *buf, const char *format, ...)
    SB_PRINTF(2, 3) SB_CHECKED;

/* Replaces the contents. */
enum sb_code sb_buf_set(struct sb_buf *buf, const void *data, size_t size) SB_CHECKED;

/* Shortens to size, which may not be more than the present one. */
void sb_buf_cut(struct sb_buf *buf, size_t size);

/*
 * An array of the caller's, of elements of so many bytes: makes room for element number `count`, at
 * least twice as much as there was. array: where its address is; it is as it was at SB_NOMEM. What
 * is new is not set.
 */
enum sb_code sb_grow(void *array, size_t *capacity, size_t count, size_t size,
                     struct sb_error *err) SB_CHECKED;

#endif
