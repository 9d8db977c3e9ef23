/*
 * Containers by kind: telling them apart, and opening them as sources.
 */
#ifndef SB_STORE_CONTAINER_H
#define SB_STORE_CONTAINER_H

#include "core/buf.h"
#include "store/source.h"

#include <stddef.h>

struct sb_archive;
struct sb_bag_options;
struct sb_record_choice_options;
struct sb_record_names;

enum sb_container_kind {
    SB_UNKNOWN,
    SB_ARCHIVE,
    SB_DIRECTORY,
    SB_TAR,  /* plain or compressed */
    SB_CPIO, /* likewise */
    SB_ZIP,
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
};

struct sb_container_type {
    enum sb_container_kind kind;
    enum sb_filter_kind filter; /* of SB_TAR, SB_CPIO and SB_FRAMES: the outermost; SB_BAG to be
                                   written: zstd for "bagz", none for "bag" */
};

/*
 * By the words of --from and --to: "archive", "dir", "tar", "tar.gz", "cpio", "zip", ...; also by
 * the suffix of a path ("x.tgz", "x.tar.zst", "x.zip", "x.barecat"). SB_UNKNOWN when they say
 * nothing.
 */
struct sb_container_type sb_container_named(const char *word);
struct sb_container_type sb_container_by_suffix(const char *path);

/* Length of a path without such a suffix. */
size_t sb_container_base_size(const char *path);

/* Is it read as bags? A regular file called *.bag or *.bagz, whatever it holds, since there is
 * nothing to tell it by, but for the index of an archive; or no file, but by its words the spec of
 * some. */
bool sb_is_bag(const char *path);

/* Is it read as Syrah files? A regular file that begins as one, or whose name says that it was to
 * become one and that was not closed; or no file, but by its words the spec of some (syrah/set.h).
 */
bool sb_is_syrah(const char *path);

/* "tar", "zip", "archive", "directory", ... for messages. */
const char *sb_container_word(enum sb_container_kind kind);

/*
 * An input that was looked at. path "-" is standard input; what was read of a pipe to tell what it
 * is stands in head. A FIFO is read too; its writer is
 * waited for half a second.
 */
struct sb_input {
    const char *path;
    const char *name; /* for messages: path or "standard input" */
    struct sb_container_type type;
    bool seekable;
    int fd;                     /* of a file or pipe; -1 for an archive or a directory */
    struct sb_buf head;         /* read from a pipe already */
    struct sb_archive *archive; /* of SB_ARCHIVE, once sb_source_open has opened it */
};

/*
 * Opens path and tells what it is by its content; forced, unless SB_UNKNOWN, decides instead. What
 * is not there is taken for an archive, whose opening then says what is amiss. SB_SYSTEM; SB_FORMAT
 * when it is none of them. What is compressed is taken for a tar; its reader may find a cpio in it.
 */
enum sb_code sb_input_open(struct sb_input *input, const char *path, enum sb_container_kind forced,
                           struct sb_error *err) SB_CHECKED;
void sb_input_close(struct sb_input *input);

/* Does another program make it, on a pipe or as framed records? Then nothing in it may mean that
 * that one failed. */
bool sb_input_is_stream(const struct sb_input *input);

/* How a container is read. */
struct sb_source_options {
    int64_t max_size; /* bytes that may come out of filters, or be spooled; 0: any number */
    bool no_check;    /* checksums of an archive's or zip's members are not looked at */
    bool depth_first; /* of an archive: see below */
    unsigned threads; /* of a directory: see sb_tree_options */
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
};

/*
 * The source that suits input->type. Keeps the input, which stays open as long as the source, and
 * notify. A zip on a pipe is spooled to TMPDIR first. For SB_ARCHIVE it opens the archive itself.
 */
enum sb_code sb_source_open(struct sb_source **out, struct sb_input *input,
                            const struct sb_source_options *options, const struct sb_notify *notify,
                            struct sb_error *err) SB_CHECKED;

/* The kinds, by their own files. */

/* archive/source.c. The archive is of the caller, open as long. */
struct sb_archive_source_options {
    char *const *paths; /* PATH and GLOB arguments: these, in one walk by path. What matches nothing
                           is told as "missing". None: everything, files by address. */
    size_t path_count;
    bool depth_first; /* everything comes as depth_first.h has it, instead of directories first
                         and then files by address. Directories of which nothing is known but that
                         they hold something do not come. */
    bool no_check;
    const struct sb_notify *notify;
};
enum sb_code sb_source_open_archive(struct sb_source **out, struct sb_archive *archive,
                                    const struct sb_archive_source_options *options,
                                    struct sb_error *err) SB_CHECKED;

/* tree/source.c: the tree below a directory, in the order of its walk; no link is followed. */
enum sb_code sb_source_open_directory(struct sb_source **out, const char *path, unsigned threads,
                                      const struct sb_notify *notify,
                                      struct sb_error *err) SB_CHECKED;

/* tar/source.c: tar and cpio, through libarchive. */
enum sb_code sb_source_open_tar(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/*
 * zip/source.c: by its central directory, which does not say where the bytes of a member begin. Of
 * a member, its loaders look at entry.size and place[] only (and at entry.path for messages):
 * whoever keeps these may have a member's bytes at any later time.
 */
enum sb_code sb_source_open_zip(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

struct sb_bag;

/* A bag on a pipe is spooled to TMPDIR first. SB_LIMIT: there is more of it than max_size (0: any
 * number). What is told is as sb_bag_open has it. */
enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/*
 * bag/source.c: a file for each record, in order; any record can be loaded from any thread. One
 * that is stored as it is, of a bag that is a single file that can be seeked, is located. Of a
 * member, its loaders look at entry.size and place[] only. A record that cannot be read is told as
 * SB_PROBLEM ("damaged"), one that was chosen and is not there as SB_PROBLEM ("missing").
 */
enum sb_code sb_source_open_bag(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

struct sb_syrah;

/* A Syrah file on a pipe is spooled as a bag is. */
enum sb_code sb_input_open_syrah(struct sb_syrah **out, struct sb_input *input, int64_t max_size,
                                 struct sb_error *err) SB_CHECKED;

/* syrah/source.c. Members are ITEM/NAME.npy, texts ITEM/NAME.txt; ITEM by options->names, options->
 * records chooses items. What comes through a pipe is spooled. */
enum sb_code sb_source_open_syrah(struct sb_source **out, struct sb_input *input,
                                  const struct sb_source_options *options,
                                  const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/* cache/source.c. Members are KEY/NAME.npy and KEY/NAME.pkl, KEY.npy or KEY.pkl of a tensor or blob
 * alone: of rows that count, in the order of the cache. */
enum sb_code sb_source_open_cache(struct sb_source **out, struct sb_input *input,
                                  const struct sb_source_options *options,
                                  const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

#endif
