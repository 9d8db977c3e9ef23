#include "core/error.h"

#undef sb_fail
#undef sb_fail_errno
#undef sb_fail_memory
#undef sb_fail_empty

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct sb_error of_thread;
static _Thread_local struct sb_error *elsewhere; /* NULL: of_thread */

struct sb_error *sb_error(void)
{
    return elsewhere ? elsewhere : &of_thread;
}

struct sb_error *sb_error_into(struct sb_error *error)
{
    struct sb_error *before = elsewhere;

    elsewhere = error;
    return before;
}

/* The old text may be an argument of the new one. */
SB_PRINTF(3, 0)
static void set_text(int error_number, enum sb_code code, const char *format, va_list args)
{
    struct sb_error *error = sb_error();
    char text[sizeof(error->text)];

    vsnprintf(text, sizeof(text), format, args);
    error->code = code;
    error->sys_errno = error_number;
    memcpy(error->text, text, strlen(text) + 1);
}

enum sb_code sb_fail(enum sb_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_text(0, code, format, args);
    va_end(args);
    return code;
}

enum sb_code sb_fail_errno(int error_number, const char *format, ...)
{
    struct sb_error *error = sb_error();
    va_list args;
    char reason[128];
    size_t used;
    enum sb_code code = SB_SYSTEM;

    if (error_number == ENOMEM)
        code = SB_NOMEM;
    else if (error_number == ENOENT)
        code = SB_NOENT;

    va_start(args, format);
    set_text(error_number, code, format, args);
    va_end(args);
    used = strlen(error->text);
    snprintf(error->text + used, sizeof(error->text) - used, ": %s",
             strerror_r(error_number, reason, sizeof(reason)));
    return code;
}

enum sb_code sb_fail_empty(const char *subject)
{
    return sb_fail(
        SB_FORMAT,
        "%s: is empty, and --force does not replace an existing output by nothing; see what "
        "makes it, or leave out --force",
        subject);
}

enum sb_code sb_fail_memory(void)
{
    return sb_fail(SB_NOMEM, "out of memory");
}

static enum sb_code hand_over(void *out, void *memory)
{
    memcpy(out, &memory, sizeof(memory));
    return memory ? SB_OK : (sb_fail_memory)();
}

enum sb_code sb_alloc(void *out, size_t size)
{
    return hand_over(out, malloc(size));
}

enum sb_code sb_alloc_zeroed(void *out, size_t count, size_t size)
{
    return hand_over(out, calloc(count, size));
}

enum sb_code sb_copy_text(char **out, const char *text)
{
    return hand_over(out, strdup(text));
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
