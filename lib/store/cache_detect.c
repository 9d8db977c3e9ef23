#include "store/cache.h"
#include "store/cache_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes fd. */
static bool has_segment(int fd)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    bool found = false;
    int64_t number;

    if (!dir) {
        close(fd);
        return false;
    }
    while (!found && (entry = readdir(dir)))
        found = sb_cache_segment_number(entry->d_name, &number);
    closedir(dir);
    return found;
}

bool sb_is_cache(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), segments;
    bool found;

    if (dir < 0)
        return false;
    segments = openat(dir, "segments", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    found = segments >= 0 && (faccessat(dir, "index.pkl", F_OK, 0) == 0 ||
                              faccessat(dir, "schema.json", F_OK, 0) == 0);
    if (segments >= 0 && !found)
        found = has_segment(segments);
    else if (segments >= 0)
        close(segments);
    close(dir);
    return found;
}
