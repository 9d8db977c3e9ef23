/*
 * Containers by kind: the words of --from and --to, and suffixes. What a file is by its content is
 * for store.h.
 */
#ifndef SB_STORE_CONTAINER_H
#define SB_STORE_CONTAINER_H

#include <stddef.h>

enum sb_container_kind {
    SB_UNKNOWN,
    SB_ARCHIVE,
    SB_DIRECTORY,
    SB_TAR,  /* plain or compressed */
    SB_CPIO, /* likewise */
    SB_ZIP,
    SB_BESIDE, /* bags side by side: a spec of several with '+' between */
    SB_BAG,    /* one, or the spec of many */
    SB_FRAMES, /* framed records: never told by content or name; see framing.h */
    SB_SYRAH,  /* arrays of items in one file */
    SB_CACHE,  /* of torchcachex: a directory with `segments` */
};

/* How the bytes of a tar or cpio are compressed; single files: up to zstd. */
enum sb_filter_kind {
    SB_FILTER_NONE,
    SB_FILTER_GZIP,
    SB_FILTER_BZIP2,
    SB_FILTER_XZ,
    SB_FILTER_ZSTD,
    SB_FILTER_LZMA,
    SB_FILTER_LZ4,
    SB_FILTER_COMPRESS, /* .Z; only read */
    SB_FILTER_LZIP,     /* likewise */
};

struct sb_container_type {
    enum sb_container_kind kind;
    enum sb_filter_kind filter; /* of SB_TAR, SB_CPIO and SB_FRAMES: the outermost; SB_BAG to be
                                   written: zstd for "bagz", none for "bag" */
};

/* What a container that is written is, and can be told; as bits. */
enum sb_output_bits {
    SB_TO_TREE = 1 << 0,     /* a directory: files appear one by one, beside what is there */
    SB_TO_INDEX = 1 << 1,    /* an index over shards, which may lie elsewhere; commits on the way */
    SB_TO_RECORDS = 1 << 2,  /* each file is a record, compressed by itself or not */
    SB_TO_ITEMS = 1 << 3,    /* arrays, whose items have numbers, */
    SB_TO_KEYS = 1 << 4,     /* or keys */
    SB_TO_MEMBERS = 1 << 5,  /* each member is compressed, or stored */
    SB_TO_PIPE = 1 << 6,     /* it may go to a pipe */
    SB_TO_APPEND = 1 << 7,   /* one that is there may be added to */
    SB_TO_SHARDS = 1 << 8,   /* of a given size */
    SB_TO_SUBTREES = 1 << 9, /* what a directory holds must follow it */
    SB_TO_SPARSE = 1 << 10,  /* files may have holes, where that is wanted */

    SB_TO_ARRAYS = SB_TO_ITEMS | SB_TO_KEYS,
};

/* 0: it can only be read. */
unsigned sb_container_takes(enum sb_container_kind kind);

/* What can be done with one that is read, as the bits of sb_store_ability (store.h). */
unsigned sb_container_can(enum sb_container_kind kind);

/*
 * By the words of --from and --to: "archive", "dir", "tar", "tar.gz", "cpio", "zip", ...; also by
 * the suffix of a path ("x.tgz", "x.tar.zst", "x.zip", "x.barecat"). SB_UNKNOWN when they say
 * nothing.
 */
struct sb_container_type sb_container_named(const char *word);
struct sb_container_type sb_container_by_suffix(const char *path);

/* Length of a path without such a suffix. */
size_t sb_container_base_size(const char *path);

/* "tar", "zip", "archive", "directory", ... for messages. */
const char *sb_container_word(enum sb_container_kind kind);

#endif
