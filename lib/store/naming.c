#include "store/naming.h"

#include "core/name.h"

#include <string.h>

void sb_naming_release(struct sb_naming *naming)
{
    sb_buf_release(&naming->text);
}

static const char *why_not(const char *name, size_t size, bool is_dir)
{
    return size == 0 && is_dir ? NULL : sb_name_problem(name, size);
}

enum sb_code sb_naming_clean(const char *raw, size_t raw_size, bool is_dir, struct sb_buf *out,
                             const char **problem)
{
    const char *end = raw + raw_size, *slash;
    size_t size;

    sb_buf_clear(out);
    for (const char *at = raw; at < end; at = slash + 1) {
        slash = memchr(at, '/', (size_t)(end - at));
        if (!slash)
            slash = end;
        size = (size_t)(slash - at);
        if (size == 0 || (size == 1 && *at == '.'))
            continue;
        if ((out->size && sb_buf_add_char(out, '/')) || sb_buf_add(out, at, size))
            return SB_NOMEM;
    }
    if (sb_buf_reserve(out, 0))
        return SB_NOMEM;
    out->data[out->size] = '\0';
    *problem = why_not(out->data, out->size, is_dir);
    return SB_OK;
}

enum sb_code sb_naming_map(struct sb_naming *naming, const char *raw, size_t raw_size, bool is_dir,
                           const char **name, size_t *size)
{
    const char *problem = why_not(raw, raw_size, is_dir);

    *name = raw;
    *size = raw_size;
    if (!problem)
        return SB_OK;
    TRY(sb_naming_clean(raw, raw_size, is_dir, &naming->text, &problem));
    if (problem) {
        sb_report(naming->notify, SB_PROBLEM, "name", raw, "left out: the name %s", problem);
        return SB_END;
    }
    /* A leading "./", which the names of most tars have, is not reported. */
    if (!naming->said && raw_size > 0 && raw[0] == '/') {
        naming->said = true;
        sb_report(naming->notify, SB_WARNING, "name", raw,
                  "the leading '/' is taken off this name, and off others like it");
    }
    *name = naming->text.data;
    *size = naming->text.size;
    return SB_OK;
}
