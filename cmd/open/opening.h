/*
 * Opening an archive, or any other container, for a command that looks at it, with the words that
 * go with it.
 */
#ifndef SB_CMD_OPEN_OPENING_H
#define SB_CMD_OPEN_OPENING_H

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "store/container.h"

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
    struct sb_container_type from; /* SB_UNKNOWN: told by content */
    struct bag_words bag;          /* of commands that read any container alike */
    bool places;                   /* of bytes in the container are shown; set by the command */
};

#define OPTION_FROM                                                                                \
    OPTION_CALL(                                                                                   \
        0, "from", "KIND", parse_from,                                                             \
        "what it is, where its content does not tell: archive, tar, cpio, zip, bag, bagz, "        \
        "syrah, cache",                                                                            \
        OPERAND_ANY)
bool parse_from(void *settings, const char *value);

/* As sb_archive_open; warns of a schema that is newer than this program. */
enum sb_code open_archive(struct sb_archive **out, const char *path,
                          struct sb_error *err) SB_CHECKED;

/* Is it to be tried as an archive first? */
bool looked_for_as_archive(const char *path, const struct opening *opening);

/*
 * sb_archive_open failed with err: may it be another kind of container, or is this the last word?
 * Directories change the error to SB_INVALID, with what to do.
 */
bool may_be_other(const char *path, const struct opening *opening, struct sb_error *err);

/*
 * A command that changes archives failed with err at path: if it is a tar, cpio or zip, says so.
 * Nothing is read from a pipe.
 */
void explain_failure(const char *path, struct sb_error *err);

/* What is no archive, told apart; the caller closes and frees it. */
enum sb_code open_input(struct sb_input **out, const char *path, const struct opening *opening,
                        struct sb_error *err) SB_CHECKED;

/* A container that was told apart: an archive, or else an input and the source of its members. */
struct container {
    enum sb_container_kind kind;
    struct sb_archive *archive;
    struct sb_input *input;
    struct sb_source *source;
};

/*
 * Directories are refused: SB_INVALID. What the source has to say is printed. no_check: checksums
 * of a zip's members are not looked at. Damage that keeps what is no archive from being read is
 * SB_FORMAT, here and below.
 */
enum sb_code open_container(struct container *out, const char *path, const struct opening *opening,
                            bool no_check, struct sb_error *err) SB_CHECKED;

/* As above, read as the options say, and told to notify. */
enum sb_code open_container_with(struct container *out, const char *path,
                                 const struct opening *opening,
                                 const struct sb_source_options *options,
                                 const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;
void close_container(struct container *container); /* what catalog_container left */

/* What is no archive cannot be read beyond its damage: SB_DAMAGED becomes SB_FORMAT. */
void damage_is_fatal(struct sb_error *err);

/* Makes an archive of the source, whatever it is. */
struct sb_catalog_options;
struct sb_catalog_result;
enum sb_code catalog_container(struct container *container,
                               const struct sb_catalog_options *options,
                               struct sb_catalog_result *result, struct sb_error *err) SB_CHECKED;

/*
 * Any container as an archive: all of the above, with every member. checksums: of what can only be
 * read in sequence, too.
 */
enum sb_code open_catalog(struct container *out, const char *path, const struct opening *opening,
                          bool checksums, struct sb_error *err) SB_CHECKED;
enum sb_code open_as_archive(struct sb_archive **out, const char *path,
                             const struct opening *opening, struct sb_error *err) SB_CHECKED;

/* SB_INVALID for what is not an archive: it has no such thing as `what` ("shards"). */
enum sb_code need_shards(const struct sb_archive *archive, const char *what,
                         struct sb_error *err) SB_CHECKED;

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
 * Where a link points: its bytes. False, with *out empty, where they cannot be had: the shard is
 * not there, they are damaged, or more than any target has.
 */
bool read_target(struct sb_content *content, const struct sb_entry *entry, struct sb_buf *out);

#endif
