/*
 * Framed records, taken out of their frames one by one: framing.h has the framings.
 *
 * A record's last bytes are not given before what follows it was found to be sound. A record whose
 * size only its end shows, and that is not at hand as a whole, is spooled (core/spool.h), so that
 * sizes are always known. A length is not trusted: nothing is allocated for it. Belongs to one
 * thread.
 */
#ifndef SB_STORE_FRAMES_READER_H
#define SB_STORE_FRAMES_READER_H

#include "store/feed/feed.h"

struct sb_frame_reader;

/* A record; name lives until the next one. */
struct sb_frame {
    int64_t number;
    int64_t size;
    const char *name; /* that is in the frame; NULL: none */
    size_t name_size;
};

/*
 * Any framing but tar. Decompresses what input->type.filter says. The input and notify stay as long
 * as the reader.
 */
enum sb_code sb_frame_reader_open(struct sb_frame_reader **out, struct sb_input *input,
                                  enum sb_framing framing, const struct sb_feed_options *options,
                                  const struct sb_notify *notify) SB_CHECKED;
void sb_frame_reader_free(struct sb_frame_reader *reader); /* NULL is allowed */
FREEP(sb_frame_reader_free, struct sb_frame_reader)

/* The next record; what was not read of the last one is passed over, and checked all the same.
 * SB_END after the last. SB_DAMAGED, which then stays, says at which record and byte. */
enum sb_code sb_frame_reader_next(struct sb_frame_reader *reader,
                                  struct sb_frame *frame) SB_CHECKED;

/* Its next bytes, never none, which live until the next call; SB_END after its last. */
enum sb_code sb_frame_reader_block(struct sb_frame_reader *reader, const void **data,
                                   size_t *size) SB_CHECKED;

/* Bytes of the input so far, before they are decompressed. */
int64_t sb_frame_reader_taken(const struct sb_frame_reader *reader);

#endif
