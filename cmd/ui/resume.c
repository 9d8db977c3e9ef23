#include "ui/resume.h"
#include "ui/meant.h"
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
static const char without_effect[] =
    "append bwlimit checkpoint resume force threads quiet verbose progress report no-progress "
    "max-size output wait";

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

enum sb_code resume_add_options(struct sb_buf *out, const char *except)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(given[i].name);

        if (word_is_among(without_effect, given[i].name, size) ||
            word_is_among(except, given[i].name, size))
            continue;
        sb_buf_clear(&name);
        TRY(sb_buf_add_format(&name, "--%s", given[i].name));
        TRY(resume_add_line(out, name.data, given[i].value));
    }
    return SB_OK;
}

void resume_hint(const char *archive, bool appends)
{
    message_error("%s%s: keeps what was committed; go on with --resume", archive,
                  appends ? "" : ".part");
}
