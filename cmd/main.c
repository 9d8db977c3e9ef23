/*
 * shardbox: one program, many commands. Finds the command by the name the program was called as,
 * or by its first argument, and runs it.
 */
#include "complete.h"
#include "ui/command.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/typed_paths.h"
#include "ui/version.h"

#include "core/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define LINK_PREFIX "shardbox-"

static const char usage[] =
    "usage: shardbox COMMAND [OPTION]... [ARGUMENT]...\n"
    "       shardbox help COMMAND\n"
    "       shardbox --list | --version [--json] | --help | --completions=SHELL\n";

/* words[0] is no command. */
static int complain_of_command(char **words, int count)
{
    struct nearest nearest = {.typed = words[0], .typed_size = strlen(words[0])};
    const char *line = other_words_line(words, count);

    for (size_t i = 0; commands[i]; i++)
        nearest_offer(&nearest, commands[i]->name);
    if (line) {
        message_error("%s: no such command; type: shardbox %s", nearest.typed, line);
        return STATUS_ERROR;
    }
    if (*nearest.typed == '-')
        return message_usage("unrecognized option '%s'", nearest.typed);
    if (nearest.found)
        message_error("%s: no such command; did you mean '%s'?", nearest.typed, nearest.found);
    else
        message_error("%s: no such command; 'shardbox --list' shows them all", nearest.typed);
    return STATUS_ERROR;
}

/* Columns on a terminal, and for --help; a tab between name and summary otherwise. */
static void print_list(bool columns)
{
    for (size_t i = 0; commands[i]; i++)
        output_format(columns ? "  %-15s%s\n" : "%s\t%s\n", commands[i]->name,
                      commands[i]->summary);
}

static int print_help(void)
{
    output_text(usage);
    output_text("\nMillions of small files in a few large ones, with an index in SQLite.\n\n");
    print_list(true);
    output_text("\nWhat only reads an archive reads a tar, a zip, a bag and others as well.\n"
                "'shardbox help COMMAND' shows the options of a command, and shardbox(1) says "
                "more.\n");
    return STATUS_CLEAN;
}

static int complain_of_no_command(void)
{
    message_plain(usage);
    return message_usage("no command given");
}

/* option: what follows --version, or NULL. */
static int print_version(const char *option)
{
    if (!option)
        version_print();
    else if (strcmp(option, "--json") == 0)
        version_print_json();
    else
        return message_usage("--version: '%s' does not go with it, only --json", option);
    return STATUS_CLEAN;
}

static int print_help_of(char **words, int count)
{
    const struct command *command = command_named(words[0], strlen(words[0]));

    if (!command)
        return complain_of_command(words, count);
    options_print_help(command, false);
    return STATUS_CLEAN;
}

static int print_completions(const char *shell)
{
    const char *script = completion_script(shell);

    if (!script)
        return message_usage("--completions: '%s' is none of bash, zsh, fish", shell);
    output_text(script);
    return STATUS_CLEAN;
}

/* argv[1] says what to do. */
static int dispatch(int argc, char **argv)
{
    static const char completions[] = "--completions=";
    const char *word = argv[1];
    const struct command *command = command_named(word, strlen(word));

    if (command)
        return command_run(command, argc - 1, argv + 1);
    if (strcmp(word, "help") == 0 && argc > 2)
        return print_help_of(argv + 2, argc - 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print_help();
    if (strcmp(word, "--list") == 0) {
        print_list(output_is_terminal());
        return STATUS_CLEAN;
    }
    if (strcmp(word, "--version") == 0)
        return print_version(argv[2]);
    if (strcmp(word, "--complete") == 0)
        return complete_line(argc - 2, argv + 2);
    if (strncmp(word, completions, strlen(completions)) == 0)
        return print_completions(word + strlen(completions));
    return complain_of_command(argv + 1, argc - 1);
}

/*
 * A descriptor that we open must not become 0, 1 or 2. The substitute for a closed one refuses
 * writes, so that data for a closed stdout are not lost in silence.
 */
static bool fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc > 0 ? argv[0] : "";
    const struct command *command;
    static struct sb_context context; /* signals come until the very end */

    if (!fill_standard_descriptors())
        return STATUS_ERROR;
    signal(SIGPIPE, SIG_IGN);
    /* Where the caller ignored it, ends of children would not be seen, nor their statuses. */
    signal(SIGCHLD, SIG_DFL);
    sb_context_init(&context);
    context.resolves = typed_paths_note;
    sb_context_enter(&context);
    sb_catch_interrupts(&context);
    message_guard_exit();

    if (slash)
        name = slash + 1;
    if (strncmp(name, LINK_PREFIX, strlen(LINK_PREFIX)) == 0)
        name += strlen(LINK_PREFIX);
    command = command_named(name, strlen(name));
    if (command)
        message_raise(command_run(command, argc, argv));
    else if (argc > 1)
        message_raise(dispatch(argc, argv));
    else
        message_raise(complain_of_no_command());
    message_close_stdout();
    message_leave();
}
