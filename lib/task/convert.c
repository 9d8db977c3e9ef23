#include "task/convert.h"

#include "archive/archive.h"
#include "task/convert_bag.h"
#include "task/convert_paths.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
};

const char *sb_property_text(unsigned property)
{
    for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
        if (properties[i].bit == property)
            return properties[i].text;
    }
    return "other properties";
}

const char *sb_property_word(unsigned property)
{
    for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
        if (properties[i].bit == property)
            return properties[i].word;
    }
    return "other";
}

/* What helps where names of several inputs meet. */
#define MERGE_ADVICE "--duplicates, --prefix and --as-subdirs"

struct convert {
    const struct sb_convert_options *options;
    struct sb_convert_result *result;
    struct sb_transfer_options transfer;
    struct sb_notify notify;
    struct sb_sink *sink;             /* NULL where there is a run */
    struct sb_checkpoint *run;        /* it has the sink of the present stretch */
    struct sb_dictionary *dictionary; /* of a sink that is a bag */
    bool said_front;                  /* what is said once for a source is said once for all */
    bool said_encoding;
};

/* Is it a warning that an earlier source has given? */
static bool said_before(struct convert *convert, enum sb_level level, const char *kind)
{
    bool *said = strcmp(kind, "name") == 0       ? &convert->said_front
                 : strcmp(kind, "encoding") == 0 ? &convert->said_encoding
                                                 : NULL;
    bool before = said && *said;

    if (!said || level != SB_WARNING)
        return false;
    *said = true;
    return before;
}

static void tell(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct convert *convert = context;
    const struct sb_notify *notify = convert->options->notify;

    if (said_before(convert, level, kind))
        return;
    convert->result->problems += level == SB_PROBLEM;
    notify->call(notify->context, level, kind, subject, text);
}

static void lose(void *context, const char *name, unsigned lost)
{
    struct convert *convert = context;
    const struct sb_convert_options *options = convert->options;

    if (options->lost)
        options->lost(options->transfer.context, name, lost);
    if (options->transfer.strict)
        sb_tell(&convert->notify, SB_PROBLEM, "lost", name, "has %s, which %s does not hold",
                sb_property_text(lost & -lost),
                convert->sink ? convert->sink->name : options->output);
}

static void progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    struct convert *convert = context;
    const struct sb_transfer_options *wanted = &convert->options->transfer;

    if (wanted->progress)
        wanted->progress(wanted->context, bytes, total, files);
}

static enum sb_meeting meeting_of(const struct sb_convert_options *options)
{
    if (options->merge && options->transfer.duplicates == SB_DUPLICATE_ERROR)
        return SB_MEET_END;
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

static enum sb_code open_archive_sink(struct convert *convert, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_archive_sink_options archive = {
        .writer = writer_of(options),
        .path = options->output,
        .names_repeat = true,
        .meeting = meeting_of(options),
        .advice = options->merge ? MERGE_ADVICE : NULL,
        .keep_dirs = options->merge && options->transfer.duplicates != SB_DUPLICATE_LAST,
        .dry_run = convert->transfer.dry_run,
        .notify = &convert->notify,
    };
    struct sb_index_sink_options index = {
        .writer = writer_of(options),
        .path = options->output,
        .checksums = !options->no_checksum,
        .threads = options->transfer.threads,
        .notify = &convert->notify,
        .progress = progress,
        .context = convert,
    };

    enum sb_code code = SB_OK;

    if (options->wrap)
        return sb_sink_open_index(&convert->sink, &index, err);
    if (!archive.dry_run)
        code = sb_checkpoint_open(&convert->run, &archive, &options->checkpoint,
                                  &convert->result->problems, err);
    convert->result->done = code == SB_END;
    return code || convert->run ? code : sb_sink_open_archive(&convert->sink, &archive, err);
}

static enum sb_code open_tree_sink(struct convert *convert, struct sb_error *err)
{
    struct sb_tree_sink_options tree = {
        .directory = convert->options->output,
        .existing = convert->options->existing,
        .preserve = convert->options->preserve,
        .dry_run = convert->transfer.dry_run,
        .root = !convert->options->transfer.strip && !convert->options->transfer.prefix,
        .notify = &convert->notify,
    };

    return sb_sink_open_tree(&convert->sink, &tree, err);
}

static enum sb_code open_sink(struct convert *convert, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_stream_sink_options stream = {
        .path = options->output,
        .force = options->force,
        .filter = options->to.filter,
        .store = options->store,
        .level = options->level,
        .threads = options->transfer.threads,
        .notify = &convert->notify,
    };

    if (options->records.framed_output) {
        stream.filter = sb_framing_filter(options->output);
        return sb_sink_open_frames(&convert->sink, &stream, options->records.framing, err);
    }
    switch (options->to.kind) {
    case SB_ARCHIVE:
        return open_archive_sink(convert, err);
    case SB_DIRECTORY:
        return open_tree_sink(convert, err);
    case SB_TAR:
        return sb_sink_open_tar(&convert->sink, &stream, err);
    case SB_ZIP:
        return sb_sink_open_zip(&convert->sink, &stream, err);
    case SB_BAG:
        return sb_convert_open_bag(&convert->sink, &convert->dictionary, options, &convert->notify,
                                   err);
    default:
        return sb_fail(err, SB_INVALID, "%s: a %s can only be read", options->output,
                       sb_container_word(options->to.kind));
    }
}

/* Only of what can be pointed at is there an index to make. */
static enum sb_code point_at(struct convert *convert, const struct sb_input *input,
                             struct sb_error *err)
{
    enum sb_container_kind kind = input->type.kind;

    if (kind != SB_TAR && kind != SB_CPIO && kind != SB_ZIP)
        return sb_fail(err, SB_INVALID,
                       "%s: --wrap is for a tar, cpio or zip, not for this kind: %s", input->name,
                       sb_container_word(kind));
    if (!input->seekable)
        return sb_fail(err, SB_INVALID,
                       "%s: --wrap needs a file that stays; convert it without --wrap",
                       input->name);
    if (kind != SB_ZIP && input->type.filter != SB_FILTER_NONE)
        return sb_fail(err, SB_INVALID,
                       "%s: is compressed as a whole, so that no index can point at its members; "
                       "convert it without --wrap",
                       input->name);
    return sb_sink_index_file(convert->sink, input->path, err);
}

static bool depth_first(const struct sb_convert_options *options)
{
    bool framed_tar = options->records.framed_output && options->records.framing == SB_FRAMING_TAR;

    return framed_tar || options->to.kind == SB_TAR || options->to.kind == SB_ZIP;
}

static enum sb_code convert_archive(struct convert *convert, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_archive_source_options source_options = {
        .no_check = options->no_check,
        .depth_first = depth_first(options),
        .notify = &convert->notify,
    };
    struct sb_source *source;
    enum sb_code code = sb_source_open_archive(&source, options->archive, &source_options, err);

    if (code)
        return code;
    convert->transfer.stored_names = true;
    convert->result->begun = true;
    code = sb_transfer(source, convert->sink, &convert->transfer, &convert->result->members, err);
    sb_source_free(source);
    return code;
}

static enum sb_code transfer(struct convert *convert, struct sb_source *source, size_t number,
                             bool by_name, struct sb_error *err)
{
    int64_t *members = &convert->result->members;
    enum sb_code code;

    if (!convert->run)
        return sb_transfer(source, convert->sink, &convert->transfer, members, err);
    code = sb_checkpoint_begin(convert->run, number, by_name, source, err);
    return code ? code
                : sb_checkpoint_transfer(convert->run, source, &convert->transfer, members, err);
}

/* Records in frames are told by nothing but what the user says. */
static enum sb_container_kind forced_kind(const struct sb_convert_options *options)
{
    if (!options->records.framed_input)
        return options->from;
    return options->records.framing == SB_FRAMING_TAR ? SB_TAR : SB_FRAMES;
}

static enum sb_code open_source(struct convert *convert, struct sb_source **out,
                                struct sb_input *input, const struct sb_source_options *options,
                                struct sb_error *err)
{
    if (input->type.kind != SB_FRAMES)
        return sb_source_open(out, input, options, &convert->notify, err);
    return sb_source_open_frames(out, input, convert->options->records.framing, options,
                                 &convert->notify, err);
}

static enum sb_code convert_input(struct convert *convert, size_t number, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    const char *path = options->inputs[number];
    struct sb_source_options source_options = {
        .max_size = options->max_size,
        .no_check = options->no_check,
        .locate = options->wrap,
        .names_chosen = options->records.name_format || options->records.keys,
        .depth_first = depth_first(options),
        .bag = options->records.read,
        .records = options->records.choice,
    };
    struct sb_source *source = NULL;
    struct sb_input input;
    enum sb_code code = sb_input_open(&input, path, forced_kind(options), err);

    if (code)
        return code;
    if (options->records.choice && input.type.kind != SB_BAG)
        code = sb_fail(err, SB_INVALID,
                       "%s: has no numbered records: --records and -T are for bags", input.name);
    if (!code && options->wrap)
        code = point_at(convert, &input, err);
    if (!code)
        code = open_source(convert, &source, &input, &source_options, err);
    if (!code) {
        convert->transfer.stored_names = input.type.kind == SB_ARCHIVE;
        convert->result->begun = true;
        code = transfer(convert, source, number, input.type.kind == SB_DIRECTORY, err);
    }
    sb_source_free(source);
    sb_input_close(&input);
    return code;
}

static struct sb_sink_counts counts_of(const struct convert *convert)
{
    if (convert->run)
        return sb_checkpoint_counts(convert->run);
    return convert->sink ? convert->sink->counts : (struct sb_sink_counts){0};
}

/*
 * A disk that is not mounted must not cost the output that stands there. Of a wrap no bytes are
 * read.
 */
static bool replaces_by_nothing(const struct convert *convert)
{
    return convert->options->force && !convert->transfer.dry_run && !convert->options->wrap &&
           convert->result->problems > 0 && counts_of(convert).files == 0 &&
           !(convert->run && sb_checkpoint_kept(convert->run));
}

static void release_output(struct convert *convert, bool failed)
{
    struct sb_convert_result *result = convert->result;

    result->counts = counts_of(convert);
    result->kept = failed && convert->run && sb_checkpoint_kept(convert->run);
    sb_checkpoint_free(convert->run);
    convert->run = NULL;
    sb_sink_free(convert->sink);
    convert->sink = NULL;
    sb_dictionary_free(convert->dictionary);
    convert->dictionary = NULL;
}

/* With the last input first, what counts of each name is what comes first. */
static enum sb_code convert_inputs(struct convert *convert, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    bool backwards = options->merge && options->transfer.duplicates == SB_DUPLICATE_LAST;
    enum sb_code code = SB_OK;

    for (size_t done = 0; code == SB_OK && done < options->input_count; done++) {
        size_t i = backwards ? options->input_count - 1 - done : done;

        if (convert->run && sb_checkpoint_passes(convert->run, i))
            continue;
        convert->transfer.merged_number = i;
        if (options->prefixes)
            convert->transfer.prefix = options->prefixes[i];
        code = convert_input(convert, i, err);
    }
    return code;
}

static enum sb_code run(struct convert *convert, struct sb_error *err)
{
    const struct sb_convert_options *options = convert->options;
    bool was_there = access(options->output, F_OK) == 0;
    enum sb_code code = open_sink(convert, err);

    if (!code && convert->run && convert->transfer.seen)
        code = sb_checkpoint_see(convert->run, convert->transfer.seen, err);
    if (!code && options->archive)
        code = convert_archive(convert, err);
    if (!code)
        code = convert_inputs(convert, err);
    if (convert->transfer.seen)
        sb_seen_shrink(convert->transfer.seen);
    if (!code && replaces_by_nothing(convert))
        code = sb_fail(err, SB_INVALID, "%s: nothing of it could be read; %s is left as it is",
                       options->archive ? sb_archive_path(options->archive) : options->inputs[0],
                       options->output);
    if (!code && convert->run)
        code = sb_checkpoint_commit(convert->run, err);
    else if (!code && !convert->transfer.dry_run)
        code = sb_sink_commit(convert->sink, err);
    release_output(convert, code != SB_OK && !convert->result->done);
    /* One that was made for nothing goes again; where files are in it, it stays. */
    if (code && !was_there && options->to.kind == SB_DIRECTORY)
        rmdir(options->output);
    return code;
}

/*
 * How inputs that are merged meet: of each name what comes first counts, unless none can meet
 * another's. Within one input it is what comes last.
 */
static bool arrange_merge(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool meet = options->input_count > 1 && !options->prefixes;

    convert->transfer.merged = meet ? options->inputs : NULL;
    if (!meet)
        convert->transfer.duplicates = SB_DUPLICATE_LAST;
    else if (options->transfer.duplicates == SB_DUPLICATE_LAST)
        convert->transfer.duplicates = SB_DUPLICATE_FIRST;
    return meet;
}

/* Names seen so far belong to one run. */
static enum sb_code run_once(struct convert *convert, bool dry, struct sb_error *err)
{
    struct sb_seen *seen = NULL;
    bool looks_up = convert->options->merge ? arrange_merge(convert)
                                            : convert->transfer.duplicates != SB_DUPLICATE_LAST;
    enum sb_code code = SB_OK;

    convert->transfer.dry_run = dry;
    if (looks_up)
        code = sb_seen_new(&seen, convert->options->output, err);
    convert->transfer.seen = seen;
    if (!code)
        code = run(convert, err);
    sb_seen_free(seen);
    return code;
}

/* A directory appears file by file: what it cannot hold must be known before. */
static bool looks_first(const struct sb_convert_options *options)
{
    struct stat st;

    if (!options->transfer.strict || options->to.kind != SB_DIRECTORY || options->transfer.dry_run)
        return false;
    for (size_t i = 0; i < options->input_count; i++) {
        if (stat(options->inputs[i], &st) || S_ISFIFO(st.st_mode))
            return false;
    }
    return true;
}

enum sb_code sb_convert(const struct sb_convert_options *options, struct sb_convert_result *result,
                        struct sb_error *err)
{
    struct convert convert = {.options = options, .result = result, .transfer = options->transfer};
    enum sb_container_kind kind = options->records.framed_output ? SB_FRAMES : options->to.kind;
    enum sb_code code;

    *result = (struct sb_convert_result){0};
    convert.notify = (struct sb_notify){.call = tell, .context = &convert};
    convert.transfer.notify = &convert.notify;
    convert.transfer.problems = &result->problems;
    convert.transfer.max_size = options->max_size;
    convert.transfer.recode.max_size = options->max_size;
    convert.transfer.beside = options->output;
    convert.transfer.lost = lose;
    convert.transfer.progress = progress;
    convert.transfer.context = &convert;
    code = sb_convert_paths_check(options->inputs, options->input_count, options->output, err);
    if (!code && kind != SB_ARCHIVE && kind != SB_DIRECTORY)
        code = sb_convert_spare_archive(options->output, sb_container_word(kind), err);
    if (!code)
        code = sb_recode_check(&options->transfer.recode, err);
    if (!code && sb_convert_is_of_bags(options))
        return sb_convert_bags(options, &convert.notify, result, err);
    if (!code && looks_first(options)) {
        code = run_once(&convert, true, err);
        *result = (struct sb_convert_result){.problems = result->problems};
    }
    if (!code)
        code = run_once(&convert, options->transfer.dry_run, err);
    return result->done ? SB_OK : code;
}
