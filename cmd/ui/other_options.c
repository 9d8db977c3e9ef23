#include "ui/other_options.h"
#include "core/array.h"
#include "ui/other_words.h"

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

static const struct {
    const char *commands;
    const char *options;
    const char *instead;
} elsewhere[] = {
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
    {"cat", "-n -b -s -A -e -E -t --number --show-all", "pipe it: | cat with that option"},
};

const char *other_options_instead(const char *command, const char *option, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
        if (word_is_among(elsewhere[i].commands, command, strlen(command)) &&
            word_is_among(elsewhere[i].options, option, size))
            return elsewhere[i].instead;
    }
    return NULL;
}
