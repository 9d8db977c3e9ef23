/*
 * A container as a sequence: its members in stored order, and their bytes.
 *
 * sb_source_next goes from member to member; sb_source_block reads the bytes of the current one, in
 * sequence. If source->loads is set (for an archive, a tree, a zip), a loader can instead read the
 * bytes of any member, also of an earlier one, from any thread.
 *
 * A hole is a length: functions named _sparse give it as one block whose data is NULL, of any size.
 * The others replace it by zeros, for one member at most max_size bytes, or 1 TiB if that is not
 * set: SB_LIMIT.
 *
 * A source belongs to one thread, each loader to one thread at a time. sb_source_next reports what
 * does not end the work to the notify that the source was opened with (as SB_PROBLEM if something
 * is damaged or left out).
 */
#ifndef SB_STORE_SOURCE_H
#define SB_STORE_SOURCE_H

#include "core/events.h"
#include "core/io.h"
#include "store/frames/framing.h"
#include "store/member.h"

#include <stddef.h>

struct sb_source;
struct sb_loader;
struct sb_bag_options;
struct sb_record_choice_options;
struct sb_record_names;

/* In which order the members of an archive come. */
enum sb_member_order {
    SB_ORDER_ADDRESS,  /* directories first, then files by address */
    SB_ORDER_SUBTREES, /* as archive/depth_first.h has it; without directories about which nothing
                         is known but that they hold something */
    SB_ORDER_STORED,   /* the same; but where files lie in another order, they come in that, and
                         then directories */
};

/* How a container is read. */
struct sb_source_options {
    /* limit of the bytes that filters or holes yield, or that are spooled; 0: none */
    int64_t max_size;
    bool dumps;                       /* tar: members have the lists of incremental dumps */
    bool no_check;                    /* do not compare checksums of members of an archive or zip */
    enum sb_member_order order;       /* archive */
    char *const *paths;               /* archive: only these, in one walk; kept */
    size_t path_count;                /* 0: everything */
    const struct sb_own_files *own;   /* directory: files that are left out; NULL: none */
    unsigned threads;                 /* directory: see sb_tree_options; compressed tar, cpio,
                                         framed records: that decompress, 0 for one */
    enum sb_framing framing;          /* framed records */
    const struct sb_bag_options *bag; /* bag; NULL: the defaults */
    struct sb_record_names *names; /* names of records; NULL: SB_RECORD_NAME_FORMAT. The caller's */
    bool names_chosen;             /* `names` override the names that records have of their own */
    const struct sb_record_choice_options *records; /* bag: which records; NULL: all */
    bool locate; /* zip: stored members are `located`, too, at the cost of a read each; those that
                    cannot be located are left out (SB_PROBLEM "damaged") */
    bool raw_arrays;  /* Syrah and caches: instead of .npy files give plain values, which are
                         `located`, as members NAME.float32 and (caches) NAME.shape */
    bool whole_items; /* Syrah and caches: leave out the whole item if one of its arrays cannot be
                         found */
    /* whole_items: the arrays that must be found; each goes to an output of its own. The source of
     * the first one reports the items left out; values that cannot be read end the work. NULL: the
     * arrays of this source */
    const char *const *item_arrays;
    size_t item_array_count;
    const char *const *arrays; /* Syrah and caches: only these arrays, or fields; SB_INVALID: the
                                  container has no such array */
    size_t array_count;        /* 0: all. They must live as long as the source */
    bool unsized; /* bags side by side: only loaders look records up, and set their sizes */
};

/* What a source has under a name. */
enum sb_holding {
    SB_HOLDS_NOTHING, /* or it is not known without reading on */
    SB_HOLDS_FILE,
    SB_HOLDS_OTHER, /* a directory or a link */
};

struct sb_source_ops {
    void (*free)(struct sb_source *source);
    enum sb_code (*next)(struct sb_source *source, struct sb_member *member);

    /* NULL if it is not known without reading on. */
    enum sb_code (*holds)(struct sb_source *source, const char *name, size_t size,
                          enum sb_holding *holding);

    /* Gives holes, as stream does. NULL if members cannot be read in sequence: those of a tree, an
     * archive. */
    enum sb_code (*block)(struct sb_source *source, const void **data, size_t *size);

    /* NULL unless source->loads. open_loader and free_loader are NULL if a plain struct sb_loader
     * is enough. */
    enum sb_code (*open_loader)(struct sb_source *source, struct sb_loader **out);
    void (*free_loader)(struct sb_loader *loader);
    enum sb_code (*load)(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events);
    enum sb_code (*stream)(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events);
};

/* What each kind of source, and of loader, begins with. */
struct sb_source {
    const struct sb_source_ops *ops;
    const char *name; /* for messages: the path as given, or "standard input" */
    bool loads;
    bool unique;   /* each name comes only once */
    bool goes_on;  /* SB_DAMAGED of the current member's bytes is its own: others can be read */
    int64_t total; /* bytes of members, or of the input, for progress; 0: not known */
    int64_t done;  /* of total, so far */

    /* Sources of records: records in the input, chosen or not; if only reading shows that, the
     * number so far. */
    int64_t records;

    /* For sb_source_next, _block and _stream: */
    int64_t zeros_most; /* max_size; 0: not set */
    int64_t zeros;      /* made so far of the current member's holes */
    int64_t hole;       /* bytes of the current hole still to give */
    const char *member; /* name of the current member */
    bool ended;
};

struct sb_loader {
    struct sb_source *source;
    bool sparse; /* set by the user, who takes holes: load adds SB_KEEPS_SPARSE to a member with
                    holes, and returns SB_LIMIT, so that stream gives it */
};

void sb_source_free(struct sb_source *source); /* NULL is allowed */
FREEP(sb_source_free, struct sb_source)

/*
 * The next member; skips unread bytes of the last one. SB_END after the last member, if the end is
 * valid or its damage was reported. SB_DAMAGED, SB_FORMAT: nothing more can be read. The member's
 * strings live until the next call of this. SB_INTERRUPT once the work is cancelled
 * (core/interrupt.h); also from sb_source_block, so a loop need not test for it.
 */
enum sb_code sb_source_next(struct sb_source *source, struct sb_member *member) SB_CHECKED;

/* Does the container have this name? Later members count, too. The current member and its strings
 * stay valid. */
enum sb_code sb_source_holds(struct sb_source *source, const char *name, size_t size,
                             enum sb_holding *holding) SB_CHECKED;

/*
 * The next bytes of the current member, never none; SB_END after the last. They live until the next
 * call on the source. SB_DAMAGED: they end early.
 */
enum sb_code sb_source_block(struct sb_source *source, const void **data, size_t *size) SB_CHECKED;
enum sb_code sb_source_block_sparse(struct sb_source *source, const void **data,
                                    size_t *size) SB_CHECKED;

enum sb_code sb_loader_open(struct sb_source *source, struct sb_loader **out) SB_CHECKED;
void sb_loader_free(struct sb_loader *loader); /* NULL is allowed; before its source */

/*
 * Reads all bytes of a member if they are at most `capacity`, and completes its entry: the size,
 * and for a tree of files all metadata as of now. SB_LIMIT, without text: it has more bytes
 * (entry.size, which may still be -1); use sb_loader_stream. SB_END: it is left out, and `events`
 * says why (damaged, vanished, ...). Problems that do not prevent its use are added to events, too.
 * Other codes end the work.
 */
enum sb_code sb_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                            size_t capacity, struct sb_events *events) SB_CHECKED;

/*
 * Feeds the bytes of a member to `each`, in blocks of at most 1 MiB: entry.size bytes, unless
 * events report that the file became shorter. SB_END: the bytes are damaged or cannot be read
 * (events says how), and what was fed must not be used.
 */
enum sb_code sb_loader_stream(struct sb_loader *loader, struct sb_member *member,
                              sb_each_block *each, void *context,
                              struct sb_events *events) SB_CHECKED;
enum sb_code sb_loader_stream_sparse(struct sb_loader *loader, struct sb_member *member,
                                     sb_each_block *each, void *context,
                                     struct sb_events *events) SB_CHECKED;

/* Replaces holes by zeros, as sb_loader_stream does, for a caller who reads one file in another
 * way. */
struct sb_filling {
    const char *name; /* for messages */
    const char *member;
    int64_t most; /* as max_size */
    int64_t made; /* zeros so far */
    sb_each_block *each;
    void *context;
};

/* A sb_each_block whose context is a struct sb_filling: passes blocks on to filling->each. */
enum sb_code sb_fill_hole(void *context, const void *data, size_t size) SB_CHECKED;

#endif
