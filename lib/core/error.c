#include "core/error.h"

#undef sb_fail
#undef sb_fail_errno
#undef sb_fail_memory
#undef sb_fail_empty

#include <errno.h>
#include <stdio.h>
#include <string.h>

SB_PRINTF(3, 0)
static void set_text(struct sb_error *err, enum sb_code code, const char *format, va_list args)
{
    err->code = code;
    err->sys_errno = 0;
    vsnprintf(err->text, sizeof(err->text), format, args);
}

enum sb_code sb_fail(struct sb_error *err, enum sb_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_text(err, code, format, args);
    va_end(args);
    return code;
}

enum sb_code sb_fail_errno(struct sb_error *err, int error_number, const char *format, ...)
{
    va_list args;
    char reason[128];
    size_t used;
    enum sb_code code = SB_SYSTEM;

    if (error_number == ENOMEM)
        code = SB_NOMEM;
    else if (error_number == ENOENT)
        code = SB_NOENT;

    va_start(args, format);
    set_text(err, code, format, args);
    va_end(args);
    err->sys_errno = error_number;
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s",
             strerror_r(error_number, reason, sizeof(reason)));
    return code;
}

enum sb_code sb_fail_empty(struct sb_error *err, const char *subject)
{
    return sb_fail(
        err, SB_FORMAT,
        "%s: is empty, and --force does not replace an existing output by nothing; see what "
        "makes it, or leave out --force",
        subject);
}

enum sb_code sb_fail_memory(struct sb_error *err)
{
    return sb_fail(err, SB_NOMEM, "out of memory");
}

void sb_report(const struct sb_notify *notify, enum sb_level level, const char *kind,
               const char *subject, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!notify || !notify->call)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    notify->call(notify->context, level, kind, subject, text);
}

static void count_and_pass(void *context, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    const struct sb_problem_counter *counter = context;
    const struct sb_notify *to = counter->to;

    *counter->problems += level == SB_PROBLEM;
    if (to && to->call)
        to->call(to->context, level, kind, subject, text);
}

void sb_count_problems(struct sb_problem_counter *counter, const struct sb_notify *to,
                       int64_t *problems)
{
    counter->notify = (struct sb_notify){.call = count_and_pass, .context = counter};
    counter->to = to;
    counter->problems = problems;
}

bool sb_ends_work(const struct sb_error *err)
{
    switch (err->code) {
    case SB_NOMEM:
    case SB_INTERRUPT:
    case SB_FORMAT:
    case SB_CHANGED:
        return true;
    case SB_SYSTEM:
        break;
    default:
        return false;
    }
    switch (err->sys_errno) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EROFS:
    case EMFILE:
    case ENFILE:
        return true;
    default:
        return false;
    }
}
