/*
 * Options that several commands have, each declared once: in every command the same name has the
 * same letter, value and choices, and does the same (tests/bats/alike.bats). Options about one
 * kind of container are declared beside that: open/opening.h.
 *
 * s is the settings struct, f the field in it, best where the library has it. Zero is the default
 * of each.
 */
#ifndef SB_CMD_UI_SHARED_OPTIONS_H
#define SB_CMD_UI_SHARED_OPTIONS_H

#include "ui/options.h"

#include "core/buf.h"
#include "core/error.h"
#include "core/share.h"
#include "store/container.h"
#include "task/protect/protect.h"
#include "task/transfer/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A choice that was not made. */
#define NOT_GIVEN (-1)

extern const char *const existing_words[]; /* in the order of enum sb_existing */
extern const char *const to_words[];       /* sb_container_named knows them */

/* clang-format off */

/* What is made, and what happens to existing files. */
#define OPTION_OUTPUT(s, f, h) OPTION_TEXT('o', "output", s, f, "OUTPUT", h, OPERAND_FILE)
#define OPTION_FORCE(s, f, h) OPTION_FLAG('f', "force", s, f, h)
#define OPTION_REPLACE(s, f) OPTION_FORCE(s, f, "replace OUTPUT if it exists")
#define OPTION_APPEND(s, f) OPTION_FLAG(0, "append", s, f, "add to OUTPUT, or make it")
#define OPTION_EXISTING(s, f, h) OPTION_CHOICE(0, "existing", s, f, "HOW", existing_words, h)
#define OPTION_DUPLICATES(s, f) \
    OPTION_CHOICE(0, "duplicates", s, f, "WHICH", sb_duplicate_words, \
                  "which file of a name is kept")
#define OPTION_DRY_RUN(s, f) \
    OPTION_FLAG('n', "dry-run", s, f, "print what would change, a line each; change nothing")
#define OPTION_TO(s, f, h) OPTION_CHOICE(0, "to", s, f, "KIND", to_words, h)
#define OPTION_SHARD_SIZE(s, f) \
    OPTION_SIZE(0, "shard-size", s, f, "SIZE", "begin a new shard before one passes SIZE")
#define OPTION_LEVEL(s, f) OPTION_INTEGER(0, "level", s, f, "N", 1, 22, "how hard to compress")

/* An enum sb_filter_kind. */
#define OPTION_COMPRESS(s, f) \
    {.kind = OPTION_KIND_CHOICE, .name = "compress", .field = offsetof(s, f), .value = "CODING", \
     .choices = sb_coding_words, .low = SB_FILTER_GZIP, \
     .help = "store each file compressed, its suffix added"}

/* A struct sb_recode. With all_layers, decompress is to be set, too. */
#define OPTIONS_DECOMPRESS(s, f) \
    OPTION_FLAG(0, "decompress", s, f.decompress, \
                "take .gz, .bz2, .xz or .zst off files and names"), \
    OPTION_FLAG(0, "decompress-all", s, f.all_layers, \
                "the same, also where several are stacked")

/* A struct sb_checkpoint_wish. */
#define OPTIONS_CHECKPOINT(s, f) \
    OPTION_SIZE(0, "checkpoint", s, f.size, "SIZE", "of an archive: commit after each SIZE"), \
    OPTION_FLAG(0, "resume", s, f.resume, "go on where a run with --checkpoint ended")
#define OPTION_FOLLOW(s, f) \
    OPTION_FLAG(0, "follow", s, f, "write into shards that are links, or have more than one")
#define OPTION_ABSOLUTE(s, f) \
    OPTION_FLAG(0, "absolute", s, f, "make links absolute, not relative to OUTPUT")
#define OPTION_STRICT(s, f) \
    OPTION_FLAG(0, "strict", s, f, "make nothing if anything would be lost or left out")
#define OPTION_REPORT(s, f) \
    OPTION_TEXT(0, "report", s, f, "FILE", \
                "list in FILE what was lost or left out, as JSON", OPERAND_FILE)

/* Names. */
#define OPTION_PREFIX(s, f) \
    OPTION_TEXT(0, "prefix", s, f, "DIR", "put everything below DIR", OPERAND_ANY)
#define OPTION_STRIP(s, f) \
    OPTION_INTEGER(0, "strip-components", s, f, "N", 0, 1000, \
                   "take N leading components off each name")
#define OPTION_AS_SUBDIRS(s, f) \
    OPTION_FLAG(0, "as-subdirs", s, f, "put each INPUT below a directory of its own name")
#define OPTION_FILES_FROM(s, f, h) OPTION_TEXT('T', "files-from", s, f, "FILE", h, OPERAND_FILE)
#define OPTION_NULL(s, f, h) OPTION_FLAG('0', "null", s, f, h)
#define OPTIONS_FILTER(s, f, verb) \
    {.kind = OPTION_KIND_INCLUDE, .name = "include", .field = offsetof(s, f), .value = "GLOB", \
     .help = verb " what matches; the first match decides"}, \
    {.kind = OPTION_KIND_EXCLUDE, .name = "exclude", .field = offsetof(s, f), .value = "GLOB", \
     .help = "leave out what matches"}

/* Rows as objects or as CSV: an enum json_form (ui/json.h). */
#define OPTION_JSON(s, f, h) OPTION_RIVAL(0, "json", s, f, JSON_LINES, h)
#define OPTION_CSV(s, f) OPTION_RIVAL(0, "csv", s, f, JSON_CSV, "the same as CSV, below a line of names")

#define OPTION_NO_CHECK(s, f) OPTION_FLAG(0, "no-check", s, f, "do not check checksums")
#define OPTION_HUMAN(s, f) \
    OPTION_FLAG('h', "human-readable", s, f, "sizes like 1.2M, not in bytes")
#define OPTION_THREADS(s, f, h) \
    {.kind = OPTION_KIND_INTEGER, .letter = 'j', .name = "threads", .field = offsetof(s, f), \
     .size = sizeof(((s *)0)->f), .value = "N", .low = 1, .high = 256, .counts_cores = true, \
     .help = h " (default: cores, at most 4)"}

/* Sets the limit of core/throttle.h: a size as elsewhere, with or without "/s"; 0: no limit. */
#define OPTION_BWLIMIT \
    OPTION_CALL(0, "bwlimit", "RATE", parse_bwlimit, \
                "read, and write, at most RATE bytes a second (50M)", OPERAND_ANY)

/* For a file that another process writes; sets lock_wait of core/context.h. */
#define OPTION_WAIT \
    {.kind = OPTION_KIND_CALL, .name = "wait", .value = "TIME", .implied = "", .call = parse_wait, \
     .help = "while another process writes it, wait (TIME: 90s, 5m)"}

/* For what a command writes. */
#define OPTION_PROTECT \
    {.kind = OPTION_KIND_CALL, .name = "protect", .value = "PERCENT", .implied = "", .call = parse_protect, \
     .help = "bring its parity files up to date at the end, or make them"}

/* Of every command that writes tars; sets tar_format of core/context.h. */
#define OPTION_FORMAT \
    {.kind = OPTION_KIND_CALL, .name = "format", .value = "FORMAT", .call = parse_format, \
     .choices = sb_tar_format_words, .help = "of a tar that is written (default: pax)"}

/* A struct owner_options. */
#define OPTIONS_OWNERS(s, f) \
    OPTION_FLAG('p', "preserve", s, f.preserve, "set owners, set-id and sticky bits (root: always)"), \
    OPTION_FLAG(0, "no-same-owner", s, f.leave, "set none of these, also as root"), \
    OPTION_FLAG(0, "numeric-owner", s, f.numeric, "set owners by number, not by name")
/* clang-format on */

/* If root runs it, unpacked files get their stored owners by default, as with tar. */
struct owner_options {
    bool preserve;
    bool leave; /* decides over preserve */
    bool numeric;
};
bool owners_are_set(const struct owner_options *options);

/* Of the options above; settings is not used. */
bool parse_bwlimit(void *settings, const char *value);
bool parse_wait(void *settings, const char *value);
bool parse_format(void *settings, const char *value);

/* A time as "90", "30m", "1h" for the option of this name, or 0 with `zero`. False: after a
 * message. */
bool parse_time(const char *option, const char *value, bool zero, int64_t *out);

/*
 * The output is the last operand, unless -o has named it (*output, else NULL). Returns how many
 * operands are INPUTs; 0 also if there is no output.
 */
size_t output_operand(const char **output, char *const *operands, int count);

/* Was OUTPUT, an archive, typed as the first operand, which does not exist, before INPUTs that do?
 * True: after a message. */
bool output_is_first(const char *output, char *const *operands, int count);

/*
 * Is OUTPUT added to? What --append names and is not there is made, which a note says. If something
 * of a killed run or a lost archive is there it is, and the writer says what to do. A set of bags
 * ("@") must be there.
 */
bool output_is_added_to(bool append, const char *output);

/*
 * Work that is cut among several processes: --part=I/N, or --part=auto.
 *
 *     OPTION_PART(struct settings, part, "pack only the part I of N: ..."),
 *     ...
 *     if (!part_parse(settings.part, &settings.share)) ...
 */

/* field is a const char * of the settings. */
#define OPTION_PART(settings, field, help)                                                         \
    OPTION_TEXT(0, "part", settings, field, "I/N", help, OPERAND_NONE)

/* Parses the value; NULL: the work is not cut. False: after a message. */
bool part_parse(const char *text, struct sb_share *out);

/*
 * Sets out to the name of the part's output (store/part_name.h), and *path to its text; changes
 * neither if the work is not cut. False: after a message.
 */
bool part_name_output(const char **path, struct sb_share share, bool bag, struct sb_buf *out);

/* The part as a line of a checkpoint: I/N also for "auto", which is another part in each process.
 */
enum sb_code part_add_line(struct sb_buf *out, struct sb_share share) SB_CHECKED;

/*
 * The lines that describe a run with --checkpoint, which task/transfer/transfer.h compares, and
 * the message after one that was interrupted.
 */

/*
 * Appends the options of the command line, in their order, without those that do not change what is
 * stored, and those named in `except`.
 */
enum sb_code resume_add_options(struct sb_buf *out, const char *except) SB_CHECKED;

/* Appends one more: "OPTION=value", or just the value if option is NULL. */
enum sb_code resume_add_line(struct sb_buf *out, const char *option, const char *value) SB_CHECKED;

/* The last message of a run that failed, and can be resumed. */
void resume_hint(const char *archive, bool appends);

/*
 * Parity files, for protect and for --protect of commands that write. Main thread only.
 */

struct protect_file {
    char *path;
    int64_t work; /* bytes that will be read, about */
};

/* Files that are done one after the other, with progress. {.wanted = ...}. */
struct protecting {
    struct sb_protect_options wanted; /* progress and context are set here */
    struct protect_file *files;
    size_t count, capacity;
    int64_t done, total; /* bytes */
};

/* A file, and the shards of one that is an index. */
void protecting_add(struct protecting *protecting, const char *path);

/* Does all of them, and releases them. How many failed, each after a message; one as of a command
 * that failed, or, if `late`, one that raises the status to 1. */
size_t protecting_run(struct protecting *protecting, bool late);

/* "5%", "0.5%", "12.5", for the option of this name. False: after a message. */
bool parse_redundancy(const char *option, const char *value, unsigned *per_mille);

/* --protect */
bool parse_protect(void *settings, const char *value);
bool protect_is_given(void);

/* With --protect: an output that the command has written: an archive, another file, or a spec of
 * bags. */
void protect_later(const char *path);

/* After the command, when nothing is locked any more: brings the parity of its outputs up to date,
 * unless it failed. */
void protect_outputs(void);

#endif
