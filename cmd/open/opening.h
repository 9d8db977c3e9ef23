/*
 * Opening an archive, or any other container, for a command that reads it, with its options and
 * messages.
 */
#ifndef SB_CMD_OPEN_OPENING_H
#define SB_CMD_OPEN_OPENING_H

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "store/store.h"

/* How bags are read, as options (bag_opening.h); the first choices are the defaults: in the order
 * of the enums of bag.h. */
struct bag_words {
    int compression;
    int limits;
    int layout;
    const char *dictionary; /* a file; NULL: none */
};

/* What the settings of a command with OPTION_FROM begin with. */
struct opening {
    struct sb_container_type from; /* SB_UNKNOWN: recognised by content */
    struct bag_words bag;          /* of commands that read any container alike */
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

/* Of every command that reads tars. */
#define OPTION_IGNORE_ZEROS                                                                        \
    OPTION_CALL(0, "ignore-zeros", NULL, parse_ignore_zeros,                                       \
                "read the tars that follow the end of a tar, too", OPERAND_NONE)

/* Sets ignore_zeros of core/context.h. Neither is used. */
bool parse_ignore_zeros(void *settings, const char *value);

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

/* The field is called max_size; 0: any number. */
#define OPTION_MAX_SIZE(s)                                                                         \
    OPTION_SIZE(0, "max-size", s, max_size, "SIZE", "give up when more than SIZE bytes come out")

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
void complain_of_unmatched(const struct sb_select *select, char *const *args, size_t count);

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

#endif
