/*
 * The parts of find: the expression that is held against each member, its tests and actions, and
 * the walk through the members.
 */
#ifndef SB_CMD_FIND_FIND_H
#define SB_CMD_FIND_FIND_H

#include "open/opening.h"
#include "ui/json.h"

#include "archive/content.h"
#include "archive/entry.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The expression that is held against each member: GNU find's words and the tests of the long
 * options, as one tree.
 *
 * A node is a test, an action, or joins others. Words are added in their order; then
 * find_expression_finish joins them as find does: `!` before and, and before or, or before a comma.
 * Nodes belong to the expression. Main thread only.
 */

struct find_node;
struct find_printer;

/* A member, while the expression is held against it. */
struct find_visit {
    const struct sb_entry *entry;
    size_t depth; /* below the PATH that it was found under; only with FIND_DEPTH */
    struct find_printer *printer;
    struct sb_buf folded; /* of the last test that takes no account of case */
    bool pruned;          /* out: nothing below it is wanted */
    bool quit;            /* out: nothing more is wanted at all */
};

typedef bool find_passes(const struct find_node *node, struct find_visit *visit);
typedef bool find_matches(const char *pattern, const char *name, size_t size);

enum find_part { FIND_TEST, FIND_OPEN, FIND_CLOSE, FIND_NOT, FIND_AND, FIND_OR, FIND_COMMA };

/* What the entry of a visit must have. */
enum {
    FIND_ROWS = 1 << 0,    /* more than names, and what is a directory */
    FIND_DEPTH = 1 << 1,   /* visit.depth */
    FIND_CONTENT = 1 << 2, /* the printer's content */
    FIND_MODES = 1 << 3,   /* as FIND_ROWS, but only modes, and what is a link */
};

/* More than, less than ('+', '-') or just ('=') the value. */
struct find_number {
    char sign;
    int64_t value;
};

struct find_node {
    enum find_part part;
    const char *word;        /* for messages; NULL: of no word */
    find_passes *passes;     /* NULL before the nodes are joined: an operator */
    unsigned needs;          /* FIND_ bits */
    struct find_node *first; /* of the nodes that it joins */
    struct find_node *next;  /* beside it */
    struct find_node *older; /* made before it */
    union {
        struct {
            find_matches *matches;
            const char *pattern;
            const char *at_top; /* matches as well; NULL: there is none */
            size_t tail;        /* of a pattern that is '*' and then so many plain bytes; or 0 */
            bool folds;         /* they are in lower case, and so is the name to be */
        } glob;
        struct {
            struct find_number units;
            int64_t unit; /* bytes */
        } size;
        struct {
            int64_t after, before; /* nanoseconds since 1970, both excluded */
        } time;
        struct {
            char how; /* '-': all of the bits, '/': any of them, '=': just these */
            uint32_t bits;
        } mode;
        unsigned types; /* bits 1 << enum sb_type */
        struct find_number id;
        const struct sb_filter *filter;
    };
    struct printf_format *format; /* of an action; NULL: none */
    struct sb_buf text;           /* that it points to, if not to an argument */
};

struct find_list {
    struct find_node *first, *last;
};

struct find_expression {
    int64_t max_depth; /* -1: any; begins so */
    int64_t min_depth;
    bool begun;             /* a word was added */
    bool acts;              /* a word prints */
    const char *own_output; /* the last word that prints as the options do not say; NULL: none */
    bool prunes;
    int64_t now; /* nanoseconds since 1970, for ages; 0: not looked at */

    unsigned needs; /* FIND_ bits, of all that there is once it is finished */
    struct find_node *root;
    struct find_node *newest;
    struct find_list options; /* tests of the long options */
    struct find_list words;
};

/* A new node at the end of a list. NULL: no memory, after a message. */
struct find_node *find_expression_add(struct find_expression *expression, struct find_list *list);

/* Makes the root: all tests of options, what the words say, and, if no word prints, find_print.
 * False after a message. */
bool find_expression_finish(struct find_expression *expression);

void find_expression_release(struct find_expression *expression);

/*
 * The format of find --printf and -printf: those of GNU find's directives that an archive has
 * values for.
 *
 *     %p path           %f last component   %h what is before it ("." at the top)
 *     %P path below what it was found under
 *     %d depth          %y type, f d or l   %l target of a link
 *     %s size           %m mode, octal      %M mode, as ls -l
 *     %U uid  %G gid    %u user  %g group   %% a percent sign
 *     %t time of modification, as ctime     %Tk that time in the form k: @ seconds since 1970,
 *     a b d e H j m M S T Y y + F Z and others of strftime
 *
 * with flags '-' and '0' and a width, and the escapes \n \t \0 \\ \a \b \f \r \v \NNN \c. An
 * unknown value is shown as "?".
 */

struct sb_content;
struct printf_format;

/* NULL for a format that is wrong, after a message about it. option: what it is the value of. */
struct printf_format *printf_format_new(const char *option, const char *text);
void printf_format_free(struct printf_format *format);

/* Does it show more than names and depth? */
bool printf_format_needs_rows(const struct printf_format *format);

/* Does it show a depth, or what depends on it? */
bool printf_format_needs_depth(const struct printf_format *format);

/* Replaces the contents of out. */
void printf_format_apply(const struct printf_format *format, const struct sb_entry *entry,
                         size_t depth, struct sb_content *content, struct sb_buf *out);

/* What find prints of a member: actions of the expression, which pass always. */

struct find_printer {
    bool nul;                     /* of the options: paths end in NUL */
    bool as_json;                 /* of the options: an object, or a row of CSV, for each */
    struct printf_format *format; /* of the options; NULL: none */
    struct sb_content *content;   /* for targets of links; NULL where none are shown */
    struct sb_buf line;
    struct json json;
};

void find_printer_release(struct find_printer *printer); /* but what is of the options */

/* FIND_ bits. */
unsigned find_needs_of(const struct printf_format *format);

find_passes find_print;        /* as the options say */
find_passes find_print_nul;    /* the path and NUL */
find_passes find_print_format; /* node.format */

/*
 * Tests of a member, as nodes: each function makes a node hold one. What the index does not know of
 * a member passes no test of it.
 */

/* types: bits 1 << enum sb_type. */
void find_test_types(struct find_node *node, unsigned types);

/* The last component, or the whole path. pattern is kept. */
void find_test_name(struct find_node *node, const char *pattern, find_matches *matches);
void find_test_path(struct find_node *node, const char *pattern, find_matches *matches);

/* Before those, for tests that take no account of case: pattern in lower case, which is the node's.
 */
const char *find_fold_pattern(struct find_node *node, const char *pattern);

/* Size of files and links, in units that are begun; directories do not pass. */
void find_test_size(struct find_node *node, struct find_number units, int64_t unit);

/* Modified after one time and before another, in nanoseconds. */
void find_test_time(struct find_node *node, int64_t after, int64_t before);

/* how: '-' all of the permission bits, '/' any of them or bits is 0, '=' just these. */
void find_test_mode(struct find_node *node, char how, uint32_t bits);

void find_test_uid(struct find_node *node, struct find_number id);
void find_test_gid(struct find_node *node, struct find_number id);

void find_test_filter(struct find_node *node, const struct sb_filter *filter);

find_passes find_true, find_false;
find_passes find_empty; /* a file of no bytes, or a directory with nothing in it; by FIND_ROWS */
find_passes find_prune, find_quit; /* both set what is in the visit */

/* The words of GNU find's expressions. */

/* As take_words of ui/command.h: adds a word, with its value. */
int find_take_words(struct find_expression *expression, char *const *words);

/* All of them, one by one; NULL after the last. */
const char *find_word(size_t i);

/* Types of a list as "f,d"; false after a message. option: the word that it is the value of. */
bool find_parse_types(const char *option, const char *value, unsigned *types);

enum { FIND_BY_PATH, FIND_BY_ADDRESS, FIND_BY_SIZE };

struct find_settings {
    struct opening opening;
    struct find_expression expression;
    struct find_node *type, *name, *path, *size, *newer; /* tests of options; NULL: not given */
    struct sb_filter *filter;
    bool nul;
    int sort;
    const char *files_from;
    bool missing;
    int64_t threads;
    struct printf_format *format;
    int json; /* enum json_form */
};

/* Goes through the members of a container, and holds the expression against each. */

/* A run of the command, besides its settings. */
struct finding {
    const struct find_settings *settings;
    struct sb_archive *archive;
    struct sb_select *select; /* NULL for a list of names */
    struct find_printer printer;
    struct find_visit visit;
    struct left_out left_out;

    /* Directories that were pruned and whose members may still come: each begins with the one
     * before it, and they come in the opposite order. */
    struct sb_buf pruned;
    size_t *pruned_sizes;
    size_t pruned_count, pruned_capacity;
};

/* Everything that the paths name, in the order of the settings. */
enum sb_code find_selected(struct finding *finding, char **paths, size_t count) SB_CHECKED;

/* What a list names, in its order. */
enum sb_code find_listed(struct finding *finding) SB_CHECKED;

void finding_release(struct finding *finding);

#endif
