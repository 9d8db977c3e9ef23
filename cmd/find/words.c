#include "find/find.h"
#include "ui/entry_text.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/output.h"

#include "archive/owner_names.h"
#include "core/array.h"
#include "core/glob.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <wctype.h>

#define MINUTE 60
#define DAY    86400

static bool pass(const struct find_node *node, struct find_visit *visit)
{
    (void)node, (void)visit;
    return true;
}

static bool fail(const struct find_node *node, struct find_visit *visit)
{
    (void)node, (void)visit;
    return false;
}

static bool prune(const struct find_node *node, struct find_visit *visit)
{
    (void)node;
    visit->pruned = true;
    return true;
}

static bool quit(const struct find_node *node, struct find_visit *visit)
{
    (void)node;
    visit->quit = true;
    return true;
}

static bool compare(struct find_number wanted, int64_t value)
{
    if (wanted.sign == '=')
        return value == wanted.value;
    return wanted.sign == '+' ? value > wanted.value : value < wanted.value;
}

static bool type_passes(const struct find_node *node, struct find_visit *visit)
{
    return node->types & 1U << visit->entry->type;
}

/* Characters as Unicode has them, each for itself; bytes that are none stay. */
static void fold(struct sb_buf *out, const char *text, size_t size)
{
    char lower[4];
    uint32_t character;

    sb_buf_clear(out);
    while (size > 0) {
        size_t length = sb_utf8_character(text, size, &character);

        if (length > 0)
            output_need(sb_buf_add(out, lower, sb_utf8_put(towlower(character), lower)));
        else
            output_need(sb_buf_add_char(out, *text));
        length += length == 0;
        text += length;
        size -= length;
    }
}

static bool glob_passes(const struct find_node *node, struct find_visit *visit, const char *name,
                        size_t size)
{
    size_t tail = node->glob.tail;

    if (node->glob.folds) {
        fold(&visit->folded, name, size);
        name = visit->folded.data;
        size = visit->folded.size;
    }
    if (tail > 0 && size >= tail && memcmp(name + size - tail, node->glob.pattern + 1, tail) == 0)
        return true;
    return (tail == 0 && node->glob.matches(node->glob.pattern, name, size)) ||
           (node->glob.at_top && node->glob.matches(node->glob.at_top, name, size));
}

static bool name_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t base = parent ? parent + 1 : 0;

    return glob_passes(node, visit, entry->path + base, entry->path_size - base);
}

static bool path_passes(const struct find_node *node, struct find_visit *visit)
{
    return glob_passes(node, visit, visit->entry->path, visit->entry->path_size);
}

static bool size_passes(const struct find_node *node, struct find_visit *visit)
{
    int64_t size = visit->entry->size, unit = node->size.unit;

    return visit->entry->type != SB_DIR &&
           compare(node->size.units, size / unit + (size % unit != 0));
}

static bool empty(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    (void)node;
    if (entry->type == SB_DIR)
        return entry->num_files == 0 && entry->num_subdirs == 0;
    return entry->type == SB_FILE && entry->size == 0;
}

static bool time_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    return entry->has & SB_HAS_MTIME && entry->mtime_ns > node->time.after &&
           entry->mtime_ns < node->time.before;
}

static bool mode_passes(const struct find_node *node, struct find_visit *visit)
{
    uint32_t bits = node->mode.bits, mode = visit->entry->mode & 07777;

    if (!(visit->entry->has & SB_HAS_MODE))
        return false;
    if (node->mode.how == '/')
        return bits == 0 || (mode & bits);
    return (node->mode.how == '-' ? mode & bits : mode) == bits;
}

static bool uid_passes(const struct find_node *node, struct find_visit *visit)
{
    return visit->entry->has & SB_HAS_UID && compare(node->id, visit->entry->uid);
}

static bool gid_passes(const struct find_node *node, struct find_visit *visit)
{
    return visit->entry->has & SB_HAS_GID && compare(node->id, visit->entry->gid);
}

static bool filter_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    return sb_filter_takes(node->filter, entry->path, entry->path_size, entry->type == SB_DIR);
}

struct taken;

struct word {
    const char *name;
    const char *value; /* what it must be followed by; NULL: by nothing */
    enum find_part part;
    find_passes *passes;                      /* NULL: an operator, or global */
    unsigned needs;                           /* FIND_ bits that passes needs */
    bool (*parse)(const struct taken *taken); /* false after a message; NULL: nothing to do */
    bool global;                              /* no test, but holds for all of it: no node */
};

struct taken {
    struct find_expression *expression;
    struct find_node *node;
    const struct word *word;
    const char *value;
};

/* The value of the word is not what it must be. */
static bool refuse(const struct taken *taken, const char *what)
{
    message_usage("%s: '%s' is not %s", taken->word->name, taken->value, what);
    return false;
}

/* Names are UTF-8 whatever the user's locale. */
static void use_unicode(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

static bool takes_no_account_of_case(const struct word *word)
{
    return word->name[1] == 'i';
}

static const char *fold_pattern(struct find_node *node, const char *pattern)
{
    fold(&node->text, pattern, strlen(pattern));
    node->glob.folds = true;
    return node->text.data ? node->text.data : "";
}

static void set_glob(struct find_node *node, const char *pattern, find_matches *matches)
{
    node->glob.pattern = pattern;
    node->glob.matches = matches;
    node->glob.tail = 0;
    if (matches == sb_glob_match_flat && *pattern == '*' && !sb_is_glob(pattern + 1))
        node->glob.tail = strlen(pattern + 1);
}

static bool parse_name(const struct taken *taken)
{
    const char *value = taken->value;

    use_unicode();
    if (strchr(value, '/'))
        message_warning("%s: '%s' matches nothing: a last component has no '/'; use -path",
                        taken->word->name, value);
    if (takes_no_account_of_case(taken->word))
        value = fold_pattern(taken->node, value);
    set_glob(taken->node, value, sb_glob_match_flat);
    return true;
}

/* Paths have no "./" before them, as they would have in `find .`. */
static bool parse_path(const struct taken *taken)
{
    const char *value = taken->value;
    size_t stars = strspn(value, "*");

    use_unicode();
    if (takes_no_account_of_case(taken->word))
        value = fold_pattern(taken->node, value);
    if (strncmp(value, "./", 2) == 0)
        value += 2;
    set_glob(taken->node, value, sb_glob_match_flat);
    if (stars > 0 && value[stars] == '/')
        taken->node->glob.at_top = value + stars + 1;
    return true;
}

/* Adds the types of a list as "f,d". Names are known with what is a directory; what is a link is
 * not. */
static bool add_types(struct find_node *node, const char *option, const char *value)
{
    const unsigned distinct = 1U << SB_FILE | 1U << SB_LINK;
    const char *letter = NULL;

    for (const char *at = value; *at; at++) {
        if (*at == ',')
            continue;
        letter = strchr("fdl", *at);
        if (!letter)
            break;
        node->types |= 1U << (letter - "fdl");
    }
    if (!letter)
        message_usage("%s: '%s' is not a list of f, d and l", option, value);
    node->needs =
        (node->types & distinct) == 0 || (node->types & distinct) == distinct ? 0 : FIND_MODES;
    return letter != NULL;
}

static bool parse_type(const struct taken *taken)
{
    return add_types(taken->node, taken->word->name, taken->value);
}

/* "5", "+5", "-5" */
static bool parse_number(const char *text, struct find_number *out)
{
    bool has_sign = *text == '+' || *text == '-';

    out->sign = has_sign ? *text : '=';
    return sb_parse_integer(text + has_sign, 0, INT64_MAX, &out->value);
}

static bool parse_size(const struct taken *taken)
{
    static const char letters[] = "cwbkMG";
    static const int64_t units[] = {1, 2, 512, 1 << 10, 1 << 20, 1 << 30};
    size_t size = strlen(taken->value);
    const char *letter = size > 0 ? strchr(letters, taken->value[size - 1]) : NULL;
    struct find_number number;
    char *digits = strndup(taken->value, letter ? size - 1 : size);
    bool good = digits && parse_number(digits, &number);

    free(digits);
    if (!good)
        return refuse(taken, "a number with c, w, b, k, M or G, such as +10M or 512c");
    taken->node->size.units = number;
    taken->node->size.unit = letter ? units[letter - letters] : units[2];
    return true;
}

static void set_time(struct find_node *node, int64_t after, int64_t before)
{
    node->time.after = after;
    node->time.before = before;
}

static bool parse_newer(const struct taken *taken)
{
    struct stat st;

    if (lstat(taken->value, &st)) {
        message_usage("%s: '%s' is no file here; for a date use -newermt", taken->word->name,
                      taken->value);
        return false;
    }
    set_time(taken->node, sb_time_ns(st.st_mtim), INT64_MAX);
    return true;
}

static bool parse_newer_date(const struct taken *taken)
{
    int64_t after;

    if (!parse_date(taken->value, &after)) {
        message_usage("%s: '%s' is not a date such as 2026-11-21 or '2026-11-21 08:30'; "
                      "@$(date -d '%s' +%%s) may be one",
                      taken->word->name, taken->value, taken->value);
        return false;
    }
    set_time(taken->node, after, INT64_MAX);
    return true;
}

/* Before the first such word, which is the same moment for all of them. */
static int64_t before_now(struct find_expression *expression, int64_t age)
{
    struct timespec now = {0};
    int64_t time;

    if (!expression->now && clock_gettime(CLOCK_REALTIME, &now) == 0)
        expression->now = sb_time_ns(now);
    return __builtin_sub_overflow(expression->now, age, &time) ? INT64_MIN : time;
}

/* "5", "+5", "-0.5": the number of units in nanoseconds. */
static bool parse_age(const char *text, int64_t unit, char *sign, int64_t *out)
{
    bool has_sign = *text == '+' || *text == '-';
    long double age;
    char *end;

    *sign = has_sign ? *text : '=';
    text += has_sign;
    age = strtold(text, &end) * (long double)(unit * SB_SECOND);
    *out = age < (long double)INT64_MAX ? (int64_t)age : INT64_MAX;
    return end > text && *end == '\0' && strspn(text, "0123456789.") == (size_t)(end - text);
}

/* Ages up to the older one, and from the newer one. */
static bool set_ages(const struct taken *taken, char sign, int64_t older, int64_t newer)
{
    int64_t time = before_now(taken->expression, sign == '-' ? newer : older);

    if (sign == '+')
        set_time(taken->node, INT64_MIN, time);
    else
        set_time(taken->node, time,
                 sign == '-' ? INT64_MAX : before_now(taken->expression, newer) + 1);
    return true;
}

/* Age in whole days, rounded down; as GNU find has it, "-5" takes one more second. */
static bool parse_mtime(const struct taken *taken)
{
    int64_t age, more;
    char sign;

    if (!parse_age(taken->value, DAY, &sign, &age))
        return refuse(taken, "a number of days, such as -7 or +30");
    sb_count_up(&age, sign == '-' ? SB_SECOND : 0);
    more = age;
    sb_count_up(&more, DAY * SB_SECOND);
    return set_ages(taken, sign, more, age);
}

/* Age in whole minutes, rounded up. */
static bool parse_mmin(const struct taken *taken)
{
    int64_t age;
    char sign;

    if (!parse_age(taken->value, MINUTE, &sign, &age))
        return refuse(taken, "a number of minutes, such as -90 or +5");
    return set_ages(taken, sign, age, sign == '-' ? age : age - MINUTE * SB_SECOND);
}

/* Whose bits the letters before "+-=" speak of; all, if there are none. */
static const char *parse_who(const char *at, uint32_t *bits)
{
    static const char letters[] = "ugoa";
    static const uint32_t whose[] = {04700, 02070, 01007, 07777};
    const char *letter;

    *bits = 0;
    for (; *at && (letter = strchr(letters, *at)) != NULL; at++)
        *bits |= whose[letter - letters];
    if (!*bits)
        *bits = 07777;
    return at;
}

static const char *parse_permissions(const char *at, uint32_t *bits)
{
    static const char letters[] = "rwxst";
    static const uint32_t which[] = {0444, 0222, 0111, 06000, 01000};
    const char *letter;

    *bits = 0;
    for (; *at && (letter = strchr(letters, *at)) != NULL; at++)
        *bits |= which[letter - letters];
    return at;
}

/* "u+rw,go=r", from no bits at all; the umask has no say. */
static bool parse_symbolic(const char *at, uint32_t *bits)
{
    uint32_t whose, which;

    *bits = 0;
    for (;; at++) {
        at = parse_who(at, &whose);
        if (!*at || !strchr("+-=", *at))
            return false;
        while (*at && strchr("+-=", *at)) {
            char how = *at;

            at = parse_permissions(at + 1, &which);
            if (how == '=')
                *bits &= ~whose;
            *bits = how == '-' ? *bits & ~(which & whose) : *bits | (which & whose);
        }
        if (*at != ',')
            return *at == '\0';
    }
}

static bool parse_perm(const struct taken *taken)
{
    bool has_how = *taken->value == '-' || *taken->value == '/';
    const char *mode = taken->value + has_how;
    size_t digits = strspn(mode, "01234567");
    uint32_t bits;
    bool good;

    if (digits > 0 && !mode[digits]) {
        bits = (uint32_t)strtoul(mode, NULL, 8);
        good = digits < 10 && bits <= 07777;
    } else {
        good = parse_symbolic(mode, &bits);
    }
    if (!good)
        return refuse(taken, "a mode such as 644, -u+w or /111");
    taken->node->mode.how = has_how ? *taken->value : '=';
    taken->node->mode.bits = bits;
    return true;
}

static bool parse_id(const struct taken *taken)
{
    return parse_number(taken->value, &taken->node->id) || refuse(taken, "a number");
}

static bool parse_owner(const struct taken *taken)
{
    enum sb_owner which = taken->word->name[1] == 'u' ? SB_USER : SB_GROUP;
    struct find_number *id = &taken->node->id;

    id->sign = '=';
    if (sb_account_id(which, taken->value, &id->value) ||
        sb_parse_integer(taken->value, 0, SB_ID_MOST, &id->value))
        return true;
    message_usage("%s: this machine knows no '%s'; give the number", taken->word->name,
                  taken->value);
    return false;
}

static bool parse_prune(const struct taken *taken)
{
    taken->expression->prunes = true;
    return true;
}

static bool parse_level(const struct taken *taken)
{
    int64_t *level = strcmp(taken->word->name, "-maxdepth") == 0 ? &taken->expression->max_depth
                                                                 : &taken->expression->min_depth;

    return sb_parse_integer(taken->value, 0, INT32_MAX, level) ||
           refuse(taken, "a whole number from 0 on");
}

static bool parse_print(const struct taken *taken)
{
    taken->expression->acts = true;
    if (taken->word->passes == find_print)
        return true;
    taken->expression->own_output = taken->word->name;
    if (!taken->value)
        return true;
    taken->node->format = printf_format_new(taken->word->name, taken->value);
    if (!taken->node->format)
        return false;
    taken->node->needs = printf_format_needs(taken->node->format);
    return true;
}

static const struct word known[] = {
    {.name = "(", .part = FIND_OPEN},
    {.name = ")", .part = FIND_CLOSE},
    {.name = "!", .part = FIND_NOT},
    {.name = ",", .part = FIND_COMMA},
    {.name = "-not", .part = FIND_NOT},
    {.name = "-a", .part = FIND_AND},
    {.name = "-and", .part = FIND_AND},
    {.name = "-o", .part = FIND_OR},
    {.name = "-or", .part = FIND_OR},
    {.name = "-true", .passes = pass},
    {.name = "-false", .passes = fail},
    {.name = "-name", .value = "GLOB", .passes = name_passes, .parse = parse_name},
    {.name = "-iname", .value = "GLOB", .passes = name_passes, .parse = parse_name},
    {.name = "-path", .value = "GLOB", .passes = path_passes, .parse = parse_path},
    {.name = "-ipath", .value = "GLOB", .passes = path_passes, .parse = parse_path},
    {.name = "-wholename", .value = "GLOB", .passes = path_passes, .parse = parse_path},
    {.name = "-iwholename", .value = "GLOB", .passes = path_passes, .parse = parse_path},
    {.name = "-type", .value = "LIST", .passes = type_passes, .parse = parse_type},
    {.name = "-size",
     .value = "[+-]N[cwbkMG]",
     .passes = size_passes,
     .needs = FIND_ROWS,
     .parse = parse_size},
    {.name = "-empty", .passes = empty, .needs = FIND_ROWS},
    {.name = "-newer",
     .value = "FILE",
     .passes = time_passes,
     .needs = FIND_ROWS,
     .parse = parse_newer},
    {.name = "-newermm",
     .value = "FILE",
     .passes = time_passes,
     .needs = FIND_ROWS,
     .parse = parse_newer},
    {.name = "-newermt",
     .value = "DATE",
     .passes = time_passes,
     .needs = FIND_ROWS,
     .parse = parse_newer_date},
    {.name = "-mtime",
     .value = "[+-]DAYS",
     .passes = time_passes,
     .needs = FIND_ROWS,
     .parse = parse_mtime},
    {.name = "-mmin",
     .value = "[+-]MINUTES",
     .passes = time_passes,
     .needs = FIND_ROWS,
     .parse = parse_mmin},
    {.name = "-perm",
     .value = "[-/]MODE",
     .passes = mode_passes,
     .needs = FIND_MODES,
     .parse = parse_perm},
    {.name = "-uid", .value = "[+-]N", .passes = uid_passes, .needs = FIND_ROWS, .parse = parse_id},
    {.name = "-gid", .value = "[+-]N", .passes = gid_passes, .needs = FIND_ROWS, .parse = parse_id},
    {.name = "-user",
     .value = "NAME",
     .passes = uid_passes,
     .needs = FIND_ROWS,
     .parse = parse_owner},
    {.name = "-group",
     .value = "NAME",
     .passes = gid_passes,
     .needs = FIND_ROWS,
     .parse = parse_owner},
    {.name = "-prune", .passes = prune, .parse = parse_prune},
    {.name = "-quit", .passes = quit},
    {.name = "-print", .passes = find_print, .parse = parse_print},
    {.name = "-print0", .passes = find_print_nul, .parse = parse_print},
    {.name = "-printf", .value = "FORMAT", .passes = find_print_format, .parse = parse_print},
    {.name = "-maxdepth", .value = "N", .parse = parse_level, .global = true},
    {.name = "-mindepth", .value = "N", .parse = parse_level, .global = true},
};
#define KNOWN_COUNT ARRAY_SIZE(known)

const char *find_word(size_t i)
{
    return i < KNOWN_COUNT ? known[i].name : NULL;
}

static const struct word *find_known(const char *name)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    }
    return NULL;
}

static void complain_of_unknown(const char *name)
{
    struct nearest nearest = {.typed = name, .typed_size = strlen(name)};
    bool other_times = strncmp(name, "-newer", 6) == 0 && strlen(name) == 8; /* "-newerXY" */
    const char *like = other_times ? "-anewer" : name;
    const char *instead = other_options_instead("find", like, strlen(like));

    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (strlen(known[i].name) > 2)
            nearest_offer(&nearest, known[i].name);
    }
    if (instead)
        message_error("%s: %s", name, instead);
    else if (nearest.found)
        message_usage("%s: no such word; did you mean '%s'?", name, nearest.found);
    else
        message_usage("%s: no such word of an expression", name);
}

/* One that is not known: an operand, letters that the options will complain of, or a mistake. */
static int leave(const struct find_expression *expression, const char *word)
{
    bool letters = word[0] == '-' && word[1] && (word[1] < '0' || word[1] > '9');

    if (letters && word[2])
        complain_of_unknown(word);
    else if (!letters && expression->begun)
        message_usage("%s: ARCHIVE and PATHs come before the expression", word);
    else
        return 0;
    return -1;
}

int find_take_words(struct find_expression *expression, char *const *words)
{
    const struct word *word = find_known(words[0]);
    struct find_node *node = NULL;
    struct taken taken;

    if (!word)
        return leave(expression, words[0]);
    expression->begun = true;
    if (word->value && !words[1]) {
        message_usage("%s needs a value: %s", word->name, word->value);
        return -1;
    }
    if (!word->global) {
        node = find_expression_add(expression, &expression->words);
        if (!node)
            return -1;
        node->word = word->name;
        node->part = word->part;
        node->passes = word->passes;
        node->needs = word->needs;
    }
    taken = (struct taken){expression, node, word, word->value ? words[1] : NULL};
    if (word->parse && !word->parse(&taken))
        return -1;
    return word->value ? 2 : 1;
}

/* The test of an option; of one that is given again it is the same, which says something else then.
 */
static struct find_node *test_of(struct find_settings *settings, struct find_node **test,
                                 find_passes *passes, unsigned needs)
{
    struct find_expression *expression = &settings->expression;

    if (!*test)
        *test = find_expression_add(expression, &expression->options);
    if (*test) {
        (*test)->passes = passes;
        (*test)->needs = needs;
    }
    return *test;
}

bool find_type_option(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct find_node *test = test_of(settings, &settings->type, type_passes, 0);

    return test && add_types(test, "--type", value);
}

bool find_name_option(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct find_node *test = test_of(settings, &settings->name, name_passes, 0);

    /* Within a component both mean the same, and the flat one is faster. */
    if (test)
        set_glob(test, value, strchr(value, '/') ? sb_glob_match : sb_glob_match_flat);
    return test;
}

bool find_path_option(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct find_node *test = test_of(settings, &settings->path, path_passes, 0);

    if (test)
        set_glob(test, value, sb_glob_match);
    return test;
}

bool find_size_option(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct find_node *test = test_of(settings, &settings->size, size_passes, FIND_ROWS);
    bool has_sign = *value == '+' || *value == '-';

    if (!test)
        return false;
    test->size.units.sign = has_sign ? *value : '=';
    test->size.unit = 1;
    if (sb_parse_size(value + has_sign, &test->size.units.value))
        return true;
    message_usage("--size: '%s' is not a size such as 10K, +1M or -100", value);
    return false;
}

bool find_newer_option(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct find_node *test = test_of(settings, &settings->newer, time_passes, FIND_ROWS);
    struct stat st;
    int64_t after;

    if (stat(value, &st) == 0) {
        after = sb_time_ns(st.st_mtim);
    } else if (!parse_date(value, &after)) {
        message_usage("--newer-than: '%s' is neither a file nor a date such as 2026-11-21", value);
        return false;
    }
    if (test)
        set_time(test, after, INT64_MAX);
    return test;
}

bool find_add_filter(struct find_settings *settings)
{
    struct find_node *filter = NULL;

    if (!test_of(settings, &filter, filter_passes, 0))
        return false;
    filter->filter = settings->filter;
    return true;
}
