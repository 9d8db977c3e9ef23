#include "task/pack/pack.h"

#include "core/name.h"
#include "store/sinks.h"
#include "task/fetch/stored_names.h"
#include "task/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

struct packer {
    struct sb_problem_counter counter;
    int64_t problems;
    const struct sb_pack_options *options;
    int64_t others; /* items of other shares */
    const char *archive;
    struct sb_source *source;
    struct sb_output output;
    atomic_uint own_shards;
    struct sb_own_files *own;
};

/* Standard input, whose stored name is made as those of files are. */
static enum sb_code open_stdin(struct packer *packer)
{
    const struct sb_pack_source_options *source = &packer->options->source;
    const char *wanted = packer->options->stdin_name, *clean;
    CLEANUP(sb_stored_names_freep) struct sb_stored_names *names = NULL;
    CLEANUP(sb_buf_release) struct sb_buf normal = {0};
    const struct sb_buf *mapped = NULL;
    bool stripped = false;
    enum sb_code code;

    TRY(sb_stored_names_new(&names, source->prefix, source->strip, source->charset, false,
                            &packer->counter.notify));
    TRY(sb_name_normalize(wanted, &normal, &stripped));
    clean = normal.data ? normal.data : "";
    if (stripped)
        sb_report(&packer->counter.notify, SB_WARNING, "stripped", wanted,
                  "stored as '%s': names in an archive are relative (said once)", clean);
    code = sb_stored_names_map(names, clean, normal.size, wanted, &mapped);
    if (code == SB_END || (code == SB_OK && normal.size == 0))
        return sb_fail(SB_INVALID, "%s: not a name that can be stored", wanted);
    if (code)
        return code;
    return sb_pack_stdin_open(&packer->source, mapped->data, mapped->size,
                              packer->options->writer.mode == SB_REPLACE);
}

static enum sb_code open_files(struct packer *packer, const struct sb_pack_input *inputs,
                               size_t count)
{
    const struct sb_pack_options *options = packer->options;
    struct sb_pack_source_options source = options->source;
    struct sb_pack_members_options members = {.read.dereference = source.dereference,
                                              .look = options->update || options->dry_run};
    struct sb_pack_source *items;

    TRY(sb_own_files_new(&packer->own));
    TRY(sb_own_files_add_output(packer->own, packer->archive, &packer->own_shards, source.share));
    source.threads = options->threads;
    members.read.own = packer->own;
    source.own = packer->own;
    source.lists_must_name = options->writer.mode == SB_REPLACE;
    source.others = &packer->others;
    source.beside = packer->archive;
    source.notify = &packer->counter.notify;
    TRY(sb_pack_source_new(&items, inputs, count, &source));
    return sb_pack_members_open(&packer->source, items, &members);
}

static enum sb_meeting meeting_of(const struct sb_pack_options *options)
{
    if (options->update)
        return SB_MEET_UPDATE;
    if (options->source.duplicates == SB_DUPLICATE_LAST)
        return SB_MEET_REPLACE;
    return options->duplicates_given ? SB_MEET_KEEP : SB_MEET_ERROR;
}

/* *done: the archive exists and there is nothing to resume. */
static enum sb_code open_archive(struct packer *packer, bool *done)
{
    const struct sb_pack_options *options = packer->options;
    const struct sb_archive_sink_options sink = {
        .writer = options->writer,
        .path = packer->archive,
        .meeting = meeting_of(options),
        .checksum = options->checksum,
        .advice = "--update and --duplicates",
        .dry_run = options->dry_run,
        .notify = &packer->counter.notify,
    };

    if (!options->dry_run && !options->stdin_name) {
        enum sb_code code =
            sb_checkpoint_open(&packer->output.run, &sink, &options->checkpoint, &packer->problems);

        *done = code == SB_END;
        if (code)
            return code;
    }
    if (packer->output.run) {
        sb_checkpoint_watch_shards(packer->output.run, &packer->own_shards);
        return SB_OK;
    }
    TRY(sb_sink_open_archive(&packer->output.sink, &sink));
    packer->own_shards = sb_writer_shards_before(sb_sink_writer(packer->output.sink));
    return SB_OK;
}

static enum sb_code store(struct packer *packer)
{
    const struct sb_pack_options *options = packer->options;
    const struct sb_transfer_options wanted = {
        .stored_names = true,
        .duplicates = SB_DUPLICATE_LAST,
        .recode = options->recode,
        .dry_run = options->dry_run,
        .threads = options->threads,
        .beside = packer->archive,
        .notify = &packer->counter.notify,
        .progress = options->progress,
        .lost = options->lost,
        .context = options->context,
    };
    struct sb_sink_counts counts;
    int64_t members = 0;

    if (!packer->output.run || !sb_checkpoint_passes(packer->output.run, 0))
        TRY(sb_output_transfer(&packer->output, packer->source, 0, true, &wanted, &members));
    counts = sb_output_counts(&packer->output);
    if (options->writer.mode != SB_APPEND && packer->problems > 0 && packer->others == 0 &&
        counts.files + counts.dirs == 0 && !sb_output_kept(&packer->output))
        return sb_fail(SB_INVALID, "%s: nothing could be stored, so nothing was written",
                       packer->archive);
    return sb_output_commit(&packer->output);
}

static void release(struct packer *packer)
{
    sb_output_release(&packer->output);
    sb_source_free(packer->source);
    sb_own_files_free(packer->own);
}

/* Then an empty list must be noticed before anything is removed. */
static bool replaces_by_list(const struct sb_pack_input *inputs, size_t count,
                             const struct sb_pack_options *options)
{
    for (size_t i = 0; options->writer.mode == SB_REPLACE && i < count; i++) {
        if (inputs[i].kind == SB_INPUT_LIST || inputs[i].kind == SB_INPUT_LIST_NUL)
            return true;
    }
    return false;
}

static enum sb_code pack(struct packer *packer, const struct sb_pack_input *inputs, size_t count,
                         bool *done)
{
    const struct sb_pack_options *options = packer->options;
    bool first = !options->stdin_name &&
                 (options->source.strict || replaces_by_list(inputs, count, options));

    TRY(sb_recode_check(&options->recode));
    /* Strict guarantees that nothing is written before everything was checked. */
    if (first)
        TRY(open_files(packer, inputs, count));
    TRY(open_archive(packer, done));
    if (options->stdin_name)
        TRY(open_stdin(packer));
    else if (!first)
        TRY(open_files(packer, inputs, count));
    return store(packer);
}

enum sb_code sb_pack(const char *archive, const struct sb_pack_input *inputs, size_t count,
                     const struct sb_pack_options *options, struct sb_pack_counts *counts)
{
    CLEANUP(release) struct packer packer = {.options = options, .archive = archive};
    struct sb_sink_counts stored;
    enum sb_code code;

    *counts = (struct sb_pack_counts){0};
    sb_count_problems(&packer.counter, options->notify, &packer.problems);
    code = pack(&packer, inputs, count, &counts->done);
    stored = sb_output_counts(&packer.output);
    counts->files = stored.files;
    counts->dirs = stored.dirs;
    counts->bytes = stored.bytes;
    counts->renewed = stored.renewed;
    counts->kept = code && !counts->done && sb_output_kept(&packer.output);
    return counts->done ? SB_OK : code;
}
