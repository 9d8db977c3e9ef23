#include "task/restore/impl.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/database.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"
#include "store/naming.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sb_restore_piece_release(struct sb_restore_piece *piece)
{
    sb_spool_release(&piece->bytes);
}

void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size)
{
    sb_spool_clear(&piece->bytes);
    piece->expected = size;
    piece->crc = 0;
    piece->lost = false;
}

enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size)
{
    struct sb_restore_piece *piece = context;
    enum sb_code code;

    if ((int64_t)size > piece->expected - sb_spool_size(&piece->bytes))
        return sb_fail(SB_LIMIT, "has more than %lld bytes", (long long)piece->expected);
    code = sb_spool_add(&piece->bytes, data, size);
    piece->lost = code != SB_OK;
    if (!code)
        piece->crc = sb_crc32c_block(piece->crc, data, size);
    return code;
}

bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c)
{
    return piece->expected >= 0 && sb_spool_size(&piece->bytes) == size && piece->crc == crc32c;
}

struct sb_restore_copy {
    const char *path;
    char *prefix; /* "" or "DIR/" */
    const struct sb_notify *notify_to;
    struct sb_notify notify; /* receives the events of the copy's source */
    struct sb_store *store;
    bool begun;                 /* in sequence: a source was made */
    int dir;                    /* of a directory; else -1 */
    struct sb_archive *archive; /* the store's */
    struct sb_content *content;
    struct sb_buf name;
};

static void report_as_note(void *context, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    const struct sb_restore_copy *copy = context;

    (void)level;
    sb_report(copy->notify_to, SB_NOTE, kind, subject, "%s", text);
}

void sb_restore_copy_free(struct sb_restore_copy *copy)
{
    if (!copy)
        return;
    sb_content_free(copy->content);
    sb_store_free(copy->store);
    if (copy->dir >= 0)
        close(copy->dir);
    sb_buf_release(&copy->name);
    free(copy->prefix);
    free(copy);
}

/* Opening the index of the archive a second time would drop its locks, and would be of no use. */
static enum sb_code refuse_itself(const char *path, const struct sb_archive *archive)
{
    CLEANUP(sb_freep) char *file = IGNORED(sb_index_file(path));
    struct stat st;

    if (!file || stat(file, &st) || !sb_is_same_file(&st, sb_archive_index_stat(archive)))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: is the archive itself, or has the same index; another copy is needed",
                   path);
}

static enum sb_code take_prefix(struct sb_restore_copy *copy, const char *prefix)
{
    bool stripped;

    TRY(sb_name_normalize(prefix ? prefix : "", &copy->name, &stripped));
    if (copy->name.size > 0 && sb_buf_add_char(&copy->name, '/'))
        return sb_fail_memory();
    copy->prefix = strdup(copy->name.data ? copy->name.data : "");
    return copy->prefix ? SB_OK : sb_fail_memory();
}

static enum sb_code open_store(struct sb_restore_copy *copy)
{
    const struct sb_store_options by_content = {.notify = &copy->notify};

    return sb_store_open(&copy->store, copy->path, &by_content);
}

static enum sb_code open_kind(struct sb_restore_copy *copy)
{
    TRY(open_store(copy));
    if (sb_store_can(copy->store, SB_CAN_RECORDS))
        return sb_fail(SB_INVALID, "%s: a bag has records, not files by name", copy->path);
    copy->archive = sb_store_archive(copy->store);
    if (copy->archive)
        return sb_content_open(&copy->content, copy->archive, NULL);
    if (!sb_store_can(copy->store, SB_CAN_WALK))
        return SB_OK;
    copy->dir = open(copy->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return copy->dir < 0 ? sb_fail_errno(errno, "%s", copy->path) : SB_OK;
}

enum sb_code sb_restore_copy_open(struct sb_restore_copy **out, const char *path,
                                  const char *prefix, const struct sb_archive *archive,
                                  const struct sb_notify *notify)
{
    CLEANUP(sb_restore_copy_freep) struct sb_restore_copy *copy = calloc(1, sizeof(*copy));

    *out = NULL;
    if (!copy)
        return sb_fail_memory();
    copy->path = path;
    copy->dir = -1;
    copy->notify_to = notify;
    copy->notify = (struct sb_notify){.call = report_as_note, .context = copy};
    TRY(refuse_itself(path, archive));
    TRY(take_prefix(copy, prefix));
    TRY(open_kind(copy));
    *out = TAKE(copy);
    return SB_OK;
}

bool sb_restore_copy_in_sequence(const struct sb_restore_copy *copy)
{
    return !copy->content && copy->dir < 0;
}

static enum sb_code read_link(int dir, const char *name, struct sb_restore_piece *piece)
{
    char target[PATH_MAX];
    ssize_t size = readlinkat(dir, name, target, sizeof(target));

    if (size < 0)
        return sb_fail_errno(errno == EINVAL ? ENOENT : errno, "%s", name);
    return sb_restore_piece_add(piece, target, (size_t)size);
}

/* Links are followed: their target counts only if it has the right bytes. */
static enum sb_code read_disk(int dir, const char *name, int64_t size,
                              struct sb_restore_piece *piece)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int64_t ignored;
    enum sb_code code = SB_OK;

    if (fd < 0)
        return sb_fail_errno(errno == ENOTDIR ? ENOENT : errno, "%s", name);
    if (fstat(fd, &st))
        code = sb_fail_errno(errno, "%s", name);
    else if (!S_ISREG(st.st_mode))
        code = sb_fail(SB_NOENT, "%s: is not a regular file", name);
    else if (st.st_size == size)
        code = sb_feed_file(fd, &st, size, sb_restore_piece_add, piece, &ignored, name);
    sb_close_kept(fd, NULL);
    return code;
}

enum sb_code sb_restore_copy_read(struct sb_restore_copy *copy, const struct sb_restore_item *item,
                                  struct sb_restore_piece *piece)
{
    struct sb_buf *name = &copy->name;
    struct sb_entry entry;
    enum sb_code code;

    if (sb_name_problem(item->path, item->path_size))
        return SB_NOENT;
    TRY(sb_buf_set(name, copy->prefix, strlen(copy->prefix)));
    TRY(sb_buf_add(name, item->path, item->path_size));
    sb_restore_piece_begin(piece, item->size);
    if (copy->dir >= 0)
        return item->is_link ? read_link(copy->dir, name->data, piece)
                             : read_disk(copy->dir, name->data, item->size, piece);
    code = sb_archive_lookup(copy->archive, name->data, name->size, &entry);
    if (code || entry.type == SB_DIR)
        return code ? code : SB_NOENT;
    if (entry.defect || entry.size != item->size ||
        ((entry.has & SB_HAS_CRC) && entry.crc32c != item->crc32c))
        return SB_OK;
    entry.path = name->data;
    return sb_content_stream_sparse(copy->content, &entry, true, sb_restore_piece_add, piece);
}

enum sb_code sb_restore_copy_source(struct sb_restore_copy *copy, struct sb_source **out)
{
    *out = NULL;
    if (copy->begun) {
        if (sb_store_is_stream(copy->store) || strcmp(copy->path, "-") == 0)
            return SB_END;
        sb_store_free(copy->store);
        TRY(open_store(copy));
    }
    copy->begun = true;
    return sb_store_source(copy->store, out, NULL, &copy->notify);
}

enum sb_code sb_restore_copy_name(struct sb_restore_copy *copy, const char *raw, size_t raw_size,
                                  const char **name, size_t *size)
{
    size_t prefix = strlen(copy->prefix);
    const char *problem;

    TRY(sb_naming_clean(raw, raw_size, false, &copy->name, &problem));
    if (problem || copy->name.size <= prefix || memcmp(copy->name.data, copy->prefix, prefix) != 0)
        return SB_END;
    *name = copy->name.data + prefix;
    *size = copy->name.size - prefix;
    return SB_OK;
}
