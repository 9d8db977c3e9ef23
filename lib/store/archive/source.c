#include "store/archive/source.h"
#include "store/archive/depth_first.h"
#include "store/kind.h"
#include <errno.h>

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/owner_names.h"
#include "archive/parity/note.h"
#include "archive/parity/pieces.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/name.h"
#include "core/number.h"
#include "core/spool.h"
#include "core/time.h"
#include "store/facts.h"
#include "store/samples/samples.h"
#include "store/table.h"
#include "store/unmatched.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read ahead where extents follow each other. Larger saves nothing, and leaves a core's cache. */
#define WINDOW_BYTES ((size_t)128 << 10)

#define GAP_MAX 4096 /* cheaper to read than to skip */

#define OWNER (unsigned)(SB_HAS_UID | SB_HAS_GID)

/* What comes next; plans are ended by STAGE_OVER. */
enum stage {
    STAGE_ROOT,
    STAGE_DIRS,
    STAGE_FILES,
    STAGE_TREE,
    STAGE_SAMPLES,
    STAGE_SELECTION,
    STAGE_OVER,
};

static const enum stage by_address[] = {STAGE_ROOT, STAGE_DIRS, STAGE_FILES, STAGE_OVER};
static const enum stage depth_first[] = {STAGE_ROOT, STAGE_TREE, STAGE_OVER};
static const enum stage files_first[] = {STAGE_FILES, STAGE_ROOT, STAGE_DIRS, STAGE_OVER};
static const enum stage by_sample[] = {STAGE_SAMPLES, STAGE_ROOT, STAGE_DIRS, STAGE_OVER};
static const enum stage selection[] = {STAGE_SELECTION, STAGE_OVER};

struct archive_source {
    struct sb_source base;
    struct sb_archive *archive;
    struct sb_shards *shards;
    struct sb_content *content;
    struct sb_archive_source_options options;
    const enum stage *stage; /* in its plan */
    bool root_given;
    struct sb_cursor *cursor;
    struct sb_depth_first *walk;
    struct sb_select *select;
    struct sb_table *samples;
    int64_t sample, sample_end; /* the next one, and the end of the share */
    uint32_t file, file_count;  /* of the sample before it: the next one */
    struct sb_owner_names owners;
    unsigned char *parity; /* of each shard: what is known of its parity file */
};

enum { PARITY_UNKNOWN, PARITY_NONE, PARITY_THERE };

/* The bytes of a shard from `start` on that are in `data`, for rows of that generation. */
struct archive_loader {
    struct sb_loader base;
    uint32_t generation;
    uint32_t shard;
    int64_t start;
    size_t size;
    char *data;
    int64_t next;         /* where the last extent ended: from there on it is worth reading ahead */
    bool at_end;          /* so near to the shard's end that a window would reach beyond it */
    uint32_t dense_shard; /* from dense_from on it has no hole before `dense` */
    int64_t dense_from, dense;
};

/*
 * A member's extent, out of reach of sinks, which have places of their own. The stored name, which
 * the transfer may change, is its `component`.
 */
enum { PLACE_SHARD, PLACE_OFFSET, PLACE_SUM };

static struct archive_source *source_of(struct sb_source *source)
{
    return (struct archive_source *)source;
}

static const struct archive_source *source_of_loader(const struct sb_loader *loader)
{
    return (const struct archive_source *)loader->source;
}

static void free_source(struct sb_source *base)
{
    struct archive_source *source = source_of(base);

    sb_cursor_free(source->cursor);
    sb_depth_first_free(source->walk);
    sb_select_free(source->select);
    sb_table_free(source->samples);
    sb_owner_names_release(&source->owners);
    sb_content_free(source->content);
    sb_shards_free(source->shards);
    free(source->parity);
    free(source);
}

/* The walk */

static void end_stage(struct archive_source *source)
{
    bool chosen = *source->stage == STAGE_SELECTION;

    for (size_t i = 0; chosen && i < source->options.path_count; i++) {
        if (sb_select_unmatched(source->select, i))
            sb_report(source->options.notify, SB_PROBLEM, "missing", source->options.paths[i],
                      "no such file or directory in the archive%s",
                      sb_unmatched_in(source->archive, source->options.paths[i]));
    }
    source->stage++;
    sb_cursor_free(source->cursor);
    source->cursor = NULL;
}

/* One that is gone meanwhile is passed over, as in any walk. */
static enum sb_code next_of_samples(struct archive_source *source, struct sb_entry *entry)
{
    const struct sb_sample_order *order = source->options.samples;
    struct sb_facts file;
    enum sb_code code;
    int64_t count;

    if (!source->samples) {
        TRY(sb_table_of_samples(&source->samples, source->archive, true, order->beside,
                                source->options.notify));
        TRY(source->samples->ops->count(source->samples, &count));
        sb_share_run(order->share, count, &source->sample, &source->sample_end);
        source->sample_end += source->sample;
    }
    do {
        while (source->file == source->file_count) {
            if (source->sample == source->sample_end)
                return SB_END;
            source->file = 0;
            TRY(sb_table_columns(source->samples, source->sample++, &source->file_count));
        }
        TRY(source->samples->ops->describe(source->samples, source->sample - 1, source->file++,
                                           &file));
        code = sb_archive_lookup(source->archive, file.member.text, file.member.size, entry);
        entry->path = file.member.text;
        entry->path_size = file.member.size;
    } while (code == SB_NOENT || (!code && entry->type == SB_DIR));
    return code;
}

/* The next entry of this stage, SB_END after its last. */
static enum sb_code next_of_stage(struct archive_source *source, struct sb_entry *entry)
{
    static const struct sb_query dirs = {.order = SB_BY_PATH, .dirs = true};
    static const struct sb_query files = {
        .order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    enum sb_code code;

    switch (*source->stage) {
    case STAGE_ROOT:
        if (source->root_given)
            return SB_END;
        source->root_given = true;
        code = sb_archive_lookup(source->archive, "", 0, entry);
        if (code == SB_NOENT && source->options.order == SB_ORDER_ADDRESS) {
            *entry = (struct sb_entry){.path = "", .type = SB_DIR};
            return SB_OK;
        }
        return code == SB_NOENT || (!code && entry->defect) ? SB_END : code;
    case STAGE_DIRS:
    case STAGE_FILES:
        if (!source->cursor)
            TRY(sb_cursor_open(&source->cursor, source->archive,
                               *source->stage == STAGE_DIRS ? &dirs : &files));
        return sb_cursor_next(source->cursor, entry);
    case STAGE_TREE:
        if (!source->walk)
            TRY(sb_depth_first_open(&source->walk, source->archive));
        return sb_depth_first_next(source->walk, entry);
    case STAGE_SAMPLES:
        return next_of_samples(source, entry);
    case STAGE_SELECTION:
        return sb_select_next(source->select, entry);
    case STAGE_OVER:
        break;
    }
    return SB_END;
}

/* Can it be used at all? Reports what is wrong with it. */
static bool is_usable(const struct archive_source *source, const struct sb_entry *entry)
{
    const char *problem;

    if (entry->defect) {
        sb_report(source->options.notify, SB_PROBLEM, "row", entry->path, "%s; left out",
                  entry->defect);
        return false;
    }
    if (entry->type == SB_DIR && entry->path_size == 0)
        return true;
    problem = sb_name_problem(entry->path, entry->path_size);
    if (problem)
        sb_report(source->options.notify, SB_PROBLEM, "unsafe", entry->path,
                  "the name %s; left out", problem);
    return !problem;
}

/*
 * A directory about which nothing is known but that it holds something. Its members imply it, and a
 * tar would have to give it a time and an owner.
 */
static bool is_implied(const struct archive_source *source, const struct sb_entry *entry)
{
    return source->options.order != SB_ORDER_ADDRESS && entry->type == SB_DIR && !entry->has &&
           (entry->num_files > 0 || entry->num_subdirs > 0);
}

static unsigned properties_of(const struct sb_entry *entry)
{
    unsigned has = 0;

    if (entry->has & (SB_HAS_UID | SB_HAS_GID))
        has |= SB_KEEPS_OWNER;
    if ((entry->has & SB_HAS_MTIME) && entry->mtime_ns % SB_SECOND)
        has |= SB_KEEPS_NANOSECONDS;
    return has;
}

static void name_owners(struct archive_source *source, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;

    if (entry->has & SB_HAS_UID)
        member->user = sb_owner_name(&source->owners, SB_USER, entry->uid);
    if (entry->has & SB_HAS_GID)
        member->group = sb_owner_name(&source->owners, SB_GROUP, entry->gid);
    if (member->user || member->group)
        member->has |= SB_KEEPS_OWNER_NAME;
}

static enum sb_code next(struct sb_source *base, struct sb_member *member)
{
    struct archive_source *source = source_of(base);
    struct sb_entry entry;

    for (;;) {
        enum sb_code code = next_of_stage(source, &entry);

        if (code == SB_END && *source->stage != STAGE_OVER)
            end_stage(source);
        else if (code)
            return code;
        else if (is_usable(source, &entry) && !is_implied(source, &entry))
            break;
    }
    *member =
        (struct sb_member){.entry = entry, .has = properties_of(&entry), .component = entry.path};
    if (source->owners.count > 0)
        name_owners(source, member);
    member->place[PLACE_SHARD] = (uint64_t)entry.generation << 32 | entry.shard;
    member->place[PLACE_OFFSET] = (uint64_t)entry.offset;
    member->place[PLACE_SUM] = entry.crc32c;
    sb_count_up(&base->done, entry.type == SB_DIR ? 0 : entry.size);
    return SB_OK;
}

static enum sb_code holds(struct sb_source *base, const char *name, size_t size,
                          enum sb_holding *holding)
{
    struct sb_entry entry;
    enum sb_code code = sb_archive_lookup(source_of(base)->archive, name, size, &entry);

    if (!code)
        *holding = entry.type == SB_FILE ? SB_HOLDS_FILE : SB_HOLDS_OTHER;
    return code == SB_NOENT ? SB_OK : code;
}

/* Bytes */

static enum sb_code open_loader(struct sb_source *source, struct sb_loader **out)
{
    struct archive_loader *loader;

    (void)source;
    TRY(SB_NEW(&loader));
    loader->next = INT64_MAX;
    *out = &loader->base;
    return SB_OK;
}

static void free_loader(struct sb_loader *base)
{
    struct archive_loader *loader = (struct archive_loader *)base;

    free(loader->data);
    free(loader);
}

/* The row that the member was made of. */
static struct sb_entry row_of(const struct sb_member *member)
{
    struct sb_entry row = member->entry;

    row.path = member->component;
    row.path_size = strlen(member->component);
    row.generation = (uint32_t)(member->place[PLACE_SHARD] >> 32);
    row.shard = (uint32_t)member->place[PLACE_SHARD];
    row.offset = (int64_t)member->place[PLACE_OFFSET];
    row.crc32c = (uint32_t)member->place[PLACE_SUM];
    return row;
}

/* The member becomes what the row says, which may be another file by now, but for its name, and its
 * owner, which may have got this machine's number. */
static void become(struct sb_member *member, const struct sb_entry *row)
{
    const struct sb_entry *named = &member->entry;
    struct sb_entry entry = *row;

    entry.path = named->path;
    entry.path_size = named->path_size;
    entry.uid = named->uid;
    entry.gid = named->gid;
    entry.has = (row->has & ~OWNER) | (named->has & OWNER);
    member->entry = entry;
    member->has = properties_of(row);
    member->place[PLACE_SHARD] = (uint64_t)row->generation << 32 | row->shard;
    member->place[PLACE_OFFSET] = (uint64_t)row->offset;
    member->place[PLACE_SUM] = row->crc32c;
}

/* Leaves the member out because of the last failure: SB_END, unless that ends the work. */
static enum sb_code leave_out(const struct archive_source *source, const struct sb_member *member,
                              const char *kind, struct sb_events *events)
{
    const char *name = member->entry.path;
    struct sb_error cause = *sb_error();

    TRY(sb_archive_still_current(source->archive));
    if (cause.code == SB_CHANGED)
        kind = "changed";
    else if (sb_ends_work(&cause))
        return sb_fail(cause.code, "%s: %s", name, cause.text);
    TRY(sb_events_add(events, SB_PROBLEM, kind, name, cause.text));
    return SB_END;
}

static const char *kind_of_failure(void)
{
    return sb_error()->code == SB_NOENT ? "missing" : "damaged";
}

static bool window_holds(const struct archive_loader *loader, const struct sb_entry *row)
{
    size_t size = (size_t)row->size;

    return loader->size >= size && loader->shard == row->shard &&
           loader->generation == row->generation && row->offset >= loader->start &&
           row->offset - loader->start <= (int64_t)(loader->size - size);
}

/* Fills the window from the row's bytes on; false where that cannot be, and single extents are to
 * be read. */
static bool read_ahead(struct archive_loader *loader, const struct sb_entry *row)
{
    const struct archive_source *source = source_of_loader(&loader->base);

    if (loader->shard != row->shard || loader->at_end || row->size > (int64_t)WINDOW_BYTES / 2 ||
        row->offset < loader->next || row->offset - loader->next > GAP_MAX)
        return false;
    if (!loader->data)
        loader->data = malloc(WINDOW_BYTES);
    if (!loader->data)
        return false;
    loader->at_end = IGNORED(
        sb_shards_read(source->shards, row->shard, row->offset, loader->data, WINDOW_BYTES));
    loader->start = row->offset;
    loader->generation = row->generation;
    loader->size = loader->at_end ? 0 : WINDOW_BYTES;
    return !loader->at_end;
}

static enum sb_code read_extent(struct archive_loader *loader, const struct sb_entry *row,
                                void *data)
{
    const struct archive_source *source = source_of_loader(&loader->base);
    size_t size = (size_t)row->size;
    enum sb_code code = SB_OK;

    if (window_holds(loader, row) || read_ahead(loader, row))
        memcpy(data, loader->data + (row->offset - loader->start), size);
    else
        code = sb_shards_read(source->shards, row->shard, row->offset, data, size);
    if (loader->shard != row->shard) {
        loader->shard = row->shard;
        loader->size = 0;
        loader->at_end = false;
    }
    loader->next = row->offset + row->size;
    return code;
}

/* Reads the bytes where the row says; *good when it is sure that they are right. */
static enum sb_code load_row(struct archive_loader *loader, const struct sb_entry *row, void *data,
                             bool check, bool *good)
{
    const struct archive_source *source = source_of_loader(&loader->base);
    size_t size = (size_t)row->size;
    enum sb_code code = size > 0 ? read_extent(loader, row, data) : SB_OK;

    *good = !code && (check ? sb_crc32c(0, data, size) == row->crc32c
                            : !sb_content_moved(source->content, row));
    return code;
}

/* Is there a hole in it? Few files of a shard are near one. */
static bool has_hole(struct archive_loader *loader, const struct sb_entry *row)
{
    const struct archive_source *source = source_of_loader(&loader->base);
    bool hole = false;
    int64_t run;

    if (row->size < SB_HOLE_LEAST)
        return false;
    if (loader->dense_shard != row->shard || row->offset < loader->dense_from ||
        row->offset + row->size > loader->dense) {
        run = sb_shards_run(source->shards, row->shard, row->offset, &hole);
        loader->dense_shard = row->shard;
        loader->dense_from = row->offset;
        loader->dense = row->offset;
        sb_count_up(&loader->dense, hole ? 0 : run);
    }
    return row->offset + row->size > loader->dense;
}

/* Of each shard it is looked for once. */
static bool has_parity(const struct archive_source *source, const struct sb_entry *row)
{
    unsigned char *parity = source->parity + row->shard;
    unsigned char known = __atomic_load_n(parity, __ATOMIC_RELAXED);
    CLEANUP(sb_buf_release) struct sb_buf shard = {0};

    if (!(row->has & SB_HAS_CRC))
        return false;
    if (known == PARITY_UNKNOWN) {
        bool there = !sb_shards_path(source->shards, row->shard, &shard) &&
                     !sb_buf_add_text(&shard, SB_PROTECT_SUFFIX) && access(shard.data, R_OK) == 0;

        known = there ? PARITY_THERE : PARITY_NONE;
        __atomic_store_n(parity, known, __ATOMIC_RELAXED);
    }
    return known == PARITY_THERE;
}

/* The right bytes of a damaged file, by the parity file of its shard; SB_END: it does not make
 * them.
 */
static enum sb_code mend(const struct archive_source *source, const struct sb_entry *row,
                         struct sb_spool *made, struct sb_events *events)
{
    CLEANUP(sb_buf_release) struct sb_buf shard = {0};
    bool right = false;
    enum sb_code code =
        row->has & SB_HAS_CRC ? sb_shards_path(source->shards, row->shard, &shard) : SB_END;

    TRY(code);
    TRY(sb_pieces_make(shard.data, row->offset, row->size, row->crc32c, made, &right));
    if (!right)
        return SB_END;
    return sb_events_add(events, SB_WARNING, "mended", row->path,
                         "is damaged; its bytes are made by the parity file of its shard");
}

static enum sb_code mend_to(const struct archive_source *source, const struct sb_entry *row,
                            void *data, struct sb_events *events)
{
    CLEANUP(sb_spool_release)
    struct sb_spool made = {.fd = -1, .beside = sb_archive_path(source->archive)};

    TRY(mend(source, row, &made, events));
    return sb_spool_get(&made, 0, data, (size_t)row->size);
}

static enum sb_code load(struct sb_loader *base, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    struct archive_loader *loader = (struct archive_loader *)base;
    const struct archive_source *source = source_of_loader(base);
    struct sb_entry row = row_of(member);
    bool checks = !source->options.no_check;
    enum sb_code first, code;
    bool good;

    if (base->sparse && has_hole(loader, &row))
        member->has |= SB_KEEPS_SPARSE;
    if (row.size > (int64_t)capacity || (member->has & SB_KEEPS_SPARSE))
        return SB_LIMIT;
    first = load_row(loader, &row, data, checks && (member->entry.has & SB_HAS_CRC), &good);
    if (good)
        return SB_OK;
    /* They may have been moved; by then nothing read ahead is of use. */
    loader->size = 0;
    code = sb_content_read(source->content, &row, data, capacity, checks);
    if (!code && row.type != member->entry.type)
        code = sb_fail(SB_CHANGED, "was replaced by another while it was read; left out");
    if (!code || code == SB_LIMIT) {
        become(member, &row);
        return code;
    }
    if (first || code != SB_DAMAGED)
        return leave_out(source, member, kind_of_failure(), events);
    code = mend_to(source, &row, data, events);
    if (code != SB_END)
        return code;
    sb_fail(SB_DAMAGED, "its bytes do not match their checksum; left out");
    return leave_out(source, member, "checksum", events);
}

struct feed {
    sb_each_block *each;
    void *context;
    bool failed; /* the error is of the taker, not of the shard */
};

static enum sb_code pass_on(void *context, const void *data, size_t size)
{
    struct feed *feed = context;
    enum sb_code code = feed->each(feed->context, data, size);

    feed->failed = code != SB_OK;
    return code;
}

static enum sb_code pass_over(void *context, const void *data, size_t size)
{
    (void)context, (void)data, (void)size;
    return SB_OK;
}

/* What was passed on cannot be taken back: where there is parity the bytes are looked at before.
 * SB_END: they are right, or are not made. */
static enum sb_code stream_mended(const struct archive_source *source, const struct sb_entry *row,
                                  struct feed *feed, struct sb_events *events)
{
    CLEANUP(sb_spool_release)
    struct sb_spool made = {.fd = -1, .beside = sb_archive_path(source->archive)};
    struct sb_entry looked_at = *row;
    struct sb_error found;

    if (source->options.no_check || !has_parity(source, row) ||
        INTO(&found, sb_content_stream_sparse(source->content, &looked_at, true, pass_over,
                                              NULL)) != SB_DAMAGED)
        return SB_END;
    TRY(mend(source, row, &made, events));
    return sb_spool_feed_sparse(&made, pass_on, feed);
}

static enum sb_code stream(struct sb_loader *base, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    const struct archive_source *source = source_of_loader(base);
    struct feed feed = {.each = each, .context = context};
    struct sb_entry row = row_of(member);
    enum sb_code code = stream_mended(source, &row, &feed, events);

    if (code != SB_END)
        return code;
    code =
        sb_content_stream_sparse(source->content, &row, !source->options.no_check, pass_on, &feed);

    if (!code || feed.failed)
        return code;
    return leave_out(source, member, kind_of_failure(), events);
}

/* Opening */

/*
 * Several arguments are always walked as a selection, even where one of them is the root, so that
 * those that match nothing are found.
 */
static enum sb_code choose_walk(struct archive_source *source)
{
    bool as_stored = true;
    enum sb_code code = SB_OK;

    source->stage = source->options.samples ? by_sample : by_address;
    if (source->options.path_count > 0) {
        TRY(sb_select_new(&source->select, source->archive, source->options.paths,
                          source->options.path_count, SB_REACH_SUBTREE));
        if (source->options.path_count > 1 || !sb_select_everything(source->select)) {
            source->stage = selection;
            return SB_OK;
        }
    }
    if (source->options.samples || source->options.order == SB_ORDER_ADDRESS)
        return SB_OK;
    if (source->options.order == SB_ORDER_STORED)
        code = sb_depth_first_is_stored(source->archive, &as_stored);
    source->stage = as_stored ? depth_first : files_first;
    return code;
}

enum sb_code sb_source_open_archive(struct sb_source **out, struct sb_archive *archive,
                                    const struct sb_archive_source_options *options)
{
    static const struct sb_source_ops ops = {
        .free = free_source,
        .next = next,
        .holds = holds,
        .open_loader = open_loader,
        .free_loader = free_loader,
        .load = load,
        .stream = stream,
    };
    struct archive_source *source;
    CLEANUP(sb_source_freep) struct sb_source *base = NULL;
    struct sb_entry root;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&source));
    base = &source->base;
    *base = (struct sb_source){
        .ops = &ops, .name = sb_archive_path(archive), .loads = true, .unique = true};
    source->archive = archive;
    source->options = *options;
    TRY(SB_NEW_ARRAY(&source->parity, SB_SHARD_MAX + 1));
    TRY(sb_shards_open(&source->shards, archive));
    TRY(sb_content_open(&source->content, archive, source->shards));
    TRY(choose_walk(source));
    if (source->stage != selection) {
        code = sb_archive_lookup(archive, "", 0, &root);
        if (code && code != SB_NOENT)
            return code;
        base->total = !code && !root.defect ? root.size_tree : 0;
    }
    TRY(sb_owner_names_of(&source->owners, archive, source->options.notify));
    *out = TAKE(base);
    return SB_OK;
}

static enum sb_sure is_there(const struct sb_input *input)
{
    return !input->there && input->why_not == ENOENT ? SB_BY_PLACE : SB_NO;
}

/* No pipe: SQLite could not read it. */
static enum sb_sure begins_as_index(const struct sb_input *input)
{
    static const char magic[] = "SQLite format 3";

    if (!sb_input_begins(input, magic, sizeof(magic)))
        return SB_NO;
    return input->there && S_ISREG(input->st.st_mode) ? SB_BY_HEADER : SB_BY_MAGIC;
}

static enum sb_code open_kind(struct sb_source **out, struct sb_input *input,
                              const struct sb_source_options *options,
                              const struct sb_notify *notify)
{
    struct sb_archive_source_options wanted = {.paths = options->paths,
                                               .path_count = options->path_count,
                                               .order = options->order,
                                               .no_check = options->no_check,
                                               .notify = notify};

    return sb_source_open_archive(out, input->archive, &wanted);
}

const struct sb_kind sb_archive_kind = {
    .word = "archive",
    .words = (const struct sb_kind_word[]){{"archive", 0, false}, {"barecat", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_SHARDS,
    .never_piped = "an archive",
    .by_path = true,
    .explains_directory = true,
    .by_name = is_there,
    .by_content = begins_as_index,
    .takes = SB_TO_INDEX | SB_TO_APPEND | SB_TO_SHARDS,
    .source = open_kind,
};
