/*
 * A record as a line of JSON: RFC 8259, one object a line, its bytes as base64 in "data".
 *
 * What else the object holds is passed over, "key" excepted, which is the record's name.
 */
#ifndef SB_STORE_FRAMES_JSON_H
#define SB_STORE_FRAMES_JSON_H

#include "core/buf.h"
#include "core/spool.h"
#include "store/frames/input.h"

/*
 * Replaces record by the bytes of the next line that is not blank, and name by its "key" (size 0:
 * it has none). SB_END: there is no further line. SB_INVALID, with a text that does not name the
 * input or the record: it is cut short or is no such object.
 */
enum sb_code sb_frame_json_next(struct sb_frame_input *input, struct sb_spool *record,
                                struct sb_buf *name) SB_CHECKED;

#endif
