#include "ui/other_words.h"
#include "ui/command.h"

#include "core/name.h"
#include "store/container.h"

#include <string.h>

/*
 * A form is the line to type. Words of it stand for what was typed:
 *
 *     ARCHIVE     the first operand
 *     [DIR]       -C and the directory that was given with -C or as the second operand, if any
 *     [-C]        the same, but of -C alone
 *     PATH...     the operands after those; in brackets: if any
 *     INPUT...    the operands before the last
 *     OUTPUT      what -o named, or else the last operand
 *
 * What was not typed is shown as the word itself. A letter of tar is looked up as "-x", or "-tv".
 */
struct other_word {
    const char *words;
    const char *form;
};

static const char pack_form[] = "pack ARCHIVE [-C] PATH...";
static const char convert_form[] = "convert PATH... ARCHIVE";
static const char to_pipe_form[] = "convert --to=tar PATH... ARCHIVE";

static const struct other_word table[] = {
    {"create make new backup -c --create", pack_form},
    {"mksquashfs", "pack OUTPUT -C INPUT... ."},
    {"add append a -r --append", "pack --append ARCHIVE [-C] PATH..."},
    {"update -u --update", "pack --append --update ARCHIVE [-C] PATH..."},
    {"rsync mirror", "sync INPUT... OUTPUT"},
    {"extract restore checkout", "unpack ARCHIVE [DIR] [PATH...]"},
    {"e unzip unsquashfs -x --extract --get", "unpack ARCHIVE [-C] [PATH...]"},
    {"zip", convert_form},
    {"cp copy import export", "convert INPUT... OUTPUT"},
    {"subset", "convert --include=GLOB INPUT... OUTPUT"},
    {"index", "convert --wrap INPUT... OUTPUT"},
    {"list l dir la vdir", "ls ARCHIVE [PATH...]"},
    {"ll", "ls -l ARCHIVE [PATH...]"},
    {"-t", "find ARCHIVE [PATH...]"},
    {"-tv -l zipinfo", "ls -lR ARCHIVE [PATH...]"},
    {"tree", "ls --tree ARCHIVE [PATH...]"},
    {"stat", "ls -ld ARCHIVE [PATH...]"},
    {"info status df", "ls --shards ARCHIVE"},
    {"index-to-csv", "find --csv ARCHIVE"},
    {"count", "du --count ARCHIVE [PATH...]"},
    {"ncdu browse shell to-ncdu-json", "du --export=ncdu ARCHIVE | ncdu -f-"},
    {"get show print read head tail less more zcat -xO", "cat ARCHIVE PATH..."},
    {"wc", "cat ARCHIVE PATH... | wc"},
    {"md5sum", "cat ARCHIVE PATH... | md5sum"},
    {"sha256sum", "cat ARCHIVE PATH... | sha256sum"},
    {"search locate", "find --name=GLOB ARCHIVE"},
    {"remove delete del d unlink --delete", "rm ARCHIVE PATH..."},
    {"rmdir", "rm -d ARCHIVE PATH..."},
    {"rename move ren", "mv ARCHIVE PATH..."},
    {"squashfuse squashfuse_ll ratarmount fuse archivemount", "mount INPUT... OUTPUT"},
    {"unmount fusermount fusermount3", "umount ARCHIVE"},
    {"check test fsck validate scrub", "verify ARCHIVE [PATH...]"},
    {"par2 par2create parity", "protect PATH..."},
    {"repair", "verify --repair-from=COPY ARCHIVE"},
    {"compare cmp", "diff ARCHIVE [DIR]"},
    {"-d --diff --compare", "diff ARCHIVE [-C] [PATH...]"},
    {"compact vacuum gc prune", "defrag ARCHIVE"},
    {"reshard", "split --shard-size=SIZE ARCHIVE"},
    {"shard partition", "split --parts=N -o 'PART-{}.barecat' ARCHIVE"},
    {"join concat combine", "merge INPUT... OUTPUT"},
    {"-A --catenate --concatenate", "merge --append -o ARCHIVE PATH..."},
    {"version -V", "--version"},
    {"completion-script completions completion", "--completions=bash"},
};

/* Programs whose first argument is such a word. */
static const char programs[] = "tar bsdtar 7z barecat";

/* What was typed, taken apart. */
struct typed {
    const char *form;
    const struct command *command; /* of the form; NULL: none */
    char **operands;
    size_t count;
    const char *directory;
    const char *output;
    struct sb_buf options; /* that the command has, each with a space before it */
    struct line_to_type *line;
    bool in_order; /* no more options */
};

bool word_is_among(const char *list, const char *word, size_t size)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, " ");

        if (length == size && memcmp(at, word, size) == 0)
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static const struct other_word *find_row(const char *word)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (word_is_among(table[i].words, word, strcspn(word, "=")))
            return &table[i];
    }
    return NULL;
}

/* Letters of tar in one word: "-xzf", "xvf", "x". */
static const struct other_word *find_letters(const char *word)
{
    static const char modes[] = "cxtruAd", others[] = "vfzjJZapkmhPOSw";
    char key[] = "-?v";
    bool dash = *word == '-';
    const char *text = word + dash;
    const char *mode = strpbrk(text, modes);

    if (!mode || strpbrk(mode + 1, modes))
        return NULL;
    for (const char *at = text; *at; at++) {
        if (!strchr(modes, *at) && !strchr(others, *at))
            return NULL;
    }
    /* Without a dash it may be another word. */
    if (!dash && (*mode == 'd' || (text[1] && !strchr(text, 'f'))))
        return NULL;
    key[1] = *mode;
    if (*mode == 'x' && strchr(text, 'O'))
        key[2] = 'O';
    else if (*mode != 't' || !strchr(text, 'v'))
        key[2] = '\0';
    return find_row(key);
}

static void keep_option(struct typed *typed, const struct option *option, const char *value)
{
    enum sb_code code = sb_buf_add_format(&typed->options, " --%s", option->name);

    if (!code && value)
        code = sb_buf_add_char(&typed->options, '=');
    if (!code && value)
        code = sb_quote(&typed->options, value, strlen(value), SB_SHELL);
    if (code)
        typed->line->code = code;
}

/* The option of the command that has this letter; some letters are Barecat's and zip's. */
static bool is_called(const struct option *option, char letter)
{
    static const char *const names[] = {"sshard-size", "xexclude", "iinclude"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (names[i][0] == letter && option->value && strcmp(option->name, names[i] + 1) == 0)
            return true;
    }
    return option->letter == letter && option->value;
}

/* Letters of rsync in one word, with the one of a dry run: it must not be lost. */
static bool is_dry_run(const char *word)
{
    return word[0] == '-' && word[1] && word[2] && strchr(word, 'n') &&
           word[1 + strspn(word + 1, "avnrlptgozuPHAXxWcShm")] == '\0';
}

/*
 * An option that the command has, with its value: kept. Returns how many words it is. What else
 * begins with a dash is another program's, and is left out.
 */
static int take_option(struct typed *typed, char **words, int count)
{
    static struct option list[OPTIONS_MAX];
    bool is_long = words[0][1] == '-';
    size_t size = is_long ? strcspn(words[0] + 2, "=") : 0;
    size_t known = typed->command ? options_list(typed->command, list) : 0;
    const char *value = is_long && words[0][2 + size] ? words[0] + 3 + size : NULL;
    bool apart;

    for (size_t i = 0; i < known; i++) {
        if (is_dry_run(words[0]) && strcmp(list[i].name, "dry-run") == 0) {
            keep_option(typed, &list[i], NULL);
            return 1;
        }
        if (is_long ? strlen(list[i].name) != size || strncmp(list[i].name, words[0] + 2, size) != 0
                    : words[0][2] || !is_called(&list[i], words[0][1]))
            continue;
        apart = list[i].value && !list[i].implied && !value && count > 1;
        keep_option(typed, &list[i], apart ? words[1] : value);
        return 1 + apart;
    }
    return 1;
}

/* The value of an option of this letter (0: none) or long name; NULL: it is another option. */
static const char *value_of(char **words, int count, char letter, const char *name, int *used)
{
    size_t size = strlen(name);
    bool is_letter = letter && words[0][1] == letter;

    *used = 1;
    if (is_letter && words[0][2])
        return words[0] + 2;
    if (!is_letter && (words[0][1] != '-' || strncmp(words[0] + 2, name, size) != 0))
        return NULL;
    if (!is_letter && words[0][2 + size] == '=')
        return words[0] + 3 + size;
    if (count < 2 || (!is_letter && words[0][2 + size]))
        return NULL;
    *used = 2;
    return words[1];
}

/* One word, or an option and its value; returns how many words it is. */
static int take_word(struct typed *typed, char **words, int count)
{
    char directory = strncmp(typed->form, "unpack ", 7) == 0 ? 'd' : 'C';
    const char *value;
    int used;

    if (typed->in_order || words[0][0] != '-' || !words[0][1])
        typed->operands[typed->count++] = words[0];
    else if (strcmp(words[0], "--") == 0)
        typed->in_order = true;
    else if ((value = value_of(words, count, 'C', "directory", &used)) ||
             (value = value_of(words, count, directory, "directory", &used)))
        return typed->directory = value, used;
    else if (strstr(typed->form, "OUTPUT") &&
             (value = value_of(words, count, 'o', "output", &used)))
        return typed->output = value, used;
    else if ((value = value_of(words, count, 0, "file", &used)))
        return typed->operands[typed->count++] = (char *)value, used;
    else
        return take_option(typed, words, count);
    return 1;
}

static void add_operands(const struct typed *typed, size_t from, size_t to, const char *word)
{
    if (from >= to && *word != '[')
        line_say(typed->line, word);
    for (size_t i = from; i < to; i++)
        line_quote(typed->line, typed->operands[i]);
}

/* Was the option typed that this word of a form ("--include=GLOB", "PATH...") would name again? */
static bool is_typed(const struct typed *typed, const char *word)
{
    const char *name = strcmp(word, "PATH...") == 0 ? "--files-from=" : word;
    size_t size = strcspn(name, "=") + 1;

    return strncmp(name, "--", 2) == 0 && typed->options.size > 0 && name[size - 1] == '=' &&
           memmem(typed->options.data, typed->options.size, name, size) != NULL;
}

/* A word of the form; `next` is the first operand that is not in the line yet. */
static void add_word(const struct typed *typed, const char *word, size_t *next)
{
    size_t count = typed->count;
    size_t inputs = typed->output ? count : count > 1 ? count - 1 : count;
    const char *directory = typed->directory;
    bool takes_directory = strcmp(word, "[DIR]") == 0;

    if (takes_directory && !directory && *next < count)
        directory = typed->operands[(*next)++];
    if (strcmp(word, "ARCHIVE") == 0) {
        add_operands(typed, 0, count > 0, word);
    } else if (strcmp(word, "INPUT...") == 0) {
        add_operands(typed, 0, inputs, word);
    } else if (strcmp(word, "OUTPUT") == 0 && typed->output) {
        line_quote(typed->line, typed->output);
    } else if (strcmp(word, "OUTPUT") == 0) {
        add_operands(typed, inputs, count, word);
    } else if (strcmp(word, "PATH...") == 0 || strcmp(word, "[PATH...]") == 0) {
        add_operands(typed, *next, count, is_typed(typed, word) ? "[" : word);
        *next = count;
    } else if (takes_directory || strcmp(word, "[-C]") == 0) {
        if (directory) {
            line_say(typed->line, "-C");
            line_quote(typed->line, directory);
        }
    } else if (!is_typed(typed, word)) {
        line_say(typed->line, word);
    }
}

static void fill_in(const struct typed *typed, const char *form)
{
    struct line_to_type *line = typed->line;
    struct sb_buf word = {0};
    size_t next = 1;

    for (bool first = true; !line->code && *form; first = false) {
        size_t size = strcspn(form, " ");

        line->code = sb_buf_set(&word, form, size);
        if (!line->code)
            add_word(typed, word.data, &next);
        if (first && typed->options.size > 0)
            line_say(line, typed->options.data + 1);
        form += size + (form[size] == ' ');
    }
    sb_buf_release(&word);
}

/* To make what is called as another container is convert's. */
static const char *choose_form(const struct other_word *row, const struct typed *typed)
{
    enum sb_container_kind kind = SB_UNKNOWN;

    if (typed->count > 0)
        kind = sb_container_by_suffix(typed->operands[0]).kind;
    if (row->form == pack_form && typed->count > 0 && strcmp(typed->operands[0], "-") == 0 &&
        !typed->directory)
        return to_pipe_form;
    if (row->form == pack_form && kind != SB_UNKNOWN && !(sb_container_takes(kind) & SB_TO_INDEX) &&
        !typed->directory)
        return convert_form;
    return row->form;
}

bool other_words_line(char **words, int count, struct line_to_type *line)
{
    const struct other_word *row;
    struct typed typed = {.operands = words, .line = line};

    if (count > 1 && (word_is_among(programs, words[0], strlen(words[0])) ||
                      (strcmp(words[0], "unzip") == 0 && strcmp(words[1], "-l") == 0)))
        words++, count--;
    row = find_row(words[0]);
    if (!row)
        row = find_letters(words[0]);
    if (!row)
        return false;
    typed.form = row->form;
    typed.command = command_named(row->form, strcspn(row->form, " "));
    for (int i = 1; i < count;)
        i += take_word(&typed, words + i, count - i);
    fill_in(&typed, choose_form(row, &typed));
    sb_buf_release(&typed.options);
    return true;
}
