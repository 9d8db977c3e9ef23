#include "task/split/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out,
                             struct sb_error *err)
{
    const char *rest = output, *place;

    sb_buf_clear(out);
    for (; (place = strstr(rest, SB_SPLIT_PLACE)); rest = place + strlen(SB_SPLIT_PLACE)) {
        if (sb_buf_add(out, rest, (size_t)(place - rest)) || sb_buf_add_text(out, name))
            return sb_fail_memory(err);
    }
    if (sb_buf_add_text(out, rest))
        return sb_fail_memory(err);
    if (strcmp(out->data, "-") == 0)
        return sb_fail(err, SB_INVALID, "a part named '-' would go to standard output; say -o ./-");
    return SB_OK;
}

enum sb_code sb_split_output_check(const char *output, int64_t parts, struct sb_error *err)
{
    if (parts < 2 || strstr(output, SB_SPLIT_PLACE))
        return SB_OK;
    return sb_fail(err, SB_INVALID,
                   "%s: there are %" PRId64 " parts, and one name; write '" SB_SPLIT_PLACE
                   "' where the name of the part goes",
                   output, parts);
}

enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out, struct sb_error *err)
{
    int digits = snprintf(NULL, 0, "%" PRId64, parts > 0 ? parts - 1 : 0);

    return sb_buf_add_format(out, "%0*" PRId64, digits, part) ? sb_fail_memory(err) : SB_OK;
}
