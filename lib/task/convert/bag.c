#include "store/bag/bag.h"
#include "store/shard_spec.h"
#include "task/convert/impl.h"
#include "task/table/fetch.h"

#include <inttypes.h>
#include <string.h>

/* A shorter run is not worth a call of its own. */
#define RUN_RECORDS 256

/* Bytes copied between two reports of progress. */
#define MOVE_BYTES ((int64_t)64 << 20)

struct bags {
    const struct sb_convert_options *options;
    const struct sb_convert_part *part;
    const struct sb_notify *notify;
    struct sb_convert_result *result;
    struct sb_bag_writer *writer; /* NULL in a dry run */
    struct sb_dictionary *dictionary;
    const struct sb_record_choice_options
        *choice; /* those of the options, until a list is counted */
    struct sb_record_choice_options counted;
    struct sb_limit_spool numbers;      /* of the list */
    int64_t start_records, start_bytes; /* of the writer */
    int64_t bytes_done;                 /* stored bytes of inputs */
};

static enum sb_code drop_piece(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

/* The first nonempty record of a shard. SB_END: there is none. */
static enum sb_code find_bytes(struct sb_bag_reader *reader, uint32_t shard, int64_t records,
                               struct sb_extent *out)
{
    for (int64_t i = 0; i < records; i++) {
        struct sb_place place = {.shard = shard, .index = i};
        size_t good;
        enum sb_code code = sb_bag_extents(reader, place, 1, out, &good);

        if (code || out->size > 0)
            return code;
    }
    return SB_END;
}

/*
 * One dictionary must decode the whole bag: that of its first record must be the new one's, if any.
 */
static enum sb_code hold_against(struct sb_bag *bag)
{
    CLEANUP(sb_bag_reader_freep) struct sb_bag_reader *reader = NULL;
    struct sb_extent extent;
    enum sb_code code = SB_END;

    TRY(sb_bag_reader_new(&reader, bag));
    for (uint32_t i = 0; code == SB_END && i < sb_bag_shard_count(bag); i++)
        code = find_bytes(reader, i, sb_bag_shard(bag, i)->records, &extent);
    if (!code)
        code = sb_bag_stream(reader, &extent, drop_piece, NULL);
    if (code == SB_DAMAGED)
        return sb_fail(SB_INVALID,
                       "%s: its records cannot be read by the dictionary that is to be used for "
                       "more; --dictionary must be that of the bag",
                       sb_bag_name(bag));
    return code == SB_END ? SB_OK : code;
}

/*
 * The dictionary options->records.dictionary, NULL if none is named; the caller frees it, also on
 * failure. SB_INVALID if records are appended to a bag whose first record it cannot decode: no
 * single dictionary would decode them all.
 */
static enum sb_code convert_dictionary(struct sb_dictionary **out,
                                       const struct sb_convert_options *options)
{
    const struct sb_bag_writer_options *write = &options->records.write;
    struct sb_bag_options read = {.compression = write->compression, .limits = write->limits};
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    *out = NULL;
    if (!options->records.dictionary)
        return SB_OK;
    TRY(sb_dictionary_read(out, options->records.dictionary));
    read.dictionary = *out;
    /* The bag's writer reports what keeps it from being opened. */
    if (!options->append || IGNORED(sb_bag_open(&bag, options->output, &read, NULL)))
        return SB_OK;
    return hold_against(bag);
}

bool sb_convert_is_of_bags(const struct sb_convert_options *options)
{
    const struct sb_transfer_options *transfer = &options->transfer;

    if (!(sb_convert_takes(options) & SB_TO_RECORDS) || options->archive ||
        options->records.framed_input || options->records.keys || options->max_size ||
        transfer->filter || transfer->choice || sb_recode_works(&transfer->recode))
        return false;
    return sb_convert_all_can(options, SB_CAN_RECORDS);
}

static struct sb_bag_writer_options writer_of(const struct sb_convert_options *options,
                                              const struct sb_notify *notify)
{
    struct sb_bag_writer_options writer = options->records.write;

    writer.path = options->output;
    writer.force = options->force;
    writer.append = options->append;
    writer.notify = notify;
    return writer;
}

/* Without a number of shards of their own they use that of the records. */
static enum sb_code keys_of(struct sb_bag_writer_options *keys,
                            const struct sb_convert_options *options,
                            const struct sb_notify *notify)
{
    const struct sb_bag_writer_options *write = &options->records.write;
    struct sb_shard_pattern pattern;

    *keys = (struct sb_bag_writer_options){.path = options->records.keys,
                                           .force = options->force,
                                           .append = options->append,
                                           .layout = write->layout,
                                           .total = write->total,
                                           .notify = notify};
    TRY(sb_shard_pattern_parse(&pattern, options->records.keys));
    if (pattern.is_set && pattern.shards == 0)
        keys->shard_records = write->shard_records;
    return SB_OK;
}

/* Defects of a bag are reported when it is opened for writing. */
static int64_t count_existing(const char *path, const struct sb_bag_writer_options *write)
{
    struct sb_bag_options read = {.compression = write->compression, .limits = write->limits};
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    return IGNORED(sb_bag_open(&bag, path, &read, NULL)) ? -1 : sb_bag_count(bag);
}

/* After both are open for writing, which settles what a killed run left of them. */
static enum sb_code check_pair(const struct sb_convert_options *options,
                               const struct sb_bag_writer_options *keys)
{
    int64_t records, names;

    if (!options->append)
        return SB_OK;
    records = count_existing(options->output, &options->records.write);
    names = count_existing(keys->path, keys);
    if (records < 0 || names < 0 || records == names)
        return SB_OK;
    if (names < records)
        return sb_fail(SB_INVALID,
                       "%s: has %" PRId64 " keys, and %s %" PRId64
                       " records; append to a bag with a key for each of them",
                       keys->path, names, options->output, records);
    return sb_fail(SB_INVALID,
                   "%s: has %" PRId64 " keys, and %s %" PRId64
                   " records; make it anew by convert --records=:%" PRId64,
                   keys->path, names, options->output, records, records);
}

enum sb_code sb_convert_open_bag(struct sb_sink **out, struct sb_dictionary **dictionary,
                                 const struct sb_convert_options *options,
                                 const struct sb_notify *notify)
{
    struct sb_bag_sink_options wanted = {
        .writer = writer_of(options, notify), .level = options->level, .notify = notify};
    struct sb_bag_writer_options keys;
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;

    TRY(convert_dictionary(dictionary, options));
    if (options->records.keys) {
        TRY(keys_of(&keys, options, notify));
        wanted.keys = &keys;
    }
    wanted.dictionary = *dictionary;
    TRY(sb_sink_open_bag(&sink, &wanted));
    if (wanted.keys)
        TRY(check_pair(options, &keys));
    *out = TAKE(sink);
    return SB_OK;
}

/* Reports missing numbers, and counts the others. */
static enum sb_code count_chosen(struct bags *bags, const char *input,
                                 struct sb_record_choice *choice, int64_t *count)
{
    struct sb_record_run run;
    enum sb_code code;

    *count = sb_record_choice_total(choice);
    if (*count >= 0)
        return SB_OK;
    *count = 0;
    while ((code = sb_record_choice_next(choice, &run)) != SB_END) {
        if (code == SB_INVALID)
            sb_report(bags->notify, SB_PROBLEM, "missing", input, "%s", sb_error()->text);
        else if (code)
            return code;
        else
            *count += run.count;
    }
    return SB_OK;
}

/* A bag, and a choice of its records. */
struct chosen {
    struct sb_table *table;
    struct sb_bag *bag; /* the table's */
    struct sb_record_choice *choice;
    bool all; /* nothing was chosen */
};

static void close_chosen(struct chosen *chosen)
{
    sb_record_choice_free(chosen->choice);
    sb_table_free(chosen->table);
}

static enum sb_code open_chosen(struct chosen *chosen, const struct bags *bags, size_t input)
{
    static const struct sb_record_choice_options all = {.sample = -1};
    struct sb_record_choice_options capacity;
    const struct sb_record_choice_options *choice =
        sb_convert_part_choice(bags->part, input, bags->choice, &capacity);

    TRY(sb_bag_open(&chosen->bag, bags->options->inputs[input], bags->options->records.read,
                    bags->notify));
    TRY(sb_table_of_bag(&chosen->table, chosen->bag));
    chosen->all = !choice;
    return sb_record_choice_new(&chosen->choice, choice ? choice : &all, sb_bag_count(chosen->bag));
}

static enum sb_code count_input(struct bags *bags, size_t input, int64_t *count)
{
    CLEANUP(close_chosen) struct chosen chosen = {0};

    TRY(open_chosen(&chosen, bags, input));
    return count_chosen(bags, bags->options->inputs[input], chosen.choice, count);
}

static enum sb_code count_inputs(struct bags *bags, int64_t *total)
{
    int64_t count;

    *total = 0;
    for (size_t i = 0; i < bags->options->input_count; i++) {
        TRY(count_input(bags, i, &count));
        *total += count;
    }
    return SB_OK;
}

/* Must the total number of records be known? */
static enum sb_code needs_total(const struct sb_bag_writer_options *writer, bool *needs)
{
    bool interleaved = writer->layout == SB_LAYOUT_INTERLEAVED;
    bool bounded = writer->shard_records > 0 || writer->shard_bytes > 0;
    struct sb_shard_pattern pattern;

    *needs = false;
    if (strcmp(writer->path, "-") == 0)
        return SB_OK;
    TRY(sb_shard_pattern_parse(&pattern, writer->path));
    if (pattern.is_set)
        *needs = pattern.shards > 0 ? !interleaved && !bounded : interleaved;
    return SB_OK;
}

/* A list of numbers can be read only once: they are counted while they are spooled. */
static enum sb_code count_list(struct bags *bags, int64_t *total)
{
    const char *input = bags->options->inputs[0];
    CLEANUP(close_chosen) struct chosen chosen = {0};

    TRY(open_chosen(&chosen, bags, 0));
    bags->numbers.bytes.beside = bags->options->output;
    TRY(sb_record_choice_spool(chosen.choice, &bags->numbers, input, bags->notify));
    *total = sb_limit_spool_count(&bags->numbers);
    bags->counted = (struct sb_record_choice_options){
        .sample = -1, .numbers = {.spool = &bags->numbers, .step = 1, .count = *total}};
    bags->choice = &bags->counted;
    return SB_OK;
}

static enum sb_code open_writer(struct bags *bags)
{
    const struct sb_convert_options *options = bags->options;
    struct sb_bag_writer_options writer = writer_of(options, bags->notify);
    bool is_list = bags->choice && bags->choice->list, needs;

    writer.total = -1;
    TRY(needs_total(&writer, &needs));
    if (needs && is_list && options->input_count == 1)
        TRY(count_list(bags, &writer.total));
    else if (needs)
        TRY(count_inputs(bags, &writer.total));
    TRY(convert_dictionary(&bags->dictionary, options));
    TRY(sb_bag_writer_open(&bags->writer, &writer));
    bags->start_records = sb_bag_writer_records(bags->writer);
    bags->start_bytes = sb_bag_writer_bytes(bags->writer);
    return SB_OK;
}

/* An input's records on the way into the new bag. */
struct adding {
    struct bags *bags;
    struct chosen chosen;
    struct sb_cell_bag to;
    struct sb_record_run run; /* count 0: another one is needed */
    int64_t total;            /* stored bytes of the only input; 0: unknown */
};

static void release(struct adding *adding)
{
    sb_bag_reader_free(adding->to.reader);
    close_chosen(&adding->chosen);
}

static void report_progress(void *context, int64_t bytes)
{
    const struct adding *adding = context;
    struct bags *bags = adding->bags;
    const struct sb_transfer_options *wanted = &bags->options->transfer;

    bags->bytes_done += bytes;
    if (wanted->progress)
        wanted->progress(wanted->context, bags->bytes_done, adding->total,
                         sb_bag_writer_records(bags->writer) - bags->start_records);
}

/* SB_END when there are no more. */
static enum sb_code need_run(struct adding *adding)
{
    enum sb_code code = SB_OK;

    if (adding->run.count > 0)
        return SB_OK;
    while ((code = sb_record_choice_next(adding->chosen.choice, &adding->run)) == SB_INVALID)
        sb_report(adding->bags->notify, SB_PROBLEM, "missing", sb_bag_name(adding->chosen.bag),
                  "%s", sb_error()->text);
    return code;
}

static void pass_over(struct sb_record_run *run, int64_t count)
{
    run->first += run->step * count;
    run->count -= count;
}

/* How many records of the run, from the next one on, are adjacent in a shard; 0: it jumps. */
static int64_t adjacent_records(const struct adding *adding)
{
    const struct sb_record_run *run = &adding->run;
    struct sb_bag *bag = adding->chosen.bag;
    struct sb_place place = sb_bag_place_of(bag, run->first);
    int64_t left = sb_bag_shard(bag, place.shard)->records - place.index;

    if (run->step != 1 ||
        (sb_bag_shard_count(bag) > 1 && sb_bag_options_of(bag)->layout != SB_LAYOUT_CONCATENATED))
        return 0;
    return run->count < left ? run->count : left;
}

/* Are so many adjacent records to be copied as they are stored, in large blocks? */
static bool moves(const struct adding *adding, int64_t adjacent)
{
    const struct sb_cell_bag *to = &adding->to;
    struct sb_bag *bag = adding->chosen.bag;
    bool zstd = sb_bag_shard(bag, sb_bag_place_of(bag, adding->run.first).shard)->zstd;

    return adjacent >= RUN_RECORDS && zstd == sb_bag_writer_compresses(to->writer) &&
           (!zstd || to->as_stored);
}

/* Errors of limits have the number already. */
static void leave_out(const struct adding *adding, int64_t record)
{
    const char *name = sb_bag_name(adding->chosen.bag), *text = sb_error()->text;

    if (strncmp(text, "record ", strlen("record ")) == 0)
        sb_report(adding->bags->notify, SB_PROBLEM, "damaged", name, "%s", text);
    else
        sb_report(adding->bags->notify, SB_PROBLEM, "damaged", name, "record %" PRId64 ": %s",
                  record, text);
}

static enum sb_code move_run(struct adding *adding, int64_t count)
{
    struct sb_bag_writer *writer = adding->bags->writer;
    int64_t most = MOVE_BYTES / adding->chosen.table->cell_size;

    if (most < RUN_RECORDS)
        most = RUN_RECORDS;
    while (count > 0) {
        int64_t before = sb_bag_writer_records(writer), bytes = sb_bag_writer_bytes(writer), moved;
        enum sb_code code = sb_bag_writer_add_run(
            writer, adding->to.reader, sb_bag_place_of(adding->chosen.bag, adding->run.first),
            count < most ? count : most);

        moved = sb_bag_writer_records(writer) - before;
        report_progress(adding, sb_bag_writer_bytes(writer) - bytes);
        if (code && code != SB_DAMAGED)
            return code;
        if (code)
            leave_out(adding, adding->run.first + moved);
        moved += code == SB_DAMAGED;
        pass_over(&adding->run, moved);
        count -= moved;
    }
    return SB_OK;
}

/* The records up to those that are moved. */
static enum sb_code next_cells(void *context, struct sb_cell_run *out)
{
    struct adding *adding = context;
    int64_t adjacent;

    TRY(need_run(adding));
    adjacent = adjacent_records(adding);
    if (moves(adding, adjacent))
        return SB_END;
    *out = (struct sb_cell_run){.rows = adding->run, .column_count = 1};
    if (adjacent > 0)
        out->rows.count = adjacent;
    pass_over(&adding->run, out->rows.count);
    return SB_OK;
}

static bool is_ready(void *context)
{
    const struct adding *adding = context;

    return adding->run.count > 0 || sb_record_choice_ready(adding->chosen.choice);
}

static int64_t total_of(void *context)
{
    const struct adding *adding = context;

    return sb_record_choice_total(adding->chosen.choice);
}

static enum sb_code fetch(struct adding *adding)
{
    const struct sb_table_fetch_options options = {
        .bag = &adding->to, .threads = adding->bags->options->transfer.threads};
    const struct sb_cell_feed feed = {
        .next = next_cells, .ready = is_ready, .total = total_of, .context = adding};
    struct sb_table_fetch_counts counts;

    return sb_table_fetch(adding->chosen.table, &feed, &options, NULL, adding->bags->notify,
                          &counts);
}

static enum sb_code add_input(struct bags *bags, size_t input)
{
    const struct sb_convert_options *options = bags->options;
    const struct sb_bag_options *read = options->records.read;
    CLEANUP(release)
    struct adding adding = {
        .bags = bags,
        .to = {.writer = bags->writer,
               .as_stored = !options->records.encode_anew &&
                            sb_dictionary_same(read ? read->dictionary : NULL, bags->dictionary),
               .dictionary = bags->dictionary,
               .level = options->level,
               .progress = report_progress}};
    enum sb_code code;

    adding.to.context = &adding;
    TRY(open_chosen(&adding.chosen, bags, input));
    TRY(sb_bag_reader_new(&adding.to.reader, adding.chosen.bag));
    for (uint32_t i = 0; adding.chosen.all && options->input_count == 1 &&
                         i < sb_bag_shard_count(adding.chosen.bag);
         i++)
        adding.total += sb_bag_shard(adding.chosen.bag, i)->bytes;
    while ((code = need_run(&adding)) == SB_OK) {
        int64_t adjacent = adjacent_records(&adding);

        TRY(moves(&adding, adjacent) ? move_run(&adding, adjacent) : fetch(&adding));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code add_inputs(struct bags *bags)
{
    const struct sb_convert_options *options = bags->options;

    TRY(open_writer(bags));
    for (size_t i = 0; i < options->input_count; i++) {
        if (sb_convert_part_has(bags->part, i))
            TRY(add_input(bags, i));
    }
    if (bags->result->problems > 0 && options->transfer.strict)
        return sb_fail(SB_INVALID, "%s: not everything can be read; given up because of --strict",
                       options->output);
    if (bags->result->problems > 0 && options->force && sb_bag_writer_records(bags->writer) == 0)
        return sb_fail(SB_INVALID, "%s: nothing of it could be read; %s is left as it is",
                       options->inputs[0], options->output);
    return sb_bag_writer_commit(bags->writer);
}

enum sb_code sb_convert_bags(const struct sb_convert_options *options,
                             const struct sb_convert_part *part, const struct sb_notify *notify,
                             struct sb_convert_result *result)
{
    struct bags bags = {.options = options,
                        .part = part,
                        .notify = notify,
                        .result = result,
                        .choice = options->records.choice,
                        .numbers = SB_LIMIT_SPOOL(NULL)};
    enum sb_code code;

    if (options->transfer.dry_run) {
        TRY(count_inputs(&bags, &result->counts.files));
        sb_report(notify, SB_NOTE, "would-store", options->output, "would hold %" PRId64 " records",
                  result->counts.files);
        return SB_OK;
    }
    code = add_inputs(&bags);
    if (bags.writer) {
        result->members = sb_bag_writer_records(bags.writer) - bags.start_records;
        result->counts.files = result->members;
        result->counts.bytes = sb_bag_writer_bytes(bags.writer) - bags.start_bytes;
    }
    sb_bag_writer_free(bags.writer);
    sb_dictionary_free(bags.dictionary);
    sb_limit_spool_release(&bags.numbers);
    return code;
}
