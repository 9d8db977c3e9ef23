/*
 * A container as a sequence: its members in stored order, and their bytes.
 *
 * sb_source_next goes through the members. The bytes of the one that it gave last come from
 * sb_source_block, in sequence. Where source->loads is set, the bytes of any member, also of an
 * earlier one, can be had by a loader instead, from any thread: of an archive, a tree, a zip. Of a
 * tar or cpio they cannot.
 *
 * A hole is a length: functions called _sparse give one as a block whose data is NULL, of any size.
 * The others make zeros of it, of one member as many as max_size allows, or 1 TiB where that is not
 * set: SB_LIMIT.
 *
 * A source belongs to one thread, each loader to one thread at a time. What does not end the work
 * is told to the notify it was opened with (as SB_PROBLEM where something is damaged or left out),
 * from sb_source_next.
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

/* How a container is read. */
struct sb_source_options {
    int64_t max_size;        /* bytes that may come out of filters or holes, or be spooled; 0: any
                                number */
    bool no_check;           /* checksums of an archive's or zip's members are not looked at */
    bool depth_first;        /* of an archive: see archive/source.h */
    char *const *paths;      /* likewise: only these, in one walk; kept */
    size_t path_count;       /* 0: everything */
    unsigned threads;        /* of a directory: see sb_tree_options */
    enum sb_framing framing; /* of framed records */
    const struct sb_bag_options *bag; /* of a bag; NULL: the defaults */
    struct sb_record_names *names;    /* of records; NULL: SB_RECORD_NAME_FORMAT. Of the caller */
    bool names_chosen;                /* they come before names that records bring along */
    const struct sb_record_choice_options *records; /* which of a bag; NULL: all */
    bool locate;      /* stored members of a zip, too, are `located`: a read for each; those that
                         cannot be are told as SB_PROBLEM ("damaged") and left out */
    bool raw_arrays;  /* of Syrah and caches: values alone, which are `located`, as members called
                         NAME.float32 and (of caches) NAME.shape, instead of .npy files */
    bool whole_items; /* of them: an item with an array that cannot be found is left out wholly */
    const char *const *item_arrays; /* whole_items: the arrays in question, of which each becomes an
                                       output of its own; items that are left out are told by the
                                       source of the first, and one whose values cannot be read
                                       ends the work. NULL: those that are given out */
    size_t item_array_count;
    const char *const *arrays; /* of them: only these arrays, or fields; one that the container does
                                  not have is SB_INVALID */
    size_t array_count;        /* 0: all. They stay as long as the source */
    bool unsized; /* of bags side by side: loaders alone look for records, and say how large they
                     are */
};

/* What a source has under a name. */
enum sb_holding {
    SB_HOLDS_NOTHING, /* or only reading on would tell */
    SB_HOLDS_FILE,
    SB_HOLDS_OTHER, /* a directory or a link */
};

struct sb_source_ops {
    void (*free)(struct sb_source *source);
    enum sb_code (*next)(struct sb_source *source, struct sb_member *member, struct sb_error *err);

    /* NULL where only reading on would tell. */
    enum sb_code (*holds)(struct sb_source *source, const char *name, size_t size,
                          enum sb_holding *holding, struct sb_error *err);

    /* Gives holes, as stream does. NULL where members have no bytes in sequence: those of a tree,
     * an archive. */
    enum sb_code (*block)(struct sb_source *source, const void **data, size_t *size,
                          struct sb_error *err);

    /* NULL where !loads. open_loader and free_loader are NULL where a bare struct sb_loader will
     * do. */
    enum sb_code (*open_loader)(struct sb_source *source, struct sb_loader **out,
                                struct sb_error *err);
    void (*free_loader)(struct sb_loader *loader);
    enum sb_code (*load)(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t room, struct sb_events *events, struct sb_error *err);
    enum sb_code (*stream)(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events, struct sb_error *err);
};

/* What each kind of source, and of loader, begins with. */
struct sb_source {
    const struct sb_source_ops *ops;
    const char *name; /* for messages: the path as given, or "standard input" */
    bool loads;
    bool unique;   /* each name comes once */
    int64_t total; /* bytes of members, or of the input, for progress; 0: not known */
    int64_t done;  /* of total, so far */

    /* Of records: how many the input has, chosen or not; where only reading tells, so far. */
    int64_t records;

    /* Of sb_source_next, _block and _stream: */
    int64_t zeros_most; /* of max_size; 0: not set */
    int64_t zeros;      /* that were made of the member's holes */
    int64_t hole;       /* of which so many are still to be given */
    const char *member; /* its name */
};

struct sb_loader {
    struct sb_source *source;
    bool sparse; /* of its user, who takes holes: load says SB_KEEPS_SPARSE of what has any, and
                    leaves it to stream (SB_LIMIT) */
};

void sb_source_free(struct sb_source *source); /* NULL is allowed */

/*
 * The next member; what was not read of the last one is passed over. SB_END after the last, when
 * the end was found to be sound or what is wrong was told. SB_DAMAGED, SB_FORMAT: nothing further
 * can be read. The member's strings live until the next call of this. SB_INTERRUPT once the work is
 * cancelled (core/interrupt.h), so also of sb_source_block: a loop over them need not ask.
 */
enum sb_code sb_source_next(struct sb_source *source, struct sb_member *member,
                            struct sb_error *err) SB_CHECKED;

/* Also of what does not come. The member that came last, and its strings, stay as they are. */
enum sb_code sb_source_holds(struct sb_source *source, const char *name, size_t size,
                             enum sb_holding *holding, struct sb_error *err) SB_CHECKED;

/*
 * The next bytes of the member that sb_source_next gave last, never none; SB_END after its last.
 * They live until the next call on the source. SB_DAMAGED where they end early.
 */
enum sb_code sb_source_block(struct sb_source *source, const void **data, size_t *size,
                             struct sb_error *err) SB_CHECKED;
enum sb_code sb_source_block_sparse(struct sb_source *source, const void **data, size_t *size,
                                    struct sb_error *err) SB_CHECKED;

enum sb_code sb_loader_open(struct sb_source *source, struct sb_loader **out,
                            struct sb_error *err) SB_CHECKED;
void sb_loader_free(struct sb_loader *loader); /* NULL is allowed; before its source */

/*
 * Reads all bytes of a member, when there are at most `room`, and completes its entry: size, and
 * for a tree of files all metadata as they are now. SB_LIMIT, without text: there are more
 * (entry.size says how many, or is -1 as before); use sb_loader_stream. SB_END: it is left out,
 * `events` says why (damaged, vanished, ...). What is wrong but does not keep it from being used is
 * told to events as well. Other codes end the work.
 */
enum sb_code sb_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                            size_t room, struct sb_events *events, struct sb_error *err) SB_CHECKED;

/*
 * Feeds the bytes of a member to `each` in blocks of at most 1 MiB. As many as entry.size says,
 * unless a problem told to events has made the file shorter meanwhile. SB_END: they are damaged
 * or not to be had (events says how); what was fed must not be used.
 */
enum sb_code sb_loader_stream(struct sb_loader *loader, struct sb_member *member,
                              sb_each_block *each, void *context, struct sb_events *events,
                              struct sb_error *err) SB_CHECKED;
enum sb_code sb_loader_stream_sparse(struct sb_loader *loader, struct sb_member *member,
                                     sb_each_block *each, void *context, struct sb_events *events,
                                     struct sb_error *err) SB_CHECKED;

/* The zeros of sb_loader_stream, for blocks and holes of one file from elsewhere. */
struct sb_filling {
    const char *name; /* of what it is in, and */
    const char *member;
    int64_t most; /* as max_size */
    int64_t made; /* so far */
    sb_each_block *each;
    void *context;
};

/* A sb_each_block, whose context is the filling: hands them on. */
enum sb_code sb_fill_hole(void *context, const void *data, size_t size,
                          struct sb_error *err) SB_CHECKED;

#endif
