#include "ui/failure.h"

#include "core/failure.h"
#include "ui/typed_paths.h"

#include <stdio.h>

static struct {
    int status; /* 0: there is none */
    const char *word;
    char text[1024];
} noted;

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
    add(line, sb_failure_word(err), err->text);
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
