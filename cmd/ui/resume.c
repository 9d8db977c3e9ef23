#include "ui/resume.h"
#include "ui/message.h"
#include "ui/options.h"

#include "store/part_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool part_parse(const char *text, struct sb_share *out)
{
    *out = (struct sb_share){0};
    if (!text || sb_share_parse(out, text) == SB_OK)
        return true;
    message_error("--part: %s", sb_error()->text);
    return false;
}

bool part_name_output(const char **path, struct sb_share share, bool bag, struct sb_buf *out)
{
    if (share.count == 0)
        return true;
    if (sb_part_name(*path, share, bag, out)) {
        message_error("%s", sb_error()->text);
        return false;
    }
    *path = out->data;
    return true;
}

enum sb_code part_add_line(struct sb_buf *out, struct sb_share share)
{
    char text[48];

    if (share.count == 0)
        return SB_OK;
    snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, share.index + 1, share.count);
    return resume_add_line(out, "--part", text);
}

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
