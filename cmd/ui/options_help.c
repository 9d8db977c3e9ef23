/*
 * --help and --help-all of a command, made from its table of options.
 */
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "core/buf.h"

#include <string.h>

enum {
    HELP_COLUMN = 28,
    WIDTH = 80,
    FORMS_MAX = 4, /* of the usage, in what fits a screen */
};

static void pad(size_t from, size_t to)
{
    for (; from < to; from++)
        output_char(' ');
}

/* Words of one line of text, from a column on; a line that begins with a space is kept as it is. */
static void print_wrapped(const char *text, size_t size, size_t column, size_t indent)
{
    const char *end = text + size;

    if (*text == ' ' && size > 0) {
        output_bytes(text, size);
        output_char('\n');
        return;
    }
    while (text < end) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        size_t word = space ? (size_t)(space - text) : (size_t)(end - text);

        if (column > indent && column + 1 + word > WIDTH) {
            output_char('\n');
            pad(0, indent);
            column = indent;
        } else if (column > indent) {
            output_char(' ');
            column++;
        }
        output_bytes(text, word);
        column += word;
        text += word + (space != NULL);
    }
    output_char('\n');
}

static void print_usage_lines(const struct command *command, bool all)
{
    size_t indent = strlen("usage: shardbox ") + strlen(command->name) + 1;

    for (size_t i = 0; command->synopsis[i] && (all || i < FORMS_MAX); i++) {
        const char *form = command->synopsis[i];

        output_format("%s shardbox %s [OPTION]...", i == 0 ? "usage:" : "      ", command->name);
        print_wrapped(form, strlen(form), indent + strlen("[OPTION]..."), indent);
    }
}

/* ": {tar, zip}", or ": {tar|zip}" where that need not be broken into lines. */
static enum sb_code describe_choices(const struct option *option, struct sb_buf *text)
{
    const char *separator = "|";
    size_t size = 0;

    for (int i = 0; option->choices[i]; i++)
        size += strlen(option->choices[i]) + 1;
    if (size + 1 > WIDTH - HELP_COLUMN)
        separator = ", ";
    for (int i = 0; option->choices[i]; i++)
        TRY(sb_buf_add_format(text, "%s%s", i == 0 ? ": {" : separator, option->choices[i]));
    return sb_buf_add_char(text, '}');
}

/* Where not all is to be shown, choices are left out that would make another line. */
static enum sb_code describe(const struct option *option, bool all, struct sb_buf *left,
                             struct sb_buf *right)
{
    if (option->letter)
        TRY(sb_buf_add_format(left, "  -%c, --%s", option->letter, option->name));
    else
        TRY(sb_buf_add_format(left, "      --%s", option->name));
    if (option->value)
        TRY(sb_buf_add_format(left, "%s%s%s", option->implied ? "[=" : "=", option->value,
                              option->implied ? "]" : ""));
    TRY(sb_buf_add_text(right, option->help));
    if (option->choices)
        TRY(describe_choices(option, right));
    if (!all && right->size > WIDTH - HELP_COLUMN)
        sb_buf_cut(right, strlen(option->help));
    return SB_OK;
}

static void print_option(const struct option *option, bool all)
{
    struct sb_buf left = {0}, right = {0};
    size_t column, indent = HELP_COLUMN;

    if (describe(option, all, &left, &right) == SB_OK) {
        output_bytes(left.data, left.size);
        column = left.size;
        if (column + 2 > HELP_COLUMN && column + 2 + right.size <= WIDTH) {
            indent = column + 2;
        } else if (column + 2 > HELP_COLUMN) {
            output_char('\n');
            column = 0;
        }
        pad(column, indent);
        print_wrapped(right.data, right.size, indent, indent);
    } else {
        message_error("out of memory");
    }
    sb_buf_release(&left);
    sb_buf_release(&right);
}

static void print_group(const char *group, const struct option *list, size_t count, bool all)
{
    output_format("%s%s:\n", all ? "\n" : "", group);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].group, group) == 0 && (all || !list[i].more))
            print_option(&list[i], all);
    }
}

/* The groups in the order in which they begin. */
static void print_groups(const struct command *command, bool all)
{
    static struct option list[OPTIONS_MAX];
    size_t count = options_list(command, list), j;

    for (size_t i = 0; i < count; i++) {
        if (list[i].more && !all)
            continue;
        for (j = 0; strcmp(list[j].group, list[i].group) != 0 || (list[j].more && !all); j++)
            continue;
        if (i == j)
            print_group(list[i].group, list, count, all);
    }
}

static void print_capitalised(const char *text)
{
    output_char(*text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
    output_text(text + 1);
}

static void print_notes(const char *notes)
{
    for (const char *line = notes; line && *line;) {
        size_t size = strcspn(line, "\n");

        print_wrapped(line, size, 0, 0);
        line += size + (line[size] == '\n');
    }
}

void options_print_help(const struct command *command, bool all)
{
    print_usage_lines(command, all);
    output_char('\n');
    print_capitalised(command->summary);
    output_format(".\n  %s\n  %s\n%s", command->examples[0], command->examples[1], all ? "" : "\n");
    if (command->words_help)
        output_format("%s%s", all ? "\n" : "", command->words_help);
    print_groups(command, all);
    output_char('\n');
    if (all)
        print_notes(command->notes);
    output_format("Exit status: %s.\nMore: ", command->exit_status);
    if (!all)
        output_format("shardbox %s --help-all, ", command->name);
    output_format("man shardbox-%s\n", command->name);
}
