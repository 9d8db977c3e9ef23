#include "ui/completions.h"
#include "ui/output.h"

#include <string.h>

static const char functions[] =
    "# The command and then the operands before the cursor, a line each.\n"
    "function __shardbox_words\n"
    "    set -l words\n"
    "    set -l wanted\n"
    "    set -l ended\n"
    "    for word in (commandline -opc)[2..]\n"
    "        if test -n \"$wanted\"\n"
    "            set wanted\n"
    "        else if test -n \"$ended\"; or not string match -q -- '-?*' $word\n"
    "            set -a words $word\n"
    "        else if test \"$word\" = --\n"
    "            set ended 1\n"
    "        else if __shardbox_takes_value $words[1] (string replace -r -- '^-[^-]*([^-])$' '-$1' "
    "$word)\n"
    "            set wanted 1\n"
    "        end\n"
    "    end\n"
    "    set -q words[1]; and printf '%s\\n' $words\n"
    "end\n"
    "\n"
    "function __shardbox_is\n"
    "    set -l words (__shardbox_words)\n"
    "    test \"$words[1]\" = $argv[1]\n"
    "end\n"
    "\n"
    "function __shardbox_files\n"
    "    __fish_complete_path (commandline -ct) | string match -v -r -- '-shard-\\d{5}(\\t|$)'\n"
    "end\n"
    "\n"
    "# Names in the container: path, row or array.\n"
    "function __shardbox_names\n"
    "    set -l program (commandline -opc)[1]\n"
    "    set -l archive (string replace -r -- '^~/' $HOME/ $argv[2])\n"
    "    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '' | string unescape)\n"
    "    $program --complete (__shardbox_passed) -- $argv[1] \"$archive\" \"$typed\" 2>/dev/null "
    "|\n"
    "        string split0\n"
    "end\n"
    "\n"
    "function __shardbox_operands\n"
    "    set -l words (__shardbox_words)\n"
    "    set -l kind\n"
    "    switch (count $words)\n"
    "        case 0\n"
    "            set kind command\n"
    "        case 1\n"
    "            set kind (__shardbox_kinds $words[1])[1]\n"
    "        case '*'\n"
    "            set kind (__shardbox_kinds $words[1])[2]\n"
    "    end\n"
    "    switch \"$kind\"\n"
    "        case command\n"
    "            __shardbox_commands\n"
    "        case archive file\n"
    "            __shardbox_files\n"
    "        case directory\n"
    "            __fish_complete_directories (commandline -ct)\n"
    "        case path row\n"
    "            __shardbox_names $kind $words[2]\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c shardbox -f -a '(__shardbox_operands)'\n";

/* Within single quotes. */
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            output_char('\\');
        output_char(*text);
    }
}

static void print_commands(void)
{
    output_text("function __shardbox_commands\n"
                "    printf '%s\\t%s\\n' help 'show the options of a command'");
    for (size_t i = 0; commands[i]; i++) {
        output_format(" \\\n        %s '", commands[i]->name);
        print_escaped(commands[i]->summary);
        output_char('\'');
    }
    output_text("\nend\n\n");
}

static void print_kinds(void)
{
    output_text("# What the first operand of a command is, and the others.\n"
                "function __shardbox_kinds\n    switch $argv[1]\n");
    for (size_t i = 0; commands[i]; i++) {
        struct completion_kinds kinds = completion_kinds(commands[i]->operands);

        output_format("        case %s\n            printf '%%s\\n' %s %s\n", commands[i]->name,
                      kinds.first, kinds.others);
    }
    output_text("        case help\n            printf '%s\\n' command none\n"
                "    end\nend\n\n");
}

static void print_values(void)
{
    static struct option list[OPTIONS_MAX];

    output_text("function __shardbox_takes_value\n    switch \"$argv[1]:$argv[2]\"\n");
    for (size_t i = 0; commands[i]; i++) {
        size_t count = options_list(commands[i], list);
        const char *name = commands[i]->name;

        output_text("        case");
        for (size_t j = 0; j < count; j++) {
            if (!list[j].value || list[j].implied)
                continue;
            if (list[j].letter)
                output_format(" %s:-%c", name, list[j].letter);
            output_format(" %s:--%s", name, list[j].name);
        }
        output_text("\n            return 0\n");
    }
    output_text("    end\n    return 1\nend\n\n");
}

static void print_passed(void)
{
    const char *name;

    output_text("# The options before the cursor that say how the container is read.\n"
                "function __shardbox_passed\n"
                "    set -l words (commandline -opc)\n"
                "    set -l options");
    for (size_t i = 0; (name = completions_passed(i)) != NULL; i++)
        output_format(" --%s", name);
    output_text(
        "\n"
        "    for i in (seq 2 (count $words))\n"
        "        contains -- (string replace -r '=.*' '' -- $words[$i]) $options; or continue\n"
        "        printf '%s\\n' $words[$i]\n"
        "        __shardbox_takes_value cat $words[$i]; and printf '%s\\n' $words[(math $i + 1)]\n"
        "    end\n"
        "end\n\n");
}

static void print_value(const struct option *option)
{
    const char *kind = completion_kinds(option->completes).first;

    if (option->choices) {
        output_text(option->implied ? " -f -a '" : " -x -a '");
        for (size_t i = 0; option->choices[i]; i++)
            output_format("%s%s", i > 0 ? " " : "", option->choices[i]);
        output_char('\'');
    } else if (strcmp(kind, "file") == 0 || strcmp(kind, "archive") == 0) {
        output_text(" -r -F");
    } else if (strcmp(kind, "directory") == 0) {
        output_text(" -x -a '(__fish_complete_directories (commandline -ct))'");
    } else if (strcmp(kind, "array") == 0) {
        output_text(" -x -a '(__shardbox_names array (__shardbox_words)[2])'");
    } else {
        output_text(" -x");
    }
}

static void print_options(const struct command *command)
{
    static struct option list[OPTIONS_MAX];
    size_t count = options_list(command, list);

    output_char('\n');
    for (size_t i = 0; i < count; i++) {
        output_format("complete -c shardbox -n '__shardbox_is %s'", command->name);
        if (list[i].letter)
            output_format(" -s %c", list[i].letter);
        output_format(" -l %s", list[i].name);
        if (list[i].value)
            print_value(&list[i]);
        output_text(" -d '");
        print_escaped(list[i].help);
        output_text("'\n");
    }
}

void completions_fish(void)
{
    output_text("# fish completion for shardbox, printed by: shardbox --completions=fish\n\n");
    print_commands();
    print_kinds();
    print_values();
    print_passed();
    output_text(functions);
    for (size_t i = 0; commands[i]; i++)
        print_options(commands[i]);
    output_char('\n');
    for (size_t i = 0; commands[i]; i++)
        output_format("complete -c shardbox-%s -w 'shardbox %s'\n", commands[i]->name,
                      commands[i]->name);
}
