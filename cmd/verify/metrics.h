/*
 * verify --prom: the results of a run, for the textfile collector of Prometheus' node_exporter.
 *
 * The exposition format is that of prometheus.io/docs/instrumenting/exposition_formats (text,
 * 0.0.4): a label's value has \\, \" and \n for these three, and is UTF-8. Every metric has the
 * label archive, the path as it was given. The collector reads every *.prom in its directory at any
 * time, and as a user of its own: the file is renamed into its place, and readable for all.
 */
#ifndef SB_CMD_VERIFY_METRICS_H
#define SB_CMD_VERIFY_METRICS_H

#include "core/error.h"

struct verify_run;

/*
 * May the metrics of this archive be written there, at the end of the run? SB_EXISTS if the file is
 * something else, such as another archive's metrics: that one's alarms would end.
 */
enum sb_code verify_metrics_check(const char *file, const char *archive) SB_CHECKED;

/* Writes those of a run that has ended. If it was no success, the time of the last one is kept. */
enum sb_code verify_metrics_write(const char *file, const struct verify_run *run) SB_CHECKED;

#endif
