#include "store/unmatched.h"

#include "store/container.h"

#include <string.h>
#include <sys/stat.h>

const char *sb_unmatched_hint(const char *name)
{
    struct stat st;

    if (sb_container_by_suffix(name).kind != SB_UNKNOWN && stat(name, &st) == 0 &&
        S_ISREG(st.st_mode))
        return "; it is a container of its own: name one at a time";
    if (strchr(name, '*') && !strstr(name, "**"))
        return "; '*' stays within a directory, '**/' means any below";
    return "";
}
