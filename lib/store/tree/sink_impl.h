/*
 * What the parts of the tree's sink have in common. Not for others.
 */
#ifndef SB_STORE_TREE_SINK_IMPL_H
#define SB_STORE_TREE_SINK_IMPL_H

#include "store/batch.h"
#include "store/change.h"
#include "store/sinks.h"
#include "store/tree/target.h"

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
    struct sqlite3 *db;                                  /* private, within a transaction */
    struct sqlite3_stmt *add_dir, *all_dirs;             /* the latter NULL: at the beginning */
    struct sqlite3_stmt *add_name, *get_name, *set_name; /* NULL where options.names_differ */
    struct sb_buf parent;                                /* of the last name */
    bool parent_known;
    bool parent_blocked;      /* it, or a name above it, is no directory's */
    size_t dirs_noted;        /* directories that are to get metadata */
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

/* Where an entry goes, with the directories above it, which are missing in a dry run only.
 * SB_INVALID: that is the place of an own file, too. *dir_fd is -1 if it was not reached. */
enum sb_code sb_tree_find_place(struct sb_tree_sink *sink, struct sb_walk *walk,
                                const struct sb_entry *entry, int *dir_fd,
                                const char **component) SB_CHECKED;

enum sb_decision {
    SB_WRITE_NEW,     /* nothing is there */
    SB_WRITE_REPLACE, /* through a temporary name */
    SB_LEAVE,         /* what is there stays */
};

/*
 * What is to become of a file or link under options->existing; it is not written. link_target:
 * NULL where it is not known: then links are compared as files are. SB_EXISTING_UPDATE, as sinks.h
 * says, sets *change, which says what differs, and brings what stays up to date. SB_EXISTS when it
 * must not be replaced: any directory; everything under SB_EXISTING_FAIL. SB_INVALID: an own file.
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

/*
 * How what is there differs from what the entry makes of it: bits of time, mode and owner. 0 unless
 * the tree is brought up to date.
 */
unsigned sb_tree_change_of(const struct sb_tree_sink *sink, const struct sb_entry *entry,
                           const struct stat *st);

#endif
