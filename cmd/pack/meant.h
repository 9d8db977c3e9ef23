/*
 * What was meant by operands of pack of which the ARCHIVE cannot be one.
 */
#ifndef SB_CMD_PACK_MEANT_H
#define SB_CMD_PACK_MEANT_H

#include "task/pack/pack.h"

/* Is ARCHIVE a directory or, where one is made, another file, or called as what pack does not make?
 * True: after a message with the line to type. */
bool pack_explain_archive(const char *archive, const struct sb_pack_input *inputs, size_t count,
                          bool is_made);

#endif
