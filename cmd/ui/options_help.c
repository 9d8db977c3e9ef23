/*
 * --help of a command, made from its table of options.
 */
#include "ui/command.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/buf.h"

#include <string.h>

enum {
    HELP_COLUMN = 28,
    WIDTH = 80,
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

static void print_usage_lines(const struct command *command)
{
    for (size_t i = 0; command->synopsis[i]; i++) {
        const char *form = command->synopsis[i];
        size_t indent = strlen("usage: shardbox ") + strlen(command->name) + 1;

        output_format("%s shardbox %s [OPTION]...", i == 0 ? "usage:" : "      ", command->name);
        print_wrapped(form, strlen(form), indent + strlen("[OPTION]..."), indent);
    }
}

/* Between choices; a blank where the line must be broken among them. */
static const char *choice_separator(const struct option *option)
{
    size_t size = 0;

    for (int i = 0; option->choices && option->choices[i]; i++)
        size += strlen(option->choices[i]) + 1;
    return size + 1 > WIDTH - HELP_COLUMN ? ", " : "|";
}

static enum sb_code describe(const struct option *option, struct sb_buf *left, struct sb_buf *right)
{
    const char *separator = choice_separator(option);
    enum sb_code code;

    if (option->letter)
        code = sb_buf_add_format(left, "  -%c, --%s", option->letter, option->name);
    else
        code = sb_buf_add_format(left, "      --%s", option->name);
    if (!code && option->value)
        code = sb_buf_add_format(left, "%s%s%s", option->implied ? "[=" : "=", option->value,
                                 option->implied ? "]" : "");
    if (!code)
        code = sb_buf_add_text(right, option->help);
    for (int i = 0; !code && option->choices && option->choices[i]; i++)
        code = sb_buf_add_format(right, "%s%s", i == 0 ? ": {" : separator, option->choices[i]);
    if (!code && option->choices)
        code = sb_buf_add_char(right, '}');
    return code;
}

static void print_option(const struct option *option)
{
    struct sb_buf left = {0}, right = {0};
    size_t column;

    if (describe(option, &left, &right) == SB_OK) {
        output_bytes(left.data, left.size);
        column = left.size;
        if (column + 2 > HELP_COLUMN) {
            output_char('\n');
            column = 0;
        }
        pad(column, HELP_COLUMN);
        print_wrapped(right.data, right.size, HELP_COLUMN, HELP_COLUMN);
    } else {
        message_error("out of memory");
    }
    sb_buf_release(&left);
    sb_buf_release(&right);
}

static void print_capitalised(const char *text)
{
    output_char(*text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
    output_text(text + 1);
}

void options_print_help(const struct command *command)
{
    static struct option list[OPTIONS_MAX];
    size_t count = options_list(command, list);

    print_usage_lines(command);
    output_char('\n');
    print_capitalised(command->summary);
    output_text(".\n\n");
    for (size_t i = 0; i < count; i++)
        print_option(&list[i]);
    if (!command->notes)
        return;
    output_char('\n');
    for (const char *line = command->notes; *line;) {
        size_t size = strcspn(line, "\n");

        print_wrapped(line, size, 0, 0);
        line += size + (line[size] == '\n');
    }
}
