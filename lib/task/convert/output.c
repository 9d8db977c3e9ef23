#include "task/convert/impl.h"

/* What to do about names that several inputs have. */
#define MERGE_ADVICE "--duplicates, --prefix and --as-subdirs"

static enum sb_meeting meeting_of(const struct sb_convert_options *options)
{
    if (!options->duplicates_given || options->transfer.duplicates == SB_DUPLICATE_ERROR)
        return SB_MEET_ERROR;
    return options->transfer.duplicates == SB_DUPLICATE_FIRST ? SB_MEET_KEEP : SB_MEET_REPLACE;
}

static enum sb_code open_archive(struct sb_convert_output *output,
                                 const struct sb_convert_options *options,
                                 const struct sb_transfer_options *transfer)
{
    const struct sb_writer_options writer = {
        .mode = options->append  ? SB_APPEND
                : options->force ? SB_REPLACE
                                 : SB_CREATE,
        .shard_size = options->shard_size,
        .strict = options->transfer.strict,
    };
    struct sb_archive_sink_options archive = {
        .writer = writer,
        .path = options->output,
        .names_repeat = true,
        .meeting = meeting_of(options),
        .advice = options->merge ? MERGE_ADVICE : NULL,
        .keep_dirs = options->merge && options->transfer.duplicates != SB_DUPLICATE_LAST,
        .dry_run = transfer->dry_run,
        .notify = transfer->notify,
    };
    struct sb_index_sink_options index = {
        .writer = writer,
        .path = options->output,
        .checksums = !options->no_checksum,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
        .progress = transfer->progress,
        .context = transfer->context,
    };

    if (options->wrap)
        return sb_sink_open_index(&output->sink, &index);
    if (!archive.dry_run)
        TRY(sb_checkpoint_open(&output->run, &archive, &options->checkpoint, transfer->problems));
    return output->run ? SB_OK : sb_sink_open_archive(&output->sink, &archive);
}

static enum sb_code open_tree(struct sb_convert_output *output,
                              const struct sb_convert_options *options,
                              const struct sb_transfer_options *transfer)
{
    struct sb_tree_sink_options tree = {
        .directory = options->output,
        .own = options->own,
        .existing = options->existing,
        .preserve = options->preserve,
        .dry_run = transfer->dry_run,
        .root = !options->transfer.strip && !options->transfer.prefix,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
    };

    return sb_sink_open_tree(&output->sink, &tree);
}

enum sb_code sb_convert_output_open(struct sb_convert_output *output,
                                    const struct sb_convert_options *options,
                                    const struct sb_transfer_options *transfer)
{
    struct sb_stream_sink_options stream = {
        .path = options->output,
        .force = options->force,
        .dry_run = transfer->dry_run,
        .filter = options->to.filter,
        .sparse = options->sparse,
        .store = options->store,
        .level = options->level,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
    };
    unsigned takes = sb_convert_takes(options);

    *output = (struct sb_convert_output){0};
    if (options->records.framed_output) {
        stream.filter = sb_framing_filter(options->output);
        return sb_sink_open_frames(&output->sink, &stream, options->records.framing);
    }
    if (takes & SB_TO_INDEX)
        return open_archive(output, options, transfer);
    if (takes & SB_TO_TREE)
        return open_tree(output, options, transfer);
    if (takes & SB_TO_RECORDS)
        return sb_convert_open_bag(&output->sink, &output->dictionary, options, transfer->notify);
    if (takes & SB_TO_KEYS)
        return sb_convert_open_cache(&output->sink, options, transfer->notify);
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

static const struct {
    unsigned bit;
    const char *word;
    const char *text;
} properties[] = {
    {SB_KEEPS_OWNER, "owners", "owners"},
    {SB_KEEPS_OWNER_NAME, "owner-names", "owner names"},
    {SB_KEEPS_NANOSECONDS, "nanoseconds", "nanoseconds"},
    {SB_KEEPS_HARD_LINKS, "hard-links", "hard links"},
    {SB_KEEPS_SPECIAL, "special", "special files"},
    {SB_KEEPS_XATTRS, "xattrs", "xattrs"},
    {SB_KEEPS_ACLS, "acls", "ACLs"},
    {SB_KEEPS_FLAGS, "flags", "inode flags"},
    {SB_KEEPS_SPARSE, "holes", "holes"},
    {SB_KEEPS_COMMENT, "comments", "comments"},
    {SB_KEEPS_SHAPE, "shapes", "shapes"},
    {SB_KEEPS_ITEM_NAME, "item-names", "names of items"},
    {SB_KEEPS_SECOND_NAME, "second-names", "second names of owners"},
    {SB_KEEPS_FAR_TIME, "times", "times out of range"},
    {0, "other", "other properties"},
};

static size_t row_of(unsigned property)
{
    size_t row = 0;

    while (properties[row].bit && properties[row].bit != property)
        row++;
    return row;
}

const char *sb_property_text(unsigned property)
{
    return properties[row_of(property)].text;
}

const char *sb_property_word(unsigned property)
{
    return properties[row_of(property)].word;
}
