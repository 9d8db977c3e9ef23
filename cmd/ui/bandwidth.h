/*
 * --bwlimit, of commands that read or write much: sets the limit of core/throttle.h.
 */
#ifndef SB_CMD_UI_BANDWIDTH_H
#define SB_CMD_UI_BANDWIDTH_H

#include "ui/options.h"

#define OPTION_BWLIMIT                                                                             \
    OPTION_CALL(0, "bwlimit", "RATE", parse_bwlimit,                                               \
                "read, and write, at most RATE bytes a second (50M)", OPERAND_ANY)

/* A size as elsewhere, with or without "/s"; 0: no limit. settings is not used. */
bool parse_bwlimit(void *settings, const char *value);

#endif
