#include "task/fetch/stored_names.h"

#include "core/name.h"
#include "store/charset.h"
#include "store/naming.h"

#include <stdlib.h>
#include <string.h>

struct sb_stored_names {
    struct sb_buf prefix; /* normalized */
    unsigned strip;
    struct sb_charset *charset; /* NULL: names are not converted */
    bool any_bytes;
    const struct sb_notify *notify;
    bool warned_encoding;
    struct sb_buf converted;
    struct sb_buf out;
};

enum sb_code sb_stored_names_new(struct sb_stored_names **out, const char *prefix, unsigned strip,
                                 const char *charset, bool any_bytes,
                                 const struct sb_notify *notify)
{
    CLEANUP(sb_stored_names_freep) struct sb_stored_names *names = NULL;
    const char *problem = NULL;

    *out = NULL;
    TRY(SB_NEW(&names));
    names->strip = strip;
    names->notify = notify;
    names->any_bytes = any_bytes;
    if (prefix)
        TRY(sb_naming_clean(prefix, strlen(prefix), true, &names->prefix, &problem));
    if (problem)
        return sb_fail(SB_INVALID, "%s: cannot be put before names: it %s", prefix, problem);
    TRY(sb_charset_open(&names->charset, charset));
    *out = TAKE(names);
    return SB_OK;
}

void sb_stored_names_free(struct sb_stored_names *names)
{
    if (!names)
        return;
    sb_charset_free(names->charset);
    sb_buf_release(&names->prefix);
    sb_buf_release(&names->converted);
    sb_buf_release(&names->out);
    free(names);
}

static enum sb_code convert(struct sb_stored_names *names, const char **name, size_t *size,
                            const char *disk_path)
{
    struct sb_buf *to = &names->converted;
    enum sb_code code = sb_charset_decode(names->charset, *name, *size, to);

    if (code == SB_NOMEM)
        return sb_fail_memory();
    if (code) {
        sb_report(names->notify, SB_PROBLEM, "encoding", disk_path,
                  "the name is not in the character set given; left out");
        return SB_END;
    }
    *name = to->data;
    *size = to->size;
    return SB_OK;
}

static const char *why_not(const struct sb_stored_names *names, const char *name, size_t size)
{
    const char *problem = size ? sb_name_problem(name, size) : NULL;

    if (problem)
        return problem;
    if (!names->any_bytes && !sb_parent_is_computable(name, size))
        return "is not UTF-8, and SQLite would put it in another directory; pack --iconv=CHARSET "
               "may help";
    return NULL;
}

static void warn_encoding(struct sb_stored_names *names, const char *name, size_t size,
                          const char *disk_path)
{
    if (names->any_bytes || names->warned_encoding || sb_is_utf8(name, size))
        return;
    names->warned_encoding = true;
    sb_report(
        names->notify, SB_WARNING, "encoding", disk_path,
        "the name is not UTF-8: kept, but Barecat will not be able to list this archive, only "
        "to read single paths; pack --iconv=CHARSET stores names as UTF-8 (said once)");
}

enum sb_code sb_stored_names_map(struct sb_stored_names *names, const char *name, size_t size,
                                 const char *disk_path, const struct sb_buf **out)
{
    const char *problem;

    if (names->charset && size)
        TRY(convert(names, &name, &size, disk_path));
    if (names->strip && !sb_strip_components(&name, &size, names->strip))
        return SB_END;
    TRY(sb_name_join(&names->out, names->prefix.data, names->prefix.size, name, size));
    problem = why_not(names, names->out.data, names->out.size);
    if (problem) {
        sb_report(names->notify, SB_PROBLEM, "name", disk_path, "cannot be stored: the name %s",
                  problem);
        return SB_END;
    }
    warn_encoding(names, names->out.data, names->out.size, disk_path);
    *out = &names->out;
    return SB_OK;
}
