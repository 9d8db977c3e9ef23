/*
 * Completion in shells: the scripts for them, and what these need to know while somebody types.
 */
#include "open/opening.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "core/buf.h"
#include "core/context.h"
#include "core/number.h"
#include "store/bag/record_names.h"
#include "store/table.h"
#include "task/complete/complete.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NAMES_MOST 1000
#define WORK_US    120000 /* of processor time */
#define WAIT_S     1      /* in all, where others keep the machine or the disk busy */

struct settings {
    struct opening opening;
    const char *keys;
    bool samples;
};

/* The options of a line that say how its container is read. */
static const struct option options[] = {
    OPTION_TEXT(0, "keys", struct settings, keys, "BAG", "records are found by the names in BAG",
                OPERAND_FILE),
    OPTION_FLAG(0, "samples", struct settings, samples, "rows are samples"),
    OPTIONS_INPUT,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

static struct sb_context *impatient;

static void stop(int number)
{
    (void)number;
    atomic_store(&impatient->cancelled, SIGALRM);
}

static void set_alarms(void)
{
    const struct itimerval work = {.it_value = {.tv_usec = WORK_US}};
    const struct itimerval wait = {.it_value = {.tv_sec = WAIT_S}};
    const struct sigaction action = {.sa_handler = stop};

    impatient = sb_context_now;
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_PROF, &work, NULL);
    setitimer(ITIMER_REAL, &wait, NULL);
}

/* What was found in time counts. */
static enum sb_code forgive_alarm(enum sb_code code)
{
    const struct itimerval never = {0};
    int alarm = SIGALRM;
    bool late;

    setitimer(ITIMER_PROF, &never, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    late = atomic_compare_exchange_strong(&impatient->cancelled, &alarm, 0);
    return late && code == SB_INTERRUPT ? SB_OK : code;
}

static enum sb_code add(void *context, const char *name, size_t size)
{
    struct sb_buf *found = context;

    TRY(sb_buf_add(found, name, size));
    TRY(sb_buf_add_char(found, '\0'));
    return SB_OK;
}

static enum sb_code complete_table(const struct settings *settings, struct sb_store *store,
                                   bool columns, const struct sb_complete_options *how)
{
    struct sb_table *table;
    enum sb_code code = open_table(store, &table, settings->samples, &settings->opening);

    if (!code && settings->keys)
        code = sb_record_names_by_keys(&table->names, settings->keys, NULL, NULL);
    if (!code)
        code = columns ? sb_complete_columns(table, how) : sb_complete_rows(table, how);
    if (table)
        sb_record_names_free(table->names);
    sb_table_free(table);
    return code;
}

static enum sb_code complete(const struct settings *settings, const char *what,
                             struct sb_store *store, const struct sb_complete_options *how)
{
    bool rows = settings->samples || sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS);

    if (sb_store_is_compressed(store) || sb_store_is_stream(store) ||
        sb_store_can(store, SB_CAN_WALK))
        return SB_OK;
    if (strcmp(what, "path") != 0 && rows)
        return complete_table(settings, store, strcmp(what, "array") == 0, how);
    return strcmp(what, "array") != 0 ? sb_complete_members(store, how) : SB_OK;
}

/* operands: path, row or array, the container, and what was typed. A shell waits meanwhile, so that
 * what is not found soon is left out. */
static int run(void *context, char **operands, int count)
{
    const struct settings *settings = context;
    struct sb_buf found = {0};
    struct sb_complete_options how = {
        .limit = NAMES_MOST, .typed = operands[2], .each = add, .context = &found};
    struct sb_store *store = NULL;
    enum sb_code code = SB_OK;

    (void)count;
    set_alarms();
    if (sb_store_abilities(operands[1], settings->opening.from))
        code = open_store_with(&store, operands[1], &settings->opening, NULL);
    if (!code && store)
        code = complete(settings, operands[0], store, &how);
    sb_store_free(store);
    code = forgive_alarm(code);
    if (code)
        message_failure();
    else
        output_bytes(found.data, found.size);
    sb_buf_release(&found);
    return message_status();
}

static const struct command complete_names = {
    .name = "complete", .options = options, .settings_size = sizeof(struct settings), .run = run};

/* What the words of a line say. */
struct line {
    const struct command *command;
    struct option options[OPTIONS_MAX];
    size_t count;
    const struct option *wanted; /* the next word is its value; NULL: none is */
    bool ended;                  /* after "--" */
    size_t operands;
    const char *container; /* the first of them; NULL: none yet */
    const char **passed;   /* arguments of complete_names */
    size_t passed_count;
};

static const struct option *find_named(const struct line *line, const char *name, size_t size)
{
    for (const struct option *at = line->options; at < line->options + line->count; at++) {
        if (strlen(at->name) == size && memcmp(at->name, name, size) == 0)
            return at;
    }
    return NULL;
}

/* In a word of letters: the first option that has a value, and the place of its letter. */
static const struct option *find_valued(const struct line *line, const char *word, size_t *place)
{
    for (*place = 1; word[*place]; ++*place) {
        for (size_t i = 0; i < line->count; i++) {
            if (line->options[i].letter == word[*place] && line->options[i].value)
                return &line->options[i];
        }
    }
    return NULL;
}

static void pass(struct line *line, const struct option *option, const char *word)
{
    for (const struct option *at = options; at->kind; at++) {
        if (at->kind != OPTION_KIND_GROUP && strcmp(at->name, option->name) == 0)
            line->passed[line->passed_count++] = word;
    }
}

static void take_word(struct line *line, char *word)
{
    const struct option *option;
    size_t size;

    if (line->wanted) {
        pass(line, line->wanted, word);
        line->wanted = NULL;
    } else if (line->ended || word[0] != '-' || !word[1]) {
        if (line->operands++ == 0)
            line->container = word;
    } else if (strcmp(word, "--") == 0) {
        line->ended = true;
    } else if (word[1] != '-') {
        option = find_valued(line, word, &size);
        line->wanted = option && !option->implied && !word[size + 1] ? option : NULL;
    } else {
        size = strcspn(word, "=");
        option = find_named(line, word + 2, size - 2);
        if (option)
            pass(line, option, word);
        line->wanted = option && option->value && !option->implied && !word[size] ? option : NULL;
    }
}

/* The option whose value is typed, NULL if none is; *lead: how much of the word precedes that. */
static const struct option *find_typed(const struct line *line, const char *typed, size_t *lead)
{
    const struct option *option;

    *lead = 0;
    if (line->wanted || line->ended || typed[0] != '-')
        return line->wanted;
    if (typed[1] == '-') {
        size_t size = strcspn(typed, "=");

        option = typed[size] ? find_named(line, typed + 2, size - 2) : NULL;
        *lead = option ? size + 1 : 0;
        return option && option->value ? option : NULL;
    }
    option = find_valued(line, typed, lead);
    *lead = option && typed[*lead + 1] ? *lead + 1 : 0;
    return *lead ? option : NULL;
}

static void begin_answer(const char *kind, const char *typed, size_t lead)
{
    output_bytes(kind, strlen(kind) + 1);
    output_bytes(typed, lead);
    output_char('\0');
}

/* Of "help", or with what may be typed instead of a command. */
static int offer_commands(bool first)
{
    begin_answer("words", "", 0);
    output_format("help\tshow the options of a command%c", '\0');
    for (size_t i = 0; commands[i]; i++)
        output_format("%s\t%s%c", commands[i]->name, commands[i]->summary, '\0');
    if (first)
        output_format("--help%c--list%c--version%c", '\0', '\0', '\0');
    return STATUS_CLEAN;
}

/* "-T", "--files-from=", and words of take_words that begin as options do. */
static int offer_options(const struct line *line)
{
    const char *word;

    begin_answer("words", "", 0);
    for (const struct option *at = line->options; at < line->options + line->count; at++) {
        if (at->letter)
            output_format("-%c\t%s%c", at->letter, at->help, '\0');
        output_format("--%s%s\t%s%c", at->name, at->value && !at->implied ? "=" : "", at->help,
                      '\0');
    }
    for (size_t i = 0; line->command->word && (word = line->command->word(i)) != NULL; i++) {
        if (word[0] == '-')
            output_bytes(word, strlen(word) + 1);
    }
    return STATUS_CLEAN;
}

static int offer_choices(const char *const *choices, const char *typed, size_t lead)
{
    begin_answer("words", typed, lead);
    for (; *choices; choices++)
        output_bytes(*choices, strlen(*choices) + 1);
    return STATUS_CLEAN;
}

/* after: the words that follow the one that is typed, up to NULL. */
static int offer_names(struct line *line, const char *what, char *typed, size_t lead, char **after)
{
    line->wanted = NULL;
    while (!line->container && *after)
        take_word(line, *after++);
    begin_answer("names", typed, lead);
    line->passed[0] = "complete";
    line->passed[line->passed_count++] = "--";
    line->passed[line->passed_count++] = what;
    line->passed[line->passed_count++] = line->container ? line->container : "";
    line->passed[line->passed_count++] = typed + lead;
    return command_run(&complete_names, (int)line->passed_count, (char **)line->passed);
}

/* What an operand is: the first of a command, and the others. The value of an option is like the
 * first. */
static const char *word_of(enum operand_kind kind, bool first)
{
    static const struct {
        const char *first, *others;
    } words[] = {
        [OPERAND_ANY] = {"none", "none"},
        [OPERAND_FILE] = {"file", "file"},
        [OPERAND_DIRECTORY] = {"directory", "directory"},
        [OPERAND_NONE] = {"none", "none"},
        [OPERAND_ARCHIVE] = {"file", "none"},
        [OPERAND_ARCHIVE_PATHS] = {"file", "path"},
        [OPERAND_ARCHIVE_ROWS] = {"file", "row"},
        [OPERAND_ARRAY] = {"array", "array"},
        [OPERAND_ARCHIVE_FILES] = {"file", "file"},
    };

    return first ? words[kind].first : words[kind].others;
}

static int offer(struct line *line, char **words, size_t at)
{
    const struct option *option;
    const char *kind;
    size_t lead;

    for (size_t i = 1; i < at; i++)
        take_word(line, words[i]);
    option = find_typed(line, words[at], &lead);
    if (option && option->choices)
        return offer_choices(option->choices, words[at], lead);
    if (!option && !line->ended && words[at][0] == '-')
        return offer_options(line);
    kind = option ? word_of(option->completes, true)
                  : word_of(line->command->operands, line->operands == 0);
    if (strcmp(kind, "path") == 0 || strcmp(kind, "row") == 0 || strcmp(kind, "array") == 0)
        return offer_names(line, kind, words[at], lead, words + at + 1);
    begin_answer(kind, words[at], lead);
    return STATUS_CLEAN;
}

int complete_line(int count, char **words)
{
    static struct line line;
    int64_t at;
    int status;

    if (count < 2 || !sb_parse_integer(words[0], 0, count - 2, &at))
        return message_usage("--complete takes the index of a word, and words");
    words++;
    if (at == 0 || (at == 1 && strcmp(words[0], "help") == 0))
        return offer_commands(at == 0);
    line.command = command_named(words[0], strlen(words[0]));
    line.passed = calloc((size_t)count + 4, sizeof(*line.passed));
    line.passed_count = 1;
    if (!line.command || !line.passed) {
        begin_answer("none", "", 0);
        status = STATUS_CLEAN;
    } else {
        line.count = options_list(line.command, line.options);
        status = offer(&line, words, (size_t)at);
    }
    free(line.passed);
    return status;
}

/* The text of a file of the sources, with a NUL after it; hidden, not local: with -flto the
 * functions that use it may come into another object. */
#define EMBED(symbol, file)                                                                        \
    __asm__(".pushsection .rodata\n.globl " #symbol "\n.hidden " #symbol "\n" #symbol              \
            ":\n.incbin \"" file "\"\n.byte 0\n.popsection");                                      \
    extern const char symbol[]

EMBED(script_for_bash, "completions/shardbox.bash");
EMBED(script_for_zsh, "completions/_shardbox");
EMBED(script_for_fish, "completions/shardbox.fish");

int print_completion_script(const char *shell)
{
    const char *script = strcmp(shell, "bash") == 0   ? script_for_bash
                         : strcmp(shell, "zsh") == 0  ? script_for_zsh
                         : strcmp(shell, "fish") == 0 ? script_for_fish
                                                      : NULL;

    if (!script)
        return message_usage("--completions: '%s' is none of bash, zsh, fish", shell);
    output_text(script);
    return STATUS_CLEAN;
}
