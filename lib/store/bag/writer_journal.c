/*
 * The journal of an append, in the lock's file: what the bag was. It is synced before anything is
 * changed.
 */
#include "core/io.h"
#include "core/name.h"
#include "store/bag/writer_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The journal, between the numbers. */
#define TO_TAIL     SB_OUT_JOURNAL "tail: records end at "
#define TO_LIMITS   SB_OUT_JOURNAL "limits: records end at "
#define LIMITS_TAKE ", limits take "
#define END         "\n"
#define LINE_BYTES  128
/*
 * Its second line, once all is written: of records, where their keys are; of keys, what becomes of
 * their bag, and what the records' bag is when they count. A name has its length before it, for it
 * may have any byte; without a slash it is beside the journal's own bag.
 */
#define HAS_KEYS    "its keys are in "
#define IS_KEYS     "limits are to take "
#define WHEN_END    ", when records end at "
#define WHEN_LIMITS ", and limits take "
#define IN          ", in "
#define COLON       ":"
#define JOURNAL_MAX (PATH_MAX + 3 * LINE_BYTES)

enum sb_code sb_bag_write_journal(struct sb_bag_writer *writer)
{
    const struct sb_bag_append *append = writer->append;
    char text[LINE_BYTES];
    int size =
        snprintf(text, sizeof(text), "%s%" PRId64 LIMITS_TAKE "%" PRId64 END,
                 append->separate ? TO_LIMITS : TO_TAIL, append->records_end, append->limits_size);

    TRY(sb_pwrite_full(writer->lock.fd, text, (size_t)size, 0, writer->lock.path));
    TRY(sb_fsync(writer->lock.fd, writer->lock.path));
    return sb_sync_directory_of(writer->lock.path);
}

static bool skip(const char **at, const char *text)
{
    if (strncmp(*at, text, strlen(text)) != 0)
        return false;
    *at += strlen(text);
    return true;
}

static bool skip_number(const char **at, int64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

static bool skip_path(const char **at, const char *text_end, const char *own, char *path)
{
    int directory = (int)(sb_base_name(own) - own);
    int64_t size;

    if (!skip_number(at, &size) || !skip(at, COLON) || size > text_end - *at)
        return false;
    if (memchr(*at, '/', (size_t)size))
        directory = 0;
    if (directory + size >= PATH_MAX)
        return false;
    snprintf(path, PATH_MAX, "%.*s%.*s", directory, own, (int)size, *at);
    *at += size;
    return skip(at, END);
}

/* A line that is not whole was never acted upon either. */
static void read_partner(const char *at, const char *text_end, const char *own,
                         struct sb_bag_append *append, struct sb_bag_partner *partner)
{
    partner->what = SB_PARTNER_NONE;
    if (skip(&at, HAS_KEYS)) {
        if (skip_path(&at, text_end, own, partner->path))
            partner->what = SB_PARTNER_KEYS;
    } else if (skip(&at, IS_KEYS) && skip_number(&at, &append->new_limits_size) &&
               skip(&at, WHEN_END) && skip_number(&at, &partner->end) && skip(&at, WHEN_LIMITS) &&
               skip_number(&at, &partner->limits_size) && skip(&at, IN) &&
               skip_path(&at, text_end, own, partner->path)) {
        partner->what = SB_PARTNER_RECORDS;
    }
}

enum sb_code sb_bag_read_journal(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                 struct sb_bag_partner *partner, bool *there)
{
    char text[JOURNAL_MAX];
    const char *at = text;
    size_t got;
    enum sb_code code =
        sb_pread_full(writer->lock.fd, text, sizeof(text) - 1, 0, &got, writer->lock.path);

    *there = false;
    if (code)
        return code;
    text[got] = '\0';
    append->separate = skip(&at, TO_LIMITS);
    *there = (append->separate || skip(&at, TO_TAIL)) && skip_number(&at, &append->records_end) &&
             skip(&at, LIMITS_TAKE) && skip_number(&at, &append->limits_size) && skip(&at, END);
    if (*there)
        read_partner(at, text + got, writer->pattern.path, append, partner);
    return SB_OK;
}

/* After the first line, which stays as it is whatever happens to this one. */
static enum sb_code add_line(struct sb_bag_writer *writer, const struct sb_buf *line)
{
    struct stat st;

    if (fstat(writer->lock.fd, &st))
        return sb_fail_errno(errno, "%s", writer->lock.path);
    TRY(sb_pwrite_full(writer->lock.fd, line->data, line->size, st.st_size, writer->lock.path));
    return sb_fsync(writer->lock.fd, writer->lock.path);
}

/* `there` without its directory, where that is the one of `here`. */
static const char *seen_from(const char *here, const char *there)
{
    size_t size = (size_t)(sb_base_name(there) - there);

    return strncmp(here, there, size) == 0 && !strchr(here + size, '/') ? there + size : there;
}

/* How the journal beside `own` calls the other. */
static enum sb_code add_path(struct sb_buf *line, const char *own, const char *other)
{
    char *here = sb_resolve_directory_of(own);
    char *there = here ? sb_resolve_directory_of(other) : NULL;
    enum sb_code code = there ? SB_OK : sb_error()->code;

    if (there) {
        const char *name = seen_from(here, there);

        if (sb_buf_add_format(line, "%zu" COLON "%s" END, strlen(name), name))
            code = sb_fail_memory();
    }
    free(here);
    free(there);
    return code;
}

/* The records name their keys first: who finds them unfinished puts the keys right before. */
enum sb_code sb_bag_tie(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    const char *names = keys->pattern.path, *path = records->pattern.path;
    struct sb_buf line = {0};
    enum sb_code code =
        sb_buf_add_text(&line, HAS_KEYS) ? sb_fail_memory() : add_path(&line, path, names);

    if (code == SB_OK)
        code = add_line(records, &line);
    sb_buf_clear(&line);
    if (code == SB_OK &&
        sb_buf_add_format(&line, IS_KEYS "%" PRId64 WHEN_END "%" PRId64 WHEN_LIMITS "%" PRId64 IN,
                          keys->append->new_limits_size, records->append->new_end,
                          records->append->new_limits_size))
        code = sb_fail_memory();
    if (code == SB_OK)
        code = add_path(&line, names, path);
    if (code == SB_OK)
        code = add_line(keys, &line);
    sb_buf_release(&line);
    return code;
}

enum sb_code sb_bag_clear_journal(struct sb_bag_writer *writer)
{
    if (ftruncate(writer->lock.fd, 0))
        return sb_fail_errno(errno, "%s: cannot be cut", writer->lock.path);
    return sb_fsync(writer->lock.fd, writer->lock.path);
}
