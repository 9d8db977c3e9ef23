#include "task/fetch/impl.h"

#define FLUSHED_FROM ((size_t)256 << 10)

enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output)
{
    *frames = (struct sb_fetch_frames){.output = output};
    if (sb_framing_is_bare(framing) || framing == SB_FRAMING_BATCH)
        return SB_OK;
    return sb_framer_new(&frames->framer, framing);
}

void sb_fetch_frames_release(struct sb_fetch_frames *frames)
{
    sb_framer_free(frames->framer);
    sb_buf_release(&frames->out);
}

/* The framer does not know the name. */
static enum sb_code name_error(const char *name)
{
    return sb_fail(sb_error()->code, "%s: %s", name, sb_error()->text);
}

enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames)
{
    enum sb_code code = SB_OK;

    if (frames->out.size > 0)
        code = frames->output->write(frames->output->context, frames->out.data, frames->out.size);
    sb_buf_clear(&frames->out);
    return code;
}

enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file)
{
    struct sb_framed record = {.name = name, .index = frames->number, .size = size, .like = file};
    enum sb_code code = sb_framer_begin(frames->framer, &record, &frames->out);

    return code ? name_error(name) : SB_OK;
}

enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size)
{
    enum sb_code code = sb_framer_data(frames->framer, data, size, &frames->out);

    if (code)
        return name_error(name);
    return frames->out.size >= FLUSHED_FROM ? sb_fetch_frames_flush(frames) : SB_OK;
}

enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name)
{
    enum sb_code code = sb_framer_end(frames->framer, &frames->out);

    frames->number++;
    return code ? name_error(name) : SB_OK;
}

enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames)
{
    if (frames->framer)
        TRY(sb_framer_finish(frames->framer, &frames->out));
    return sb_fetch_frames_flush(frames);
}
