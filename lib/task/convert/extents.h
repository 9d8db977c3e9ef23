/*
 * Makes an index over existing shards, from a list of their contents: for bytes that any script
 * wrote, or an archive whose index was lost.
 *
 * Its lines are JSON objects as `find --json` prints them, or path TAB shard TAB offset TAB size.
 * One that begins with '{' and ends with '}' is JSON (no table's line ends so).
 */
#ifndef SB_TASK_CONVERT_EXTENTS_H
#define SB_TASK_CONVERT_EXTENTS_H

#include "store/sink.h"

struct sb_extents_options {
    const char *list;    /* "-" is standard input */
    const char *archive; /* its shards are ARCHIVE-shard-00000 and on */
    bool force;          /* replaces an existing index */
    bool checksums;      /* read the bytes: compute CRC32C, or compare it if the list has it */
    bool strict;         /* no index if bytes do not match */
    bool dry_run;
    unsigned threads;

    /* "checksum" (SB_PROBLEM): bytes do not match the list; the index has the list's value. */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files); /* optional */
    void *context;
};

/*
 * Shards are never changed. Every line is checked, and errors name it: SB_INVALID for what cannot
 * be read, for a duplicate name, or one that is also a directory's; SB_DAMAGED for extents that end
 * past their shard or overlap (the same one twice is allowed in a shard that is a link). SB_EXISTS,
 * SB_NOENT without any shard.
 */
enum sb_code sb_extents_index(const struct sb_extents_options *options,
                              struct sb_sink_counts *counts) SB_CHECKED;

#endif
