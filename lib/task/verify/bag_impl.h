/*
 * Shared by the parts of verify/bag.h.
 */
#ifndef SB_TASK_VERIFY_BAG_IMPL_H
#define SB_TASK_VERIFY_BAG_IMPL_H

#include "core/file.h"
#include "store/shard_spec.h"
#include "task/verify/bag.h"

#include <sys/stat.h>

/* One file of the spec. */
struct bag_file {
    const char *path; /* the spec's */
    bool there;       /* something has this name */
    bool usable;      /* the fields below are set */
    bool zstd;
    bool separate; /* limits are in limits.NAME */
    bool walked;   /* limits were lost: those in bag_check.walked_limits are of its frames */
    int64_t records;
    int64_t bytes;     /* of the records section */
    int64_t limits_at; /* offset, in the file that has them */
    int64_t first;     /* concatenated: number of its first record */
    struct stat was;   /* before it was read */
};

struct bag_check {
    const struct sb_verify_bag_options *options;
    const struct sb_verify_events *events;
    const struct sb_notify *notify;
    struct sb_verify_bag_result *result;
    struct sb_spec spec;
    struct bag_file *files; /* one for each path of the spec */
    uint32_t file_count;
    bool whole;                    /* all are usable, so that numbers are those of the set */
    int64_t places;                /* numbers of records are below this */
    int64_t bytes;                 /* of all records */
    struct sb_file *walked_limits; /* a temporary file; NULL: none */
    int64_t walked_size;
    struct sb_bag_writer *writer; /* NULL: nothing is repaired */
};

/* The position of a defect; offset and record may be -1. */
struct bag_defect_place {
    int64_t file; /* -1: none of them; then path is set */
    const char *path;
    int64_t offset;
    int64_t record; /* its name in the text */
};

/* Reports a defect, on the calling thread. */
void sb_verify_bag_report(struct bag_check *check, enum sb_remedy remedy, const char *kind,
                          struct bag_defect_place place, const char *format, ...) SB_PRINTF(5, 6);
#define BAG_FILE(number) ((struct bag_defect_place){(number), NULL, -1, -1})
#define BAG_PATH(name)   ((struct bag_defect_place){-1, (name), -1, -1})

/*
 * verify/bag_files.c: fills in check->files, and reports defects of each as a whole. Returns the
 * error of the first file if none is usable.
 */
enum sb_code sb_verify_bag_files(struct bag_check *check) SB_CHECKED;

/* SB_CHANGED if the file has changed: limits that an append has overwritten are not damage. */
enum sb_code sb_verify_bag_unchanged(const struct bag_check *check, uint32_t file) SB_CHECKED;

/* verify/bag_walk.c: the frames at the beginning of a file, their ends appended to `limits` from
 * limits_at on. */
enum sb_code sb_verify_bag_walk(const struct sb_file *file, const struct sb_file *limits,
                                int64_t limits_at, int64_t *frames, int64_t *end) SB_CHECKED;

/* verify/bag_set.c: missing files of sets, and other files beside them. */
enum sb_code sb_verify_bag_sets(struct bag_check *check) SB_CHECKED;

/* Does a writer of ours hold its lock? */
enum sb_code sb_verify_bag_is_written(const char *path, bool *written) SB_CHECKED;

/* verify/bag_records.c: limits and records. */
enum sb_code sb_verify_bag_records(struct bag_check *check,
                                   struct sb_record_choice *choice) SB_CHECKED;

/* A window of the limits of one file. */
struct bag_limits {
    const struct bag_file *file; /* NULL: none is open */
    const struct sb_file *bytes;
    int64_t first; /* of the window */
    size_t count;
    uint64_t values[1024];
};

/*
 * verify/bag_limits.c. Where record `index` of the window's file begins and ends, and whether those
 * limits are credible.
 */
struct bag_extent {
    uint64_t start, end;
    bool bad_start, bad_end;
};
enum sb_code sb_bag_limits_extent(struct bag_limits *limits, int64_t index,
                                  struct bag_extent *out) SB_CHECKED;

#endif
