/*
 * What the options of verify say: a struct for each part of it.
 */
#ifndef CMD_VERIFY_SETTINGS_H
#define CMD_VERIFY_SETTINGS_H

#include "opening.h"
#include "verify_cache.h"
#include "verify_choice.h"
#include "verify_records.h"
#include "verify_repair.h"

struct verify_settings {
    struct opening opening;
    bool quick;
    bool strict;
    bool present;
    bool json;
    int64_t threads;
    const char *report;  /* NULL, or where verify_report.h writes */
    const char *metrics; /* NULL, or where verify_metrics.h writes */
    struct verify_choice_settings choice;
    struct verify_records_settings records; /* of bags alone */
    struct verify_repair_settings repair;   /* of archives, but for dry_run */
    struct verify_cache_settings cache;     /* of caches alone */
};

#endif
