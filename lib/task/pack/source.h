/*
 * What a pack has to store, one thing at a time, in the order of its bytes.
 *
 * A single tree comes straight from the walk, which is in path order already. Several paths, lists,
 * another order and strict mode go through a temporary database first, which sorts them, meets
 * names that come twice, and finds names that are both file and directory; memory does not grow
 * with them.
 *
 * Of a share, the files and links that it has by their stored names (sb_share_has_name) come, and
 * the directories that have one of them below, are of the share themselves, or are the top. The
 * others are not looked up, unless an input names them or the file system does not say what is a
 * directory.
 *
 * What cannot be stored is told to notify as SB_PROBLEM and left out. One thread.
 */
#ifndef SB_TASK_PACK_SOURCE_H
#define SB_TASK_PACK_SOURCE_H

#include "core/error.h"
#include "core/share.h"
#include "store/tree/tree.h"
#include "task/transfer/seen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_filter;

enum sb_pack_input_kind {
    SB_INPUT_PATH,      /* a path of the file system */
    SB_INPUT_LIST,      /* a file of paths, one a line; "-" is standard input */
    SB_INPUT_LIST_NUL,  /* the same, each ended by NUL */
    SB_INPUT_DIRECTORY, /* what follows is relative to this directory (itself to the last one) */
};

struct sb_pack_input {
    enum sb_pack_input_kind kind;
    const char *text;
};

enum sb_pack_order { SB_PACK_BY_PATH, SB_PACK_BY_INPUT, SB_PACK_BY_INODE };

struct sb_pack_source_options {
    enum sb_pack_order order;
    enum sb_duplicates duplicates;
    bool dereference;
    bool one_file_system;
    bool no_recursion;
    bool strict;          /* look at everything first; anything that would be lost is SB_INVALID */
    bool lists_must_name; /* something: see sb_list_must_name */
    unsigned threads;     /* that read the files: see sb_tree_options */
    const char *prefix;   /* put before every name; NULL: nothing */
    unsigned strip;       /* components taken off first */
    const char *charset;  /* names are in this character set and become UTF-8; NULL: bytes */
    const struct sb_filter *filter; /* over names as they are before strip and prefix */
    struct sb_share share;
    int64_t *others;    /* NULL, or where things of other shares are counted */
    const char *beside; /* the archive: temporary files go near it */
    const struct sb_notify *notify;
};

struct sb_pack_item {
    const char *name; /* as it is to be stored */
    size_t name_size;
    enum sb_node node; /* never SB_NODE_OTHER */
    bool implied;      /* a directory that no input named: it has no metadata */
    bool of_share;     /* false: a directory that comes only if something below it does */

    /* openat(dir_fd, component); dir is the reference that keeps dir_fd open, or NULL when it stays
     * open as long as the source */
    int dir_fd;
    struct sb_tree_dir *dir;
    const char *component;
    const char *disk_path; /* for messages */
    struct stat stat;      /* of directories that are not implied */
};

struct sb_pack_source;

/* Keeps pointers to what the options point at. */
enum sb_code sb_pack_source_new(struct sb_pack_source **out, const struct sb_pack_input *inputs,
                                size_t count, const struct sb_pack_source_options *options,
                                struct sb_error *err) SB_CHECKED;
void sb_pack_source_free(struct sb_pack_source *source);

/* SB_END after the last. Strings, and dir unless referenced, live until the next call. */
enum sb_code sb_pack_source_next(struct sb_pack_source *source, struct sb_pack_item *item,
                                 struct sb_error *err) SB_CHECKED;

#endif
