/*
 * The copy that damaged files are restored from: finds the items in it, and writes them.
 */
#include "task/restore/impl.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/database.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"
#include "core/spool.h"
#include "store/naming.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are kept in a temporary file. The fault tests are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_copy {
    struct sb_restore *restore;
    const char *path;
    char *prefix;            /* "" or "DIR/" */
    struct sb_notify notify; /* receives the events of the copy's source */
    struct sb_store *store;
    int dir;                    /* of a directory; else -1 */
    struct sb_archive *archive; /* the store's */
    struct sb_content *content;
    struct sb_buf name;

    /* The bytes of one file: they are kept until they are known to be right. */
    struct sb_spool bytes;
    int64_t expected; /* -1: no file */
    uint32_t crc;     /* of the bytes so far */
    bool lost; /* the bytes could not be kept: not the copy's fault, and the end of the work */

    /* Of a copy that is read from beginning to end. */
    bool begun; /* a source was made */
    struct sb_source *source;
    struct sb_loader *loader; /* NULL: bytes come in sequence, too */
    struct sb_buf target;     /* of a hard link */
    bool by_target;           /* the second pass: for hard links in the copy */
    bool linked;              /* there are hard links */
};

/* It is not a problem of the archive. */
static void report_as_note(void *context, enum sb_level level, const char *kind,
                           const char *subject, const char *text)
{
    const struct sb_restore_copy *copy = context;

    (void)level;
    sb_report(copy->restore->notify, SB_NOTE, kind, subject, "%s", text);
}

void sb_restore_copy_free(struct sb_restore_copy *copy)
{
    if (!copy)
        return;
    sb_content_free(copy->content);
    sb_store_free(TAKE(copy->store));
    if (copy->dir >= 0)
        close(copy->dir);
    sb_spool_release(&copy->bytes);
    sb_buf_release(&copy->name);
    sb_buf_release(&copy->target);
    free(copy->prefix);
    free(copy);
}

/* Opening the index of the archive a second time would drop its locks, and would be of no use. */
static enum sb_code refuse_itself(const struct sb_restore_copy *copy)
{
    CLEANUP(sb_freep) char *file = IGNORED(sb_index_file(copy->path));
    struct stat st;

    if (!file || stat(file, &st) ||
        !sb_is_same_file(&st, sb_archive_index_stat(copy->restore->archive)))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: is the archive itself, or has the same index; another copy is needed",
                   copy->path);
}

static enum sb_code take_prefix(struct sb_restore_copy *copy)
{
    const char *prefix = copy->restore->options->prefix;
    bool stripped;

    TRY(sb_name_normalize(prefix ? prefix : "", &copy->name, &stripped));
    if (copy->name.size > 0 && sb_buf_add_char(&copy->name, '/'))
        return sb_fail_memory();
    return sb_copy_text(&copy->prefix, copy->name.data ? copy->name.data : "");
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

enum sb_code sb_restore_copy_open(struct sb_restore *restore)
{
    CLEANUP(sb_restore_copy_freep) struct sb_restore_copy *copy = NULL;

    TRY(SB_NEW(&copy));
    copy->restore = restore;
    copy->path = restore->options->copy;
    copy->dir = -1;
    copy->bytes = (struct sb_spool){
        .fd = -1, .beside = restore->hold.path, .memory_most = (size_t)SB_RESTORE_WHOLE};
    copy->notify = (struct sb_notify){.call = report_as_note, .context = copy};
    TRY(refuse_itself(copy));
    TRY(take_prefix(copy));
    TRY(open_kind(copy));
    restore->copy = TAKE(copy);
    return SB_OK;
}

static void begin(struct sb_restore_copy *copy, int64_t size)
{
    sb_spool_clear(&copy->bytes);
    copy->expected = size;
    copy->crc = 0;
    copy->lost = false;
}

/* The next bytes, or a hole: an sb_each_block. SB_LIMIT: more than expected. */
static enum sb_code add(void *context, const void *data, size_t size)
{
    struct sb_restore_copy *copy = context;
    enum sb_code code;

    if ((int64_t)size > copy->expected - sb_spool_size(&copy->bytes))
        return sb_fail(SB_LIMIT, "has more than %lld bytes", (long long)copy->expected);
    code = sb_spool_add(&copy->bytes, data, size);
    copy->lost = code != SB_OK;
    if (!code)
        copy->crc = sb_crc32c_block(copy->crc, data, size);
    return code;
}

/* The bytes of an item, if `complete`; they are written if they are right. */
static enum sb_code give(struct sb_restore_copy *copy, const struct sb_restore_item *item,
                         bool complete)
{
    struct sb_restore *restore = copy->restore;
    struct sb_restore_put put = {restore->target, item->shard, item->offset};

    if (!complete || copy->expected < 0 || sb_spool_size(&copy->bytes) != item->size ||
        copy->crc != item->crc32c)
        return sb_restore_list_set(restore->list, item->id, SB_RESTORE_OTHER);
    if (!restore->options->dry_run)
        TRY(sb_spool_feed_sparse(&copy->bytes, sb_restore_put_block, &put));
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN);
}

static enum sb_code read_link(struct sb_restore_copy *copy, const char *name)
{
    char target[PATH_MAX];
    ssize_t size = readlinkat(copy->dir, name, target, sizeof(target));

    if (size < 0)
        return sb_fail_errno(errno == EINVAL ? ENOENT : errno, "%s", name);
    return add(copy, target, (size_t)size);
}

/* Links are followed: their target counts only if it has the right bytes. */
static enum sb_code read_disk(struct sb_restore_copy *copy, const char *name)
{
    int fd = openat(copy->dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int64_t ignored;
    enum sb_code code = SB_OK;

    if (fd < 0)
        return sb_fail_errno(errno == ENOTDIR ? ENOENT : errno, "%s", name);
    if (fstat(fd, &st))
        code = sb_fail_errno(errno, "%s", name);
    else if (!S_ISREG(st.st_mode))
        code = sb_fail(SB_NOENT, "%s: is not a regular file", name);
    else if (st.st_size == copy->expected)
        code = sb_feed_file(fd, &st, copy->expected, add, copy, &ignored, name);
    sb_close_kept(fd, NULL);
    return code;
}

/* By its name. SB_NOENT: it is missing; codes that do not end the work (sb_ends_work): its bytes
 * cannot be read. */
static enum sb_code read_named(struct sb_restore_copy *copy, const struct sb_restore_item *item)
{
    struct sb_buf *name = &copy->name;
    struct sb_entry entry;
    enum sb_code code;

    if (sb_name_problem(item->path, item->path_size))
        return SB_NOENT;
    TRY(sb_buf_set(name, copy->prefix, strlen(copy->prefix)));
    TRY(sb_buf_add(name, item->path, item->path_size));
    begin(copy, item->size);
    if (copy->dir >= 0)
        return item->is_link ? read_link(copy, name->data) : read_disk(copy, name->data);
    code = sb_archive_lookup(copy->archive, name->data, name->size, &entry);
    if (code || entry.type == SB_DIR)
        return code ? code : SB_NOENT;
    if (entry.defect || entry.size != item->size ||
        ((entry.has & SB_HAS_CRC) && entry.crc32c != item->crc32c))
        return SB_OK;
    entry.path = name->data;
    return sb_content_stream_sparse(copy->content, &entry, true, add, copy);
}

/* Files that are looked up by their names. */
static enum sb_code take_named(struct sb_restore_copy *copy)
{
    struct sb_restore *restore = copy->restore;
    struct sb_restore_item item = {0};
    enum sb_code code;

    while (!(code = sb_restore_list_next(restore->list, item.id, SB_RESTORE_WANTED, &item))) {
        code = read_named(copy, &item);
        /* What cannot be kept ends the work; what cannot be read is missed. */
        if (code && (copy->lost || code == SB_NOMEM || code == SB_INTERRUPT))
            return code;
        if (code == SB_NOENT)
            sb_restore_passed(restore, item.size);
        else
            TRY(give(copy, &item, code == SB_OK));
    }
    return code == SB_END ? SB_OK : code;
}

/* The bytes of the current member; SB_END after the last. */
static enum sb_code feed(struct sb_restore_copy *copy, struct sb_member *member)
{
    CLEANUP(sb_events_release) struct sb_events ignored = {0};
    const void *data;
    size_t got;

    if (copy->loader)
        return sb_loader_stream_sparse(copy->loader, member, add, copy, &ignored);
    for (;;) {
        TRY(sb_source_block_sparse(copy->source, &data, &got));
        TRY(add(copy, data, got));
    }
}

static enum sb_code read_member(struct sb_restore_copy *copy, struct sb_member *member,
                                int64_t size)
{
    enum sb_code code;

    begin(copy, size);
    code = feed(copy, member);
    if (code != SB_LIMIT && !(code == SB_DAMAGED && copy->source->goes_on))
        return code == SB_END ? SB_OK : code;
    /* Longer than its header says, or damaged: it is none of the requested files. */
    copy->expected = -1;
    return SB_OK;
}

/* Restores every item that the member's name is for: rows of one name, and links to one file. */
static enum sb_code give_all(struct sb_restore_copy *copy, const char *name, size_t size,
                             struct sb_member *member)
{
    struct sb_restore_item item = {0};
    bool read = false;
    enum sb_code code;

    while (!(code = sb_restore_list_find(copy->restore->list, name, size, copy->by_target, item.id,
                                         &item))) {
        if (!read && member->entry.size == item.size) {
            TRY(read_member(copy, member, item.size));
            read = true;
        }
        TRY(give(copy, &item, read));
    }
    return code == SB_END ? SB_OK : code;
}

/* The target's bytes came before; in the second pass they are known to be needed. */
static enum sb_code note_link(struct sb_restore_copy *copy, const char *name, size_t size,
                              const char *raw_target)
{
    struct sb_restore_list *list = copy->restore->list;
    struct sb_restore_item item = {0};
    const char *problem;
    enum sb_code code;

    TRY(sb_naming_clean(raw_target, strlen(raw_target), false, &copy->target, &problem));
    if (problem)
        return SB_OK;
    while (!(code = sb_restore_list_find(list, name, size, false, item.id, &item))) {
        TRY(sb_restore_list_link(list, item.id, copy->target.data, copy->target.size));
        copy->linked = true;
    }
    return code == SB_END ? SB_OK : code;
}

/*
 * In the first pass by the archive's name for the member: below the prefix, cleaned. In the second
 * one by its full name in the copy, which is the links' target.
 */
static enum sb_code take_member(struct sb_restore_copy *copy, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    size_t prefix = copy->by_target ? 0 : strlen(copy->prefix), size;
    const char *name, *problem;

    if (entry->type == SB_DIR || member->special || (copy->by_target && member->hard_link))
        return SB_OK;
    TRY(sb_naming_clean(entry->path, entry->path_size, false, &copy->name, &problem));
    if (problem || copy->name.size <= prefix || memcmp(copy->name.data, copy->prefix, prefix) != 0)
        return SB_OK;
    name = copy->name.data + prefix;
    size = copy->name.size - prefix;
    return member->hard_link ? note_link(copy, name, size, member->hard_link)
                             : give_all(copy, name, size, member);
}

/* Reads members up to the last one needed. A truncated copy still yields the members before. */
static enum sb_code run_pass(struct sb_restore_copy *copy)
{
    struct sb_restore *restore = copy->restore;
    struct sb_member member;
    enum sb_code code = SB_OK;

    while (code == SB_OK && sb_restore_list_open(restore->list) > 0) {
        code = sb_source_next(copy->source, &member);
        if (code == SB_OK)
            code = take_member(copy, &member);
    }
    if ((code == SB_DAMAGED || code == SB_FORMAT) && !copy->lost) {
        sb_report(restore->notify, SB_WARNING, "damaged", NULL,
                  "%s; what comes after it is not read", sb_error()->text);
        return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

/* SB_END if it was read before and cannot be read again: it came through a pipe. */
static enum sb_code read_sequence(struct sb_restore_copy *copy)
{
    enum sb_code code;

    if (copy->begun) {
        if (sb_store_is_stream(copy->store) || strcmp(copy->path, "-") == 0)
            return SB_END;
        sb_store_free(TAKE(copy->store));
        TRY(open_store(copy));
    }
    copy->begun = true;
    code = sb_store_source(copy->store, &copy->source, NULL, &copy->notify);
    if (!code && copy->source->loads)
        code = sb_loader_open(copy->source, &copy->loader);
    if (!code)
        code = run_pass(copy);
    sb_loader_free(TAKE(copy->loader));
    sb_source_free(TAKE(copy->source));
    return code;
}

static enum sb_code take_sequence(struct sb_restore_copy *copy)
{
    enum sb_code code;

    TRY(read_sequence(copy));
    if (!copy->linked || sb_restore_list_open(copy->restore->list) == 0)
        return SB_OK;
    copy->by_target = true;
    code = read_sequence(copy);
    if (code != SB_END)
        return code;
    sb_report(copy->restore->notify, SB_WARNING, "link", NULL,
              "files that are hard links in the copy are not restored from a pipe; give the copy "
              "as a file");
    return SB_OK;
}

enum sb_code sb_restore_from_copy(struct sb_restore_copy *copy)
{
    if (sb_restore_list_open(copy->restore->list) == 0)
        return SB_OK;
    return copy->content || copy->dir >= 0 ? take_named(copy) : take_sequence(copy);
}
