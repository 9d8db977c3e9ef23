#include "ui/other_words.h"

#include "core/array.h"

#include <string.h>

/* Words, and the line that does the same here. A letter of tar is looked up as "-x", or "-tv". */
static const struct {
    const char *words;
    const char *line;
} table[] = {
    {"create make new backup -c --create", "pack ARCHIVE [-C DIR] PATH..."},
    {"mksquashfs", "pack ARCHIVE -C DIR ."},
    {"add append a -r --append", "pack --append ARCHIVE [-C DIR] PATH..."},
    {"update -u --update", "pack --append --update ARCHIVE [-C DIR] PATH..."},
    {"rsync mirror", "sync SOURCE TARGET"},
    {"extract restore checkout", "unpack ARCHIVE [-C DIR] [PATH...]"},
    {"e unzip unsquashfs -x --extract --get", "unpack ARCHIVE [-C DIR] [PATH...]"},
    {"zip", "convert INPUT... OUTPUT"},
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
    {"rename move ren", "mv ARCHIVE SOURCE... TARGET"},
    {"squashfuse squashfuse_ll ratarmount fuse archivemount", "mount INPUT... DIR"},
    {"unmount fusermount fusermount3", "umount DIR"},
    {"check test fsck validate scrub", "verify ARCHIVE [PATH...]"},
    {"par2 par2create parity", "protect FILE..."},
    {"repair", "verify --repair-from=COPY ARCHIVE"},
    {"compare cmp", "diff ARCHIVE [-C DIR]"},
    {"-d --diff --compare", "diff ARCHIVE [-C DIR] [PATH...]"},
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

static const char *find_line(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (word_is_among(table[i].words, word, strcspn(word, "=")))
            return table[i].line;
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
    return find_line(key);
}

const char *other_words_line(char **words, int count)
{
    const char *line;

    if (count > 1 && (word_is_among(programs, words[0], strlen(words[0])) ||
                      (strcmp(words[0], "unzip") == 0 && strcmp(words[1], "-l") == 0)))
        words++;
    line = find_line(words[0]);
    return line ? line : find_letters(words[0]);
}
