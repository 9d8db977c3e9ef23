/*
 * What find prints of a member: actions of the expression, which pass always.
 */
#ifndef SB_CMD_FIND_PRINT_H
#define SB_CMD_FIND_PRINT_H

#include "find/expression.h"
#include "ui/json.h"

#include "archive/content.h"

struct find_printer {
    bool nul;                     /* of the options: paths end in NUL */
    bool as_json;                 /* of the options: an object, or a row of CSV, for each */
    struct printf_format *format; /* of the options; NULL: none */
    struct sb_content *content;   /* for targets of links; NULL where none are shown */
    struct sb_buf line;
    struct json json;
};

void find_printer_release(struct find_printer *printer); /* but what is of the options */

/* FIND_ bits. */
unsigned find_needs_of(const struct printf_format *format);

find_passes find_print;        /* as the options say */
find_passes find_print_nul;    /* the path and NUL */
find_passes find_print_format; /* node.format */

#endif
