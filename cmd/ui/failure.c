#include "ui/failure.h"

#include "core/array.h"
#include "ui/typed_paths.h"

#include <errno.h>
#include <stdio.h>

static struct {
    int status; /* 0: there is none */
    const char *word;
    char text[1024];
} noted;

/* The manual, shardbox-reports(7), has each of them. */
static const struct {
    int number;
    const char *word;
} system_words[] = {
    {ENOENT, "missing"},       {ENOTDIR, "missing"},     {ENOSPC, "no-space"},
    {EDQUOT, "no-space"},      {EFBIG, "limit"},         {EACCES, "permission"},
    {EPERM, "permission"},     {EROFS, "read-only"},     {EIO, "unreadable"},
    {EREMOTEIO, "unreadable"}, {ESTALE, "unreadable"},   {ETIMEDOUT, "unreadable"},
    {ENXIO, "unreadable"},     {ENODEV, "unreadable"},   {ENOTCONN, "unreadable"},
    {EMFILE, "no-resources"},  {ENFILE, "no-resources"}, {EAGAIN, "no-resources"},
    {EBUSY, "locked"},         {ETXTBSY, "locked"},      {ENOLCK, "no-locks"},
};

static const char *const code_words[] = {
    [SB_OK] = "error",
    [SB_END] = "error",
    [SB_NOMEM] = "no-memory",
    [SB_SYSTEM] = "system",
    [SB_NOENT] = "missing",
    [SB_EXISTS] = "exists",
    [SB_FORMAT] = "format",
    [SB_DAMAGED] = "damaged",
    [SB_LOCKED] = "locked",
    [SB_INVALID] = "invalid",
    [SB_LIMIT] = "limit",
    [SB_CHANGED] = "changed",
    [SB_INTERRUPT] = "interrupted",
};

const char *failure_word(const struct sb_error *err)
{
    for (size_t i = 0; err->code == SB_SYSTEM && i < ARRAY_SIZE(system_words); i++) {
        if (system_words[i].number == err->sys_errno)
            return system_words[i].word;
    }
    return code_words[err->code];
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
