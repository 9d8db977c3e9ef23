/* sb_quote of lib/core/name.h, held against GNU ls and against the shell that reads the result */
#include "check.h"
#include "core/buf.h"
#include "core/name.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 3000

static char *names[NAMES];
static size_t name_count;

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 3;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static void check_quoted(const char *name, enum sb_quoting quoting, const char *wanted)
{
    struct sb_buf out = {0};

    CHECK(sb_quote(&out, name, strlen(name), quoting) == SB_OK);
    CHECK_TEXT(out.data, wanted);
    sb_buf_release(&out);
}

static void raw_names_are_left_alone(void)
{
    struct sb_buf out = {0};

    CHECK(sb_buf_add_text(&out, "before ") == SB_OK);
    CHECK(sb_quote(&out, "\n\xff\0'", 4, SB_RAW) == SB_OK);
    CHECK(out.size == 11 && memcmp(out.data, "before \n\xff\0'", 11) == 0);
    sb_buf_release(&out);
}

static void messages_show_no_control_characters(void)
{
    check_quoted("plain 'name' \xc3\xa9 \\ \"", SB_ESCAPE, "plain 'name' \xc3\xa9 \\ \"");
    check_quoted("a\nb\tc\a\b\f\r\v", SB_ESCAPE, "a\\nb\\tc\\a\\b\\f\\r\\v");
    check_quoted("\033[31m\x7f\x01", SB_ESCAPE, "\\033[31m\\177\\001");
    check_quoted("\xff\xc3(\xe2\x82", SB_ESCAPE, "\\377\\303(\\342\\202");
    check_quoted("\xc2\x9b", SB_ESCAPE, "\\302\\233");
    check_quoted("\xe2\x80\xa8\xe2\x80\xa9", SB_ESCAPE, "\\342\\200\\250\\342\\200\\251");
    check_quoted("\xc2\xa0\xe3\x80\x80", SB_ESCAPE, "\xc2\xa0\xe3\x80\x80");
}

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069; their neighbours are harmless. */
static void bidirectional_controls_are_escaped_everywhere(void)
{
    check_quoted("\xd8\x9c", SB_ESCAPE, "\\330\\234");
    check_quoted("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", SB_ESCAPE,
                 "\xe2\x80\x8d\\342\\200\\216\\342\\200\\217\xe2\x80\x90");
    check_quoted("\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", SB_ESCAPE,
                 "\\342\\200\\252\\342\\200\\256\xe2\x80\xaf");
    check_quoted("\xe2\x81\xa6\xe2\x81\xa9", SB_ESCAPE, "\\342\\201\\246\\342\\201\\251");
    check_quoted("a\xe2\x80\xaegpj.exe", SB_SHELL, "'a'$'\\342\\200\\256''gpj.exe'");
}

static void shell_quotes_only_where_needed(void)
{
    check_quoted("plain-1.2_3+4,5:6@7%8/9", SB_SHELL, "plain-1.2_3+4,5:6@7%8/9");
    check_quoted("caf\xc3\xa9", SB_SHELL, "caf\xc3\xa9");
    check_quoted("", SB_SHELL, "''");
    check_quoted("a b", SB_SHELL, "'a b'");
    check_quoted("a\nb", SB_SHELL, "'a'$'\\n''b'");
    check_quoted("it's", SB_SHELL, "\"it's\"");
    check_quoted("it's $5", SB_SHELL, "'it'\\''s $5'");
    check_quoted("#a", SB_SHELL, "'#a'");
    check_quoted("a#", SB_SHELL, "a#");
    check_quoted("~", SB_SHELL, "'~'");
    check_quoted("a~{}", SB_SHELL, "a~{}");
    check_quoted("{", SB_SHELL, "'{'");
    check_quoted("\xff", SB_SHELL, "''$'\\377'");
    check_quoted("'\n", SB_SHELL, "''\\'''$'\\n'");
}

/* Names of what is special to ls, to shells, or to UTF-8. Bidirectional controls differ by design,
 * and unassigned characters by the age of the C library, so none can come up here. */
static void make_names(void)
{
    static const char *const pieces[] = {
        "'",
        "'",
        "a",
        "b",
        " ",
        " ",
        "#",
        "~",
        "{",
        "}",
        "$",
        "\"",
        "\\",
        "?",
        "*",
        "=",
        "@",
        "%",
        "-",
        "!",
        "&",
        "(",
        ")",
        ";",
        "<",
        ">",
        "[",
        "]",
        "^",
        "`",
        "|",
        "+",
        ",",
        ".",
        ":",
        "_",
        "\n",
        "\t",
        "\001",
        "\033",
        "\a",
        "\r",
        "\x7f",
        "\x80",
        "\xff",
        "\xe2",
        "\xc3\xa9",
        "\xc2\x85",
        "\xe2\x80\xa8",
        "\xe6\x97",
        "\xe6\x97\xa5",
        "\xf0\x9f\x98\x80",
        "\xed\xa0\x80",
    };
    const uint32_t count = sizeof(pieces) / sizeof(pieces[0]);

    while (name_count < NAMES) {
        char name[64];
        char *end = name;

        for (uint32_t left = 1 + random_below(6); left; left--)
            end = stpcpy(end, pieces[random_below(count)]);
        if (sb_name_problem(name, strlen(name)) == NULL)
            names[name_count++] = strdup(name);
    }
}

static void free_names(void)
{
    while (name_count)
        free(names[--name_count]);
}

/* Runs argv in the present directory and gives what it writes to stdout. */
static bool output_of(const char *const *argv, struct sb_buf *out)
{
    int ends[2], status;
    char bytes[4096];
    ssize_t got;
    pid_t pid;

    if (pipe(ends) || (pid = fork()) < 0)
        return false;
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LC_ALL", "C.UTF-8", 1);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], bytes, sizeof(bytes))) > 0) {
        if (sb_buf_add(out, bytes, (size_t)got))
            break;
    }
    close(ends[0]);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/*
 * GNU ls leaves out the $ of a leading escape, or opens quotes that it closed already, in a name
 * with an apostrophe that ends in an escape: no shell reads those back.
 */
static bool ls_gets_it_wrong(const char *name, const struct sb_buf *quoted)
{
    const char *last_quote = memrchr(quoted->data, '\'', quoted->size - 1);

    return strchr(name, '\'') && last_quote && last_quote[-1] == '$';
}

static void compare_lines(char *listing)
{
    struct sb_buf quoted = {0};
    size_t compared = 0;
    char *line, *rest = listing;

    for (size_t i = 0; i < name_count; i++) {
        line = strsep(&rest, "\n");
        sb_buf_clear(&quoted);
        CHECK(sb_quote(&quoted, names[i], strlen(names[i]), SB_SHELL) == SB_OK);
        if (ls_gets_it_wrong(names[i], &quoted))
            continue;
        compared++;
        if (!CHECK_TEXT(quoted.data, line))
            break;
    }
    CHECK(compared > NAMES * 9 / 10);
    sb_buf_release(&quoted);
}

static void shell_quoting_is_that_of_gnu_ls(void)
{
    static const char *argv[NAMES + 5] = {"ls", "-1U", "--quoting-style=shell-escape", "--"};
    char directory[] = "/tmp/shardbox-quote-XXXXXX";
    struct sb_buf listing = {0};

    if (!CHECK(mkdtemp(directory) && chdir(directory) == 0))
        return;
    for (size_t i = 0; i < name_count; i++) {
        int fd = open(names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        CHECK(fd >= 0);
        close(fd);
        argv[i + 4] = names[i];
    }
    if (CHECK(output_of(argv, &listing)))
        compare_lines(listing.data);
    sb_buf_release(&listing);
    for (size_t i = 0; i < name_count; i++)
        unlink(names[i]);
    CHECK(chdir("/") == 0 && rmdir(directory) == 0);
}

static void shells_read_back_what_was_quoted(void)
{
    const char *argv[] = {"bash", "-c", NULL, NULL};
    struct sb_buf script = {0}, wanted = {0}, got = {0};

    CHECK(sb_buf_add_text(&script, "printf '%s\\n'") == SB_OK);
    for (size_t i = 0; i < name_count; i++) {
        CHECK(sb_buf_add_char(&script, ' ') == SB_OK);
        CHECK(sb_quote(&script, names[i], strlen(names[i]), SB_SHELL) == SB_OK);
        CHECK(sb_buf_add_format(&wanted, "%s\n", names[i]) == SB_OK);
    }
    argv[2] = script.data;
    CHECK(output_of(argv, &got));
    if (CHECK(got.size > 0 && got.size == wanted.size))
        CHECK(memcmp(got.data, wanted.data, got.size) == 0);
    sb_buf_release(&script);
    sb_buf_release(&wanted);
    sb_buf_release(&got);
}

int main(void)
{
    make_names();
    RUN(raw_names_are_left_alone);
    RUN(messages_show_no_control_characters);
    RUN(bidirectional_controls_are_escaped_everywhere);
    RUN(shell_quotes_only_where_needed);
    RUN(shell_quoting_is_that_of_gnu_ls);
    RUN(shells_read_back_what_was_quoted);
    free_names();
    return check_end();
}
