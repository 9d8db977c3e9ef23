#include "store/member.h"

#include <sys/stat.h>

const char *sb_special_word(mode_t mode)
{
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
        return NULL;
    case S_IFIFO:
        return "FIFO";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "character device";
    case S_IFBLK:
        return "block device";
    default:
        return "special file";
    }
}
