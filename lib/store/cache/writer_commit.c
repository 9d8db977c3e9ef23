#include "store/cache/writer_private.h"

#include "core/io.h"
#include "store/out/out_file.h"
#include "store/out/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* schema.json */

/* Of a cache that is added to, where it has none. */
static enum sb_code write_schema(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0}, text = {0};

    TRY(sb_cache_join(&path, writer->work.data, "schema.json"));
    if (!writer->columns.known || access(path.data, F_OK) == 0)
        return SB_OK;
    TRY(sb_cache_schema_text(&writer->columns, &text));
    return sb_outfile_put(&(struct sb_stream_sink_options){.path = path.data, .force = true},
                          text.data, text.size);
}

/* The directories of what is written in: of its segments, and its own. */
static enum sb_code sync_directories(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    TRY(sb_cache_new_segment_name(writer, 0, true, &path));
    TRY(sb_sync_directory_of(path.data));
    TRY(sb_cache_join(&path, writer->work.data, "index.pkl"));
    return sb_sync_directory_of(path.data);
}

/* Adding */

static enum sb_code rename_segments(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf from = {0}, to = {0};

    for (; writer->renamed < writer->written; writer->renamed++) {
        TRY(sb_cache_new_segment_name(writer, writer->renamed, false, &from));
        TRY(sb_cache_new_segment_name(writer, writer->renamed, true, &to));
        TRY(sb_rename_new(from.data, to.data));
    }
    return SB_OK;
}

/* Once index.pkl is there nothing is undone, whatever fails: it names the segments. */
static enum sb_code commit_existing(struct sb_cache_writer *writer)
{
    TRY(write_schema(writer));
    TRY(rename_segments(writer));
    if (writer->written > 0) {
        TRY(sync_directories(writer));
        TRY(sb_cache_extend_index(writer));
    }
    writer->done = true;
    return sync_directories(writer);
}

/* A new one */

static enum sb_code exchange_in_steps(const struct sb_cache_writer *writer, const char *old)
{
    enum sb_code code;

    TRY(sb_rename_new(writer->path, old));
    code = sb_rename_new(writer->work.data, writer->path);
    /* Where it cannot be put back, the next run does it. */
    if (code)
        (void)!IGNORED(sb_rename_new(old, writer->path));
    return code;
}

/* Replaces old by the name that the old one then has. */
static enum sb_code exchange(const struct sb_cache_writer *writer, struct sb_buf *old)
{
    if (sb_buf_set(old, writer->work.data, writer->work.size))
        return sb_fail_memory();
    if (renameat2(AT_FDCWD, writer->work.data, AT_FDCWD, writer->path, RENAME_EXCHANGE) == 0)
        return SB_OK;
    if (errno != EINVAL && errno != ENOSYS)
        return sb_fail_errno(errno, "%s: cannot be replaced", writer->name);
    TRY(sb_out_hide(writer->path, SB_CACHE_OLD_SUFFIX, old));
    return exchange_in_steps(writer, old->data);
}

static void remove_old(const struct sb_cache_writer *writer, const char *old)
{
    struct sb_error why;

    if (INTO(&why, sb_cache_remove_all(old)))
        sb_report(writer->options.notify, SB_WARNING, "left", writer->name,
                  "is replaced, but what it was is still there: %s", why.text);
}

static enum sb_code replace(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf old = {0};

    TRY(sb_cache_vet(writer)); /* something may have come meanwhile */

    TRY(exchange(writer, &old));
    writer->done = true;
    TRY(sb_sync_directory_of(writer->path));
    remove_old(writer, old.data);
    return SB_OK;
}

static enum sb_code take_place(struct sb_cache_writer *writer)
{
    if (writer->replaces)
        return replace(writer);
    TRY(sb_rename_new(writer->work.data, writer->path));
    writer->done = true;
    return sb_sync_directory_of(writer->path);
}

static enum sb_code commit_new(struct sb_cache_writer *writer)
{
    TRY(write_schema(writer));
    TRY(sb_cache_end_index(writer));
    TRY(sb_fsync(writer->index_fd, writer->name));
    TRY(sync_directories(writer));
    return take_place(writer);
}

static void report_foreign(const struct sb_cache_writer *writer)
{
    if (writer->counts.foreign_keys > 0)
        sb_report(writer->options.notify, SB_WARNING, "key", writer->name,
                  "keys that do not begin with '%s:', and which a cache of that name does not look "
                  "for: %" PRId64 "; 'convert --key-prefix=%s:' puts it before all",
                  writer->title, writer->counts.foreign_keys, writer->title);
}

enum sb_code sb_cache_writer_commit(struct sb_cache_writer *writer)
{
    TRY(sb_cache_finish_segment(writer));
    report_foreign(writer);
    return writer->existing ? commit_existing(writer) : commit_new(writer);
}
