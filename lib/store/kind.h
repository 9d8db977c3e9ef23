/*
 * Kinds of containers, as the door has them: how each is told from what was seen of a path, and
 * which views it gives. Not for others than lib/store/.
 *
 * A kind ends the file of its source with a struct sb_kind, and has a line in kinds.c.
 */
#ifndef SB_STORE_KIND_H
#define SB_STORE_KIND_H

#include "core/buf.h"
#include "core/file.h"
#include "store/sink.h"
#include "store/store.h"

#include <sys/stat.h>

#define SB_HEAD_BYTES 512 /* a tar's header */

/*
 * An input that was looked at. path "-" is standard input; what was read of a pipe to tell what it
 * is stands in head. A FIFO is read too; its writer is waited for half a second.
 */
struct sb_input {
    const char *path;
    const char *name; /* for messages: path or "standard input" */
    struct sb_container_type type;
    const struct sb_kind *kind; /* of the type */
    struct sb_file *file;       /* its bytes by offsets: of a file, or of a pipe that was spooled */
    struct sb_file *pipe;       /* what is read in sequence, through the descriptor; else NULL */
    struct sb_buf head;         /* read from a pipe already */
    struct sb_archive *archive; /* of SB_ARCHIVE, once the store has opened it */

    /* For those who tell kinds apart. */
    bool there;                         /* else why_not says why */
    int why_not;                        /* errno */
    struct stat st;                     /* where it is there, or open */
    unsigned char first[SB_HEAD_BYTES]; /* what it begins with */
    size_t first_size;
};

/* How sure a kind is that an input is of it; the surest has it, or the first of these. */
enum sb_sure {
    SB_NO,
    SB_BY_FILTER, /* it is compressed, and this may be in it */
    SB_BY_MAGIC,
    SB_BY_HEADER, /* a whole header that is sound */
    SB_BY_PLACE,  /* there is nothing, or a directory */
    SB_BY_NAME,
};

/* A word of --from and --to; with a dot before it, a suffix, unless it is only a word. */
struct sb_kind_word {
    const char *text; /* NULL ends the list */
    enum sb_filter_kind filter;
    bool only_word;
};

/* Views of an input. bag: as sb_input_open_bag. */
typedef enum sb_code sb_source_opener(struct sb_source **out, struct sb_input *input,
                                      const struct sb_source_options *options,
                                      const struct sb_notify *notify, struct sb_error *err);
typedef enum sb_code sb_table_opener(struct sb_table **out, struct sb_input *input,
                                     const struct sb_bag_options *bag,
                                     const struct sb_notify *notify, struct sb_error *err);

struct sb_kind {
    const char *word; /* for messages: "tar" */
    const struct sb_kind_word *words;
    unsigned can;           /* SB_CAN_ bits */
    unsigned can_in_pieces; /* of these, what it can on a pipe, or compressed as a whole */
    const char
        *never_piped; /* several files, which have no place on a pipe: "an archive"; or NULL */
    bool is_directory;
    bool by_path;            /* opened by its path: no descriptor is kept */
    unsigned can_as_several; /* of a spec of several files, of which none has this path; 0: never */
    bool starts_anyhow;      /* nothing is told by its first bytes, which are not read */
    bool explains_directory; /* opening one says what to do instead */
    bool has_checksums;      /* of members; else those of its compression */
    int64_t time_grain;      /* nanoseconds */
    unsigned takes;          /* SB_TO_ bits; 0: it is only read */

    /*
     * By the name and what stands there alone; only if no kind is sure by these, by what it begins
     * with; only then by how it ends. NULL: never.
     */
    enum sb_sure (*by_name)(const struct sb_input *input);
    enum sb_sure (*by_content)(const struct sb_input *input);
    bool (*by_end)(const struct sb_input *input);

    enum sb_filter_kind (*filter_by_name)(const char *path); /* NULL: by content */
    const char *(*unproved)(const struct sb_input *input);   /* NULL: nothing is left to doubt */

    sb_source_opener *source;
    sb_table_opener *table; /* its rows (table.h); NULL: it has none */

    /* To write it, as a stream of bytes; NULL: it is not one, or is only read (sinks.h). */
    sb_stream_sink_opener *sink;

    /* A faster walk, for the members that `wanted` takes alone; NULL: there is none. SB_INVALID: it
     * is not made for this one. */
    enum sb_code (*scan)(struct sb_source **out, struct sb_input *input,
                         bool (*wanted)(void *context, const char *name, size_t size),
                         void *context, struct sb_error *err);
};

/* NULL for SB_UNKNOWN, and for the number behind the last one. */
const struct sb_kind *sb_kind_of(enum sb_container_kind kind);

extern const struct sb_kind sb_archive_kind, sb_directory_kind, sb_tar_kind, sb_cpio_kind,
    sb_zip_kind, sb_beside_kind, sb_bag_kind, sb_frames_kind, sb_syrah_kind, sb_cache_kind;

/*
 * Looks at a path and tells what is there; forced, unless SB_UNKNOWN, decides instead. What is not
 * there is taken for an archive. SB_SYSTEM; SB_FORMAT when it is none of them. What is compressed
 * is taken for a tar; its reader may find a cpio in it.
 */
enum sb_code sb_input_open(struct sb_input *input, const char *path, enum sb_container_kind forced,
                           struct sb_error *err) SB_CHECKED;
void sb_input_close(struct sb_input *input);

/* A pipe is read to its end, into a temporary file in TMPDIR or else the current directory: after
 * it, the input has a file. SB_LIMIT: more than max_size bytes came (0: any number). */
enum sb_code sb_input_spool(struct sb_input *input, int64_t max_size,
                            struct sb_error *err) SB_CHECKED;

/* Does it begin with these bytes? */
bool sb_input_begins(const struct sb_input *input, const char *magic, size_t size);

/* Are its last eight bytes a last limit of a bag? */
bool sb_input_ends_as_bag(const struct sb_input *input);

/* The last bytes of a file, at most `room`; 0 where they cannot be had. */
size_t sb_input_tail(const struct sb_input *input, void *out, size_t room);

/* The view of any kind, as sb_store_source; of SB_ARCHIVE only sb_store_source has it. */
sb_source_opener sb_source_open SB_CHECKED;

/* The kinds, by their own files. */

/* tar/source.c: tar and cpio, through libarchive. */
sb_source_opener sb_source_open_tar SB_CHECKED;

/*
 * zip/source.c: by its central directory, which does not say where the bytes of a member begin. Of
 * a member, its loaders look at entry.size and place[] only (and at entry.path for messages):
 * whoever keeps these may have a member's bytes at any later time.
 */
sb_source_opener sb_source_open_zip SB_CHECKED;

struct sb_bag;

/* A bag on a pipe is spooled to TMPDIR first. SB_LIMIT: there is more of it than max_size (0: any
 * number). What is told is as sb_bag_open has it. */
enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

sb_table_opener sb_table_open_bag SB_CHECKED;

struct sb_syrah_set;

/* Syrah files; one on a pipe is spooled as a bag is. */
enum sb_code sb_input_open_syrah(struct sb_syrah_set **out, struct sb_input *input,
                                 struct sb_error *err) SB_CHECKED;

sb_table_opener sb_table_open_syrah SB_CHECKED;

/* cache/source.c. Members are KEY/NAME.npy and KEY/NAME.pkl, KEY.npy or KEY.pkl of a tensor or blob
 * alone: of rows that count, in the order of the cache. */
sb_source_opener sb_source_open_cache SB_CHECKED;

sb_table_opener sb_table_open_cache SB_CHECKED;

#endif
