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

#include "core/buf.h"
#include "core/io.h"
#include "core/share.h"
#include "store/container.h"
#include "store/names.h"
#include "store/sink.h"
#include "store/sinks.h"
#include "store/source.h"

#include <stdatomic.h>

struct sb_choice;
struct sb_filter;

/*
 * Output names, which may coincide, because components are stripped, or suffixes removed: the owner
 * of each name, which names were shortened, and what links point to. They are kept in a temporary
 * file once they are many. Belongs to one thread.
 */
struct sb_taken;

/* beside: see sb_temp_directory. */
enum sb_code sb_taken_new(struct sb_taken **out, const char *beside) SB_CHECKED;
void sb_taken_free(struct sb_taken *taken); /* NULL is allowed */
FREEP(sb_taken_free, struct sb_taken)

/* How many files are stored unchanged, as the names without their suffixes are others'. */
int64_t sb_taken_kept(const struct sb_taken *taken);

/*
 * Samples (store/samples/samples.h) of what comes in sequence: files of one sample are neighbours,
 * and one that comes after another sample began is late. Belongs to one thread; zeroed at the
 * beginning.
 */
struct sb_neighbours {
    int64_t count;      /* of samples so far: the number of the next one */
    struct sb_buf stem; /* of the current one */
    bool mark;          /* the caller's, of the current one */
    struct sb_names *seen;
    struct sb_buf columns; /* of the current sample */
    const struct sb_notify *notify;
};

struct sb_neighbour {
    int64_t sample; /* its number */
    bool first;     /* its sample begins with it */
    bool late;
    bool mark;          /* of its sample */
    const char *column; /* until the next one */
};

/* beside: see sb_temp_directory. A column that a sample has twice is reported to notify. */
enum sb_code sb_neighbours_begin(struct sb_neighbours *neighbours, const char *beside,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_neighbours_end(struct sb_neighbours *neighbours);

/* The sample of the next file, by its stored name. A new sample gets `mark`. */
enum sb_code sb_neighbours_take(struct sb_neighbours *neighbours, const char *name, size_t size,
                                bool mark, struct sb_neighbour *out) SB_CHECKED;

/* Reports a late one as SB_PROBLEM ("late"): it is left out. */
void sb_neighbours_report(const struct sb_neighbour *late, const char *name,
                          const struct sb_notify *notify);

/*
 * Compresses and decompresses single files in transit.
 *
 * Thread-safe: a struct sb_recode is only read.
 */
/* The suffixes without their dot, from SB_FILTER_GZIP on; NULL ends them. */
extern const char *const sb_coding_words[];

struct sb_recode {
    bool decompress;              /* .gz, .bz2, .xz or .zst is removed */
    bool all_layers;              /* and stacked ones too */
    enum sb_filter_kind compress; /* each file is compressed, and its name gets the suffix */
    int level;                    /* 0: the default */
    int64_t max_size;             /* limit on the output of one file; 0: none */
};

/* At most so many suffixes are removed from one name with all_layers. */
#define SB_RECODE_LAYERS 4

/* Does it change anything at all? */
bool sb_recode_works(const struct sb_recode *recode);

/* SB_INVALID: compress does not have that level. */
enum sb_code sb_recode_check(const struct sb_recode *recode) SB_CHECKED;

/*
 * The new name of a file: name without the removed suffixes, with the added one. *layers: how many
 * are removed. A name that is only a suffix (".gz") is kept.
 */
enum sb_code sb_recode_name(const struct sb_recode *recode, const char *name, size_t size,
                            struct sb_buf *out, unsigned *layers) SB_CHECKED;

struct sb_recoder;

/*
 * A stream of bytes through the layers that are removed, and the one that is added: feed all bytes,
 * then finish; the output goes to `each`. The output depends only on the bytes, not on the pieces
 * they are fed in. SB_DAMAGED: the bytes are not of the format of the suffix, are truncated, or
 * have junk after their end (concatenated frames are no junk); SB_LIMIT: more than
 * recode->max_size, or a window of more than 128 MiB is needed. Texts of errors do not name the
 * file. A recoder belongs to one thread, and may be begun again, also after an error. It keeps one
 * codec for each layer.
 */
enum sb_code sb_recoder_new(struct sb_recoder **out) SB_CHECKED;
void sb_recoder_free(struct sb_recoder *recoder); /* NULL is allowed */
FREEP(sb_recoder_free, struct sb_recoder)

/*
 * name: the file's name before. size: how many bytes will be fed, -1 if unknown. It is written into
 * zstd frames, whose readers benefit from it; then SB_CHANGED if the number fed differs.
 */
enum sb_code sb_recoder_begin(struct sb_recoder *recoder, const struct sb_recode *recode,
                              const char *name, size_t name_size, int64_t size, sb_each_block *each,
                              void *context) SB_CHECKED;
enum sb_code sb_recoder_feed(struct sb_recoder *recoder, const void *data, size_t size) SB_CHECKED;
enum sb_code sb_recoder_finish(struct sb_recoder *recoder) SB_CHECKED;

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

/*
 * A run into an archive that commits at checkpoints, and that can resume an interrupted one.
 *
 * The archive is ARCHIVE.part (archive/own/part.h) until it is complete; with SB_APPEND additions
 * are committed to the archive itself. Between two checkpoints members go into a sink of their own,
 * so that what is on disk after each step is as shardbox-archive(5) says of pack and pack --append.
 * Members come from several inputs, in an order that is the same each time. Belongs to one thread.
 */
struct sb_checkpoint;

struct sb_checkpoint_wish {
    int64_t size;          /* commit after so many bytes; 0: never, or as the interrupted run did */
    bool resume;           /* resume if there is something to resume */
    const char *requested; /* NULL: ignore ARCHIVE.part. A line for each option that decides what is
                              stored: a run can only be resumed if all are the same */
};

/*
 * For all runs, also those without checkpoints, because ARCHIVE.part may be in the way. `archive`:
 * the options of the sink for a run without checkpoints; must live as long. *out is NULL at SB_OK
 * if the run needs no checkpoints. SB_END: the archive is complete already, which was reported.
 * SB_EXISTS: an interrupted run left ARCHIVE.part, and the options do not say what to do with it.
 * SB_INVALID: that run had other options. problems: the counter of notify.
 */
enum sb_code sb_checkpoint_open(struct sb_checkpoint **out,
                                const struct sb_archive_sink_options *archive,
                                const struct sb_checkpoint_wish *wish,
                                const int64_t *problems) SB_CHECKED;

/* Was this input, counted from 0, finished? Then it need not be opened. */
bool sb_checkpoint_passes(const struct sb_checkpoint *run, size_t input);

/* Adds the names that the archive has so far. */
enum sb_code sb_checkpoint_see(const struct sb_checkpoint *run, struct sb_names *seen) SB_CHECKED;

/*
 * From now on *shards is the current value of sb_writer_shards_before, updated for each sink; any
 * thread may read it.
 */
void sb_checkpoint_watch_shards(struct sb_checkpoint *run, atomic_uint *shards);

/* Where members go; {0}: nowhere. */
struct sb_output {
    struct sb_sink *sink;      /* NULL if there is a run */
    struct sb_checkpoint *run; /* it has a sink until the next checkpoint */
};

/*
 * Transfers all of the source; a run commits at checkpoints. Once for each input that was not
 * finished. by_name: it is a tree, which may have changed meanwhile; files that an interrupted run
 * stored are checked by name. For other inputs that run's members are skipped; the source must be
 * just opened.
 */
enum sb_code sb_output_transfer(struct sb_output *output, struct sb_source *source, size_t input,
                                bool by_name, const struct sb_transfer_options *options,
                                int64_t *members) SB_CHECKED;

/* After the last input. At SB_OK it is complete, under its own name. */
enum sb_code sb_output_commit(struct sb_output *output) SB_CHECKED;

/* What was stored so far by this run. */
struct sb_sink_counts sb_output_counts(const struct sb_output *output);

/* The archive that keeps what was committed, for --resume; NULL: none. */
const char *sb_output_kept(const struct sb_output *output);

/* Undoes what was not committed. */
void sb_output_release(struct sb_output *output);

#endif
