/*
 * What the parts of the tree's sink have in common. Not for others.
 */
#ifndef SB_STORE_TREE_SINK_IMPL_H
#define SB_STORE_TREE_SINK_IMPL_H

#include "store/batch.h"
#include "store/change.h"
#include "store/sinks.h"
#include "store/tree/target.h"
#include "store/tree/walk.h"

#include <pthread.h>

/* Bits of sb_item.mark. */
enum {
    SB_TREE_LATE = 1 << 0,     /* to be done when all before it are */
    SB_TREE_OURS = 1 << 1,     /* one before it had its name: what this run wrote is replaced */
    SB_TREE_LINKABLE = 1 << 2, /* a hard link to a name that came before */
    SB_TREE_LEFT = 1 << 3,     /* stored, but what was there stays */
    SB_TREE_REPLACES = 1 << 4, /* what is there was looked at: through a temporary name */
};

/* Directories that their owner could not write to, and now can, until they are closed up again. */
struct sb_tree_opened {
    pthread_mutex_t mutex;
    struct sb_tree_opened_dir {
        char *name;
        mode_t mode; /* that it had */
    } * dirs;
    size_t count, capacity;
};

/* Directories that wait until there are enough of them. {0} is empty. */
struct sb_tree_wave {
    struct sb_buf paths;
    struct sb_tree_wave_item *items;
    size_t count;
    size_t next;
    size_t depth; /* components of those that are being made */
};

/* A member whose parts come one after the other. {0} is none. */
struct sb_tree_part {
    struct sb_walk walk;
    struct sb_buf path;
    struct sb_newcomer newcomer;
    struct sb_attributes attributes;
    bool open;
    bool failed;
    bool left;
};

struct sb_tree_sink {
    struct sb_sink base;
    struct sb_tree_sink_options options;
    struct sb_target target;
    struct sb_tree_opened opened;
    struct sqlite3 *db;                      /* private, within a transaction */
    struct sb_tree_names *names;             /* NULL where options.names_differ */
    struct sqlite3_stmt *add_dir, *all_dirs; /* the latter NULL: at the beginning */
    size_t dirs_noted;                       /* directories that are to get metadata */
    struct sb_tree_wave wave; /* directories to be made before the next file is taken */
    struct sb_entry closed;   /* the first of those to be finished one by one, if has_closed */
    bool has_closed;
    struct sb_walk walk;      /* of the calling thread */
    struct sb_walk from_walk; /* to what hard links link to */
    struct sb_tree_part part; /* of the workers, under their turn */
    struct sb_tree_part late; /* of the calling thread */
};

/* Says why a member was not written; SB_OK unless that ends the work. */
enum sb_code sb_tree_report_write_failure(const struct sb_tree_sink *sink,
                                          const char *name) SB_CHECKED;
void sb_tree_report_written(const struct sb_tree_sink *sink, const struct sb_entry *entry);

/*
 * tree/sink_names.c: the names that a run has put into a tree: which members have to wait for what
 * came before, and what became of each.
 *
 * Names are claimed in the order of the members, long before they are written by several threads;
 * a member that is `late` must be done only when all before it are. Belongs to one thread.
 */

enum sb_name_state {
    SB_NAME_FREE,    /* no member has it, or is below it */
    SB_NAME_DIR,     /* of a directory, or of what is above a member */
    SB_NAME_WRITTEN, /* of a file or link that this run has written, or is going to write */
    SB_NAME_LEFT,    /* what was there before stays, and is the same */
    SB_NAME_FAILED,
};

/* db: a private database (archive/database.h), within a transaction, open as long. */
enum sb_code sb_tree_names_new(struct sb_tree_names **out, struct sqlite3 *db) SB_CHECKED;
void sb_tree_names_free(struct sb_tree_names *names); /* NULL is allowed */
FREEP(sb_tree_names_free, struct sb_tree_names)

/*
 * The next member has this name. *late: it must wait, as another one had the name (of a file
 * or link: then *again is set too), something is below it though it is no directory, or a name
 * above it is no directory's. A free name becomes SB_NAME_DIR or SB_NAME_WRITTEN.
 */
enum sb_code sb_tree_names_claim(struct sb_tree_names *names, const char *name, size_t size,
                                 bool is_dir, bool *again, bool *late) SB_CHECKED;

enum sb_code sb_tree_names_get(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state *state) SB_CHECKED;
enum sb_code sb_tree_names_set(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state state) SB_CHECKED;

/* tree/sink_dirs.c. All are for the calling thread; what fails is reported. */

/* Makes the table of the metadata of directories, which is kept until everything is in them. */
enum sb_code sb_tree_open_dirs(struct sb_tree_sink *sink) SB_CHECKED;

/* In place of what was added under the same name. closed: its owner may not search it. change: how
 * it differs, before anything in it changes; SB_CHANGE_NEW: this run made it. */
enum sb_code sb_tree_add_dir(struct sb_tree_sink *sink, const struct sb_entry *entry, bool closed,
                             unsigned change) SB_CHECKED;

/* Takes a directory, to be made with others, at the latest by sb_tree_make_wave. */
enum sb_code sb_tree_take_directory(struct sb_tree_sink *sink,
                                    const struct sb_entry *entry) SB_CHECKED;
enum sb_code sb_tree_make_wave(struct sb_tree_sink *sink) SB_CHECKED;
void sb_tree_wave_release(struct sb_tree_wave *wave);

/* Makes one that comes late, and all that were taken before. */
enum sb_code sb_tree_make_directory(struct sb_tree_sink *sink,
                                    const struct sb_entry *entry) SB_CHECKED;

/* Gives all of them their metadata. */
enum sb_code sb_tree_finish_directories(struct sb_tree_sink *sink) SB_CHECKED;

/*
 * tree/sink_write.c: how single members get into a tree: files from memory, streamed or in parts,
 * links, hard links.
 *
 * Every function with an item makes it STORED or FAILED (with an event of the batch), or sets
 * SB_TREE_LEFT; only errors that end the work are returned. They run on any thread, one batch on
 * one at a time; of the sink they change nothing but `opened`.
 */

/*
 * Was the error, of something that was to be made at this name, that the directory dir_fd above it
 * may not be written to, and may it now? Only of a tree that is brought up to date.
 */
bool sb_tree_open_up(struct sb_tree_sink *sink, int dir_fd, const struct sb_entry *entry);

/* Gives all of them their modes again. */
void sb_tree_close_up(struct sb_tree_sink *sink, struct sb_walk *walk);

/* Drops what was not finished. */
void sb_tree_part_release(struct sb_tree_part *part);

/* The mode that directories above members are made with; none in a dry run. */
mode_t sb_tree_default_mode(const struct sb_tree_sink *sink);

/*
 * What is to become of a file or link under options->existing; it is not written. link_target:
 * NULL if it is not known. *change is set for SB_EXISTING_UPDATE, which also sets attributes.
 */
enum sb_code sb_tree_decide(struct sb_tree_sink *sink, struct sb_walk *walk,
                            const struct sb_entry *entry, const char *link_target,
                            enum sb_decision *decision, unsigned *change) SB_CHECKED;

/* Notes what is wrong with an item: SB_OK unless that ends the work. */
enum sb_code sb_tree_fail(struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* A SB_ITEM_READ or SB_ITEM_LARGE. */
enum sb_code sb_tree_write(struct sb_tree_sink *sink, struct sb_walk *walk, struct sb_batch *batch,
                           struct sb_item *item) SB_CHECKED;

/* A SB_ITEM_PART, which stays one unless it is the last or has failed. */
enum sb_code sb_tree_write_part(struct sb_tree_sink *sink, struct sb_tree_part *part,
                                struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* A hard link to a member that is there; a copy where the file system has no such links. */
enum sb_code sb_tree_link(struct sb_tree_sink *sink, struct sb_walk *walk,
                          struct sb_walk *from_walk, struct sb_batch *batch,
                          struct sb_item *item) SB_CHECKED;

/* tree/update.c: bringing what a tree has under a name up to date (SB_EXISTING_UPDATE), as sinks.h
 * says. Thread-safe. */

/*
 * SB_WRITE_NEW, SB_WRITE_REPLACE, or SB_LEAVE: it is up to date now. *change says what differs.
 * link_target of a link. SB_EXISTS: a directory is in its place; SB_INVALID: an own file is;
 * SB_SYSTEM.
 */
enum sb_code sb_tree_update(const struct sb_tree_sink_options *how, int dir_fd,
                            const char *component, const struct sb_entry *entry,
                            const char *link_target, const struct sb_attributes *attributes,
                            enum sb_decision *decision, unsigned *change) SB_CHECKED;

/* How what is there differs from what the attributes make of it: bits of time, mode and owner. */
unsigned sb_tree_attributes_differ(const struct stat *st, const struct sb_entry *entry,
                                   const struct sb_attributes *attributes);

#endif
