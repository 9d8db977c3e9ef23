/*
 * shardbox: one program, many commands. Finds the command by the name the program was called as,
 * or by its first argument, and runs it.
 */
#include "ui/json.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/schema.h"
#include "core/interrupt.h"
#include "store/container.h"

#include <archive.h>
#include <bson/bson.h>
#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <lz4.h>
#include <lzma.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>
#include <zlib.h>
#include <zstd.h>

#define LINK_PREFIX "shardbox-"

/* clang-format off */
#define COMMANDS(X) \
    X(pack) X(unpack) X(convert) X(sync) X(diff) X(cat) X(ls) X(find) X(du) X(mount) X(umount) \
    X(verify) X(rm) X(mv) X(defrag) X(split) X(merge) X(merge_symlink) X(upgrade) X(protect)
/* clang-format on */

#define DECLARE(name) extern const struct command name##_command;
#define ADDRESS(name) &name##_command,

COMMANDS(DECLARE)

const struct command *const commands[] = {COMMANDS(ADDRESS) NULL};

const struct command *command_named(const char *name, size_t size)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strlen(commands[i]->name) == size && memcmp(commands[i]->name, name, size) == 0)
            return commands[i];
    }
    return NULL;
}

#ifdef STATIC_LIBC
#define LIBC_IS_STATIC true
#else
#define LIBC_IS_STATIC false
#endif

static void version_print(void)
{
    output_format("shardbox %s\n", VERSION);
    output_format("SQLite %s\n", sqlite3_libversion());
    output_format("%s\n", archive_version_string()); /* "libarchive 3.6.2" */
    output_format("zlib %s\n", zlibVersion());
    output_format("zstd %s\n", ZSTD_versionString());
}

static void add_libraries(struct json *line)
{
    char bzip2[16];

    json_open(line, "libraries", '{');
    json_text(line, "sqlite", sqlite3_libversion());
    json_text(line, "libarchive", archive_version_string() + strlen("libarchive "));
    json_text(line, "libbson", bson_get_version());
    json_text(line, "zlib", zlibVersion());
    json_text(line, "zstd", ZSTD_versionString());
    json_text(line, "liblzma", lzma_version_string());
    json_text(line, "lz4", LZ4_versionString());
    snprintf(bzip2, sizeof(bzip2), "%.*s", (int)strcspn(BZ2_bzlibVersion(), ","),
             BZ2_bzlibVersion()); /* "1.0.8, 13-Jul-2019" */
    json_text(line, "bzip2", bzip2);
    json_text(line, "utf8proc", utf8proc_version());
    json_close(line, '}');
}

/* Those of --to=tar.CODEC. */
static void add_codecs(struct json *line)
{
    json_open(line, "codecs", '[');
    for (const char *const *word = to_words; *word; word++) {
        if (strncmp(*word, "tar.", 4) == 0)
            json_text(line, NULL, *word + 4);
    }
    json_close(line, ']');
}

static void add_formats(struct json *line)
{
    static const char *const words[] = {"archive", "dir",  "tar",   "cpio",  "zip",
                                        "bag",     "bagz", "syrah", "cache", NULL};

    json_open(line, "formats", '[');
    for (const char *const *word = words; *word; word++) {
        enum sb_container_kind kind = sb_container_named(*word).kind;

        json_open(line, NULL, '{');
        json_text(line, "name", *word);
        json_flag(line, "reads", sb_container_can(kind) != 0);
        json_flag(line, "writes", sb_container_takes(kind) != 0);
        json_close(line, '}');
    }
    json_close(line, ']');
}

/* An object: version; schema, [major, minor] of the archives that it writes; libc, with glibc and
 * static; libraries, each with its version; codecs; formats, each with name, reads and writes. */
static void version_print_json(void)
{
    struct json line = {0};

    json_begin(&line);
    json_text(&line, "version", VERSION);
    json_open(&line, "schema", '[');
    json_number(&line, NULL, SB_SCHEMA_MAJOR);
    json_number(&line, NULL, SB_SCHEMA_MINOR);
    json_close(&line, ']');
    json_open(&line, "libc", '{');
    json_text(&line, "glibc", gnu_get_libc_version());
    json_flag(&line, "static", LIBC_IS_STATIC);
    json_close(&line, '}');
    add_libraries(&line);
    add_codecs(&line);
    add_formats(&line);
    json_print(&line);
    json_release(&line);
}

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
        return print_completion_script(word + strlen(completions));
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
    else {
        message_plain(usage);
        message_raise(message_usage("no command given"));
    }
    message_close_stdout();
    message_leave();
}
