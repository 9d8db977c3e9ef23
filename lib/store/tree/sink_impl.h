/*
 * What the parts of the tree's sink have in common. Not for others.
 */
#ifndef SB_STORE_TREE_SINK_IMPL_H
#define SB_STORE_TREE_SINK_IMPL_H

#include "store/sinks.h"
#include "store/tree/sink_dirs.h"
#include "store/tree/sink_names.h"
#include "store/tree/sink_workers.h"
#include "store/tree/sink_write.h"

struct sb_tree_sink {
    struct sb_sink base;
    struct sb_tree_sink_options options;
    struct sb_target target;
    struct sb_tree_job job;
    struct sb_tree_opened opened;
    struct sqlite3 *db;
    struct sb_tree_names *names; /* NULL where options.names_differ */
    struct sb_tree_dirs *dirs;
    size_t dirs_noted;        /* how many are in it */
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

/* tree/sink_make.c. All are for the calling thread; what fails is reported. */

/* Takes a directory, to be made with others, at the latest by sb_tree_make_wave. */
enum sb_code sb_tree_take_directory(struct sb_tree_sink *sink,
                                    const struct sb_entry *entry) SB_CHECKED;
enum sb_code sb_tree_make_wave(struct sb_tree_sink *sink) SB_CHECKED;

/* Makes one that comes late, and all that were taken before. */
enum sb_code sb_tree_make_directory(struct sb_tree_sink *sink,
                                    const struct sb_entry *entry) SB_CHECKED;

/* Gives all of them their metadata. */
enum sb_code sb_tree_finish_directories(struct sb_tree_sink *sink) SB_CHECKED;

#endif
