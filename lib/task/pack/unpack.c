#include "task/pack/unpack.h"

#include "store/own_files.h"
#include "store/sinks.h"
#include "task/pack/dumps.h"
#include "task/transfer/taken.h"
#include "task/transfer/transfer.h"

static enum sb_code open_sink(struct sb_sink **out, const struct sb_source *source,
                              const struct sb_own_files *own, struct sb_dumps *dumps,
                              const struct sb_unpack_options *options)
{
    struct sb_tree_sink_options wanted = {
        .directory = options->directory,
        .own = own,
        .existing = options->existing,
        .preserve = options->preserve,
        .touch = options->touch,
        .sync = options->sync,
        .dry_run = options->dry_run,
        .root = options->strip == 0,
        .threads = options->threads,
        .names_differ = source->unique && options->strip == 0 && !sb_recode_works(&options->recode),
        .notify = &dumps->notify,
        .dumped = options->incremental ? sb_dumps_apply : NULL,
        .dumps = dumps,
        .written = options->written,
        .context = options->context,
    };

    return sb_sink_open_tree(out, &wanted);
}

static enum sb_code transfer(struct sb_source *source, struct sb_sink *sink,
                             const struct sb_unpack_options *options, int64_t *kept)
{
    struct sb_transfer_options wanted = {
        .stored_names = options->archive != NULL,
        .strip = options->strip,
        .filter = options->filter,
        .choice = options->choice,
        .duplicates = SB_DUPLICATE_LAST,
        .recode = options->recode,
        .local_owners = options->preserve && !options->numeric_owner,
        .max_size = options->max_size,
        .dry_run = options->dry_run,
        .threads = options->threads,
        .beside = options->directory,
        .notify = options->notify,
        .progress = options->progress,
        .lost = options->lost,
        .context = options->context,
    };
    CLEANUP(sb_taken_freep) struct sb_taken *taken = NULL;
    int64_t members = 0;
    enum sb_code code;

    if (options->strip > 0 || options->recode.decompress)
        TRY(sb_taken_new(&taken, options->directory));
    wanted.taken = taken;
    code = sb_transfer(source, sink, &wanted, &members);
    if (taken)
        *kept = sb_taken_kept(taken);
    return code;
}

enum sb_code sb_unpack(struct sb_source *source, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result)
{
    CLEANUP(sb_own_files_freep) struct sb_own_files *own = NULL;
    CLEANUP(sb_dumps_release)
    struct sb_dumps dumps = {.options = options,
                             .notify = {.call = sb_dumps_pass_event, .context = &dumps}};
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    enum sb_code code;

    *result = (struct sb_unpack_result){0};
    TRY(sb_own_files_new(&own));
    TRY(sb_own_files_add(own, options->input, options->archive));
    if (options->incremental && options->report)
        TRY(sb_own_files_add(own, options->report, NULL));
    dumps.own = own;
    TRY(open_sink(&sink, source, own, &dumps, options));
    result->begun = true;
    code = transfer(source, sink, options, &result->kept);
    if (!code && options->incremental)
        code = sb_dumps_remove(&dumps);
    if (!code)
        code = sb_sink_commit(sink);
    if (!code && options->incremental)
        sb_dumps_finish(&dumps);
    result->files = sink->counts.files;
    result->bytes = sink->counts.bytes;
    result->left = sink->counts.left;
    result->superseded = sink->counts.superseded;
    result->unchecked = sink->counts.unchecked;
    return code;
}
