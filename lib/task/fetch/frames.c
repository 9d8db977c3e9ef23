#include "task/fetch/frames.h"

#define FLUSHED_FROM ((size_t)256 << 10)

enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output, struct sb_error *err)
{
    *frames = (struct sb_fetch_frames){.output = output};
    if (sb_framing_is_bare(framing) || framing == SB_FRAMING_BATCH)
        return SB_OK;
    return sb_framer_new(&frames->framer, framing, err);
}

void sb_fetch_frames_release(struct sb_fetch_frames *frames)
{
    sb_framer_free(frames->framer);
    sb_buf_release(&frames->out);
}

/* The framer does not know the name. */
static enum sb_code name_error(const char *name, struct sb_error *err)
{
    struct sb_error cause = *err;

    return sb_fail(err, cause.code, "%s: %s", name, cause.text);
}

enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (frames->out.size > 0)
        code =
            frames->output->write(frames->output->context, frames->out.data, frames->out.size, err);
    sb_buf_clear(&frames->out);
    return code;
}

enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file, struct sb_error *err)
{
    struct sb_framed record = {.name = name, .index = frames->number, .size = size, .like = file};
    enum sb_code code = sb_framer_begin(frames->framer, &record, &frames->out, err);

    return code ? name_error(name, err) : SB_OK;
}

enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size, struct sb_error *err)
{
    enum sb_code code = sb_framer_data(frames->framer, data, size, &frames->out, err);

    if (code)
        return name_error(name, err);
    return frames->out.size >= FLUSHED_FROM ? sb_fetch_frames_flush(frames, err) : SB_OK;
}

enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name,
                                 struct sb_error *err)
{
    enum sb_code code = sb_framer_end(frames->framer, &frames->out, err);

    frames->number++;
    return code ? name_error(name, err) : SB_OK;
}

enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (frames->framer)
        code = sb_framer_finish(frames->framer, &frames->out, err);
    return code ? code : sb_fetch_frames_flush(frames, err);
}
