/*
 * What was meant by operands of convert that say too little.
 */
#include "convert/settings.h"
#include "core/array.h"
#include "core/name.h"
#include "store/store.h"
#include "ui/line_to_type.h"
#include "ui/message.h"

#include <string.h>
#include <sys/stat.h>

/* "shardbox convert", the options of a line, the INPUTs and OUTPUT. */
static struct line_to_type begin_line(const struct convert_settings *settings, const char *options)
{
    struct line_to_type line = {0};

    line_say(&line, "convert");
    line_say(&line, options);
    line_quote_all(&line, settings->inputs, settings->input_count);
    line_quote(&line, settings->output);
    return line;
}

bool convert_output_is_unknown(const struct convert_settings *settings)
{
    struct record_use use = record_use_of(settings);
    bool pipe = strcmp(settings->output, "-") == 0;
    bool suffix = strchr(sb_base_name(settings->output), '.') != NULL;
    struct line_to_type line;

    if (settings->output_type.kind != SB_UNKNOWN || writes_frames(&settings->records, &use))
        return false;
    line = begin_line(settings, pipe ? "--to=tar" : suffix ? "--to=archive" : "--to=dir");
    line_complain(&line,
                  "%s: what it is to become is said by --to, or a suffix: .barecat, .tar, "
                  ".tar.gz, .tar.zst, .zip, .bag, .bagz, .syr",
                  pipe ? "standard output" : settings->output);
    return true;
}

/* How the records of a file with such a name are separated; NULL: not known. */
static const char *frame_of(const char *path)
{
    static const struct {
        const char *suffix, *frame;
    } frames[] = {
        {".jsonl", "--frame=line"},        {".ndjson", "--frame=line"},
        {".txt", "--frame=line"},          {".csv", "--frame=line"},
        {".tsv", "--frame=line"},          {".lst", "--frame=line"},
        {".tfrecord", "--frame=tfrecord"}, {".tfrecords", "--frame=tfrecord"},
    };
    size_t size = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        size_t end = strlen(frames[i].suffix);

        if (size > end && strcasecmp(path + size - end, frames[i].suffix) == 0)
            return frames[i].frame;
    }
    return NULL;
}

static bool is_plain_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

bool convert_explain_input(const struct convert_settings *settings)
{
    struct line_to_type line;
    const char *input = NULL;

    if (sb_error()->code != SB_FORMAT || settings->from != NOT_GIVEN ||
        settings->records.framing != NOT_FRAMED)
        return false;
    for (size_t i = 0; !input && i < settings->input_count; i++) {
        if (is_plain_file(settings->inputs[i]) && frame_of(settings->inputs[i]) &&
            sb_store_abilities(settings->inputs[i], settings->input_type) == 0)
            input = settings->inputs[i];
    }
    if (!input && sb_container_takes(settings->output_type.kind) & SB_TO_RECORDS &&
        settings->input_count == 1 && strcmp(settings->inputs[0], "-") == 0) {
        line = begin_line(settings, "--frame=line");
        line_complain(&line, "%s; --frame says how records are separated", sb_error()->text);
        return true;
    }
    if (!input)
        return false;
    line = begin_line(settings, frame_of(input));
    line_complain(&line, "%s: is no container; --frame says how its records are separated", input);
    return true;
}
