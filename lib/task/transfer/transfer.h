/*
 * The one loop of conversion: members of a source go into a sink.
 *
 * The calling thread walks the source and assigns names; workers load bytes, recode them and store
 * them; the sink decides the order, so that the result does not depend on the number of threads.
 * Memory is some MB per thread, whatever the number and sizes of members.
 *
 * Names become stored names: leading "/" and "./" are removed (reported once), "." components and
 * repeated '/' vanish. Names that have "..", are empty, or are longer than any file system or
 * SQLite accepts, are left out and reported as SB_PROBLEM ("name").
 */
#ifndef SB_TASK_TRANSFER_TRANSFER_H
#define SB_TASK_TRANSFER_TRANSFER_H

#include "core/share.h"
#include "store/names.h"
#include "store/sink.h"
#include "store/source.h"
#include "task/transfer/neighbours.h"
#include "task/transfer/recode.h"

struct sb_filter;
struct sb_taken;
struct sb_choice;

/*
 * The position in a source whose members are taken in several calls, each with a sink of its own.
 * Zeroed at the beginning; the caller releases its names, and may keep it to continue from there
 * with the same input, opened again.
 */
struct sb_transfer_place {
    int64_t stretch;    /* bytes; no member is begun after so many: set before each call */
    bool more;          /* it ended for that reason */
    int64_t members;    /* of the source, so far */
    int64_t bytes;      /* read from it, so far */
    struct sb_buf last; /* the name of the last member, as in the source */

    /*
     * Members up to the one of this name, as in the source, are passed to the sink as `again`: an
     * interrupted run may have stored them. Size 0: none; it becomes so once that member was
     * passed.
     */
    struct sb_buf until;
};

/* What to do with a duplicate name. */
enum sb_duplicates { SB_DUPLICATE_ERROR, SB_DUPLICATE_FIRST, SB_DUPLICATE_LAST };

/* The users' words for them, in this order; ends with NULL. */
extern const char *const sb_duplicate_words[];

struct sb_transfer_options {
    bool stored_names;  /* the source's names are stored names already: an archive's, pack's */
    const char *prefix; /* prepended to every name; NULL: nothing */
    unsigned strip;     /* number of leading components to remove first */
    const struct sb_filter *filter; /* on names before strip and prefix; NULL selects everything */
    size_t
        filter_skip; /* bytes of each name that the filter does not see: a directory and its '/' */
    struct sb_choice *choice; /* PATH and GLOB arguments, likewise; NULL selects everything */

    /*
     * What to do about a duplicate name, in this or an earlier source: leave it to the sink
     * (SB_DUPLICATE_LAST); otherwise it is looked up in `seen`, and reported as SB_PROBLEM
     * ("duplicate") and left out, or skipped.
     */
    enum sb_duplicates duplicates;
    struct sb_names *seen; /* the caller keeps it from one source to the next; NULL for LAST */

    /*
     * When sources are merged: the names of all, among which this one has the number merged_number;
     * needs `seen`. Then only a name from an earlier source is a duplicate; for SB_DUPLICATE_ERROR
     * not if the bytes are the same. A duplicate within one source is left to the sink. For a
     * directory the first metadata win.
     */
    char *const *merged;
    size_t merged_number;
    bool sink_dirs; /* merged: of directories the sink decides */
    bool each_once; /* merged: a name twice within one source is a duplicate too */

    struct sb_recode recode;

    /*
     * Required if recode decompresses or names are stripped; the caller keeps it from one source to
     * the next. A file whose name without its suffix is another's is stored unchanged, which is
     * reported as SB_NOTE ("kept") and counted there. A member whose name is another's is left out
     * and reported as SB_PROBLEM ("taken"), unless meeting_names: then `duplicates` applies. A
     * symbolic link to a file that lost its suffix is reported as SB_PROBLEM ("link").
     */
    struct sb_taken *taken;
    bool meeting_names;

    /*
     * Samples: what is late is reported as SB_PROBLEM ("late") and left out, and so is what is of
     * no sample of this share, without a report. The caller keeps it from one source to the next;
     * NULL: members come as they are.
     */
    struct sb_neighbours *neighbours;
    struct sb_share sample_share;

    bool local_owners; /* an owner with a name that this machine knows gets its number here */

    int64_t max_size;        /* limit on the bytes from the source, then SB_LIMIT; 0: none */
    bool strict;             /* anything that is reported as a problem ends the work: SB_INVALID */
    const int64_t *problems; /* strict: the counter of the caller's notify */
    bool dry_run; /* nothing is loaded or stored: each is reported as SB_NOTE "would-store" */
    struct sb_transfer_place *place; /* NULL: all of the source at once */
    unsigned threads;
    const char *beside; /* the output: temporary files go near it, unless TMPDIR is set */

    const struct sb_notify *notify;

    /*
     * Optional; called for each stored member with properties (bits of SB_KEEPS_) that the sink
     * does not hold, from the calling thread.
     */
    void (*lost)(void *context, const char *name, unsigned properties);
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};

/*
 * Adds the number of the source's members to *members. SB_OK: the source was read to its end;
 * problems of single members were reported. The sink is not committed.
 */
enum sb_code sb_transfer(struct sb_source *source, struct sb_sink *sink,
                         const struct sb_transfer_options *options, int64_t *members) SB_CHECKED;

#endif
