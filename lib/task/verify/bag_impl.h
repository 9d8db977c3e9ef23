/*
 * Shared by the parts of verify/bag.h.
 */
#ifndef SB_TASK_VERIFY_BAG_IMPL_H
#define SB_TASK_VERIFY_BAG_IMPL_H

#include "core/buf.h"
#include "core/open_files.h"
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
    struct sb_verify_result *result;
    struct sb_spec spec;
    struct bag_file *files; /* one for each path of the spec */
    uint32_t file_count;
    struct sb_open_files open_files; /* those that batches read */
    bool whole;                      /* all are usable, so that numbers are those of the set */
    int64_t places;                  /* numbers of records are below this */
    int64_t bytes;                   /* of all records */
    struct sb_file *walked_limits;   /* a temporary file; NULL: none */
    int64_t walked_size;
    struct sb_bag_writer *writer; /* NULL: nothing is repaired */
};

/* The place of a defect of one of the files. */
struct sb_defect sb_verify_bag_file(const struct bag_check *check, int64_t file);

/*
 * verify/bag_files.c: fills in check->files, and reports defects of each as a whole. Returns the
 * error of the first file if none is usable.
 */
enum sb_code sb_verify_bag_files(struct bag_check *check) SB_CHECKED;

/* SB_CHANGED if the file has changed: limits that an append has overwritten are not damage. */
enum sb_code sb_verify_bag_unchanged(const struct bag_check *check, uint32_t file) SB_CHECKED;

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

/* Records that one thread verifies together. */
#define BAG_BATCH_ITEMS 4096
#define BAG_READ_BYTES                                                                             \
    (INT64_C(1) << 20) /* stored bytes read at once; larger records are streamed */

enum bag_item_state {
    BAG_ITEM_SOUND,
    BAG_ITEM_DAMAGED,
    BAG_ITEM_ABSENT, /* in an incomplete interleaved set: a number without a record */
};

struct bag_item {
    int64_t number; /* in the set */
    int64_t index;  /* in its file */
    int64_t offset; /* -1: unknown */
    int64_t size;
    size_t text; /* message about a defect: its offset in the batch's text plus 1; 0: none */
    uint32_t file;
    uint32_t sequence; /* in the batch */
    enum bag_item_state state;
    bool limits;    /* text is about its limits */
    bool unchecked; /* its bytes have no checksum */
};

struct bag_batch {
    struct bag_check *check;
    struct bag_item *items; /* set by the caller: number, index, file, sequence, state */
    size_t count;
    struct sb_buf text;
    int64_t bytes_read;   /* of undamaged records */
    int64_t bytes_passed; /* of all of them */
    int64_t written;
    int64_t emptied;
    int64_t took; /* nanoseconds for the check */

    struct bag_limits limits; /* those of the file that is read */
    struct sb_file *separate; /* the file of its limits; NULL: they are not separate */
    struct sb_file *records;  /* NULL: none is open */
    struct sb_decoder *decoder;
    unsigned char *stored, *decoded;
    size_t *sizes; /* of records to be written */
};

/* verify/bag_batch.c */
enum sb_code sb_bag_batch_init(struct bag_batch *batch, struct bag_check *check) SB_CHECKED;
void sb_bag_batch_release(struct bag_batch *batch);

/*
 * Checks each of the items, which are in the order of sequence again afterwards. An error is not
 * about any of them.
 */
enum sb_code sb_bag_batch_check(struct bag_batch *batch) SB_CHECKED;

/* Adds the undamaged ones to the check's writer. */
enum sb_code sb_bag_batch_repair(struct bag_batch *batch) SB_CHECKED;

#endif
