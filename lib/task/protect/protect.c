#include "core/io.h"
#include "core/name.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sb_code name_parity(const char *path, const char *parity_dir, struct sb_buf *out)
{
    sb_buf_clear(out);
    if (parity_dir && sb_buf_add_format(out, "%s/", parity_dir))
        return sb_fail_memory();
    TRY(sb_buf_add_format(out, "%s%s", parity_dir ? sb_base_name(path) : path, SB_PROTECT_SUFFIX));
    return SB_OK;
}

enum sb_code sb_protect_find_origin(char **out, const char *path)
{
    const char *name = sb_base_name(path);
    CLEANUP(sb_freep)
    char *typed = name > path ? strndup(path, (size_t)(name - path)) : strdup(".");
    CLEANUP(sb_freep) char *directory = NULL;

    *out = NULL;
    if (!typed)
        return sb_fail_memory();
    directory = realpath(typed, NULL);
    if (!directory)
        return sb_fail_errno(errno, "%s", path);
    if (asprintf(out, "%s/%s", directory, name) < 0)
        *out = NULL;
    return *out ? SB_OK : sb_fail_memory();
}

enum sb_code sb_protect_find(const char *path, const char *parity_dir, struct sb_buf *out)
{
    struct stat st;

    TRY(name_parity(path, parity_dir, out));
    if (lstat(out->data, &st) || !S_ISREG(st.st_mode))
        sb_buf_clear(out);
    return SB_OK;
}

bool sb_protect_has_parity(const char *path, const char *parity_dir)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    return IGNORED(sb_protect_find(path, parity_dir, &name)) == SB_OK && name.size > 0;
}

bool sb_protect_ends_work(void)
{
    return sb_error()->code == SB_INVALID ||
           (sb_ends_work(sb_error()) && sb_error()->code != SB_FORMAT &&
            sb_error()->code != SB_CHANGED);
}

enum sb_code sb_protect_look(const char *path, const char *parity_dir,
                             struct sb_protect_status *out)
{
    CLEANUP(sb_freep) char *target = realpath(path, NULL);
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    struct sb_parity_super super;
    enum sb_code code;
    bool same;

    *out = (struct sb_protect_status){.state = SB_PROTECT_NONE};
    if (!target && errno == ENOMEM)
        return sb_fail_memory();
    TRY(name_parity(target ? target : path, parity_dir, &name));
    if (!sb_protect_find_super(name.data, &super))
        return SB_OK;
    out->per_mille = (super.shape.parity * 1000 + super.shape.data / 2) / super.shape.data;
    out->size = super.shape.size;
    code = IGNORED(sb_file_open(&file, path, "file"));
    out->state = code == SB_NOENT ? SB_PROTECT_CUT : SB_PROTECT_CHANGED;
    if (code)
        return SB_OK;
    (void)!IGNORED(sb_protect_is_same(&super, file, &same));
    if (same)
        out->state = file->st.st_size < super.shape.size ? SB_PROTECT_CUT : SB_PROTECT_CURRENT;
    return SB_OK;
}

int64_t sb_protect_work(const char *path, const struct sb_protect_options *options)
{
    bool check = options->act == SB_PROTECT_CHECK || options->act == SB_PROTECT_REPAIR;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct stat st, parity;

    if (options->act == SB_PROTECT_REMOVE || lstat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    if (!check || IGNORED(name_parity(path, options->parity_dir, &name)))
        return st.st_size;
    return lstat(name.data, &parity) ? 0 : (int64_t)st.st_size + parity.st_size;
}

static enum sb_code refuse_kind(const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return SB_OK;
    if (S_ISLNK(st->st_mode))
        return sb_fail(SB_FORMAT, "%s: is a symbolic link; give the file that it leads to", path);
    if (S_ISDIR(st->st_mode))
        return sb_fail(SB_FORMAT, "%s: is a directory; give the files in it", path);
    return sb_fail(SB_FORMAT, "%s: is no regular file", path);
}

enum sb_code sb_protected_begin(struct sb_protected *work, const char *path,
                                const struct sb_protect_options *options)
{
    *work = (struct sb_protected){.path = path, .options = options, .lock = {.fd = -1}};
    TRY(name_parity(path, options->parity_dir, &work->name));
    return options->parity_dir ? sb_protect_find_origin(&work->origin, path) : SB_OK;
}

void sb_protected_end(struct sb_protected *work)
{
    sb_parity_free(work->parity);
    sb_file_free(work->file);
    sb_protect_release(&work->holds);
    sb_out_lock_drop(&work->lock);
    sb_buf_release(&work->name);
    free(work->origin);
}

/* SB_NOENT, and what to do about the parity file, if there is one. */
static enum sb_code fail_missing(const struct sb_protected *work, int number)
{
    struct stat st;

    if (number != ENOENT || lstat(work->name.data, &st))
        return sb_fail_errno(number, "%s", work->path);
    return sb_fail(SB_NOENT,
                   "%s: is missing, and has a parity file, which cannot make it again; bring it "
                   "back from a copy, or, if it is not needed, remove that with 'shardbox protect "
                   "--remove'",
                   work->path);
}

enum sb_code sb_protected_open(struct sb_protected *work, bool to_write)
{
    struct stat st;
    int fd;

    if (lstat(work->path, &st))
        return fail_missing(work, errno);
    TRY(refuse_kind(work->path, &st));
    fd = open(work->path,
              (to_write ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sb_fail_errno(errno, "%s: cannot be opened", work->path);
    TRY(sb_file_take(&work->file, fd, work->path));
    TRY(refuse_kind(work->path, &work->file->st));
    if (!to_write || work->file->st.st_nlink <= 1 || work->options->hard_links)
        return SB_OK;
    return sb_fail(SB_FORMAT,
                   "%s: has %ju names (hard links), and would change under all of them; "
                   "'shardbox protect --repair --hard-links' allows it",
                   work->path, (uintmax_t)work->file->st.st_nlink);
}

enum sb_code sb_protected_open_parity(struct sb_protected *work)
{
    const char *name = work->name.data;
    struct stat st;

    if (lstat(name, &st))
        return errno == ENOENT
                   ? sb_fail(SB_NOENT, "%s: has no parity file; 'shardbox protect' makes it",
                             work->path)
                   : sb_fail_errno(errno, "%s", name);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: is no parity file; move it away", name);
    TRY(sb_parity_open(&work->parity, name));
    if (!sb_protect_has_note(&work->parity->super))
        return sb_fail(SB_FORMAT,
                       "%s: is a parity file that 'shardbox protect' did not make; "
                       "move it away",
                       name);
    if (work->origin && !sb_protect_has_origin(&work->parity->super, work->origin))
        return sb_fail(SB_EXISTS,
                       "%s: is of another file than %s, or of its former place; give another "
                       "--parity-dir, or move it beside its file",
                       name, work->origin);
    return SB_OK;
}

/* Also one whose file is gone; and one that was just removed. */
static bool is_parity(const char *path, enum sb_protect_act act)
{
    static const char suffix[] = SB_PROTECT_SUFFIX;
    size_t size = strlen(path), end = sizeof(suffix) - 1;
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;
    enum sb_code code;

    if (size <= end || strcmp(path + size - end, suffix) != 0)
        return false;
    code = IGNORED(sb_parity_open(&parity, path));
    if (!code)
        return sb_protect_has_note(&parity->super);
    return code == SB_DAMAGED || (code == SB_NOENT && act == SB_PROTECT_REMOVE);
}

static enum sb_code remove_parity(struct sb_protected *work)
{
    const char *name = work->name.data;
    enum sb_code code = sb_protected_open_parity(work);

    if (code && code != SB_DAMAGED)
        return code;
    if (work->options->dry_run) {
        sb_report(work->options->notify, SB_NOTE, "would-remove", name, "would be removed");
        return SB_OK;
    }
    if (unlink(name))
        return sb_fail_errno(errno, "%s: cannot be removed", name);
    sb_report(work->options->notify, SB_NOTE, "removed", name, "removed");
    return sb_sync_directory_of(name);
}

/* What is no file to be protected gets no lock beside it. */
static enum sb_code lock(struct sb_protected *work)
{
    const struct sb_protect_options *options = work->options;
    enum sb_code code;
    struct stat st;

    if (options->dry_run || options->act == SB_PROTECT_CHECK)
        return SB_OK;
    if (lstat(work->path, &st) == 0) {
        TRY(refuse_kind(work->path, &st));
    } else if (options->act != SB_PROTECT_REMOVE) {
        return fail_missing(work, errno);
    }
    code = sb_out_lock_take_beside(&work->lock, work->name.data, work->name.data);
    if (code || options->act == SB_PROTECT_REMOVE || work->guard)
        return code;
    if (options->act == SB_PROTECT_REPAIR || sb_protect_is_index(work->path))
        return sb_protect_hold(&work->holds, work->path, options->act != SB_PROTECT_REPAIR);
    return SB_OK;
}

/* With a guard the caller keeps writers of the file away, and makes a damaged parity file again. */
static enum sb_code protect_guarded(const char *path, const struct sb_protect_options *options,
                                    struct sb_protect_guard *guard)
{
    CLEANUP(sb_protected_end) struct sb_protected work = {.lock = {.fd = -1}};

    if (is_parity(path, options->act))
        return options->one ? sb_fail(SB_INVALID,
                                      "%s: is a parity file; give the file that it protects", path)
                            : SB_OK;
    TRY(sb_protected_begin(&work, path, options));
    work.guard = guard;
    TRY(lock(&work));
    switch (options->act) {
    case SB_PROTECT_MAKE:
        return sb_protect_make(&work);
    case SB_PROTECT_UPDATE:
        return sb_protect_update(&work);
    case SB_PROTECT_REMOVE:
        return remove_parity(&work);
    case SB_PROTECT_CHECK:
    case SB_PROTECT_REPAIR:
        break;
    }
    return sb_protect_repair(&work);
}

enum sb_code sb_protect(const char *path, const struct sb_protect_options *options)
{
    return protect_guarded(path, options, NULL);
}

enum sb_code sb_protect_mend(const char *path, const struct sb_protect_options *options,
                             struct sb_protect_guard *guard, enum sb_code (*before)(void *context),
                             void *context)
{
    struct sb_protect_result found = {0};
    const struct sb_protect_options look = {.act = SB_PROTECT_CHECK,
                                            .parity_dir = options->parity_dir,
                                            .trust = options->trust,
                                            .threads = options->threads,
                                            .result = &found};
    enum sb_code code = protect_guarded(path, &look, guard);

    if (!code && found.pieces > 0) {
        TRY(before ? before(context) : SB_OK);
        return protect_guarded(path, options, guard);
    }
    if (options->result) {
        options->result->files += found.files;
        options->result->changed += guard ? found.changed : code == SB_CHANGED;
    }
    return code;
}

enum sb_code sb_protect_open(struct sb_parity **out, const char *path, const char *parity_dir)
{
    const struct sb_protect_options options = {.parity_dir = parity_dir};
    CLEANUP(sb_protected_end) struct sb_protected work = {.lock = {.fd = -1}};

    *out = NULL;
    TRY(sb_protected_begin(&work, path, &options));
    TRY(sb_protected_open_parity(&work));
    *out = TAKE(work.parity);
    return SB_OK;
}
