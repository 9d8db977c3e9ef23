#include "verify/items.h"

#include "store/spool.h"
#include "task/verify/syrah.h"
#include "ui/message.h"
#include "ui/output.h"
#include "verify/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* One object behind the defects: what was looked at, and what that does not say. */
static void print_summary(const struct verify_run *run, const struct sb_verify_syrah_result *counts)
{
    output_format("{\"kind\":\"summary\",\"container\":\"Syrah file\",\"defects\":%" PRId64
                  ",\"items\":%" PRId64 ",\"arrays\":%" PRId64 ",\"bytes_read\":%" PRId64
                  ",\"unchecked\":%" PRId64 ",\"unproved\":\"%s\"}\n",
                  run->result.defects, counts->items, counts->arrays, run->result.bytes_read,
                  run->result.unchecked, counts->unproved);
}

static enum sb_code descriptor_of(int *fd, struct sb_input *input, struct sb_error *err)
{
    if (!input->seekable)
        return sb_spool(fd, input, 0, err);
    *fd = fcntl(input->fd, F_DUPFD_CLOEXEC, 0);
    return *fd < 0 ? sb_fail_errno(err, errno, "%s", input->name) : SB_OK;
}

enum sb_code verify_items(struct verify_run *run, struct sb_input *input,
                          const struct sb_verify_options *options, struct sb_error *err)
{
    struct sb_verify_syrah_result counts;
    int fd;
    enum sb_code code;

    if (run->name_count > 0)
        return sb_fail(err, SB_INVALID, "%s: has items, not names, and is verified as a whole",
                       run->name);
    code = descriptor_of(&fd, input, err);
    if (code)
        return code;
    message_progress_counts("arrays");
    code = sb_verify_syrah(fd, input->name, options, &run->events, &run->result, &counts, err);
    message_progress_end();
    run->unproved = counts.unproved;
    if (!code && run->settings->json)
        print_summary(run, &counts);
    verify_run_flush();
    if (!code)
        verify_summarize_container(run);
    return code;
}
