/*
 * The kinds of containers, as the words of --from and --to and as suffixes. store.h finds a kind by
 * content.
 */
#ifndef SB_STORE_CONTAINER_H
#define SB_STORE_CONTAINER_H

#include <stddef.h>

enum sb_container_kind {
    SB_UNKNOWN,
    SB_ARCHIVE,
    SB_DIRECTORY,
    SB_TAR,  /* plain or compressed */
    SB_CPIO, /* plain or compressed */
    SB_ZIP,
    SB_BESIDE, /* bags side by side: several specs joined by '+' */
    SB_BAG,    /* one file, or the spec of several */
    SB_FRAMES, /* framed records: never recognised by content or name; see framing.h */
    SB_SYRAH,  /* items of arrays in one file */
    SB_CACHE,  /* of torchcachex: a directory that holds `segments` */
};

/* How the bytes of a tar or cpio are compressed; for single files only the kinds up to zstd. */
enum sb_filter_kind {
    SB_FILTER_NONE,
    SB_FILTER_GZIP,
    SB_FILTER_BZIP2,
    SB_FILTER_XZ,
    SB_FILTER_ZSTD,
    SB_FILTER_LZMA,
    SB_FILTER_LZ4,
    SB_FILTER_COMPRESS, /* .Z; only read */
    SB_FILTER_LZIP,     /* only read */
};

/* Of a tar that is written: what sb_context_now->tar_format is. */
enum sb_tar_format {
    SB_TAR_PAX,
    SB_TAR_USTAR, /* nothing beyond its fields; whole seconds */
    SB_TAR_GNU,   /* long names in members of their own, large numbers in base 256; whole seconds */
};
extern const char *const sb_tar_format_words[]; /* in this order, then NULL */

struct sb_container_type {
    enum sb_container_kind kind;
    enum sb_filter_kind filter; /* SB_TAR, SB_CPIO and SB_FRAMES: the outermost; SB_BAG as an
                                   output: zstd for "bagz", none for "bag" */
};

/* What kind of output a container is, and which options it takes; as bits. */
enum sb_output_bits {
    SB_TO_TREE = 1 << 0,  /* a directory: files appear one by one, next to existing ones */
    SB_TO_INDEX = 1 << 1, /* an index over shards, which may be elsewhere; has commits in between */
    SB_TO_RECORDS = 1 << 2,  /* each file is a record, compressed by itself or not */
    SB_TO_ITEMS = 1 << 3,    /* items of arrays, by number */
    SB_TO_KEYS = 1 << 4,     /* rows of arrays, by key */
    SB_TO_MEMBERS = 1 << 5,  /* each member is compressed, or stored */
    SB_TO_PIPE = 1 << 6,     /* may be a pipe */
    SB_TO_APPEND = 1 << 7,   /* can be added to */
    SB_TO_SHARDS = 1 << 8,   /* has shards of a given size */
    SB_TO_SUBTREES = 1 << 9, /* the contents of a directory must follow it */
    SB_TO_SPARSE = 1 << 10,  /* files may have holes, if requested */

    SB_TO_ARRAYS = SB_TO_ITEMS | SB_TO_KEYS,
};

/* SB_TO_ bits; 0: the kind can only be read. */
unsigned sb_container_takes(enum sb_container_kind kind);

/* What can be done with a container of this kind that is read: bits of enum sb_store_ability
 * (store.h). */
unsigned sb_container_can(enum sb_container_kind kind);

/*
 * By a word of --from and --to ("archive", "dir", "tar", "tar.gz", "cpio", "zip", ...) or by the
 * suffix of a path ("x.tgz", "x.tar.zst", "x.zip", "x.barecat"). SB_UNKNOWN: no kind has it.
 */
struct sb_container_type sb_container_named(const char *word);
struct sb_container_type sb_container_by_suffix(const char *path);

/* Length of the path without such a suffix. */
size_t sb_container_base_size(const char *path);

/* "tar", "zip", "archive", "directory", ... for messages. */
const char *sb_container_word(enum sb_container_kind kind);

#endif
