/*
 * The parts of find: the expression that is held against each member, its tests and actions, and
 * the format of what is printed. Main thread only.
 */
#ifndef SB_CMD_FIND_FIND_H
#define SB_CMD_FIND_FIND_H

#include "open/opening.h"
#include "ui/json.h"

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
 * Nodes belong to the expression. What the index does not know of a member passes no test of it.
 */

struct find_node;
struct find_settings;

/* A member, while the expression is held against it, and what prints it. */
struct find_visit {
    const struct find_settings *settings;
    const struct sb_entry *entry;
    size_t depth;               /* below the PATH that it was found under; only with FIND_DEPTH */
    struct sb_content *content; /* for targets of links; NULL where none are shown */
    struct sb_buf folded;       /* of the last test that takes no account of case */
    struct sb_buf line;
    struct json json;
    bool pruned; /* out: nothing below it is wanted */
    bool quit;   /* out: nothing more is wanted at all */
};

typedef bool find_passes(const struct find_node *node, struct find_visit *visit);
typedef bool find_matches(const char *pattern, const char *name, size_t size);

enum find_part { FIND_TEST, FIND_OPEN, FIND_CLOSE, FIND_NOT, FIND_AND, FIND_OR, FIND_COMMA };

/* What a visit must have. */
enum {
    FIND_ROWS = 1 << 0,    /* more than names, and what is a directory */
    FIND_DEPTH = 1 << 1,   /* its depth */
    FIND_CONTENT = 1 << 2, /* its content */
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
            struct find_number units; /* that are begun */
            int64_t unit;             /* bytes */
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

/* Actions, which pass always: print as the options say; the path and NUL; by node.format. */
find_passes find_print, find_print_nul, find_print_format;

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

/* Words of GNU find's expressions: as take_words and word of ui/options.h. */
int find_take_words(struct find_expression *expression, char *const *words);
const char *find_word(size_t i);

/* The long options that are tests: each makes a node of its own, or the one of before says
 * something else. */
bool find_type_option(void *settings, const char *value);
bool find_name_option(void *settings, const char *value);
bool find_path_option(void *settings, const char *value);
bool find_size_option(void *settings, const char *value);
bool find_newer_option(void *settings, const char *value);

/* Adds the test of the filter; false after a message. */
bool find_add_filter(struct find_settings *settings);

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

struct printf_format;

/* NULL for a format that is wrong, after a message about it. option: what it is the value of. */
struct printf_format *printf_format_new(const char *option, const char *text);
void printf_format_free(struct printf_format *format);

/* FIND_ bits. */
unsigned printf_format_needs(const struct printf_format *format);

/* Makes the visit's line. */
void printf_format_apply(const struct printf_format *format, struct find_visit *visit);

#endif
