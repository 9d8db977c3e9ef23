/*
 * One typed table per command gives parsing, help and completions.
 *
 *     struct settings { bool quick; int64_t shard_size; };
 *     static const struct option options[] = {
 *         OPTION_FLAG('Q', "quick", struct settings, quick, "check the index only"),
 *         OPTION_SIZE(0, "shard-size", struct settings, shard_size, "SIZE", "..."),
 *         OPTION_END,
 *     };
 *
 * Parsing is GNU getopt_long's: options and operands in any order, "--" ends options, long names
 * may be shortened while unambiguous. OPTION_GROUP begins a group of options, under which the help
 * shows them; those of OPTION_MORE are for --help-all only. A group may begin more than once, and
 * an OPTIONS_ macro may begin one. After the first operand a word that begins with '-' and a digit
 * is an operand, a number below zero, unless that digit is an option's letter. A command may take
 * other words by itself (command.h: take_words). -h and --help print help to stdout; if a command
 * has -h of its own, it means help only as the sole argument. Common to all: --help, --help-all,
 * -q, -v, --progress, --no-progress (message.h holds their effect).
 */
#ifndef SB_CMD_UI_OPTIONS_H
#define SB_CMD_UI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERSION "0.1.0" /* of the program */

struct command;

enum option_kind {
    OPTION_KIND_END,
    OPTION_KIND_FLAG,    /* bool, set to true */
    OPTION_KIND_TEXT,    /* const char * */
    OPTION_KIND_SIZE,    /* int64_t bytes, sb_parse_size */
    OPTION_KIND_INTEGER, /* within low..high; int64_t, int or unsigned, as `size` says */
    OPTION_KIND_CHOICE,  /* int or an enum: the place in `choices`, from `low` */
    OPTION_KIND_RIVAL,   /* int, 0 until it is set to `low`; only one of a field can be given */
    OPTION_KIND_INCLUDE, /* struct sb_filter *, made at the first rule: a rule of --include ... */
    OPTION_KIND_EXCLUDE, /* ... or --exclude */
    OPTION_KIND_CALL,    /* call(settings, value); value is NULL when the option has none */
    OPTION_KIND_NOTED,   /* no field: only options_given has it; may be given several times */
    OPTION_KIND_COMMON,  /* of every command: for options.c, which one is `low` */
    OPTION_KIND_GROUP,   /* no option: those after it are of the group `name` */
};

/* What a value or an operand is, for completions. */
enum operand_kind {
    OPERAND_ANY,
    OPERAND_FILE,
    OPERAND_DIRECTORY,
    OPERAND_NONE,
    OPERAND_ARCHIVE,       /* one archive */
    OPERAND_ARCHIVE_PATHS, /* an archive, then paths inside it */
    OPERAND_ARCHIVE_ROWS,  /* likewise, but of a table its rows: ROW[/COLUMN] */
    OPERAND_ARCHIVE_FILES, /* an archive, then paths of the file system */
    OPERAND_ARRAY,         /* a column of the container that is the first operand */
};

struct option {
    enum option_kind kind;
    char letter;         /* 0: none */
    const char *name;    /* long name without "--" */
    size_t field, size;  /* offset into the settings; and for INTEGER, how many bytes it has */
    const char *value;   /* name of the value in help ("SIZE"), NULL for flags */
    const char *implied; /* the value when it is left out ("--color"); NULL: it must be given */
    const char *help;    /* one line */
    const char *const *choices; /* NULL-terminated, for CHOICE; of others they are only shown */
    int64_t low, high;          /* for INTEGER; `low` for RIVAL and CHOICE */
    bool counts_cores;          /* likewise: the default is what sb_default_threads says */
    bool (*call)(void *settings,
                 const char *value); /* for CALL; false: bad value, after a message */
    enum operand_kind completes;     /* what the value is */
    const char *group;               /* filled in by options_list */
    bool more;                       /* likewise: shown by --help-all only */
};

/* clang-format off */
#define OPTION_GROUP(heading) {.kind = OPTION_KIND_GROUP, .name = (heading)}
#define OPTION_MORE(heading) {.kind = OPTION_KIND_GROUP, .name = (heading), .more = true}
#define OPTION_FLAG(l, n, s, f, h) \
    {.kind = OPTION_KIND_FLAG, .letter = (l), .name = (n), .field = offsetof(s, f), .help = (h)}
#define OPTION_TEXT(l, n, s, f, v, h, c) \
    {.kind = OPTION_KIND_TEXT, .letter = (l), .name = (n), .field = offsetof(s, f), .value = (v), \
     .help = (h), .completes = (c)}
#define OPTION_SIZE(l, n, s, f, v, h) \
    {.kind = OPTION_KIND_SIZE, .letter = (l), .name = (n), .field = offsetof(s, f), .value = (v), .help = (h)}
#define OPTION_INTEGER(l, n, s, f, v, lo, hi, h) \
    {.kind = OPTION_KIND_INTEGER, .letter = (l), .name = (n), .field = offsetof(s, f), \
     .size = sizeof(((s *)0)->f), .value = (v), .help = (h), .low = (lo), .high = (hi)}
#define OPTION_CHOICE(l, n, s, f, v, ch, h) \
    {.kind = OPTION_KIND_CHOICE, .letter = (l), .name = (n), .field = offsetof(s, f), .value = (v), \
     .help = (h), .choices = (ch)}
#define OPTION_RIVAL(l, n, s, f, v, h) \
    {.kind = OPTION_KIND_RIVAL, .letter = (l), .name = (n), .field = offsetof(s, f), .low = (v), .help = (h)}
#define OPTION_CALL(l, n, v, fn, h, c) \
    {.kind = OPTION_KIND_CALL, .letter = (l), .name = (n), .value = (v), .help = (h), .call = (fn), .completes = (c)}
#define OPTION_END {.kind = OPTION_KIND_END}
/* clang-format on */

/* An option of the command that runs. */
struct given_option {
    const char *name;
    const char *value; /* NULL: none */
};

/* All of them, in their order; returns how many. */
size_t options_given(const struct given_option **out);

/* The first of them whose name is among these, which have a space between them; or NULL. */
const char *options_given_of(const char *names);

/* Is this one among them? */
bool option_is_given(const char *name);

/*
 * Options that do not go together, of the command that runs. An option is set if its field is not
 * what it is without any option; a choice, and one that has no field, if it was given. Names have a
 * space between them.
 */
enum option_rule_kind {
    OPTION_RULE_END,
    RULE_WITH,    /* one of `options` is set, and one of `others` */
    RULE_WITHOUT, /* one of `options` is set, and none of `others` */
    RULE_MANY,    /* more than one of `options` is set */
};

struct option_rule {
    enum option_rule_kind kind;
    const char *options, *others;
    const char *reason;
};

/* The reason of the first rule that is broken; NULL: all is well. The rules end with an empty row.
 */
const char *options_misused(const struct option_rule *rules);

/* Is one of these set, in the same sense? */
bool options_are_set(const char *names);

/* The options of a command, its own and then the common ones, without the headings of groups;
 * returns how many. */
#define OPTIONS_MAX 96
size_t options_list(const struct command *command, struct option list[OPTIONS_MAX]);

/* The help of a command, to stdout: what fits a screen, or all of it. */
void options_print_help(const struct command *command, bool all);

/* A command of the multicall binary: each cmd/NAME.c ends with one `const struct command`. */

struct command {
    const char *name;
    const char *summary;      /* one line, for --list, -h and completions */
    const char *synopsis[10]; /* what follows the name, one per form, the common ones first */
    const char *examples[2];  /* whole lines to type */
    const struct option
        *options; /* of its own; the common ones are added; ends with an empty row */
    const struct option_rule *rules; /* what does not go together; NULL: nothing */
    const char *exit_status;         /* what each of them means here */
    const char *notes;               /* shown below the options by --help-all; may be NULL */
    const char *words_help;     /* about those of take_words, shown above the options; or NULL */
    enum operand_kind operands; /* what completions offer */

    bool needs_archive; /* as its first operand */
    bool takes_one;     /* and no other */
    size_t settings_size;

    const void *defaults;        /* what the settings are before the options; NULL: zeros */
    void (*end)(void *settings); /* frees what run leaves in them; NULL: nothing */

    /* Takes each operand at its place among the options, because `-C` is for those after it; false,
     * after a message, ends the parse. NULL: operands go to run. */
    bool (*operand)(void *settings, const char *value);

    /*
     * Takes words that are no options of the table, such as find's `-name GLOB`. It is called
     * before each word that is neither a long option nor one or more letters of the table; words
     * ends with NULL. Returns how many it took, 0 for a word that is not its own, -1 after a
     * message. After "--" it is not called. NULL: there are no such words.
     */
    int (*take_words)(void *settings, char *const *words);
    const char *(*word)(size_t i); /* those it knows, one by one, then NULL; for completions */

    /* The exit status: 0, 1 or 2; see message.h. */
    int (*run)(void *settings, char **operands, int count);
};

/* Parses what follows argv[0], and runs the command; returns the exit status. */
int command_run(const struct command *command, int argc, char **argv);

/* All commands, in the order of --list; ends with NULL. */
extern const struct command *const commands[];

/* NULL: none is called so. */
const struct command *command_named(const char *name, size_t size);

/* Prints the script for "bash", "zsh" or "fish"; returns the exit status. */
int print_completion_script(const char *shell);

/*
 * shardbox --complete INDEX WORD...: what the word of this index may become; words[0] is INDEX.
 * Returns the exit status. Prints, each ended by a NUL, a kind, what precedes the completed part of
 * the word ("--order="), and candidates for that part:
 *
 *     file, directory   none: the shell knows them
 *     names             of members, rows or columns of a container, that begin with what was typed
 *     words             maybe with a tab and a description after them; the script takes those that
 *                       begin with what was typed. An option that needs a value ends in '='
 *     none              there is nothing
 */
int complete_line(int count, char **words);

#endif
