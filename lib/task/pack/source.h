/*
 * The items that a pack stores, one at a time, in the order of their bytes.
 *
 * A single tree comes straight from the walk, which is in path order already. Several paths, lists,
 * another order and strict mode go through a temporary database first, which sorts them, finds
 * duplicate names, and names that are both file and directory; memory does not grow with them.
 *
 * With a share, it yields the files and links whose stored names are in the share
 * (sb_share_has_name), and the directories that have one of them below, are in the share
 * themselves, or are the top. Other files are not looked up, unless an input names them or the file
 * system does not say what is a directory.
 *
 * Items that cannot be stored are reported to notify as SB_PROBLEM and left out. Belongs to one
 * thread.
 */
#ifndef SB_TASK_PACK_SOURCE_H
#define SB_TASK_PACK_SOURCE_H

#include "core/error.h"
#include "core/share.h"
#include "store/tree/tree.h"
#include "task/transfer/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_filter;

enum sb_pack_input_kind {
    SB_INPUT_PATH,      /* a path of the file system */
    SB_INPUT_LIST,      /* a file of paths, one a line; "-" is standard input */
    SB_INPUT_LIST_NUL,  /* the same, each ended by NUL */
    SB_INPUT_DIRECTORY, /* the inputs after it are relative to this directory (and it to the
                           previous one) */
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
    bool strict;          /* check everything first; anything that would be lost is SB_INVALID */
    bool lists_must_name; /* at least one name: see sb_list_must_name */
    unsigned threads;     /* number of threads that read the files: see sb_tree_options */
    const char *prefix;   /* prepended to every name; NULL: nothing */
    unsigned strip;       /* number of leading components to remove first */
    const char *charset;  /* names are in this character set and become UTF-8; NULL: bytes */
    const struct sb_filter *filter; /* on names before strip and prefix */
    struct sb_share share;
    int64_t *others;                /* NULL, or a counter of the items of other shares */
    const struct sb_own_files *own; /* as in struct sb_tree_options */
    const char *beside;             /* the archive: temporary files go near it */
    const struct sb_notify *notify;
};

struct sb_pack_item {
    const char *name; /* the name to store */
    size_t name_size;
    enum sb_node node; /* never SB_NODE_OTHER */
    bool implied;      /* a directory that no input named: it has no metadata */
    bool of_share;     /* false: a directory that is yielded only if something below it is */

    /* openat(dir_fd, component); dir is the reference that keeps dir_fd open, or NULL when it stays
     * open as long as the source */
    int dir_fd;
    struct sb_tree_dir *dir;
    const char *component;
    const char *disk_path; /* for messages */
    struct stat stat;      /* of directories that are not implied */
};

struct sb_pack_source;

/* The objects that the options point to must live as long. */
enum sb_code sb_pack_source_new(struct sb_pack_source **out, const struct sb_pack_input *inputs,
                                size_t count,
                                const struct sb_pack_source_options *options) SB_CHECKED;
void sb_pack_source_free(struct sb_pack_source *source);
FREEP(sb_pack_source_free, struct sb_pack_source)

/* SB_END after the last. Strings, and dir unless referenced, live until the next call. */
enum sb_code sb_pack_source_next(struct sb_pack_source *source,
                                 struct sb_pack_item *item) SB_CHECKED;

#endif
