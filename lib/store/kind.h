/*
 * How store.h knows a kind of container: how to recognise it, and which views it has. Only for
 * lib/store/.
 *
 * The source file of each kind ends with a struct sb_kind, which kinds.c lists.
 */
#ifndef SB_STORE_KIND_H
#define SB_STORE_KIND_H

#include "core/buf.h"
#include "core/file.h"
#include "store/sink.h"
#include "store/store.h"

#include <sys/stat.h>

#define SB_HEAD_BYTES  512               /* a tar's header */
#define SB_AHEAD_BYTES ((size_t)1 << 20) /* how far a kind may begin after zeros or a program */

/*
 * Of an input that is a member of another one, a tar in a tar: where its bytes are. They lie in the
 * file as they are, or come in sequence: the first of them from the input's head, the others from
 * the source, whose current member it is. Then whoever reads the input has that source for himself.
 */
struct sb_section {
    struct sb_source *from; /* NULL: in the file, */
    int64_t at;             /* there */
    int64_t size;
    unsigned depth; /* how many it is in: at least 1 */
};

/*
 * An input whose kind has been found. path "-" is standard input; the bytes that were read of a
 * pipe to find its kind are in head. A FIFO is read too; opening waits half a second for its
 * writer.
 */
struct sb_input {
    const char *path;
    const char *name; /* for messages: path or "standard input" */
    struct sb_container_type type;
    const struct sb_kind *kind; /* of the type */
    struct sb_file *file;       /* its bytes, at any offset: a file, or a spooled pipe */
    struct sb_file *pipe;       /* read only in sequence, through the descriptor; else NULL */
    struct sb_buf head;         /* the bytes that were already read from the pipe */
    struct sb_archive *archive; /* if SB_ARCHIVE: set once the store has opened it */

    const struct sb_section *section; /* it is only this; NULL: all of the file or pipe */

    /* For the functions that recognise kinds. */
    bool there;     /* the path exists; else why_not says why it cannot be used */
    int why_not;    /* errno */
    struct stat st; /* valid if it exists, or is open */
    unsigned char first[SB_HEAD_BYTES]; /* its first bytes */
    size_t first_size;
};

/* How sure a kind is that an input is of it. The surest kind wins, and the first of equally sure
 * ones. */
enum sb_sure {
    SB_NO,
    SB_BY_ZEROS,  /* it begins with zeros, as this kind may where nothing else follows them */
    SB_BY_FILTER, /* it is compressed, and may contain this kind */
    SB_BY_MAGIC,
    SB_BY_HEADER, /* a valid header */
    SB_BY_PLACE,  /* the path does not exist, or is a directory */
    SB_BY_NAME,
};

/* A word of --from and --to. With a leading dot it is also a suffix, unless it is only_word. */
struct sb_kind_word {
    const char *text; /* NULL ends the list */
    enum sb_filter_kind filter;
    bool only_word;
};

/* What is reported of owners that no system has: of the kind "owner", with both numbers. */
#define SB_NO_OWNER "its owner %" PRId64 ":%" PRId64 " is none that there can be; left out"

/* Views of an input. bag: as in sb_input_open_bag. */
typedef enum sb_code sb_source_opener(struct sb_source **out, struct sb_input *input,
                                      const struct sb_source_options *options,
                                      const struct sb_notify *notify);
typedef enum sb_code sb_table_opener(struct sb_table **out, struct sb_input *input,
                                     const struct sb_bag_options *bag,
                                     const struct sb_notify *notify);

struct sb_kind {
    const char *word; /* for messages: "tar" */
    const struct sb_kind_word *words;
    unsigned can;            /* SB_CAN_ bits */
    unsigned can_in_pieces;  /* those that it also has on a pipe, or compressed as a whole */
    const char *never_piped; /* "an archive": it is several files, so it cannot be piped; or NULL */
    bool is_directory;
    bool by_path; /* opened by its path: no descriptor is kept (SB_ARCHIVE: until then) */
    unsigned can_as_several; /* what it can do as a spec of several files, when no file has this
                                path; 0: no such specs */
    bool starts_anyhow;      /* recognised without its first bytes, which are not read */
    bool explains_directory; /* opening a directory fails with a message that says what to do
                                instead */
    bool has_checksums;      /* of members; else only its compression has checksums */
    int64_t time_grain;      /* of times, in nanoseconds */
    unsigned takes;          /* SB_TO_ bits; 0: it is only read */

    /*
     * The three ways to recognise the kind, tried in turn until a kind is found: by the name and
     * stat; by the first bytes; by what comes later, sb_input_tail and sb_input_ahead. NULL: never.
     */
    enum sb_sure (*by_name)(const struct sb_input *input);
    enum sb_sure (*by_content)(const struct sb_input *input);
    bool (*by_rest)(const struct sb_input *input);

    enum sb_filter_kind (*filter_by_name)(const char *path); /* NULL: by content */
    /* Why damage may go unnoticed, as a phrase; NULL: it cannot. */
    const char *(*unproved)(const struct sb_input *input);

    sb_source_opener *source;
    sb_table_opener *table; /* its rows (table.h); NULL: it has none */

    /* Writes it as a stream of bytes; NULL: it is no stream, or only read (sinks.h). */
    sb_stream_sink_opener *sink;

    /* A faster walk over only the members that `wanted` accepts; NULL: there is none. SB_INVALID:
     * it does not work for this input. */
    enum sb_code (*scan)(struct sb_source **out, struct sb_input *input,
                         bool (*wanted)(void *context, const char *name, size_t size),
                         void *context);
};

/* NULL for SB_UNKNOWN, and for the number after the last kind. */
const struct sb_kind *sb_kind_of(enum sb_container_kind kind);

extern const struct sb_kind sb_archive_kind, sb_directory_kind, sb_tar_kind, sb_cpio_kind,
    sb_zip_kind, sb_beside_kind, sb_bag_kind, sb_frames_kind, sb_syrah_kind, sb_cache_kind;

/*
 * Finds the kind of what is at the path; `forced`, unless SB_UNKNOWN, sets it. A path that does not
 * exist is assumed to be an archive, and a compressed file a tar (whose reader may find a cpio in
 * it). SB_SYSTEM; SB_FORMAT: it is of no known kind.
 */
enum sb_code sb_input_open(struct sb_input *input, const char *path,
                           enum sb_container_kind forced) SB_CHECKED;
void sb_input_close(struct sb_input *input);

/* Reads a pipe to its end, into a temporary file in TMPDIR or else the current directory; then the
 * input has a `file`. SB_LIMIT: it has more than max_size bytes (0: any number). */
enum sb_code sb_input_spool(struct sb_input *input, int64_t max_size) SB_CHECKED;

/* Does the input begin with these bytes? */
bool sb_input_begins(const struct sb_input *input, const char *magic, size_t size);

/* Are its last eight bytes what a bag ends with, the limit of its last record? */
bool sb_input_ends_as_bag(const struct sb_input *input);

/* Reads the last bytes of a file, at most `capacity`; returns 0 if they cannot be read. */
size_t sb_input_tail(const struct sb_input *input, void *out, size_t capacity);

/* Reads the first bytes of a file or pipe, for by_rest at most SB_AHEAD_BYTES; returns 0 likewise.
 */
size_t sb_input_ahead(const struct sb_input *input, void *out, size_t capacity);

/* As sb_store_source, for any kind but SB_ARCHIVE, which only sb_store_source has. */
sb_source_opener sb_source_open SB_CHECKED;

/* The openers of each kind. */

/* tar/source.c: tar and cpio. */
sb_source_opener sb_source_open_tar SB_CHECKED;

/*
 * zip/source.c: by the central directory, which does not say where the bytes of a member begin. The
 * loaders use only entry.size and place[] of a member (and entry.path for messages): a caller who
 * keeps these can load the member at any later time.
 */
sb_source_opener sb_source_open_zip SB_CHECKED;

struct sb_bag;

/* A bag on a pipe is spooled first, as by sb_input_spool; max_size too is as there. Reports are
 * those of sb_bag_open. */
enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify) SB_CHECKED;

sb_table_opener sb_table_open_bag SB_CHECKED;

struct sb_syrah_set;

/* Syrah files; a pipe is spooled, as a bag is. */
enum sb_code sb_input_open_syrah(struct sb_syrah_set **out, struct sb_input *input) SB_CHECKED;

sb_table_opener sb_table_open_syrah SB_CHECKED;

/* cache/source.c. Members are KEY/NAME.npy and KEY/NAME.pkl; KEY.npy or KEY.pkl if the row is one
 * tensor or blob. They are the current rows, in the order of the cache. */
sb_source_opener sb_source_open_cache SB_CHECKED;

sb_table_opener sb_table_open_cache SB_CHECKED;

#endif
