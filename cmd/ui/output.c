#include "ui/output.h"
#include "ui/message.h"

#include "core/interrupt.h"
#include "core/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    char data[65536];
    size_t used;
} pending;

static int64_t allowed;

void output_allow(int64_t size)
{
    allowed = size;
}

enum sb_code output_directly(void *context, const void *data, size_t size)
{
    int64_t *written = context;
    enum sb_code code;

    if (allowed > 0 && (int64_t)size > allowed - *written)
        return sb_fail(SB_LIMIT, "more than --max-size, %" PRId64 " bytes, comes out of it",
                       allowed);
    code = sb_write_full(STDOUT_FILENO, data, size, "standard output");
    *written += (int64_t)size;
    if (!code && !output_is_terminal())
        message_progress_update(*written, 0, 0);
    return code;
}

bool output_is_terminal(void)
{
    static enum { UNKNOWN, YES, NO } answer;

    if (answer == UNKNOWN)
        answer = isatty(STDOUT_FILENO) ? YES : NO;
    return answer == YES;
}

void output_check(int error_number)
{
    if (error_number == 0)
        return;
    sb_fail_errno(error_number, "standard output");
    message_failure();
    message_leave();
}

void output_need(enum sb_code code)
{
    if (code)
        output_check(ENOMEM);
}

/* Returns only after everything was written. */
static void write_out(const char *data, size_t size)
{
    enum sb_code code;

    message_progress_hide();
    code = sb_write_full(STDOUT_FILENO, data, size, "standard output");
    if (!code && sb_interrupted())
        code = sb_fail(SB_INTERRUPT, "interrupted");
    if (code) {
        message_failure();
        message_leave();
    }
}

void output_flush(void)
{
    size_t size = pending.used;

    pending.used = 0;
    write_out(pending.data, size);
}

void output_bytes(const void *data, size_t size)
{
    if (size == 0)
        return;
    if (size > sizeof(pending.data) - pending.used)
        output_flush();
    if (size > sizeof(pending.data)) {
        write_out(data, size);
        return;
    }
    memcpy(pending.data + pending.used, data, size);
    pending.used += size;
}

void output_text(const char *text)
{
    output_bytes(text, strlen(text));
}

void output_char(char c)
{
    if (pending.used == sizeof(pending.data))
        output_flush();
    pending.data[pending.used++] = c;
}

void output_format(const char *format, ...)
{
    size_t space = sizeof(pending.data) - pending.used;
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(pending.data + pending.used, space, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < space) {
        pending.used += (size_t)length;
        return;
    }
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        output_check(ENOMEM);
    output_bytes(text, (size_t)length);
    free(text);
}

void output_name(const char *name, size_t size)
{
    static struct sb_buf quoted;

    if (!output_is_terminal()) {
        output_bytes(name, size);
        return;
    }
    sb_buf_clear(&quoted);
    if (sb_quote(&quoted, name, size, SB_SHELL))
        output_check(ENOMEM);
    output_bytes(quoted.data, quoted.size);
}

void output_line(const char *name, size_t size, bool nul)
{
    if (nul)
        output_bytes(name, size);
    else
        output_name(name, size);
    output_char(nul ? '\0' : '\n');
}
