/*
 * What was meant by the operands of pack, if ARCHIVE cannot be an archive.
 */
#ifndef SB_CMD_PACK_MEANT_H
#define SB_CMD_PACK_MEANT_H

#include "task/pack/pack.h"

/* Is ARCHIVE a directory, or, if it is to be made, another file, or has it the name of another kind
 * of container? True: after a message with the line to type. */
bool pack_explain_archive(const char *archive, const struct sb_pack_input *inputs, size_t count,
                          bool is_made);

#endif
