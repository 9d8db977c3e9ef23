#include "ui/message.h"
#include "ui/json.h"
#include "ui/output.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define STATUS_PIPE       141 /* what a shell makes of a death by SIGPIPE */
#define CLEAR_LINE        "\r\033[K"
#define PROGRESS_INTERVAL 250000000 /* nanoseconds */
#define LINES_OF_KIND     10
#define KINDS_MOST        64   /* of more, every line is printed */
#define PATHS_MOST        4096 /* more than that are shown as absolute */

static const char *command_name;
static bool is_quiet;
static bool is_verbose;
static int status = STATUS_CLEAN;
static bool interrupt_is_said;

/* Lines that are alike but for their subject. */
static struct {
    char word[32];
    int64_t printed, left_out;
} kinds[KINDS_MOST];
static size_t kind_count;
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    int when;
    bool decided; /* the next two are known */
    bool shown;
    bool terminal;
    atomic_bool line_shown; /* on the terminal, without a newline */
    int64_t began;          /* nanoseconds of the monotonic clock; 0: not yet */
    int64_t last;
    int64_t done;
    int64_t total;
    int64_t files;
    const char *counted; /* NULL: files */
} progress;

struct typed_path {
    char *typed, *absolute;
    size_t size; /* of absolute */
};

static pthread_mutex_t paths_lock = PTHREAD_MUTEX_INITIALIZER;
static struct typed_path *paths;
static size_t path_count, path_capacity;

static bool is_known(const char *absolute)
{
    for (size_t i = 0; i < path_count; i++) {
        if (strcmp(paths[i].absolute, absolute) == 0)
            return true;
    }
    return false;
}

static void add_path(const char *typed, const char *absolute)
{
    struct typed_path path = {.size = strlen(absolute)};

    if (IGNORED(sb_grow(&paths, &path_capacity, path_count, sizeof(path))))
        return;
    path.typed = strdup(typed);
    path.absolute = strdup(absolute);
    if (path.typed && path.absolute) {
        paths[path_count++] = path;
        return;
    }
    free(path.typed);
    free(path.absolute);
}

/* What begins with the path is shown with the typed one before it: it must be as true of that. */
void typed_paths_note(const char *typed, const char *absolute)
{
    bool is_pipe = strcmp(typed, "standard input") == 0;

    if (!*typed || (!is_pipe && strcmp(sb_base_name(typed), sb_base_name(absolute)) != 0))
        return;
    pthread_mutex_lock(&paths_lock);
    if (path_count < PATHS_MOST && !is_known(absolute))
        add_path(typed, absolute);
    pthread_mutex_unlock(&paths_lock);
}

/* The longest of them with which the text begins; NULL: none. */
static const struct typed_path *find_path(const char *text)
{
    const struct typed_path *found = NULL;

    for (size_t i = 0; i < path_count; i++) {
        if (strncmp(text, paths[i].absolute, paths[i].size) == 0 &&
            (!found || paths[i].size > found->size))
            found = &paths[i];
    }
    return found;
}

/* Appends a text, and the paths in it as they were typed. */
static enum sb_code typed_paths_put(struct sb_buf *out, const char *text)
{
    enum sb_code code = SB_OK;
    char before = ' ';

    pthread_mutex_lock(&paths_lock);
    while (!code && *text) {
        bool may_begin = *text == '/' && (before == ' ' || before == '\'' || before == '(');
        const struct typed_path *path = may_begin ? find_path(text) : NULL;

        before = *text;
        code = path ? sb_buf_add_text(out, path->typed) : sb_buf_add_char(out, *text);
        text += path ? path->size : 1;
    }
    pthread_mutex_unlock(&paths_lock);
    return code;
}

static struct {
    int status; /* 0: there is none */
    const char *word;
    char text[1024];
} noted;

/* The manual, shardbox-reports(7), has each of them. */
static const struct {
    int number;
    const char *word;
} system_words[] = {
    {ENOENT, "missing"},       {ENOTDIR, "missing"},     {ENOSPC, "no-space"},
    {EDQUOT, "no-space"},      {EFBIG, "limit"},         {EACCES, "permission"},
    {EPERM, "permission"},     {EROFS, "read-only"},     {EIO, "unreadable"},
    {EREMOTEIO, "unreadable"}, {ESTALE, "unreadable"},   {ETIMEDOUT, "unreadable"},
    {ENXIO, "unreadable"},     {ENODEV, "unreadable"},   {ENOTCONN, "unreadable"},
    {EMFILE, "no-resources"},  {ENFILE, "no-resources"}, {EAGAIN, "no-resources"},
    {EBUSY, "locked"},         {ETXTBSY, "locked"},      {ENOLCK, "no-locks"},
};

static const char *const code_words[] = {
    [SB_OK] = "error",
    [SB_END] = "error",
    [SB_NOMEM] = "no-memory",
    [SB_SYSTEM] = "system",
    [SB_NOENT] = "missing",
    [SB_EXISTS] = "exists",
    [SB_FORMAT] = "format",
    [SB_DAMAGED] = "damaged",
    [SB_LOCKED] = "locked",
    [SB_INVALID] = "invalid",
    [SB_LIMIT] = "limit",
    [SB_CHANGED] = "changed",
    [SB_INTERRUPT] = "interrupted",
};

/* The word for an error, from its code and errno: these do not change. */
static const char *failure_word(const struct sb_error *err)
{
    for (size_t i = 0; err->code == SB_SYSTEM && i < ARRAY_SIZE(system_words); i++) {
        if (system_words[i].number == err->sys_errno)
            return system_words[i].word;
    }
    return code_words[err->code];
}

/* Of several the first one with the highest status is kept. */
static void failure_note(const char *word, const char *text, int new_status)
{
    if (new_status <= noted.status)
        return;
    noted.status = new_status;
    noted.word = word;
    snprintf(noted.text, sizeof(noted.text), "%s", text);
}

static void add_failure(struct json *line, const char *word, const char *text)
{
    struct sb_buf typed = {0};

    json_text(line, "failure", word);
    json_escaped(line, "text", typed_paths_put(&typed, text) ? text : typed.data);
    sb_buf_release(&typed);
}

void failure_json(struct json *line, const struct sb_error *err)
{
    add_failure(line, failure_word(err), err->text);
}

void failure_print(void)
{
    struct json line = {0};

    if (noted.status == 0)
        return;
    json_begin(&line);
    add_failure(&line, noted.word, noted.text);
    json_print(&line);
    json_release(&line);
}

void message_command(const char *name)
{
    command_name = name;
}

void message_quiet(bool quiet)
{
    is_quiet = quiet;
}

void message_verbose(bool verbose)
{
    is_verbose = verbose;
}

bool message_is_verbose(void)
{
    return is_verbose;
}

int message_status(void)
{
    return status;
}

void message_raise(int new_status)
{
    if (new_status > status)
        status = new_status;
}

/* One write, so that lines of several processes do not mix. There is nowhere to report failure. */
static void write_line(const char *line, size_t size)
{
    unsigned tries = 0;

    while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR && sb_may_try_again(&tries))
        ;
}

SB_PRINTF(2, 0) static enum sb_code compose(struct sb_buf *line, const char *format, va_list args)
{
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    struct sb_buf typed = {0};
    enum sb_code code = length < 0 ? SB_NOMEM : typed_paths_put(&typed, text);

    if (!code && progress.line_shown)
        code = sb_buf_add_text(line, CLEAR_LINE);
    if (!code && command_name)
        code = sb_buf_add_format(line, "shardbox %s: ", command_name);
    else if (!code)
        code = sb_buf_add_text(line, "shardbox: ");
    if (!code)
        code = sb_quote(line, typed.data, typed.size, SB_ESCAPE);
    if (!code)
        code = sb_buf_add_char(line, '\n');
    sb_buf_release(&typed);
    if (length >= 0)
        free(text);
    return code;
}

/* Without memory to compose it in, a message is cut, and anything but ASCII is masked. */
SB_PRINTF(1, 0) static void say_without_memory(const char *format, va_list args)
{
    char line[512];
    size_t prefix = (size_t)snprintf(line, sizeof(line), "shardbox%s%s: ", command_name ? " " : "",
                                     command_name ? command_name : "");
    size_t size;

    vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, args);
    size = strlen(line);
    for (size_t i = 0; i < size; i++) {
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
    }
    line[size++] = '\n';
    write_line(line, size);
}

SB_PRINTF(1, 0) static void say(const char *format, va_list args)
{
    struct sb_buf line = {0};
    va_list again;

    va_copy(again, args);
    if (compose(&line, format, args))
        say_without_memory(format, again);
    else
        write_line(line.data, line.size);
    va_end(again);
    progress.line_shown = false;
    sb_buf_release(&line);
}

/* With the arguments of the function that it is in. */
#define SAY(format)                                                                                \
    do {                                                                                           \
        va_list args_;                                                                             \
        va_start(args_, format);                                                                   \
        say(format, args_);                                                                        \
        va_end(args_);                                                                             \
    } while (0)

SB_PRINTF(1, 2) static void say_text(const char *format, ...)
{
    SAY(format);
}

bool message_another(const char *kind, int most)
{
    size_t i = 0;
    bool prints = true;

    if (is_verbose)
        return true;
    pthread_mutex_lock(&kinds_lock);
    while (i < kind_count && strncmp(kinds[i].word, kind, sizeof(kinds[i].word) - 1) != 0)
        i++;
    if (i == kind_count && i < KINDS_MOST)
        memccpy(kinds[kind_count++].word, kind, '\0', sizeof(kinds[i].word) - 1);
    if (i < kind_count) {
        prints = kinds[i].printed < (most < 0 ? LINES_OF_KIND : most);
        kinds[i].printed += prints;
        kinds[i].left_out += !prints;
    }
    pthread_mutex_unlock(&kinds_lock);
    return prints;
}

/* How many lines were left out; the last line, which sums up, comes after these. */
static void count_left_out(void)
{
    pthread_mutex_lock(&kinds_lock);
    for (size_t i = 0; i < kind_count; i++) {
        if (kinds[i].left_out > 0)
            say_text("%" PRId64 "%s of the kind '%s'; -v shows %s", kinds[i].left_out,
                     kinds[i].printed > 0 ? " more" : "", kinds[i].word,
                     kinds[i].printed > 0 ? "them all" : "them");
        kinds[i].left_out = 0;
    }
    pthread_mutex_unlock(&kinds_lock);
}

void message_error(const char *format, ...)
{
    char text[1024];
    va_list args, again;

    count_left_out();
    va_start(args, format);
    va_copy(again, args);
    say(format, args);
    vsnprintf(text, sizeof(text), format, again);
    va_end(again);
    va_end(args);
    failure_note("error", text, STATUS_ERROR);
    message_raise(STATUS_ERROR);
}

void message_problem(const char *format, ...)
{
    count_left_out();
    SAY(format);
    message_raise(STATUS_PARTIAL);
}

void message_warning(const char *format, ...)
{
    if (!is_quiet)
        SAY(format);
}

void message_note(const char *format, ...)
{
    if (is_verbose)
        SAY(format);
}

int message_usage(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    failure_note("usage", text, STATUS_ERROR);
    if (command_name)
        message_error("%s; try 'shardbox %s --help'", text, command_name);
    else
        message_error("%s; try 'shardbox --help'", text);
    return STATUS_ERROR;
}

void message_plain(const char *text)
{
    write_line(text, strlen(text));
}

int message_failure(void)
{
    const struct sb_error *error = sb_error();
    bool is_damage = error->code == SB_DAMAGED || error->code == SB_CHANGED;

    if (error->code == SB_SYSTEM && error->sys_errno == EPIPE) {
        message_raise(STATUS_PIPE);
        return status;
    }
    failure_note(failure_word(error), error->text, is_damage ? STATUS_PARTIAL : STATUS_ERROR);
    if (error->code == SB_INTERRUPT) {
        /* The work and then its output may both end because of one signal: print this once. */
        if (!interrupt_is_said)
            message_error("interrupted");
        interrupt_is_said = true;
    } else if (is_damage) {
        message_problem("%s", error->text);
    } else {
        message_error("%s", error->text);
    }
    return status;
}

static void notify(void *context, enum sb_level level, const char *kind, const char *subject,
                   const char *text)
{
    const char *before = !subject ? "" : *subject ? subject : "''";
    const char *colon = subject ? ": " : "";

    (void)context;
    /* These are the output of a dry run. */
    if (subject && strncmp(kind, "would-", strlen("would-")) == 0) {
        if (!*subject)
            subject = "."; /* the root */
        output_line(subject, strlen(subject), false);
        return;
    }
    switch (level) {
    case SB_NOTE:
        message_note("%s%s%s", before, colon, text);
        break;
    case SB_WARNING:
    case SB_LOSS:
        if (!is_quiet && message_another(kind, -1))
            say_text("%s%s%s", before, colon, text);
        break;
    case SB_PROBLEM:
        message_raise(STATUS_PARTIAL);
        if (message_another(kind, -1))
            say_text("%s%s%s", before, colon, text);
        break;
    }
}

const struct sb_notify message_notify = {.call = notify};

void message_progress(int when)
{
    progress.when = when;
    progress.decided = false;
}

static bool progress_is_shown(void)
{
    if (!progress.decided) {
        progress.decided = true;
        progress.terminal = isatty(STDERR_FILENO);
        progress.shown = progress.when == PROGRESS_ON ||
                         (progress.when == PROGRESS_AUTO && progress.terminal && !is_quiet);
    }
    return progress.shown;
}

/* A line as wide as the terminal would wrap, and could not be cleared. The names are ASCII. */
static size_t cut_to_terminal(size_t used)
{
    size_t most = strlen(CLEAR_LINE);
    struct winsize window;

    if (!progress.terminal || ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col == 0)
        return used;
    most += window.ws_col - 1U;
    return used < most ? used : most;
}

/* "DONE of TOTAL, PERCENT%, FILES files, RATE/s, M:SS left", without unknown parts. */
static void show_progress(int64_t time)
{
    char line[256], done[SB_HUMAN_SIZE], total[SB_HUMAN_SIZE], rate[SB_HUMAN_SIZE];
    double seconds = (double)(time - progress.began) / 1e9;
    double per_second = (double)progress.done / (seconds > 1e-3 ? seconds : 1e-3);
    size_t size = sizeof(line);
    size_t used;

    sb_format_human(progress.done, done);
    sb_format_human(progress.total, total);
    sb_format_human((int64_t)per_second, rate);
    used = (size_t)snprintf(line, size, "%sshardbox %s: %s", progress.terminal ? CLEAR_LINE : "",
                            command_name, done);
    if (progress.total > 0)
        used += (size_t)snprintf(line + used, size - used, " of %s, %.0f%%", total,
                                 100.0 * (double)progress.done / (double)progress.total);
    if (progress.files > 0)
        used += (size_t)snprintf(line + used, size - used, ", %" PRId64 " %s", progress.files,
                                 progress.counted ? progress.counted : "files");
    used += (size_t)snprintf(line + used, size - used, ", %s/s", rate);
    if (progress.total > 0 && per_second > 0) {
        double left = (double)(progress.total - progress.done) / per_second;
        int64_t whole = left > 0 ? (int64_t)left : 0;

        used += (size_t)snprintf(line + used, size - used, ", %" PRId64 ":%02d left", whole / 60,
                                 (int)(whole % 60));
    }
    used = cut_to_terminal(used);
    if (!progress.terminal)
        line[used++] = '\n';
    write_line(line, used);
    progress.line_shown = progress.terminal;
}

void message_progress_update(int64_t done, int64_t total, int64_t files)
{
    int64_t time;

    if (!progress_is_shown())
        return;
    progress.done = done;
    progress.total = total;
    progress.files = files;
    time = sb_clock_ns();
    if (progress.began == 0) {
        progress.began = time;
        progress.last = time;
    }
    if (time - progress.last < PROGRESS_INTERVAL)
        return;
    progress.last = time;
    show_progress(time);
}

void message_progress_call(void *context, int64_t done, int64_t total, int64_t files)
{
    (void)context;
    message_progress_update(done, total, files);
}

void message_progress_counts(const char *what)
{
    progress.counted = what;
}

void message_progress_hide(void)
{
    if (progress.line_shown)
        write_line(CLEAR_LINE, strlen(CLEAR_LINE));
    progress.line_shown = false;
}

void message_progress_end(void)
{
    if (progress.began == 0)
        return;
    if (!progress.terminal)
        show_progress(sb_clock_ns());
    message_progress_hide();
    progress.began = 0;
}

void message_close_stdout(void)
{
    output_flush();
    output_check(fflush(stdout) == 0 ? 0 : errno);
    /* A network file system reports a full disk when a file is closed; stdout itself stays open. */
    output_check(close(dup(STDOUT_FILENO)) == 0 ? 0 : errno);
}

static bool leaving;

static void end_as_error(void)
{
    if (!leaving)
        _exit(STATUS_ERROR);
}

void message_guard_exit(void)
{
    atexit(end_as_error);
}

void message_leave(void)
{
    int caught = sb_interrupt_signal();

    message_progress_end();
    count_left_out();
    if (caught) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
    leaving = true;
    exit(status);
}
