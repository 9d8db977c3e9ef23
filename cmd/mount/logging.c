#include "mount/mount.h"

#include "core/io.h"
#include "core/name.h"
#include "ui/message.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static struct {
    int fd; /* of the file; 0: none */
    bool to_system;
} logging;

enum sb_code logging_open(const char *path)
{
    if (!path)
        return SB_OK;
    logging.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return logging.fd < 0 ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

void logging_leave_terminal(void)
{
    if (logging.fd > 0)
        return;
    openlog("shardbox", LOG_PID, LOG_DAEMON);
    logging.to_system = true;
}

/* One write for a line, so that lines of several mounts do not mix. */
static void write_line(const char *text, size_t size)
{
    struct sb_buf line = {0};
    struct tm local;
    time_t now = time(NULL);
    char when[32] = "";

    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    if (!sb_buf_add_format(&line, "%s shardbox[%ld] mount: ", when, (long)getpid()) &&
        !sb_buf_add(&line, text, size) && !sb_buf_add_char(&line, '\n') &&
        IGNORED(sb_write_full(logging.fd, line.data, line.size, "log")))
        logging.fd = 0; /* it is full, or gone: there is nowhere to report that */
    sb_buf_release(&line);
}

static void notify(void *context, enum sb_level level, const char *kind, const char *subject,
                   const char *text)
{
    struct sb_buf line = {0}, quoted = {0};

    (void)context;
    (void)kind;
    if (logging.fd <= 0 && !logging.to_system) {
        /* The status is that of the command, if there is one. */
        message_warning("%s%s%s", subject ? subject : "", subject ? ": " : "", text);
        return;
    }
    if (level == SB_NOTE)
        return;
    if (!sb_buf_add_format(&line, "%s%s%s", subject ? subject : "", subject ? ": " : "", text) &&
        !sb_quote(&quoted, line.data, line.size, SB_ESCAPE)) {
        if (logging.fd > 0)
            write_line(quoted.data, quoted.size);
        else
            syslog(LOG_WARNING, "mount: %s", quoted.data);
    }
    sb_buf_release(&line);
    sb_buf_release(&quoted);
}

const struct sb_notify logging_notify = {.call = notify};
