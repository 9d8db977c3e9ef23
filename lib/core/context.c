#include "core/context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct sb_context none = {.umask = 077};

_Thread_local struct sb_context *sb_context_now = &none;

void sb_context_init(struct sb_context *context)
{
    const char *temporary = getenv("TMPDIR");
    mode_t mask = umask(077); /* files that other threads make meanwhile are private */

    umask(mask);
    *context =
        (struct sb_context){.umask = mask, .temporary = temporary && *temporary ? temporary : NULL};
}

struct sb_context *sb_context_enter(struct sb_context *context)
{
    struct sb_context *former = sb_context_now;

    sb_context_now = context;
    return former;
}

void sb_context_resolves(const char *typed, const char *absolute)
{
    if (sb_context_now->resolves && strcmp(typed, absolute) != 0)
        sb_context_now->resolves(typed, absolute);
}
