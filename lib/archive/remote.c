#include "archive/remote.h"
#include "core/array.h"
#include "core/name.h"

#include <string.h>
#include <unistd.h>

/* The programs that read such a name to a pipe, and write it from one. */
struct transport {
    const char *scheme, *read, *write;
};

static const struct transport transports[] = {
    {"gs:", "gsutil cat", "gsutil cp -"}, {"s3:", "aws s3 cp", "aws s3 cp -"},
    {"http:", "curl -fsSL", "curl -T -"}, {"https:", "curl -fsSL", "curl -T -"},
    {"ftp:", "curl -fsSL", "curl -T -"},
};

const char *sb_remote_name(const char *path, bool any_host)
{
    const char *name = path + (*path == '/');
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+");
    size_t host = strcspn(path, ":/");
    bool is_remote =
        (letters > 0 && strncmp(name + letters, "://", 3) == 0) || strncmp(name, "gs:", 3) == 0;

    if (!is_remote && host > 0 && path[host] == ':') {
        name = path;
        is_remote = any_host || path[host + 1] == ':' ||
                    (memchr(path, '@', host) && path[host - 1] != '@' && *path != '@');
    }
    return is_remote && access(path, F_OK) ? name : NULL;
}

/* Appends what reads or writes the name to a pipe: with a space before the name, or with "..." */
static enum sb_code add_program(struct sb_buf *out, const char *name, bool write)
{
    const struct transport *found = NULL;
    size_t host = strcspn(name, ":/");
    CLEANUP(sb_buf_release) struct sb_buf url = {0};

    for (size_t i = 0; i < ARRAY_SIZE(transports) && !found; i++) {
        if (strncmp(name, transports[i].scheme, strlen(transports[i].scheme)) == 0)
            found = &transports[i];
    }
    if (found) {
        /* pathlib makes "gs:/bucket" of "gs://bucket" */
        const char *rest = name + strlen(found->scheme);

        TRY(sb_buf_add_format(&url, "%s//%s", found->scheme, rest + strspn(rest, "/")));
        TRY(sb_buf_add_format(out, "%s ", write ? found->write : found->read));
        TRY(sb_quote(out, url.data, url.size, SB_SHELL));
        if (!write && strcmp(found->scheme, "s3:") == 0)
            TRY(sb_buf_add_text(out, " -"));
    } else if (memchr(name, '@', host) && name[host] == ':' && name[host + 1] != ':') {
        /* Two shells read it: ours, and the one there. */
        TRY(sb_buf_add_text(&url, write ? "cat >" : "cat "));
        TRY(sb_quote(&url, name + host + 1, strlen(name + host + 1), SB_SHELL));
        TRY(sb_buf_add_format(out, "ssh %.*s ", (int)host, name));
        TRY(sb_quote(out, url.data, url.size, SB_SHELL));
    } else {
        TRY(sb_buf_add_text(out, "..."));
    }
    return SB_OK;
}

enum sb_code sb_remote_refuse(const char *path, enum sb_remote_use use, const char *option)
{
    const char *name = sb_remote_name(path, false);
    struct sb_buf program = {0};

    if (!name)
        return SB_OK;
    if (add_program(&program, name, use == SB_REMOTE_WRITE))
        sb_fail_memory();
    else if (use == SB_REMOTE_FILES)
        sb_fail(SB_INVALID,
                "%s: is not on a file system, and an archive is several files, which no pipe "
                "carries; use a copy of all of them that is on a file system",
                path);
    else if (use == SB_REMOTE_READ)
        sb_fail(SB_INVALID, "%s: is not on a file system; use a pipe: %s | shardbox ... %s-", path,
                program.data, option);
    else
        sb_fail(SB_INVALID,
                "%s: is not on a file system; write to a pipe instead: shardbox ... %s- | %s", path,
                option, program.data);
    sb_buf_release(&program);
    return sb_error()->code;
}
