/*
 * What the options of verify say: a struct for each part of it.
 */
#ifndef SB_CMD_VERIFY_SETTINGS_H
#define SB_CMD_VERIFY_SETTINGS_H

#include "open/opening.h"
#include "verify/cache.h"
#include "verify/choice.h"
#include "verify/records.h"
#include "verify/repair.h"

struct verify_settings {
    struct opening opening;
    struct sb_verify_options wanted;
    bool json;
    const char *report;  /* NULL, or where verify/report.h writes */
    const char *metrics; /* NULL, or where verify/metrics.h writes */
    struct verify_choice_settings choice;
    struct verify_records_settings records; /* of bags alone */
    struct verify_repair_settings repair;   /* of archives, but for dry_run */
    struct verify_cache_settings cache;     /* of caches alone */
};

#endif
