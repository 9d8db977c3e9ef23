#include "task/split/link.h"

struct link {
    struct sb_writer *writer;
    struct sb_linker *linker;
    struct sb_shards *shards;
};

static enum sb_code add(void *context, const struct sb_entry *entry, struct sb_error *err)
{
    const struct link *link = context;
    struct sb_entry linked = *entry;
    enum sb_code code = SB_OK;

    if (entry->type == SB_DIR)
        return sb_writer_add_dir(link->writer, entry, err);
    linked.shard = 0;
    if (entry->size > 0)
        code = sb_linker_map(link->linker, link->shards, entry->shard, &linked.shard, err);
    else
        linked.offset = 0;
    return code ? code : sb_writer_add_file(link->writer, &linked, err);
}

static enum sb_code commit(const struct link *link, const struct sb_split_plan *plan,
                           const struct sb_archive *whole, struct sb_error *err)
{
    if (sb_archive_generation(whole) != sb_split_plan_generation(plan))
        return sb_fail(err, SB_CHANGED,
                       "%s: was changed by another process, and its files may lie elsewhere; run "
                       "again",
                       sb_archive_path(whole));
    return sb_writer_commit(link->writer, err);
}

enum sb_code sb_split_link(struct sb_split_plan *plan, int64_t part,
                           const struct sb_split_link_options *options, struct sb_error *err)
{
    struct link link = {.shards = options->shards};
    enum sb_code code = sb_writer_open(&link.writer, options->output, &options->writer, err);

    if (!code)
        code = sb_linker_new(&link.linker, link.writer, options->kind, err);
    if (!code)
        code = sb_split_plan_walk(plan, part, SB_BY_PATH, add, &link, err);
    if (!code)
        code = commit(&link, plan, options->whole, err);
    sb_linker_free(link.linker);
    sb_writer_free(link.writer);
    return code;
}
