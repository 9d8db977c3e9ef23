#include "verify_run.h"

#include "message.h"
#include "output.h"
#include "verify_defect.h"

void verify_run_begin(struct verify_run *run, const struct verify_settings *settings,
                      char **operands, size_t count)
{
    *run = (struct verify_run){
        .settings = settings,
        .path = operands[0],
        .names = operands + 1,
        .name_count = count - 1,
        .events = {.context = run, .found = verify_run_found, .progress = message_progress_call},
    };
}

void verify_run_found(void *context, const struct sb_defect *defect)
{
    const struct verify_run *run = context;
    struct sb_buf line = {0};
    enum sb_code code =
        run->settings->json ? verify_defect_json(&line, defect) : verify_defect_text(&line, defect);

    if (code == SB_OK)
        code = sb_buf_add_char(&line, '\n');
    if (code == SB_OK)
        output_bytes(line.data, line.size);
    else
        message_error("out of memory while naming a defect");
    sb_buf_release(&line);
}
