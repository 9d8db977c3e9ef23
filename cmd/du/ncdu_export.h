/*
 * du --export=ncdu: what ncdu reads with -f, its JSON format 1
 * (https://dev.yorhel.nl/ncdu/jsonfmt).
 */
#ifndef SB_CMD_DU_NCDU_EXPORT_H
#define SB_CMD_DU_NCDU_EXPORT_H

#include "open/opening.h"

/* Directory `top` of the archive and all below it, in one JSON text. */
enum sb_code export_ncdu(struct sb_archive *archive, const char *top, struct left_out *left_out,
                         struct sb_error *err) SB_CHECKED;

#endif
