#include "find/refused.h"

#include <string.h>

#define NO_COMMANDS                                                                                \
    "no command is run; pipe the paths: -print0 | xargs -0, or the files: "                        \
    "-print0 | shardbox cat -0 -T - ARCHIVE"
#define TO_STDOUT  "what is printed goes to standard output; redirect that: >FILE"
#define ONE_TIME   "an archive keeps the time of modification alone; use -mtime, -mmin or -newer"
#define NO_REGEX   "takes no regular expressions; use -path with a GLOB, or pipe: -print0 | grep -z"
#define NO_FOLLOW  "links are not followed; -type l -printf '%p %l\\n' shows where they point"
#define NOT_KEPT   "an archive keeps nothing of the kind; leave it out"
#define NO_MEANING "has no meaning in an archive; leave it out"

/* Words of GNU find's that are refused, and what to do instead. */
static const struct {
    const char *name, *instead;
} refused[] = {
    {"-exec", NO_COMMANDS},
    {"-execdir", NO_COMMANDS},
    {"-ok", NO_COMMANDS},
    {"-okdir", NO_COMMANDS},
    {"-delete", "find only reads; pipe the paths: -print0 | shardbox rm -0 -T - ARCHIVE"},
    {"-fprint", TO_STDOUT},
    {"-fprint0", TO_STDOUT},
    {"-fprintf", TO_STDOUT},
    {"-fls", TO_STDOUT},
    {"-ls", "use -printf '%M %u %g %s %t %p\\n', or 'shardbox ls -lR'"},
    {"-depth", "a directory comes before what is below it; to turn that round, pipe: "
               "-print0 | sort -rz"},
    {"-regex", NO_REGEX},
    {"-iregex", NO_REGEX},
    {"-regextype", NO_REGEX},
    {"-lname", NO_FOLLOW},
    {"-ilname", NO_FOLLOW},
    {"-xtype", NO_FOLLOW},
    {"-follow", NO_FOLLOW},
    {"-atime", ONE_TIME},
    {"-amin", ONE_TIME},
    {"-anewer", ONE_TIME},
    {"-ctime", ONE_TIME},
    {"-cmin", ONE_TIME},
    {"-cnewer", ONE_TIME},
    {"-used", ONE_TIME},
    {"-daystart", "use -newermt with a date"},
    {"-executable", "use -perm /111"},
    {"-readable", "use -perm /444"},
    {"-writable", "use -perm /222"},
    {"-nouser", "use -uid"},
    {"-nogroup", "use -gid"},
    {"-files0-from", "use -0 -T FILE"},
    {"-links", NOT_KEPT},
    {"-inum", NOT_KEPT},
    {"-samefile", NOT_KEPT},
    {"-fstype", NOT_KEPT},
    {"-context", NOT_KEPT},
    {"-mount", NO_MEANING},
    {"-xdev", NO_MEANING},
    {"-noleaf", NO_MEANING},
    {"-warn", NO_MEANING},
    {"-nowarn", NO_MEANING},
    {"-ignore_readdir_race", NO_MEANING},
    {"-noignore_readdir_race", NO_MEANING},
    {"-help", "use --help"},
    {"-version", "use shardbox --version"},
};

const char *find_refusal(const char *name)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(refused[i].name, name) == 0)
            return refused[i].instead;
    }
    return strncmp(name, "-newer", 6) == 0 && strlen(name) == 8 ? ONE_TIME : NULL;
}
