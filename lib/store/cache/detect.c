#include "store/cache/cache.h"
#include "store/cache/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum content { NOTHING, SEGMENTS, OTHERS };

/* What a directory holds: a segment, or else what is none. Takes fd. */
static enum content look_into(int fd)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    enum content content = NOTHING;
    int64_t number;

    if (!dir) {
        close(fd);
        return OTHERS;
    }
    while (content != SEGMENTS && (entry = readdir(dir))) {
        if (sb_cache_segment_number(entry->d_name, &number))
            content = SEGMENTS;
        else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 !sb_cache_is_leftover(entry->d_name))
            content = OTHERS;
    }
    closedir(dir);
    return content;
}

bool sb_is_cache(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), segments;
    enum content content = OTHERS;
    bool found;

    if (dir < 0)
        return false;
    segments = openat(dir, "segments", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (segments >= 0)
        content = look_into(segments);
    found = content == SEGMENTS ||
            (content == NOTHING && (faccessat(dir, "index.pkl", F_OK, 0) == 0 ||
                                    faccessat(dir, "schema.json", F_OK, 0) == 0));
    close(dir);
    return found;
}
