#include "ui/failure.h"

#include "ui/typed_paths.h"

#include <errno.h>
#include <stdio.h>

static struct {
    int status; /* 0: there is none */
    const char *word;
    char text[1024];
} noted;

static const char *word_of_system(int error_number)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
        return "missing";
    case ENOSPC:
    case EDQUOT:
        return "no-space";
    case EFBIG:
        return "limit";
    case EACCES:
    case EPERM:
        return "permission";
    case EROFS:
        return "read-only";
    case EIO:
    case EREMOTEIO:
    case ESTALE:
    case ETIMEDOUT:
    case ENXIO:
    case ENODEV:
    case ENOTCONN:
        return "unreadable";
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return "no-resources";
    case EBUSY:
    case ETXTBSY:
        return "locked";
    case ENOLCK:
        return "no-locks";
    default:
        return "system";
    }
}

const char *failure_word(const struct sb_error *err)
{
    switch (err->code) {
    case SB_NOMEM:
        return "no-memory";
    case SB_SYSTEM:
        return word_of_system(err->sys_errno);
    case SB_NOENT:
        return "missing";
    case SB_EXISTS:
        return "exists";
    case SB_FORMAT:
        return "format";
    case SB_DAMAGED:
        return "damaged";
    case SB_LOCKED:
        return "locked";
    case SB_INVALID:
        return "invalid";
    case SB_LIMIT:
        return "limit";
    case SB_CHANGED:
        return "changed";
    case SB_INTERRUPT:
        return "interrupted";
    default:
        return "error";
    }
}

void failure_note(const char *word, const char *text, int status)
{
    if (status <= noted.status)
        return;
    noted.status = status;
    noted.word = word;
    snprintf(noted.text, sizeof(noted.text), "%s", text);
}

static void add(struct json *line, const char *word, const char *text)
{
    struct sb_buf typed = {0};

    json_text(line, "failure", word);
    json_escaped(line, "text", typed_paths_put(&typed, text) ? text : typed.data);
    sb_buf_release(&typed);
}

void failure_json(struct json *line, const struct sb_error *err)
{
    add(line, failure_word(err), err->text);
}

void failure_print(void)
{
    struct json line = {0};

    if (noted.status == 0)
        return;
    json_begin(&line);
    add(&line, noted.word, noted.text);
    json_print(&line);
    json_release(&line);
}
