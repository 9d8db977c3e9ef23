#include "ui/part.h"
#include "store/part_name.h"
#include "ui/message.h"
#include "ui/resume.h"

#include <inttypes.h>
#include <stdio.h>

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
