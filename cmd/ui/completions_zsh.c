#include "core/array.h"
#include "ui/completions.h"
#include "ui/output.h"

#include <stdio.h>
#include <string.h>

static const char functions[] =
    "# zsh completion, printed by: shardbox --completions=zsh\n"
    "\n"
    "_shardbox_archives() {\n"
    "    _files -F '*-shard-[0-9][0-9][0-9][0-9][0-9]'\n"
    "}\n"
    "\n"
    "# Names in the container: path, row or array.\n"
    "_shardbox_names() {\n"
    "    local archive=${(Q)line[1]} typed=${(Q)PREFIX} directory= found option value\n"
    "    local -a passed open others\n"
    "\n"
    "    for option in $_shardbox_passed; do\n"
    "        (($+opt_args[$option])) || continue\n"
    "        value=${(Q)opt_args[$option]}\n"
    "        passed+=(\"$option${value:+\"=$value\"}\")\n"
    "    done\n"
    "    archive=${archive/#\\~\\//$HOME/}\n"
    "    [[ $typed == */* ]] && directory=${typed%/*}/\n"
    "    for found in ${(0)\"$($program --complete $passed -- $1 \"$archive\" \"$typed\" "
    "2>/dev/null)\"}; do\n"
    "        found=${found[$#directory + 1,-1]}\n"
    "        case $found in\n"
    "        (*/) open+=(${found%/}) ;;\n"
    "        (?*) others+=($found) ;;\n"
    "        esac\n"
    "    done\n"
    "    compset -P '*/'\n"
    "    compadd -q -S / -a open\n"
    "    compadd -a others\n"
    "}\n"
    "\n";

/* Text within a quoted specification of _arguments, where [, ] and : have a meaning. */
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            output_text("'\\''");
            continue;
        }
        if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            output_char('\\');
        output_char(*text);
    }
}

static void print_action(const char *kind)
{
    static const struct {
        const char *kind, *action;
    } actions[] = {
        {"archive", "_shardbox_archives"},
        /* The space keeps arguments of compadd away. */
        {"path", " _shardbox_names path"},
        {"row", " _shardbox_names row"},
        {"array", " _shardbox_names array"},
        {"file", "_files"},
        {"directory", "_files -/"},
        {"none", "_nothing"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        if (strcmp(actions[i].kind, kind) == 0)
            output_text(actions[i].action);
    }
}

/* The name of the option and what follows it, as a specification of an option that may be repeated.
 */
static void print_option(const struct option *option, const char *dashes_and_name,
                         const char *attached)
{
    output_format(" \\\n            '*%s%s%s[", dashes_and_name, option->value ? attached : "",
                  option->implied ? "-" : "");
    print_escaped(option->help);
    output_char(']');
    if (option->value) {
        output_text(option->implied ? "::" : ":");
        print_escaped(option->value);
        output_char(':');
    }
    if (option->value && option->choices) {
        for (size_t i = 0; option->choices[i]; i++)
            output_format("%c%s", i == 0 ? '(' : ' ', option->choices[i]);
        output_char(')');
    } else if (option->value) {
        print_action(completion_kinds(option->completes).first);
    }
    output_char('\'');
}

static void print_command(const struct command *command)
{
    static struct option list[OPTIONS_MAX];
    size_t count = options_list(command, list);
    struct completion_kinds kinds = completion_kinds(command->operands);
    char name[64];

    output_format("    (%s)\n        _arguments -s -S", command->name);
    for (size_t i = 0; i < count; i++) {
        if (list[i].letter) {
            snprintf(name, sizeof(name), "-%c", list[i].letter);
            print_option(&list[i], name, "+");
        }
        snprintf(name, sizeof(name), "--%s", list[i].name);
        print_option(&list[i], name, "=");
    }
    output_format(" \\\n            '1:%s:", kinds.first);
    print_action(kinds.first);
    output_format("' \\\n            '*:%s:", kinds.others);
    print_action(kinds.others);
    output_text("'\n        ;;\n");
}

static void print_passed(void)
{
    const char *name;

    output_text("    # The options that say how the container is read.\n"
                "    local -a _shardbox_passed=(");
    for (size_t i = 0; (name = completions_passed(i)) != NULL; i++)
        output_format("%s--%s", i > 0 ? " " : "", name);
    output_text(")\n");
}

static void print_names(void)
{
    output_text("    local -a commands=(\n        'help:show the options of a command'\n");
    for (size_t i = 0; commands[i]; i++) {
        output_format("        '%s:", commands[i]->name);
        print_escaped(commands[i]->summary);
        output_text("'\n");
    }
    output_text("    )\n\n");
}

void completions_zsh(void)
{
    output_text("#compdef shardbox");
    for (size_t i = 0; commands[i]; i++)
        output_format(" shardbox-%s", commands[i]->name);
    output_text("\n\n");
    output_text(functions);
    output_text(
        "_shardbox() {\n"
        "    local curcontext=$curcontext program=${${(Q)words[1]}/#\\~\\//$HOME/} command\n"
        "    local -a line\n"
        "    typeset -A opt_args\n");
    print_passed();
    print_names();
    output_text("    if [[ $service == shardbox-* ]]; then\n"
                "        command=${service#shardbox-}\n"
                "        program=${program%-$command}\n"
                "    elif ((CURRENT == 2)); then\n"
                "        _describe -o option '(--help --list --version)'\n"
                "        _describe command commands\n"
                "        return\n"
                "    else\n"
                "        command=$words[2]\n"
                "        shift words\n"
                "        ((CURRENT--))\n"
                "    fi\n\n"
                "    case $command in\n"
                "    (help)\n"
                "        ((CURRENT > 2)) || _describe command commands\n"
                "        ;;\n");
    for (size_t i = 0; commands[i]; i++)
        print_command(commands[i]);
    output_text("    esac\n}\n\n_shardbox \"$@\"\n");
}
