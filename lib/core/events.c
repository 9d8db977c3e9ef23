#include "core/events.h"

#include <string.h>

void sb_events_release(struct sb_events *events)
{
    sb_buf_release(&events->text);
}

static enum sb_code add_string(struct sb_buf *text, const char *string)
{
    return sb_buf_add(text, string, strlen(string) + 1);
}

/* An event is its level as a letter, then three strings. */
enum sb_code sb_events_add(struct sb_events *events, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    size_t before = events->text.size;

    if (sb_buf_add_char(&events->text, (char)('0' + level)) || add_string(&events->text, kind) ||
        add_string(&events->text, subject) || add_string(&events->text, text)) {
        sb_buf_cut(&events->text, before);
        return sb_fail_memory();
    }
    return SB_OK;
}

void sb_events_report(struct sb_events *events, const struct sb_notify *notify)
{
    const char *at = events->text.data;
    const char *end;

    if (events->text.size == 0)
        return;
    end = at + events->text.size;
    while (at < end) {
        const char *kind = at + 1;
        const char *subject = kind + strlen(kind) + 1;
        const char *text = subject + strlen(subject) + 1;

        sb_report(notify, (enum sb_level)(*at - '0'), kind, subject, "%s", text);
        at = text + strlen(text) + 1;
    }
    sb_buf_clear(&events->text);
}
