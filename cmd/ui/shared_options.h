/*
 * Options that several commands have, each declared once: in every command the same name has the
 * same letter, value and choices, and does the same (tests/bats/alike.bats). Options about one
 * kind of container, or with a parser of their own, are declared beside that: open/opening.h,
 * open/bag_opening.h, ui/part.h, ui/bandwidth.h.
 *
 * s is the settings struct; unless a macro takes the field, it is called as the option. Zero is the
 * default of each; the fields of choices begin as NOT_GIVEN if a command must know whether one was
 * made.
 */
#ifndef SB_CMD_UI_SHARED_OPTIONS_H
#define SB_CMD_UI_SHARED_OPTIONS_H

#include "store/container.h"
#include "ui/options.h"
#include "ui/protecting.h"

/* A choice that was not made. */
#define NOT_GIVEN (-1)

extern const char *const existing_words[]; /* in the order of enum sb_existing */
extern const char *const to_words[];       /* sb_container_named knows them */

/* clang-format off */

/* What is made, and what happens to existing files. */
#define OPTION_OUTPUT(s, h) OPTION_TEXT('o', "output", s, output, "OUTPUT", h, OPERAND_FILE)
#define OPTION_FORCE(s, h) OPTION_FLAG('f', "force", s, force, h)
#define OPTION_REPLACE(s) OPTION_FORCE(s, "replace OUTPUT if it exists")
#define OPTION_APPEND(s) OPTION_FLAG(0, "append", s, append, "add to OUTPUT, or make it")
#define OPTION_EXISTING(s, h) OPTION_CHOICE(0, "existing", s, existing, "HOW", existing_words, h)
#define OPTION_DUPLICATES(s) \
    OPTION_CHOICE(0, "duplicates", s, duplicates, "WHICH", sb_duplicate_words, \
                  "which file of a name is kept")
#define OPTION_DRY_RUN(s, f) \
    OPTION_FLAG('n', "dry-run", s, f, "print what would change, a line each; change nothing")
#define OPTION_TO(s, h) OPTION_CHOICE(0, "to", s, to, "KIND", to_words, h)
#define OPTION_SHARD_SIZE(s) \
    OPTION_SIZE(0, "shard-size", s, shard_size, "SIZE", "begin a new shard before one passes SIZE")
#define OPTION_LEVEL(s) OPTION_INTEGER(0, "level", s, level, "N", 1, 22, "how hard to compress")
#define OPTION_COMPRESS(s) \
    OPTION_CHOICE(0, "compress", s, compress, "CODING", sb_coding_words, \
                  "store each file compressed, its suffix added")
#define OPTIONS_DECOMPRESS(s) \
    OPTION_FLAG(0, "decompress", s, decompress, \
                "take .gz, .bz2, .xz or .zst off files and names"), \
    OPTION_FLAG(0, "decompress-all", s, decompress_all, \
                "the same, also where several are stacked")
#define OPTIONS_CHECKPOINT(s) \
    OPTION_SIZE(0, "checkpoint", s, checkpoint, "SIZE", "of an archive: commit after each SIZE"), \
    OPTION_FLAG(0, "resume", s, resume, "go on where a run with --checkpoint ended")
#define OPTION_FOLLOW(s) \
    OPTION_FLAG(0, "follow", s, follow, "write into shards that are links, or have more than one")
#define OPTION_ABSOLUTE(s) \
    OPTION_FLAG(0, "absolute", s, absolute, "make links absolute, not relative to OUTPUT")

/* Names. */
#define OPTION_PREFIX(s) \
    OPTION_TEXT(0, "prefix", s, prefix, "DIR", "put everything below DIR", OPERAND_ANY)
#define OPTION_STRIP(s) \
    OPTION_INTEGER(0, "strip-components", s, strip, "N", 0, 1000, \
                   "take N leading components off each name")
#define OPTION_AS_SUBDIRS(s) \
    OPTION_FLAG(0, "as-subdirs", s, as_subdirs, \
                "put each INPUT below a directory of its own name")
#define OPTION_FILES_FROM(s, f, h) OPTION_TEXT('T', "files-from", s, f, "FILE", h, OPERAND_FILE)
#define OPTION_NULL(s, f, h) OPTION_FLAG('0', "null", s, f, h)

/* Rows as objects or as CSV: the field `json` is an enum json_form (ui/json.h). */
#define OPTION_JSON(s, h) OPTION_RIVAL(0, "json", s, json, JSON_LINES, h)
#define OPTION_CSV(s) OPTION_RIVAL(0, "csv", s, json, JSON_CSV, "the same as CSV, below a line of names")

#define OPTION_NO_CHECK(s) OPTION_FLAG(0, "no-check", s, no_check, "do not check checksums")
#define OPTION_HUMAN(s, f) \
    OPTION_FLAG('h', "human-readable", s, f, "sizes like 1.2M, not in bytes")

/* For a file that another process writes; sets lock_wait of core/context.h. */
#define OPTION_WAIT \
    {.kind = OPTION_KIND_CALL, .name = "wait", .value = "TIME", .implied = "", .call = parse_wait, \
     .help = "while another process writes it, wait (TIME: 90s, 5m)"}

/* For what a command writes; see ui/protecting.h. */
#define OPTION_PROTECT \
    {.kind = OPTION_KIND_CALL, .name = "protect", .value = "PERCENT", .implied = "", .call = parse_protect, \
     .help = "bring its parity files up to date at the end, or make them"}
/* clang-format on */

/*
 * The output is the last operand, unless -o has named it (*output, else NULL). Returns how many
 * operands are INPUTs; 0 also if there is no output.
 */
size_t output_operand(const char **output, char *const *operands, int count);

/* Was OUTPUT, an archive, typed as the first operand, which does not exist, before INPUTs that do?
 * True: after a message. */
bool output_is_first(const char *output, char *const *operands, int count);

bool parse_wait(void *settings, const char *value);

/*
 * Is OUTPUT added to? What --append names and is not there is made, which a note says. If something
 * of a killed run or a lost archive is there it is, and the writer says what to do. A set of bags
 * ("@") must be there.
 */
bool output_is_added_to(bool append, const char *output);

/* Of every command that writes tars; sets tar_format of core/context.h. settings is not used. */
#define OPTION_FORMAT                                                                              \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "format", .value = "FORMAT", .call = parse_format,       \
        .choices = sb_tar_format_words, .help = "of a tar that is written (default: pax)"          \
    }
bool parse_format(void *settings, const char *value);
bool format_is_given(void);

/* A time as "90", "30m", "1h" for the option of this name, or 0 with `zero`. False: after a
 * message. */
bool parse_time(const char *option, const char *value, bool zero, int64_t *out);

#endif
