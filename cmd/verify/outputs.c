#include "verify/outputs.h"

#include "task/convert/paths.h"
#include "verify/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

struct output {
    const char *file; /* NULL: not asked for */
    const char *word;
    bool is_state; /* it is read, too, and says itself whether it is one */
};

/* That the input is not there, or cannot be read, is for the run to find. */
static enum sb_code spare_input(const char *input, const char *file, struct sb_error *err)
{
    char *inputs[] = {(char *)(uintptr_t)input};
    struct sb_error found;

    if (sb_convert_paths_check(inputs, 1, file, &found) != SB_INVALID)
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s", found.text);
}

/* A directory may well have outputs in it, too. */
static enum sb_code spare_copy(const char *copy, const char *file, struct sb_error *err)
{
    struct stat st;

    if (stat(copy, &st) == 0 && S_ISDIR(st.st_mode))
        return SB_OK;
    return spare_input(copy, file, err);
}

static enum sb_code check(const struct verify_settings *settings, const char *input,
                          const struct output *output, struct sb_error *err)
{
    enum sb_code code;

    if (!output->file || strcmp(output->file, "-") == 0)
        return SB_OK;
    code = output->is_state ? sb_convert_spare_parts(output->file, err)
                            : sb_convert_spare_archive(output->file, output->word, err);
    if (!code)
        code = spare_input(input, output->file, err);
    if (!code && settings->repair.from)
        code = spare_copy(settings->repair.from, output->file, err);
    return code;
}

static enum sb_code tell_apart(const struct output *a, const struct output *b, struct sb_error *err)
{
    if (!a->file || !b->file || !sb_convert_same_name(a->file, b->file))
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s: is both the %s and the %s; give each a file of its own",
                   a->file, a->word, b->word);
}

enum sb_code verify_outputs_check(const struct verify_settings *settings, const char *input,
                                  struct sb_error *err)
{
    const struct output outputs[] = {
        {.file = settings->report, .word = "report"},
        {.file = settings->metrics, .word = "file of metrics"},
        {.file = settings->choice.state, .word = "state", .is_state = true},
    };
    size_t count = sizeof(outputs) / sizeof(outputs[0]);
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < count; i++) {
        for (size_t j = 0; !code && j < i; j++)
            code = tell_apart(&outputs[j], &outputs[i], err);
    }
    for (size_t i = 0; !code && i < count; i++)
        code = check(settings, input, &outputs[i], err);
    return code;
}
