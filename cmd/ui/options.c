#include "ui/options.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/shared_options.h"

#include "core/buf.h"
#include "core/glob.h"
#include "core/io.h"
#include "core/number.h"
#include "store/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its struct option is not ours. */
#define option getopt_option
#include <getopt.h>
#undef option

enum {
    RUN = -1,        /* no exit status: go on */
    OPERAND = 1,     /* what getopt returns for one, in the mode that keeps their order */
    LONG_BASE = 256, /* + place in the list: what it returns for a long option */
};

enum { QUIET, VERBOSE, PROGRESS, NO_PROGRESS, HELP, HELP_ALL };

#define OPTION_COMMON(l, n, which, h)                                                              \
    {                                                                                              \
        .kind = OPTION_KIND_COMMON, .letter = (l), .name = (n), .low = (which), .help = (h)        \
    }

static const struct option common[] = {
    OPTION_GROUP("Common"),
    OPTION_COMMON('q', "quiet", QUIET, "give no warnings"),
    OPTION_COMMON('v', "verbose", VERBOSE, "say more about what is done"),
    OPTION_COMMON('h', "help", HELP, "show this help; --help-all shows every option"),
    OPTION_MORE("Common"),
    OPTION_COMMON(0, "help-all", HELP_ALL, "show every option"),
    OPTION_COMMON(0, "progress", PROGRESS, "show progress, also when not on a terminal"),
    OPTION_COMMON(0, "no-progress", NO_PROGRESS, "show no progress"),
    OPTION_END,
};

static void set_common(int64_t which)
{
    if (which == QUIET)
        message_quiet(true);
    else if (which == VERBOSE)
        message_verbose(true);
    else
        message_progress(which == PROGRESS ? PROGRESS_ON : PROGRESS_OFF);
}

static const struct option *find_named(const struct option *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    }
    return NULL;
}

static const struct option *find_letter(const struct option *list, size_t count, int letter)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].letter == letter)
            return &list[i];
    }
    return NULL;
}

/* Adds what the list has not yet: a command's own options come before the common ones. */
static size_t add_options(struct option list[OPTIONS_MAX], size_t count,
                          const struct option *option)
{
    static const struct option no_group = OPTION_GROUP("Options");
    const struct option *group = &no_group;

    for (; option->kind && count < OPTIONS_MAX; option++) {
        if (option->kind == OPTION_KIND_GROUP) {
            group = option;
            continue;
        }
        if (find_named(list, count, option->name))
            continue;
        list[count] = *option;
        list[count].group = group->name;
        list[count].more = group->more;
        if (find_letter(list, count, option->letter))
            list[count].letter = 0;
        count++;
    }
    return count;
}

size_t options_list(const struct command *command, struct option list[OPTIONS_MAX])
{
    return add_options(list, add_options(list, 0, command->options), common);
}

static bool store_choice(const struct option *option, int *field, const char *value)
{
    struct sb_buf names = {0};
    enum sb_code code = SB_OK;

    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *field = (int)option->low + i;
            sb_buf_release(&names);
            return true;
        }
        if (!code)
            code = sb_buf_add_format(&names, "%s%s", i > 0 ? ", " : "", option->choices[i]);
    }
    message_usage("--%s: '%s' is none of %s", option->name, value, code ? "those" : names.data);
    sb_buf_release(&names);
    return false;
}

static bool store_rule(struct sb_filter **filter, bool include, const char *pattern)
{
    enum sb_code code = SB_NOMEM;

    if (!*filter)
        *filter = sb_filter_new();
    if (*filter)
        code = sb_filter_add(*filter, include, pattern);
    if (code == SB_INVALID)
        message_usage("'%s' is not a pattern of names", pattern);
    else if (code)
        message_error("out of memory");
    return code == SB_OK;
}

static void set_integer(const struct option *option, void *field, int64_t number)
{
    if (option->size == sizeof(int64_t))
        *(int64_t *)field = number;
    else
        *(int *)field = (int)number;
}

/* value is NULL for an option without one. */
static bool store(const struct option *option, void *settings, const char *value)
{
    void *field = (char *)settings + option->field;
    int64_t number;

    switch (option->kind) {
    case OPTION_KIND_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_KIND_TEXT:
        *(const char **)field = value;
        return true;
    case OPTION_KIND_SIZE:
        if (sb_parse_size(value, field))
            return true;
        message_usage("--%s: '%s' is not a size like 500, 64K, 1.5GiB or 10GB", option->name,
                      value);
        return false;
    case OPTION_KIND_INTEGER:
        if (sb_parse_integer(value, option->low, option->high, &number)) {
            set_integer(option, field, number);
            return true;
        }
        message_usage("--%s: '%s' is not a whole number from %" PRId64 " to %" PRId64, option->name,
                      value, option->low, option->high);
        return false;
    case OPTION_KIND_CHOICE:
        return store_choice(option, field, value);
    case OPTION_KIND_RIVAL:
        *(int *)field = (int)option->low;
        return true;
    case OPTION_KIND_INCLUDE:
    case OPTION_KIND_EXCLUDE:
        return store_rule(field, option->kind == OPTION_KIND_INCLUDE, value);
    case OPTION_KIND_CALL:
        return option->call(settings, value);
    case OPTION_KIND_NOTED:
        return true;
    case OPTION_KIND_COMMON:
        set_common(option->low);
        return true;
    case OPTION_KIND_GROUP:
    case OPTION_KIND_END:
        break;
    }
    return false;
}

/* What getopt_long needs, made from the table; it always keeps the order of operands. */
struct parser {
    struct option list[OPTIONS_MAX];
    struct getopt_option names[OPTIONS_MAX + 1];
    char letters[2 + 3 * OPTIONS_MAX + 1];
    size_t count;
    const struct command *command;
};

static void build(struct parser *parser, const struct command *command)
{
    char *letter = parser->letters;

    parser->command = command;
    parser->count = options_list(command, parser->list);
    *letter++ = '-';
    *letter++ = ':'; /* distinguishes a missing value from an unknown option */
    for (size_t i = 0; i < parser->count; i++) {
        const struct option *option = &parser->list[i];

        parser->names[i] = (struct getopt_option){
            .name = option->name,
            .has_arg = !option->value    ? no_argument
                       : option->implied ? optional_argument
                                         : required_argument,
            .val = LONG_BASE + (int)i,
        };
        if (!option->letter)
            continue;
        *letter++ = option->letter;
        if (option->value)
            *letter++ = ':';
        if (option->implied)
            *letter++ = ':';
    }
    *letter = '\0';
    parser->names[parser->count] = (struct getopt_option){0};
}

static const struct option *find(const struct parser *parser, int value)
{
    if (value >= LONG_BASE)
        return &parser->list[value - LONG_BASE];
    return find_letter(parser->list, parser->count, value);
}

/* A long option that getopt knows nothing to do with: no option begins so, or several do. */
static void complain_of_name(const struct parser *parser, const char *word)
{
    size_t size = strcspn(word, "=");
    const char *instead = other_options_instead(parser->command->name, word, size);
    struct nearest nearest = {.typed = word + 2, .typed_size = size - 2};
    struct sb_buf names = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < parser->count && !code; i++) {
        nearest_offer(&nearest, parser->list[i].name);
        if (strncmp(parser->list[i].name, word + 2, size - 2) == 0)
            code =
                sb_buf_add_format(&names, "%s--%s", names.size ? ", " : "", parser->list[i].name);
    }
    if (names.size > 0)
        message_usage("option '%.*s' is ambiguous: %s", (int)size, word, names.data);
    else if (instead)
        message_error("unrecognized option '%.*s'; %s", (int)size, word, instead);
    else if (nearest.found)
        message_error("unrecognized option '%.*s'; did you mean '--%s'?", (int)size, word,
                      nearest.found);
    else
        message_usage("unrecognized option '%.*s'", (int)size, word);
    sb_buf_release(&names);
}

static void complain_of_letter(const struct parser *parser, int letter)
{
    const char option[] = {'-', (char)letter};
    const char *instead = other_options_instead(parser->command->name, option, sizeof(option));

    if (instead)
        message_error("unrecognized option '-%c'; %s", letter, instead);
    else
        message_usage("unrecognized option '-%c'", letter);
}

static void complain(const struct parser *parser, int result, char **argv)
{
    const struct option *option = find(parser, optopt);

    if (optopt == 0)
        complain_of_name(parser, argv[optind - 1]);
    else if (!option)
        complain_of_letter(parser, optopt);
    else if (result != ':')
        message_usage("option '--%s' takes no value", option->name);
    else if (optopt >= LONG_BASE)
        message_usage("option '--%s' needs a value: %s", option->name, option->value);
    else
        message_usage("option '-%c' needs a value: %s", optopt, option->value);
}

/* Is there another one that has set the field of this one? */
static bool meets_rival(const struct parser *parser, const struct option *option,
                        const void *settings)
{
    int set;

    if (option->kind != OPTION_KIND_RIVAL)
        return false;
    memcpy(&set, (const char *)settings + option->field, sizeof(set));
    for (size_t i = 0; i < parser->count && set && set != option->low; i++) {
        const struct option *rival = &parser->list[i];

        if (rival->kind == OPTION_KIND_RIVAL && rival->field == option->field &&
            rival->low == set) {
            message_usage("--%s and --%s cannot be given together", rival->name, option->name);
            return true;
        }
    }
    return false;
}

static struct given_option *given;
static size_t given_count;

static bool note_given(const struct option *option, const char *value)
{
    struct given_option *grown = given;

    if ((given_count & (given_count - 1)) == 0)
        grown = realloc(given, (given_count ? 2 * given_count : 1) * sizeof(*given));
    if (!grown) {
        message_error("out of memory");
        return false;
    }
    given = grown;
    given[given_count++] = (struct given_option){.name = option->name, .value = value};
    return true;
}

size_t options_given(const struct given_option **out)
{
    *out = given;
    return given_count;
}

const char *options_given_of(const char *names)
{
    for (size_t i = 0; i < given_count; i++) {
        if (word_is_among(names, given[i].name, strlen(given[i].name)))
            return given[i].name;
    }
    return NULL;
}

bool option_is_given(const char *name)
{
    return options_given_of(name);
}

/* The command that runs. */
static struct {
    const struct command *command;
    const char *settings;
} running;

/* How many bytes of the settings say whether an option is set; 0: none do. */
static size_t field_size(const struct option *option)
{
    static const size_t sizes[] = {
        [OPTION_KIND_FLAG] = sizeof(bool),
        [OPTION_KIND_TEXT] = sizeof(char *),
        [OPTION_KIND_SIZE] = sizeof(int64_t),
        [OPTION_KIND_RIVAL] = sizeof(int),
        [OPTION_KIND_INCLUDE] = sizeof(void *),
        [OPTION_KIND_EXCLUDE] = sizeof(void *),
        [OPTION_KIND_GROUP] = 0,
    };

    return option->kind == OPTION_KIND_INTEGER ? option->size : sizes[option->kind];
}

static bool is_set(const struct option *option)
{
    static const char zeros[sizeof(int64_t)];
    const char *defaults = running.command->defaults;
    size_t size = field_size(option);

    if (size == 0)
        return option_is_given(option->name);
    return memcmp(running.settings + option->field, defaults ? defaults + option->field : zeros,
                  size) != 0;
}

static size_t count_set(const char *names)
{
    size_t count = 0;

    for (const struct option *option = running.command->options; option->kind; option++)
        count += option->kind != OPTION_KIND_GROUP &&
                 word_is_among(names, option->name, strlen(option->name)) && is_set(option);
    return count;
}

bool options_are_set(const char *names)
{
    return count_set(names) > 0;
}

const char *options_misused(const struct option_rule *rules)
{
    for (; rules->kind; rules++) {
        size_t set = count_set(rules->options);

        if (rules->kind == RULE_MANY
                ? set > 1
                : set > 0 && options_are_set(rules->others) == (rules->kind == RULE_WITH))
            return rules->reason;
    }
    return NULL;
}

/* A number below zero after the first operand, which is an operand too ("cat data.bagz -3"). */
static bool is_negative_number(const struct parser *parser, const char *word)
{
    return word[0] == '-' && word[1] >= '0' && word[1] <= '9' && !find(parser, word[1]);
}

/* Can all of the word be read as letters of options, the last one maybe with its value? */
static bool is_letters(const struct parser *parser, const char *word)
{
    const struct option *option;

    if (word[0] != '-' || !word[1])
        return false;
    for (word++; *word; word++) {
        option = find_letter(parser->list, parser->count, *word);
        if (!option || option->value)
            return option != NULL;
    }
    return true;
}

/* Lets the command take words of its own; false after a message. */
static bool take_words(const struct parser *parser, int argc, char **argv, void *settings)
{
    const struct command *command = parser->command;
    int at = optind > 0 ? optind : 1, taken = 0;

    if (!command->take_words)
        return true;
    while (at < argc && strncmp(argv[at], "--", 2) != 0 && !is_letters(parser, argv[at])) {
        taken = command->take_words(settings, argv + at);
        if (taken <= 0)
            break;
        optind = at += taken;
    }
    return taken >= 0;
}

/* As getopt_long; optarg is an operand's word. */
static int next_word(struct parser *parser, int argc, char **argv, bool operands_met)
{
    if (operands_met && optind < argc && is_negative_number(parser, argv[optind])) {
        optarg = argv[optind++];
        return OPERAND;
    }
    return getopt_long(argc, argv, parser->letters, parser->names, NULL);
}

/* Operands are moved to the front, over words that were read already. RUN, or the exit status. */
static int parse(struct parser *parser, int argc, char **argv, void *settings, int *operands)
{
    const struct command *command = parser->command;
    int result;

    opterr = 0;
    optind = 0; /* anew */
    for (;;) {
        const struct option *option;

        if (!take_words(parser, argc, argv, settings))
            return STATUS_ERROR;
        result = next_word(parser, argc, argv, *operands > 0);
        if (result == -1)
            return RUN;
        if (result == OPERAND) {
            argv[1 + (*operands)++] = optarg;
            if (command->operand && !command->operand(settings, optarg))
                return STATUS_ERROR;
            continue;
        }
        if (result == '?' || result == ':') {
            complain(parser, result, argv);
            return STATUS_ERROR;
        }
        option = find(parser, result);
        if (option->kind == OPTION_KIND_COMMON && option->low >= HELP) {
            options_print_help(command, option->low == HELP_ALL);
            return STATUS_CLEAN;
        }
        if (meets_rival(parser, option, settings) ||
            !store(option, settings, optarg ? optarg : option->implied) ||
            !note_given(option, optarg ? optarg : option->implied))
            return STATUS_ERROR;
    }
}

/* Was the archive named after what is in it? */
static bool is_archive_second(char *const *operands, int count)
{
    enum sb_container_kind kind = SB_UNKNOWN;

    if (count > 1)
        kind = sb_container_by_suffix(operands[1]).kind;
    return kind != SB_UNKNOWN && strcmp(operands[0], "-") != 0 && access(operands[0], F_OK) != 0 &&
           sb_container_by_suffix(operands[0]).kind == SB_UNKNOWN && access(operands[1], F_OK) == 0;
}

static int run(const struct command *command, void *settings, char **operands, int count)
{
    const char *wrong = command->rules ? options_misused(command->rules) : NULL;

    if (command->needs_archive && count == 0)
        return message_usage("no archive given");
    if (command->takes_one && count > 1)
        return message_usage("%s: only one archive can be given", operands[1]);
    if (command->needs_archive && is_archive_second(operands, count))
        return message_usage("%s: no such file; the archive comes first: %s %s", operands[0],
                             operands[1], operands[0]);
    return wrong ? message_usage("%s", wrong) : command->run(settings, operands, count);
}

static int parse_and_run(const struct command *command, int argc, char **argv, void *settings)
{
    static struct parser parser;
    int result, first, operands = 0;

    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        options_print_help(command, false);
        return STATUS_CLEAN;
    }
    build(&parser, command);
    result = parse(&parser, argc, argv, settings, &operands);
    if (result != RUN)
        return result;
    first = optind - operands;
    memmove(&argv[first], &argv[1], (size_t)operands * sizeof(*argv));
    while (command->operand && optind < argc) {
        if (!command->operand(settings, argv[optind++]))
            return STATUS_ERROR;
    }
    return run(command, settings, argv + first, argc - first);
}

static void begin(const struct command *command, void *settings)
{
    running.command = command;
    running.settings = settings;
    if (command->defaults)
        memcpy(settings, command->defaults, command->settings_size);
    for (const struct option *option = command->options; option->kind; option++) {
        if (option->counts_cores)
            set_integer(option, (char *)settings + option->field, sb_default_threads());
    }
}

/* Lists of what to exclude are made for many trees; what is to be included is meant to be there. */
static void name_unmatched(const struct sb_filter *filter)
{
    const char *pattern;
    bool include;

    for (size_t at = 0; (pattern = sb_filter_unmatched(filter, &at, &include)) != NULL;) {
        if (include)
            message_warning("--include=%s: matched nothing", pattern);
        else
            message_note("--exclude=%s: matched nothing", pattern);
    }
}

static void end(const struct command *command, void *settings, int status)
{
    if (command->end)
        command->end(settings);
    for (const struct option *option = command->options; option->kind; option++) {
        if (option->kind != OPTION_KIND_INCLUDE)
            continue;
        struct sb_filter *filter = *(struct sb_filter **)((char *)settings + option->field);

        if (status != STATUS_ERROR)
            name_unmatched(filter);
        sb_filter_free(filter);
    }
}

int command_run(const struct command *command, int argc, char **argv)
{
    void *settings = calloc(1, command->settings_size);
    int status;

    message_command(command->name);
    if (!settings) {
        message_error("out of memory");
        return STATUS_ERROR;
    }
    begin(command, settings);
    status = parse_and_run(command, argc, argv, settings);
    end(command, settings, status);
    free(settings);
    if (status != STATUS_ERROR)
        protect_outputs();
    if (option_is_given("json"))
        failure_print();
    return status;
}
