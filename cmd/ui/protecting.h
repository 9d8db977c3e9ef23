/*
 * Parity files, for protect and for --protect of commands that write. Main thread only.
 */
#ifndef SB_CMD_UI_PROTECTING_H
#define SB_CMD_UI_PROTECTING_H

#include "task/protect/protect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protect_file {
    char *path;
    int64_t work; /* bytes that will be read, about */
};

/* Files that are done one after the other, with progress. {.wanted = ...}. */
struct protecting {
    struct sb_protect_options wanted; /* progress and context are set here */
    struct protect_file *files;
    size_t count, capacity;
    int64_t done, total; /* bytes */
};

/* A file, and the shards of one that is an index. */
void protecting_add(struct protecting *protecting, const char *path);

/* Does all of them, and releases them. How many failed, each after a message; one as of a command
 * that failed, or, if `late`, one that raises the status to 1. */
size_t protecting_run(struct protecting *protecting, bool late);

/* "5%", "0.5%", "12.5", for the option of this name. False: after a message. */
bool parse_redundancy(const char *option, const char *value, unsigned *per_mille);

/* --protect */
bool parse_protect(void *settings, const char *value);
bool protect_is_given(void);

/* With --protect: an output that the command has written: an archive, another file, or a spec of
 * bags. */
void protect_later(const char *path);

/* After the command, when nothing is locked any more: brings the parity of its outputs up to date,
 * unless it failed. */
void protect_outputs(void);

#endif
