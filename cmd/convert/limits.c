#include "convert/limits.h"
#include "ui/message.h"
#include "ui/options.h"

#include <inttypes.h>
#include <string.h>

static bool goes_with_it(const char *name)
{
    static const char *const names[] = {
        "limits-only", "keys",     "force",       "dry-run", "quiet",
        "verbose",     "progress", "no-progress", "threads",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static const char *misuse(int count)
{
    const struct given_option *given;
    size_t options = options_given(&given);

    if (count != 1)
        return "--limits-only takes one ARCHIVE, whose shards become bags where they are";
    for (size_t i = 0; i < options; i++) {
        if (!goes_with_it(given[i].name))
            return "--limits-only changes no bytes: only --keys, --force and --dry-run go with it";
    }
    return NULL;
}

int convert_limits_only(struct sb_limits_options *wanted, char *const *operands, int count)
{
    const char *wrong = misuse(count);
    struct sb_limits_counts counts;
    struct sb_error err;

    if (wrong)
        return message_usage("%s", wrong);
    wanted->archive = operands[0];
    wanted->notify = &message_notify;
    if (sb_limits_write(wanted, &counts, &err)) {
        message_failure(&err);
        message_raise(STATUS_ERROR);
        return message_status();
    }
    message_note("%s: %s limits of %" PRId64 " records in %" PRId64 " shards", wanted->archive,
                 wanted->dry_run ? "would write" : "wrote", counts.records, counts.shards);
    return message_status();
}
