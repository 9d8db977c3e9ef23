#include "task/convert/output.h"

#include "task/convert/bag.h"
#include "task/convert/cache.h"

/* What to do about names that several inputs have. */
#define MERGE_ADVICE "--duplicates, --prefix and --as-subdirs"

static enum sb_meeting meeting_of(const struct sb_convert_options *options)
{
    if (!options->duplicates_given || options->transfer.duplicates == SB_DUPLICATE_ERROR)
        return SB_MEET_ERROR;
    return options->transfer.duplicates == SB_DUPLICATE_FIRST ? SB_MEET_KEEP : SB_MEET_REPLACE;
}

static struct sb_writer_options writer_of(const struct sb_convert_options *options)
{
    return (struct sb_writer_options){
        .mode = options->append  ? SB_APPEND
                : options->force ? SB_REPLACE
                                 : SB_CREATE,
        .shard_size = options->shard_size,
        .strict = options->transfer.strict,
    };
}

static enum sb_code open_archive(struct sb_convert_output *output,
                                 const struct sb_convert_options *options,
                                 const struct sb_convert_output_use *use)
{
    struct sb_archive_sink_options archive = {
        .writer = writer_of(options),
        .path = options->output,
        .names_repeat = true,
        .meeting = meeting_of(options),
        .advice = options->merge ? MERGE_ADVICE : NULL,
        .keep_dirs = options->merge && options->transfer.duplicates != SB_DUPLICATE_LAST,
        .dry_run = use->dry_run,
        .notify = use->notify,
    };
    struct sb_index_sink_options index = {
        .writer = writer_of(options),
        .path = options->output,
        .checksums = !options->no_checksum,
        .threads = options->transfer.threads,
        .notify = use->notify,
        .progress = use->progress,
        .context = use->context,
    };
    enum sb_code code = SB_OK;

    if (options->wrap)
        return sb_sink_open_index(&output->sink, &index);
    if (!archive.dry_run)
        code = sb_checkpoint_open(&output->run, &archive, &options->checkpoint, use->problems);
    return code || output->run ? code : sb_sink_open_archive(&output->sink, &archive);
}

static enum sb_code open_tree(struct sb_convert_output *output,
                              const struct sb_convert_options *options,
                              const struct sb_convert_output_use *use)
{
    struct sb_tree_sink_options tree = {
        .directory = options->output,
        .own = options->own,
        .existing = options->existing,
        .preserve = options->preserve,
        .dry_run = use->dry_run,
        .root = !options->transfer.strip && !options->transfer.prefix,
        .threads = options->transfer.threads,
        .notify = use->notify,
    };

    return sb_sink_open_tree(&output->sink, &tree);
}

enum sb_code sb_convert_output_open(struct sb_convert_output *output,
                                    const struct sb_convert_options *options,
                                    const struct sb_convert_output_use *use)
{
    struct sb_stream_sink_options stream = {
        .path = options->output,
        .force = options->force,
        .dry_run = use->dry_run,
        .filter = options->to.filter,
        .sparse = options->sparse,
        .store = options->store,
        .level = options->level,
        .threads = options->transfer.threads,
        .notify = use->notify,
    };
    unsigned takes = sb_convert_takes(options);

    *output = (struct sb_convert_output){0};
    if (options->records.framed_output) {
        stream.filter = sb_framing_filter(options->output);
        return sb_sink_open_frames(&output->sink, &stream, options->records.framing);
    }
    if (takes & SB_TO_INDEX)
        return open_archive(output, options, use);
    if (takes & SB_TO_TREE)
        return open_tree(output, options, use);
    if (takes & SB_TO_RECORDS)
        return sb_convert_open_bag(&output->sink, &output->dictionary, options, use->notify);
    if (takes & SB_TO_KEYS)
        return sb_convert_open_cache(&output->sink, options, use->notify);
    return sb_sink_open_stream(&output->sink, options->to.kind, &stream);
}

enum sb_code sb_convert_output_commit(struct sb_convert_output *output)
{
    return output->run ? sb_checkpoint_commit(output->run) : sb_sink_commit(output->sink);
}

struct sb_sink_counts sb_convert_output_counts(const struct sb_convert_output *output)
{
    if (output->run)
        return sb_checkpoint_counts(output->run);
    return output->sink ? output->sink->counts : (struct sb_sink_counts){0};
}

void sb_convert_output_release(struct sb_convert_output *output)
{
    sb_checkpoint_free(output->run);
    sb_sink_free(output->sink);
    sb_dictionary_free(output->dictionary);
    *output = (struct sb_convert_output){0};
}
