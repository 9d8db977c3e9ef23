#include "open/chosen_records.h"

#include "ui/message.h"

#include "core/buf.h"
#include "core/list.h"

#include <stdlib.h>
#include <string.h>

/* Calls take for each of the texts between commas. */
static enum sb_code each_slice(const char *text,
                               enum sb_code (*take)(void *, const struct sb_slice *), void *context)
{
    struct sb_buf item = {0};
    enum sb_code code;

    do {
        size_t size = strcspn(text, ",");
        struct sb_slice slice;

        code = sb_buf_set(&item, text, size) ? sb_fail_memory() : SB_OK;
        if (!code)
            code = sb_slice_parse(&slice, item.data);
        if (!code && take)
            code = take(context, &slice);
        text += size;
    } while (!code && *text++ == ',');
    sb_buf_release(&item);
    return code;
}

bool records_are_valid(void *settings, const char *value)
{
    (void)settings;
    if (each_slice(value, NULL, NULL) == SB_OK)
        return true;
    message_usage("--records: %s", sb_error()->text);
    return false;
}

static enum sb_code add_slice(void *context, const struct sb_slice *slice)
{
    struct chosen_records *records = context;
    struct sb_record_choice_options *options = &records->options;

    TRY(sb_grow(&records->slices, &records->capacity, options->slice_count, sizeof(*slice)));
    options->slices = records->slices;
    records->slices[options->slice_count++] = *slice;
    records->given = true;
    return SB_OK;
}

enum sb_code chosen_records_add(struct chosen_records *records, const char *text)
{
    return each_slice(text, add_slice, records);
}

enum sb_code chosen_records_open(struct chosen_records *out, const char *files_from, char end)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    enum sb_code code = SB_OK;

    *out = (struct chosen_records){.options.sample = -1};
    for (size_t i = 0; i < count && !code; i++) {
        if (strcmp(given[i].name, "records") == 0)
            code = chosen_records_add(out, given[i].value);
    }
    if (!code && files_from) {
        code = sb_list_open(&out->options.list, files_from, end);
        out->given = true;
    }
    if (code)
        chosen_records_close(out);
    return code;
}

void chosen_records_close(struct chosen_records *records)
{
    sb_list_free(records->options.list);
    free(records->slices);
    *records = (struct chosen_records){0};
}
