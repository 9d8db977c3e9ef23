#include "ui/meant.h"
#include "ui/message.h"

#include "core/array.h"
#include "core/name.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANYWAY     "that is done anyway; leave it out"
#define NO_LINKS   "links are not followed; leave it out"
#define NOT_KEPT   "an archive keeps nothing of the kind; leave it out"
#define NO_MEANING "has no meaning in an archive; leave it out"
#define NO_COMMANDS                                                                                \
    "no command is run; pipe the paths: -print0 | xargs -0, or the files: "                        \
    "-print0 | shardbox cat -0 -T - ARCHIVE"
#define NO_DELETE "find only reads; pipe the paths: -print0 | shardbox rm -0 -T - ARCHIVE"
#define NO_DEPTH                                                                                   \
    "a directory comes before what is below it; to turn that round, pipe: -print0 | sort -rz"
#define NO_REGEX  "takes no regular expressions; use -path with a GLOB, or pipe: -print0 | grep -z"
#define NO_FOLLOW "links are not followed; -type l -printf '%p %l\\n' shows where they point"
#define FIND_TIME "an archive keeps the time of modification alone; use -mtime, -mmin or -newer"

/*
 * Options and words by which other programs (tar, zip, rsync, cp, Barecat, squashfs-tools, GNU ls,
 * du, diff, mv, find) call something: for commands of ours that lack them, what to do instead; and
 * without a command, the line that does it here. A letter of tar is looked up as "-x", or "-tv".
 */
static const struct {
    const char *commands;
    const char *words;
    const char *instead;
} elsewhere[] = {
    {"", "create make new backup -c --create", "pack ARCHIVE [-C DIR] PATH..."},
    {"", "mksquashfs", "pack ARCHIVE -C DIR ."},
    {"", "add append a -r --append", "pack --append ARCHIVE [-C DIR] PATH..."},
    {"", "update -u --update", "pack --append --update ARCHIVE [-C DIR] PATH..."},
    {"", "rsync mirror", "sync SOURCE TARGET"},
    {"", "extract restore checkout", "unpack ARCHIVE [-C DIR] [PATH...]"},
    {"", "e unzip unsquashfs -x --extract --get", "unpack ARCHIVE [-C DIR] [PATH...]"},
    {"", "zip", "convert INPUT... OUTPUT"},
    {"", "cp copy import export", "convert INPUT... OUTPUT"},
    {"", "subset", "convert --include=GLOB INPUT... OUTPUT"},
    {"", "index", "convert --wrap INPUT... OUTPUT"},
    {"", "list l dir la vdir", "ls ARCHIVE [PATH...]"},
    {"", "ll", "ls -l ARCHIVE [PATH...]"},
    {"", "-t", "find ARCHIVE [PATH...]"},
    {"", "-tv -l zipinfo", "ls -lR ARCHIVE [PATH...]"},
    {"", "tree", "ls --tree ARCHIVE [PATH...]"},
    {"", "stat", "ls -ld ARCHIVE [PATH...]"},
    {"", "info status df", "ls --shards ARCHIVE"},
    {"", "index-to-csv", "find --csv ARCHIVE"},
    {"", "count", "du --count ARCHIVE [PATH...]"},
    {"", "ncdu browse shell to-ncdu-json", "du --export=ncdu ARCHIVE | ncdu -f-"},
    {"", "get show print read head tail less more zcat -xO", "cat ARCHIVE PATH..."},
    {"", "wc", "cat ARCHIVE PATH... | wc"},
    {"", "md5sum", "cat ARCHIVE PATH... | md5sum"},
    {"", "sha256sum", "cat ARCHIVE PATH... | sha256sum"},
    {"", "search locate", "find --name=GLOB ARCHIVE"},
    {"", "remove delete del d unlink --delete", "rm ARCHIVE PATH..."},
    {"", "rmdir", "rm -d ARCHIVE PATH..."},
    {"", "rename move ren", "mv ARCHIVE SOURCE... TARGET"},
    {"", "squashfuse squashfuse_ll ratarmount fuse archivemount", "mount INPUT... DIR"},
    {"", "unmount fusermount fusermount3", "umount DIR"},
    {"", "check test fsck validate scrub", "verify ARCHIVE [PATH...]"},
    {"", "par2 par2create parity", "protect FILE..."},
    {"", "repair", "verify --repair-from=COPY ARCHIVE"},
    {"", "compare cmp", "diff ARCHIVE [-C DIR]"},
    {"", "-d --diff --compare", "diff ARCHIVE [-C DIR] [PATH...]"},
    {"", "compact vacuum gc prune", "defrag ARCHIVE"},
    {"", "reshard", "split --shard-size=SIZE ARCHIVE"},
    {"", "shard partition", "split --parts=N -o 'PART-{}.barecat' ARCHIVE"},
    {"", "join concat combine", "merge INPUT... OUTPUT"},
    {"", "-A --catenate --concatenate", "merge --append -o ARCHIVE PATH..."},
    {"", "version -V", "--version"},
    {"", "completion-script completions completion", "--completions=bash"},
    {"pack", "-c --create -r --recursive -a --archive -p --preserve-permissions", ANYWAY},
    {"pack", "-z", "use --compress=gz"},
    {"pack", "-J", "use --compress=xz"},
    {"pack", "-P --absolute-names", "names in an archive are relative; leave it out"},
    {"pack", "--gzip --bzip2 --xz --zstd -I --use-compress-program",
     "'shardbox convert' makes a tar.gz, and --compress=zst compresses each file"},
    {"pack", "--exclude-vcs", "use --exclude=.git"},
    {"pack", "--sort", "names are in order anyway; leave it out"},
    {"pack", "--delete --remove-files", "'shardbox rm' and plain rm remove"},
    {"unpack", "-x --extract --get", ANYWAY},
    {"unpack", "-f --file", "the archive is the first operand; leave it out"},
    {"unpack", "-a", "use --preserve"},
    {"unpack", "-d", "use --directory=DIR"},
    {"unpack", "-z -J", "use --decompress"},
    {"unpack convert sync", "-P", "use --progress"},
    {"unpack", "-O --to-stdout", "'shardbox cat' writes to standard output"},
    {"unpack", "-t --list", "'shardbox find' lists names, 'shardbox ls -lR' all of them"},
    {"unpack", "-T --files-from",
     "'shardbox cat --frame=tar -T FILE ARCHIVE | tar -x' takes a list"},
    {"unpack", "--wildcards", "a GLOB in quotes is one anyway; leave it out"},
    {"unpack", "-o --overwrite", "use --existing=replace"},
    {"unpack convert", "-k --skip-old-files --keep-old-files --ignore-existing",
     "use --existing=skip"},
    {"unpack convert mv", "-u --keep-newer-files --update", "use --existing=newer"},
    {"unpack", "--same-owner", "use --preserve"},
    {"convert", "-S", "use --sparse"},
    {"convert merge split", "--shuffle",
     "'shardbox cat --samples --shuffle --frame=tar' writes a shuffled tar"},
    {"cat convert diff find ls mount split sync unpack verify", "--charset --encoding --from-code",
     "use --iconv=CHARSET"},
    {"merge-symlink", "-l", "use --hardlink"},
    {"split", "-s", "use --symlink"},
    {"rm", "-R", "use --recursive"},
    {"convert", "-C --directory", "a directory is an INPUT as it is"},
    {"rm mv unpack", "-i -I -w --interactive", "it never prompts; -n prints what would be done"},
    {"rm", "--one-file-system --preserve-root --no-preserve-root", NO_MEANING},
    {"mv", "-b --backup", "what has the new name is replaced by -f only, and not kept"},
    {"ls", "-i --inode -s --size -Z --context", NOT_KEPT},
    {"ls", "-c -u --time", "an archive keeps the time of modification alone; leave it out"},
    {"ls", "-H --dereference-command-line", NO_LINKS},
    {"ls", "-G --no-group -g -o", "-l shows all; 'shardbox find --printf' shows what is wanted"},
    {"ls", "-C -x -m --format", "names are in columns on a terminal; leave it out"},
    {"ls", "-f", "-U is for that, and costs as much"},
    {"ls", "-I --hide -B --ignore-backups", "'shardbox find --exclude=GLOB' leaves out"},
    {"ls", "--time-style", "--full-time shows all of it; 'shardbox find --printf' the rest"},
    {"ls", "-N --literal -Q -b --quoting-style --escape", "names are raw on a pipe; leave it out"},
    {"du", "-D -H -L -P -l --dereference --no-dereference --count-links", NO_LINKS},
    {"du", "-B --block-size --si", "sizes are in bytes; see -h, -k and -m"},
    {"du", "--inodes", "--count counts files"},
    {"du", "-S --separate-dirs", "a directory has the sum of all below it; leave it out"},
    {"du", "-t --threshold", "--sort=size brings the largest first"},
    {"du", "-X --exclude", "'shardbox find --exclude=GLOB --printf' prints sizes of the rest"},
    {"du", "--time", "'shardbox ls -l' shows times"},
    {"diff", "-u -U --unified -c --context -y --side-by-side",
     "contents are not shown; 'shardbox cat' writes them for diff"},
    {"diff", "-N --new-file", "what only one side has is named anyway; leave it out"},
    {"diff", "-a --text -i -w -b -B --ignore-case --ignore-all-space",
     "files are compared byte by byte; leave it out"},
    {"diff", "-s --report-identical-files", "only differences are named; leave it out"},
    {"diff", "-x -X --exclude --exclude-from",
     "names are chosen by PATHs and GLOBs; --ignore is for kinds of differences"},
    {"diff", "--no-dereference", "links are compared as links anyway; leave it out"},
    {"find", "-L -H -lname -ilname -xtype -follow", NO_FOLLOW},
    {"find", "-P", NO_LINKS},
    {"find", "-exec -execdir -ok -okdir", NO_COMMANDS},
    {"find", "-delete", NO_DELETE},
    {"find", "-fprint -fprint0 -fprintf -fls",
     "what is printed goes to standard output; redirect that: >FILE"},
    {"find", "-ls", "use -printf '%M %u %g %s %t %p\\n', or 'shardbox ls -lR'"},
    {"find", "-depth", NO_DEPTH},
    {"find", "-regex -iregex -regextype", NO_REGEX},
    {"find", "-atime -amin -anewer -ctime -cmin -cnewer -used", FIND_TIME},
    {"find", "-daystart", "use -newermt with a date"},
    {"find", "-executable", "use -perm /111"},
    {"find", "-readable", "use -perm /444"},
    {"find", "-writable", "use -perm /222"},
    {"find", "-nouser", "use -uid"},
    {"find", "-nogroup", "use -gid"},
    {"find", "-files0-from", "use -0 -T FILE"},
    {"find", "-links -inum -samefile -fstype -context", NOT_KEPT},
    {"find", "-mount -xdev -noleaf -warn -nowarn", NO_MEANING},
    {"find", "-ignore_readdir_race -noignore_readdir_race", NO_MEANING},
    {"find", "-help", "use --help"},
    {"find", "-version", "use shardbox --version"},
    {"cat", "--records", "the numbers are operands: CONTAINER 7 10:20"},
    {"cat", "-n -b -s -A -e -E -t --number --show-all", "pipe it: | cat with that option"},
};

/* Programs whose first argument is such a word. */
static const char programs[] = "tar bsdtar 7z barecat";

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

const char *other_options_instead(const char *command, const char *word, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
        const char *commands = elsewhere[i].commands;

        if ((*command ? word_is_among(commands, command, strlen(command)) : !*commands) &&
            word_is_among(elsewhere[i].words, word, size))
            return elsewhere[i].instead;
    }
    return NULL;
}

/* Letters of tar in one word: "-xzf", "xvf", "x". */
static const char *find_letters(const char *word)
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
    return other_options_instead("", key, strlen(key));
}

const char *other_words_line(char **words, int count)
{
    const char *line;

    if (count > 1 && (word_is_among(programs, words[0], strlen(words[0])) ||
                      (strcmp(words[0], "unzip") == 0 && strcmp(words[1], "-l") == 0)))
        words++;
    line = other_options_instead("", words[0], strcspn(words[0], "="));
    return line ? line : find_letters(words[0]);
}

#define SIZE_MOST 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][SIZE_MOST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    if (a_size > SIZE_MOST || b_size > SIZE_MOST)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *oldest = before;

        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[b_size];
}

void nearest_offer(struct nearest *nearest, const char *word)
{
    size_t size = strlen(word);
    size_t longer = size > nearest->typed_size ? size : nearest->typed_size;
    size_t distance = edit_distance(nearest->typed, nearest->typed_size, word, size);

    if (distance > longer / 3 || (nearest->found && distance >= nearest->distance))
        return;
    nearest->found = word;
    nearest->distance = distance;
}

#define WORDS_MOST 8 /* more are not repeated in a message */

void line_begin(struct line_to_type *line, const char *words)
{
    if (!line->code)
        line->code = sb_buf_add_text(&line->text, words);
}

void line_say(struct line_to_type *line, const char *words)
{
    if (!line->code)
        line->code =
            sb_buf_add_format(&line->text, "%s %s", line->text.size ? "" : "shardbox", words);
}

void line_quote(struct line_to_type *line, const char *word)
{
    line_say(line, "");
    if (!line->code)
        line->code = sb_quote(&line->text, word, strlen(word), SB_SHELL);
}

void line_quote_all(struct line_to_type *line, char *const *words, size_t count)
{
    for (size_t i = 0; i < count && i < WORDS_MOST; i++)
        line_quote(line, words[i]);
    if (count > WORDS_MOST)
        line_say(line, "...");
}

int line_complain(struct line_to_type *line, const char *format, ...)
{
    char *what = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&what, format, args);
    va_end(args);
    if (length < 0 || line->code)
        message_error("out of memory");
    else
        message_error("%s; type: %s", what, line->text.data);
    if (length >= 0)
        free(what);
    sb_buf_release(&line->text);
    return STATUS_ERROR;
}
