#include "store/cache/json.h"

#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME        "schema.json"
#define SCHEMA_MOST (1 << 20) /* bytes; of ten thousand columns */

enum sb_code sb_cache_load_schema(const char *dir, struct sb_buf *out)
{
    enum sb_code code;
    struct stat st;
    size_t got;
    int fd;

    if (sb_buf_add_format(out, "%s/" NAME, dir))
        return sb_fail_memory();
    fd = open(out->data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? sb_fail_errno(errno, "%s", out->data)
                               : sb_fail(SB_FORMAT, "cannot be read: %s", strerror(errno));
    sb_buf_clear(out);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        code = sb_fail(SB_FORMAT, "is not a regular file");
    else if (st.st_size >= SCHEMA_MOST)
        code = sb_fail(SB_FORMAT, "is larger than any that a cache has");
    else if (sb_buf_reserve(out, SCHEMA_MOST))
        code = sb_fail_memory();
    else
        code = sb_read_full(fd, out->data, SCHEMA_MOST, &got, NAME);
    close(fd);
    if (code)
        return code;
    out->size = got;
    out->data[got] = '\0';
    return SB_OK;
}
