/*
 * Opening an archive, or any other container, for a command that reads it, with its options and
 * messages.
 */
#ifndef SB_CMD_OPEN_OPENING_H
#define SB_CMD_OPEN_OPENING_H

#include "ui/options.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "store/bag/bag.h"
#include "store/cache/cache.h"
#include "store/store.h"
#include "store/table.h"

/* What the settings of a command with OPTION_FROM begin with. */
struct opening {
    struct sb_container_type from; /* SB_UNKNOWN: recognised by content */
    struct sb_bag_words bag;       /* of commands that read any container alike */
    bool places;                   /* of bytes in the container are shown; set by the command */
    bool once;                     /* see store.h; set by the command */
};

#define OPTION_FROM                                                                                \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "from", .value = "KIND", .call = parse_from,             \
        .choices = opening_words, .help = "what it is, if its content does not show it"            \
    }
extern const char *const opening_words[];
bool parse_from(void *settings, const char *value);

/* Of every command that reads tars and zips. */
#define OPTION_ICONV                                                                               \
    OPTION_CALL(0, "iconv", "CHARSET", parse_iconv,                                                \
                "charset of names in a tar, cpio or zip, if not UTF-8", OPERAND_ANY)

/* Sets the charset of core/context.h. settings is not used. */
bool parse_iconv(void *settings, const char *value);
bool charset_is_known(const char *name); /* false after a message */

/* Of every command that reads tars. */
#define OPTION_IGNORE_ZEROS                                                                        \
    OPTION_CALL(0, "ignore-zeros", NULL, parse_ignore_zeros,                                       \
                "read the tars that follow the end of a tar, too", OPERAND_NONE)

/* Sets ignore_zeros of core/context.h. Neither is used. */
bool parse_ignore_zeros(void *settings, const char *value);

#define OPTION_MULTI_VOLUME                                                                        \
    OPTION_CALL(0, "multi-volume", NULL, parse_multi_volume,                                       \
                "INPUT is the volumes of a tar, in order: A,B,C", OPERAND_NONE)

/* Sets multi_volume of core/context.h. Neither is used. */
bool parse_multi_volume(void *settings, const char *value);

#define OPTION_NESTED                                                                              \
    OPTION_CALL(0, "nested", NULL, parse_nested, "look into the tars in a tar, as directories",    \
                OPERAND_NONE)

/* Sets nested of core/context.h. Neither is used. */
bool parse_nested(void *settings, const char *value);

/* Of every command that shows samples. */
#define OPTION_KEEP_CASE                                                                           \
    OPTION_CALL(0, "keep-case", NULL, parse_keep_case,                                             \
                "extensions of samples as they are, not in lower case", OPERAND_NONE)

/* Sets keep_case of core/context.h. Neither is used. */
bool parse_keep_case(void *settings, const char *value);

/* Of every command that reads compressed tars. */
#define OPTION_MEMLIMIT                                                                            \
    OPTION_CALL(0, "memlimit", "SIZE", parse_memlimit,                                             \
                "memory that decompressing xz and zstd may take", OPERAND_ANY)

/* Sets decoder_memory of core/context.h. settings is not used. */
bool parse_memlimit(void *settings, const char *value);

/* Of commands that read any container; the first, where each has a kind of its own, without --from.
 */
#define OPTIONS_READING                                                                            \
    OPTION_ICONV, OPTION_IGNORE_ZEROS, OPTION_MULTI_VOLUME, OPTION_NESTED, OPTION_MEMLIMIT
#define OPTIONS_INPUT OPTION_FROM, OPTIONS_READING

/* 0: any number. */
#define OPTION_MAX_SIZE(s, f)                                                                      \
    OPTION_SIZE(0, "max-size", s, f, "SIZE", "give up when more than SIZE bytes come out")

/* Opens the container at a path, as the opening says; prints what it reports. */
enum sb_code open_store(struct sb_store **out, const char *path,
                        const struct opening *opening) SB_CHECKED;

/* As above; reports go to notify. */
enum sb_code open_store_with(struct sb_store **out, const char *path, const struct opening *opening,
                             const struct sb_notify *notify) SB_CHECKED;

/*
 * Any container as an archive (sb_store_catalog), which is the store's; with every member. After
 * damage, which is printed, it holds what came before.
 */
enum sb_code open_catalog(struct sb_store **out, struct sb_archive **archive, const char *path,
                          const struct opening *opening) SB_CHECKED;

/* The same for an open store, */
enum sb_code catalog_whole(struct sb_store *store, struct sb_archive **archive,
                           const struct opening *opening) SB_CHECKED;

/* and as the options say. */
enum sb_code catalog_store(struct sb_store *store, struct sb_archive **archive,
                           const struct sb_source_options *source,
                           const struct sb_catalog_options *options,
                           struct sb_catalog_result *result) SB_CHECKED;

/* The rows of a store; with `samples`, those of its files. Freed before the store. */
enum sb_code open_table(struct sb_store *store, struct sb_table **out, bool samples,
                        const struct opening *opening) SB_CHECKED;

/*
 * A command that changes archives failed at path: if it is another container, says so.
 * Nothing is read from a pipe.
 */
void explain_failure(const char *path);

/* SB_INVALID for a container that is not an archive: it has no `what` ("shards"). */
enum sb_code need_shards(const struct sb_archive *archive, const char *what) SB_CHECKED;

/* Names, as problems, the arguments that matched nothing. */
void complain_of_unmatched(struct sb_archive *archive, const struct sb_select *select,
                           char *const *args, size_t count);

/* The problem of rows that could not be used and were left out: how many, and the first one. */
struct left_out {
    int64_t count;
    struct sb_buf first; /* "PATH: what is wrong" */
};

void leave_out(struct left_out *left_out, const struct sb_entry *entry);
void complain_of_left_out(struct left_out *left_out); /* and releases it */

/*
 * The target of a link. False, with *out empty, if it cannot be read: the shard is missing, the
 * bytes are damaged, or more than any target has.
 */
bool read_target(struct sb_content *content, const struct sb_entry *entry, struct sb_buf *out);

/* Bags for commands that read them: the options that say how, and opening them. */

extern const char *const compression_words[]; /* auto, none, zstd */
extern const char *const limits_words[];      /* auto, tail, separate */
extern const char *const layout_words[];      /* concatenated, interleaved */

/* The four options, for a settings struct with a struct sb_bag_words `field`; PREFIX is "" or
 * "from-".
 */
#define OPTIONS_BAG(settings, field)                                                               \
    OPTION_MORE("Bags"),                                                                           \
        OPTION_CHOICE(0, "compression", settings, field.compression, "WHAT", compression_words,    \
                      "how records are stored (default: by the suffix)"),                          \
        OPTION_TEXT(0, "dictionary", settings, field.dictionary, "FILE",                           \
                    "the zstd dictionary of the records", OPERAND_FILE),                           \
        OPTION_CHOICE(0, "limits", settings, field.limits, "WHERE", limits_words,                  \
                      "where the limits are (default: seen)"),                                     \
        OPTION_CHOICE(0, "layout", settings, field.layout, "HOW", layout_words,                    \
                      "how records lie in several shards")

/* from: the value of --from; "bagz" means that files without such a suffix are compressed. Reads
 * the dictionary, which the caller frees. */
enum sb_code bag_options_of(const struct sb_bag_words *words, struct sb_container_type from,
                            struct sb_bag_options *out) SB_CHECKED;

/*
 * Is path read as bags? If --from says so; without it, if it is a regular file called *.bag or
 * *.bagz, or not a file, but a spec of bags. "-" only with --from.
 */
bool is_bag(const char *path, const struct opening *opening);

/* The same, and opens it; prints what it reports. "-" and other pipes are spooled. */
enum sb_code open_bag(struct sb_bag **out, const char *path,
                      const struct sb_bag_options *options) SB_CHECKED;

/* torchcachex caches, and directories that hold several, for commands that read them. */

/* Is it a directory of caches, and not itself one? */
bool holds_caches(const struct sb_store *store);

/* Opens each cache in the directory and passes it to `take`, with its path and its name. An error
 * of one is printed, and the others follow, unless it ends the work. */
typedef enum sb_code take_cache(void *context, struct sb_table *table, const char *path,
                                const char *name);
enum sb_code each_cache(const char *path, take_cache *take, void *context) SB_CHECKED;

/* "key 'x': what is wrong", as a problem. */
void complain_of_key(const struct sb_row_key *key, const char *what);

#endif
