/*
 * What frames/reader.c and frames/head.c share: a reader of frames, and how it reads what comes
 * before a record.
 */
#ifndef SB_STORE_FRAMES_READER_IMPL_H
#define SB_STORE_FRAMES_READER_IMPL_H

#include "core/spool.h"
#include "store/frames/input.h"
#include "store/frames/reader.h"

#define SB_FRAME_TAIL 64

struct sb_frame_reader {
    enum sb_framing framing;
    const char *what; /* the input, for messages */
    const struct sb_notify *notify;
    struct sb_frame_input in;
    int64_t total;       /* bytes of a file that is not compressed; else 0 */
    enum sb_code broken; /* why nothing more can be read; SB_END: there is nothing */
    struct sb_error broken_err;

    int64_t number; /* of the record at hand; -1 before the first */
    int64_t begin;  /* where its frame begins, decompressed */
    enum { IN_INPUT, IN_PIECE, IN_SPOOL } where;
    int64_t left; /* IN_INPUT: bytes not given yet */
    uint32_t crc; /* of those given */
    const char *piece;
    size_t piece_size;        /* IN_PIECE; 0: it was given */
    char tail[SB_FRAME_TAIL]; /* its last bytes, when what follows them has to be read first */
    struct sb_spool spool;
    int64_t spooled; /* of it, so many bytes were given */
    struct sb_buf name;
};

/* SB_DAMAGED, about the record at hand. */
enum sb_code sb_frame_damaged(const struct sb_frame_reader *reader, const char *why) SB_CHECKED;
enum sb_code sb_frame_cut_short(const struct sb_frame_reader *reader) SB_CHECKED;

/*
 * Reads what comes before the next record, and so finds where the record is: sets reader->where,
 * and left, piece, spool or name. SB_END: nothing more comes.
 */
enum sb_code sb_frame_head(struct sb_frame_reader *reader) SB_CHECKED;

#endif
