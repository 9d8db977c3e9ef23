/*
 * The one loop of conversion: members of a source go into a sink.
 *
 * The calling thread walks the source and names what goes where; workers load bytes, recode them
 * and store them; the sink fixes the order, so that the result does not depend on the number of
 * threads. Memory is some MB a thread, whatever the number and sizes of members.
 *
 * Names become stored names: leading "/" and "./" go (said once), "." components and repeated '/'
 * vanish. Those with "..", longer than any file system or SQLite can take, or empty, are left out
 * and told as SB_PROBLEM ("name").
 */
#ifndef SB_TASK_TRANSFER_TRANSFER_H
#define SB_TASK_TRANSFER_TRANSFER_H

#include "store/sink.h"
#include "store/source.h"
#include "task/transfer/recode.h"
#include "task/transfer/seen.h"

struct sb_filter;
struct sb_taken;
struct sb_choice;

/*
 * How far a source has come from which members are taken stretch by stretch, each with a sink of
 * its own. Zeroed to begin with; the caller releases its names, and may keep it to go on from there
 * with the same input, opened anew: see sb_transfer_pass.
 */
struct sb_transfer_place {
    int64_t stretch;    /* bytes; no member is begun when so many came: set before each call */
    bool more;          /* that is why it ended */
    int64_t members;    /* of the source, so far */
    int64_t bytes;      /* that came out of it, so far */
    struct sb_buf last; /* the name of the last member, as the source has it */

    /*
     * Members up to the one of this name, as the source has it, are given to the sink as `again`:
     * an interrupted run may have stored them. Size 0: none are; so it is when that one has come.
     */
    struct sb_buf until;
};

struct sb_transfer_options {
    bool stored_names;  /* the source's names are stored names already: an archive's, pack's */
    const char *prefix; /* put before every name; NULL: nothing */
    unsigned strip;     /* components taken off first */
    const struct sb_filter *filter; /* over names before strip and prefix; NULL takes everything */
    struct sb_choice *choice;       /* PATH and GLOB arguments, likewise; NULL takes everything */

    /*
     * What to do about a name that came before, in this or an earlier source: what the sink does
     * (SB_DUPLICATE_LAST), or else it is looked up in `seen`: told as SB_PROBLEM ("duplicate") and
     * left out, or passed over.
     */
    enum sb_duplicates duplicates;
    struct sb_seen *seen; /* kept by the caller from one source to the next; NULL for LAST */

    /*
     * Where sources are merged: the names of all, of which this one has the number merged_number;
     * needs `seen`. Then only a name that came from an earlier source is a duplicate: SB_EXISTS, or
     * passed over (in a dry run told in any case). One that comes again from the same source is
     * left to the sink. Of a directory the first metadata there is counts.
     */
    char *const *merged;
    size_t merged_number;

    struct sb_recode recode;

    /*
     * Needed where recode decompresses or names are stripped; kept by the caller from one source to
     * the next. A file whose name without its suffix is another's is left as it is stored, which is
     * told as SB_NOTE ("kept") and counted there. What gets the name of another one is left out and
     * told as SB_PROBLEM ("taken"), unless meeting_names: then it is what `duplicates` is about. A
     * symbolic link to a file that lost its suffix is told as SB_PROBLEM ("link").
     */
    struct sb_taken *taken;
    bool meeting_names;

    bool local_owners; /* of an owner with a name that this machine knows, its number here */

    int64_t max_size; /* bytes that may come out of the source; 0: any number. Then SB_LIMIT */
    bool strict;      /* anything that is told as a problem ends the work: SB_INVALID */
    const int64_t *problems; /* strict: where the caller's notify counts them */
    bool dry_run; /* nothing is loaded or stored: each is told as SB_NOTE "would-store" */
    struct sb_transfer_place *place; /* NULL: all of the source at once */
    unsigned threads;
    const char *beside; /* the output: temporary files go near it, unless TMPDIR is set */

    const struct sb_notify *notify;

    /*
     * Optional: a member that was stored has properties (bits of SB_KEEPS_) that the sink does not
     * hold. Called for each such member, from the calling thread.
     */
    void (*lost)(void *context, const char *name, unsigned properties);
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};

/*
 * Passes over the first place->members members of a source that was just opened. SB_CHANGED where
 * the last of them is not place->last.
 */
enum sb_code sb_transfer_pass(struct sb_source *source, const struct sb_transfer_place *place,
                              struct sb_error *err) SB_CHECKED;

/*
 * *members, how many the source had, is added to. SB_OK: the source came to its end; problems of
 * single members were told. The sink is not committed.
 */
enum sb_code sb_transfer(struct sb_source *source, struct sb_sink *sink,
                         const struct sb_transfer_options *options, int64_t *members,
                         struct sb_error *err) SB_CHECKED;

#endif
