#include "store/samples/samples.h"

#include <string.h>

size_t sb_sample_name_size(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    const char *last = slash ? slash + 1 : path;
    const char *dot = memchr(last, '.', size - (size_t)(last - path));

    return dot && dot > last ? (size_t)(dot - path) + 1 : size;
}
