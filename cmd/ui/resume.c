#include "ui/resume.h"
#include "ui/message.h"
#include "ui/options.h"

#include <string.h>

/* Options that do not change what is stored. */
static const char *const without_effect[] = {
    "append",   "bwlimit", "checkpoint",  "resume",   "force",  "threads", "quiet", "verbose",
    "progress", "report",  "no-progress", "max-size", "output", "wait",    NULL,
};

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

enum sb_code resume_add_line(struct sb_buf *out, const char *option, const char *value)
{
    if (option)
        TRY(sb_buf_add_text(out, option));
    if (option && value)
        TRY(sb_buf_add_char(out, '='));
    for (const char *at = value; at && *at; at++)
        TRY(*at == '\n' ? sb_buf_add_text(out, "\\n") : sb_buf_add_char(out, *at));
    return sb_buf_add_char(out, '\n');
}

enum sb_code resume_add_options(struct sb_buf *out, const char *const *except)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < count; i++) {
        struct sb_buf name = {0};

        if (is_among(given[i].name, without_effect) || is_among(given[i].name, except))
            continue;
        code = sb_buf_add_format(&name, "--%s", given[i].name);
        if (!code)
            code = resume_add_line(out, name.data, given[i].value);
        sb_buf_release(&name);
    }
    return code;
}

void resume_hint(const char *archive, bool appends)
{
    message_error("%s%s: keeps what was committed; go on with --resume", archive,
                  appends ? "" : ".part");
}
