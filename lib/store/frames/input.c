#include "store/frames/input.h"

#include <string.h>

enum sb_code sb_frame_input_fill(struct sb_frame_input *input)
{
    const void *data;
    size_t size = 0;

    if (input->size > 0)
        return SB_OK;
    TRY(sb_flow_next(input->flow, &data, &size));
    input->at = data;
    input->size = size;
    return SB_OK;
}

enum sb_code sb_frame_input_read(struct sb_frame_input *input, void *data, size_t size, size_t *got)
{
    char *to = data;

    for (*got = 0; *got < size;) {
        enum sb_code code = sb_frame_input_fill(input);
        size_t part = size - *got;

        if (code)
            return code == SB_END ? SB_OK : code;
        if (part > input->size)
            part = input->size;
        memcpy(to + *got, input->at, part);
        sb_frame_input_pass(input, part);
        *got += part;
    }
    return SB_OK;
}
