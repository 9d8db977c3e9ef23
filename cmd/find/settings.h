/*
 * What the options and the expression of find say.
 */
#ifndef SB_CMD_FIND_SETTINGS_H
#define SB_CMD_FIND_SETTINGS_H

#include "find/expression.h"
#include "open/opening.h"

#include <stdbool.h>

enum { FIND_BY_PATH, FIND_BY_ADDRESS, FIND_BY_SIZE };

struct find_settings {
    struct opening opening;
    struct find_expression expression;
    struct find_node *type, *name, *path, *size, *newer; /* tests of options; NULL: not given */
    struct sb_filter *filter;
    bool nul;
    int sort;
    const char *files_from;
    bool missing;
    int64_t threads;
    struct printf_format *format;
    int json; /* enum json_form */
};

#endif
