/*
 * The bad pieces of one section are made: first it is planned which word needs what, then that is
 * read in the order of the disk.
 */
#ifndef SB_ARCHIVE_PARITY_REPAIR_H
#define SB_ARCHIVE_PARITY_REPAIR_H

#include "archive/parity/check.h"
#include "archive/parity/reader.h"
#include "core/rs/rs.h"

/* What words with the same pieces that are bad have in common. */
struct sb_parity_pattern {
    unsigned char states[SB_RS_PIECES_MAX]; /* enum sb_rs_state */
    struct sb_rs *rs;
};

struct sb_parity_word {
    struct sb_rs *rs;    /* of its pattern; NULL: nothing is bad, or too much */
    unsigned char *made; /* its bad pieces, in the order of their numbers in it */
};

struct sb_parity_repair {
    struct sb_parity_pattern *patterns;
    size_t count, capacity;
    struct sb_parity_word *words;          /* SB_PARITY_WORDS_MOST */
    unsigned char *bytes;                  /* what is made */
    const struct sb_parity_reader *reader; /* of the section */
    const struct sb_parity_bad *bad;
};

/* {0} before the first. What was made before is gone. */
enum sb_code sb_parity_repair_plan(struct sb_parity_repair *repair,
                                   const struct sb_parity_reader *reader,
                                   const struct sb_parity_bad *bad) SB_CHECKED;
void sb_parity_repair_release(struct sb_parity_repair *repair);

/*
 * Reads what is necessary, and makes what was planned. *again: something that was read is bad, and
 * was added to `bad`; it has to be planned and read again.
 */
enum sb_code sb_parity_repair_read(struct sb_parity_repair *repair, struct sb_parity_reader *reader,
                                   struct sb_parity_bad *bad, bool *again) SB_CHECKED;

/* A bad piece of the section as it was made, not checked; NULL: it could not be made. */
const unsigned char *sb_parity_repaired(const struct sb_parity_repair *repair, uint32_t number);

#endif
