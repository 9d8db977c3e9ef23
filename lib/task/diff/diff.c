#include "task/diff/diff.h"

#include "archive/select.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/events.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "core/pipeline.h"
#include "core/time.h"
#include "store/unmatched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODE_BITS       07777u
#define PAIRS_MAX       512
#define PAIRS_BYTES_MAX (INT64_C(8) << 20)

#define BIT SB_DIFF_BIT

/* A name with its entries on both sides. Strings are offsets into the batch's text. */
struct pair {
    struct sb_child ours;
    struct sb_child theirs;
    bool is_ours; /* the name exists on this side */
    bool is_theirs;
    unsigned differs; /* bit 1 << enum sb_difference_kind */
    size_t path_at;
    size_t our_target_at;
    size_t their_target_at;
    size_t damage_at;
};

/* A batch that one thread compares. */
struct pairs {
    struct pair pairs[PAIRS_MAX];
    size_t count;
    int64_t bytes;                         /* to be read on one side */
    int64_t files;                         /* whose bytes are compared */
    const struct sb_diff_options *options; /* set by the owner, as is the next */
    size_t prefix_size;                    /* bytes before each name of the archive */
    struct sb_buf text;
    struct sb_events events;
    bool damaged; /* some bytes of the archive */
};

static bool is_full(const struct pairs *pairs)
{
    return pairs->count == PAIRS_MAX || pairs->bytes >= PAIRS_BYTES_MAX ||
           pairs->events.text.size >= PAIRS_BYTES_MAX;
}

static enum sb_code keep_text(struct pairs *pairs, const char *text, size_t size, size_t *at)
{
    *at = pairs->text.size;
    TRY(sb_buf_add(&pairs->text, text, size));
    TRY(sb_buf_add_char(&pairs->text, '\0'));
    return SB_OK;
}

static bool both_have(const struct pair *pair, unsigned what)
{
    return (pair->ours.entry.has & what) && (pair->theirs.entry.has & what);
}

/* May one of them be the other, rounded to a multiple of the grain? */
static bool same_but_rounded(int64_t a, int64_t b, int64_t grain)
{
    int64_t apart;

    return (a % grain == 0 || b % grain == 0) && !__builtin_sub_overflow(a, b, &apart) &&
           apart > -grain && apart < grain;
}

/* Whole seconds may have passed through a tar or a file system without finer times. */
static bool same_time(int64_t a, int64_t b, int64_t grain)
{
    return a == b || same_but_rounded(a, b, SB_SECOND) ||
           (grain > 0 && same_but_rounded(a, b, grain));
}

static bool same_owner(const struct pair *pair)
{
    const struct sb_entry *ours = &pair->ours.entry, *theirs = &pair->theirs.entry;

    return !both_have(pair, SB_HAS_UID) || !both_have(pair, SB_HAS_GID) ||
           (ours->uid == theirs->uid && ours->gid == theirs->gid);
}

/* Differences in the metadata alone. */
static unsigned compare_metadata(const struct pair *pair, int64_t time_grain)
{
    const struct sb_entry *ours = &pair->ours.entry, *theirs = &pair->theirs.entry;
    unsigned differs = 0;

    if (!pair->is_theirs)
        return BIT(SB_DIFF_MISSING);
    if (!pair->is_ours)
        return BIT(SB_DIFF_EXTRA);
    if (pair->theirs.special || ours->type != theirs->type)
        return BIT(SB_DIFF_TYPE);
    if (ours->type == SB_FILE && ours->size != theirs->size)
        differs |= BIT(SB_DIFF_SIZE);
    /* The mode of a link has no meaning on Linux. */
    if (ours->type != SB_LINK && both_have(pair, SB_HAS_MODE) &&
        ((ours->mode ^ theirs->mode) & MODE_BITS))
        differs |= BIT(SB_DIFF_MODE);
    if (!same_owner(pair))
        differs |= BIT(SB_DIFF_OWNER);
    if (both_have(pair, SB_HAS_MTIME) && !same_time(ours->mtime_ns, theirs->mtime_ns, time_grain))
        differs |= BIT(SB_DIFF_TIME);
    return differs;
}

static bool bytes_needed(const struct sb_diff_options *options, const struct pair *pair)
{
    const unsigned settled = BIT(SB_DIFF_MISSING) | BIT(SB_DIFF_EXTRA) | BIT(SB_DIFF_TYPE) |
                             BIT(SB_DIFF_SIZE) | BIT(SB_DIFF_DAMAGED);
    enum sb_type type = pair->ours.entry.type;

    if ((pair->differs & settled) || type == SB_DIR ||
        (options->brief && (pair->differs & ~options->ignored)))
        return false;
    return !(options->ignored & BIT(type == SB_LINK ? SB_DIFF_TARGET : SB_DIFF_BYTES));
}

static enum sb_code add_pair(struct pairs *pairs, const struct sb_child *ours,
                             const struct sb_child *theirs)
{
    struct pair *pair = &pairs->pairs[pairs->count];
    const struct sb_entry *any = ours ? &pair->ours.entry : &pair->theirs.entry;
    size_t before = ours ? pairs->prefix_size : 0;
    const char *defect;

    *pair = (struct pair){.is_ours = ours != NULL, .is_theirs = theirs != NULL};
    if (ours)
        pair->ours = *ours;
    if (theirs)
        pair->theirs = *theirs;
    TRY(keep_text(pairs, any->path - before, before + any->path_size, &pair->path_at));
    pair->path_at += before;
    if (pair->theirs.entry.defect)
        return sb_events_add(&pairs->events, SB_PROBLEM, "damaged",
                             pairs->text.data + pair->path_at, pair->theirs.entry.defect);
    defect = pair->ours.entry.defect;
    if (defect) {
        pair->differs = BIT(SB_DIFF_DAMAGED);
        TRY(keep_text(pairs, defect, strlen(defect), &pair->damage_at));
    } else {
        pair->differs = compare_metadata(pair, pairs->options->time_grain);
    }
    pairs->count++;
    if (bytes_needed(pairs->options, pair)) {
        sb_count_up(&pairs->bytes, pair->ours.entry.size);
        pairs->files++;
    }
    return SB_OK;
}

/* The result of reading one side. */
struct sum {
    uint32_t crc32c;
    struct sb_buf *text; /* for targets of links, else NULL */
};

static enum sb_code add_bytes(void *context, const void *data, size_t size)
{
    struct sum *sum = context;

    if (sb_interrupted())
        return sb_fail_interrupt();
    if (sum->text)
        return sb_buf_add(sum->text, data, size);
    sum->crc32c = sb_crc32c_block(sum->crc32c, data, size);
    return SB_OK;
}

static bool ends_run(const struct sb_error *err)
{
    return err->code == SB_NOMEM || err->code == SB_INTERRUPT || err->code == SB_FORMAT ||
           (err->code == SB_SYSTEM && (err->sys_errno == EMFILE || err->sys_errno == ENFILE));
}

/* The archive's side could not be read. */
static enum sb_code our_failure(struct pairs *pairs, struct pair *pair)
{
    struct sb_error cause = *sb_error();

    if (ends_run(&cause))
        return cause.code;
    pairs->damaged = true;
    if (cause.code == SB_CHANGED)
        return sb_events_add(&pairs->events, SB_PROBLEM, "changed",
                             pairs->text.data + pair->path_at, cause.text);
    pair->differs |= BIT(SB_DIFF_DAMAGED);
    return keep_text(pairs, cause.text, strlen(cause.text), &pair->damage_at);
}

static enum sb_code their_failure(struct pairs *pairs, const char *path)
{
    struct sb_error cause = *sb_error();
    const char *kind = "unreadable";

    if (ends_run(&cause))
        return cause.code;
    if (cause.code == SB_DAMAGED)
        kind = "damaged";
    else if (cause.code == SB_CHANGED || cause.code == SB_NOENT)
        kind = "changed";
    return sb_events_add(&pairs->events, SB_PROBLEM, kind, path, cause.text);
}

/* Reads one side; content that can be read only in sequence has its checksum in the index. */
static enum sb_code sum_side(struct sb_hierarchy *hierarchy, struct sb_reader *reader,
                             const struct sb_entry *entry, struct sum *sum)
{
    enum sb_code code = sb_hierarchy_read(hierarchy, reader, entry, add_bytes, sum);

    if (code != SB_INVALID || sum->text || !(entry->has & SB_HAS_CRC))
        return code;
    sum->crc32c = entry->crc32c;
    return SB_OK;
}

/* Reads both sides of a pair; link targets are kept in the text. */
static enum sb_code compare_pair(struct pairs *pairs, struct pair *pair, struct sb_hierarchy *ours,
                                 struct sb_reader *our_reader, struct sb_hierarchy *theirs,
                                 struct sb_reader *their_reader)
{
    bool is_link = pair->ours.entry.type == SB_LINK;
    struct sb_buf *text = is_link ? &pairs->text : NULL;
    struct sum our_sum = {.text = text}, their_sum = {.text = text};
    struct sb_entry our_entry = pair->ours.entry;
    size_t our_size;

    our_entry.path = pairs->text.data + pair->path_at - pairs->prefix_size;
    our_entry.path_size += pairs->prefix_size;
    pair->our_target_at = pairs->text.size;
    if (sum_side(ours, our_reader, &our_entry, &our_sum))
        return our_failure(pairs, pair);
    our_size = pairs->text.size - pair->our_target_at;
    if (is_link)
        TRY(sb_buf_add_char(&pairs->text, '\0'));
    pair->their_target_at = pairs->text.size;
    pair->theirs.entry.path = pairs->text.data + pair->path_at;
    if (sum_side(theirs, their_reader, &pair->theirs.entry, &their_sum))
        return their_failure(pairs, pairs->text.data + pair->path_at);
    if (!is_link) {
        if (our_sum.crc32c != their_sum.crc32c)
            pair->differs |= BIT(SB_DIFF_BYTES);
        return SB_OK;
    }
    if (our_size != pairs->text.size - pair->their_target_at ||
        memcmp(pairs->text.data + pair->our_target_at, pairs->text.data + pair->their_target_at,
               our_size) != 0)
        pair->differs |= BIT(SB_DIFF_TARGET);
    return sb_buf_add_char(&pairs->text, '\0');
}

static enum sb_code compare_pairs(struct pairs *pairs, struct sb_hierarchy *ours,
                                  struct sb_hierarchy *theirs)
{
    struct sb_reader *our_reader = NULL, *their_reader = NULL;
    enum sb_code code;

    if (pairs->files == 0)
        return SB_OK;
    code = sb_reader_open(ours, &our_reader);
    if (!code)
        code = sb_reader_open(theirs, &their_reader);
    for (size_t i = 0; !code && i < pairs->count; i++) {
        if (bytes_needed(pairs->options, &pairs->pairs[i]))
            code = compare_pair(pairs, &pairs->pairs[i], ours, our_reader, theirs, their_reader);
    }
    sb_reader_free(ours, our_reader);
    sb_reader_free(theirs, their_reader);
    return code;
}

static void report_pairs(const struct pairs *pairs, const struct sb_diff_options *options)
{
    const char *text = pairs->text.data;

    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->pairs[i];
        struct sb_difference difference = {
            .path = text + pair->path_at,
            .path_size = pair->is_ours ? pair->ours.entry.path_size : pair->theirs.entry.path_size,
            .ours = &pair->ours,
            .theirs = &pair->theirs,
            .our_target = text + pair->our_target_at,
            .their_target = text + pair->their_target_at,
            .damage = text + pair->damage_at,
        };

        for (unsigned kind = 0; kind < SB_DIFF_KINDS; kind++) {
            if (!(pair->differs & ~options->ignored & BIT(kind)))
                continue;
            difference.kind = (enum sb_difference_kind)kind;
            options->report(options->context, &difference);
            if (options->brief)
                break;
        }
    }
}

/* One directory, on one side or on both. */
struct frame {
    struct sb_listing *ours; /* NULL: missing, or at its end */
    struct sb_listing *theirs;
    struct sb_child our_next; /* read, not yet processed */
    struct sb_child their_next;
    bool ours_waits;
    bool theirs_wait;
};

/* A literal prefix of an argument: only names below or above it can match. */
struct reach {
    char *name;
    size_t size;
};

struct diff {
    const struct sb_diff_options *options;
    struct sb_archive *archive;
    struct sb_hierarchy *ours;
    struct sb_hierarchy *theirs;
    struct sb_select *select; /* NULL: everything */
    struct reach *reaches;
    size_t reach_count;
    struct sb_names *one_sided[2]; /* ours, theirs */
    struct sb_buf prefix;          /* with a '/' at its end, where it is not empty */

    struct frame *frames;
    size_t depth;
    size_t capacity;
    struct sb_buf descend; /* the last directory found */
    bool descend_ours;
    bool descend_theirs;
    int64_t bytes;
    int64_t files;
};

static bool selected(const struct diff *diff, const struct sb_entry *entry)
{
    return !diff->select ||
           sb_select_takes(diff->select, entry->path, entry->path_size, entry->type == SB_DIR);
}

/* May something at or below this directory be selected? */
static bool reachable(const struct diff *diff, const struct sb_entry *entry)
{
    for (size_t i = 0; i < diff->reach_count; i++) {
        const struct reach *reach = &diff->reaches[i];

        if (sb_name_within(reach->name, reach->size, entry->path, entry->path_size) ||
            sb_name_within(entry->path, entry->path_size, reach->name, reach->size))
            return true;
    }
    return !diff->select;
}

static enum sb_code find_reaches(struct diff *diff)
{
    const struct sb_diff_options *options = diff->options;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(SB_NEW_ARRAY(&diff->reaches, options->path_count));
    for (size_t i = 0; i < options->path_count; i++) {
        struct reach *reach = &diff->reaches[diff->reach_count];
        bool stripped;

        if (!*options->paths[i])
            continue;
        TRY(sb_name_normalize(options->paths[i], &name, &stripped));
        TRY(sb_copy_text(&reach->name, name.data ? name.data : ""));
        reach->size = sb_is_glob(reach->name) ? sb_glob_prefix(reach->name) : strlen(reach->name);
        diff->reach_count++;
    }
    return SB_OK;
}

static void leave(struct diff *diff)
{
    struct frame *frame = &diff->frames[--diff->depth];

    sb_listing_free(diff->ours, frame->ours);
    sb_listing_free(diff->theirs, frame->theirs);
}

/* Lists a directory of the other side; an unreadable one is reported, and left out. */
static enum sb_code list_theirs(struct diff *diff, const char *dir, size_t size,
                                struct sb_listing **out)
{
    enum sb_code code = sb_hierarchy_list(diff->theirs, dir, size, out);

    if (code != SB_SYSTEM && code != SB_NOENT && code != SB_INVALID)
        return code;
    if (code == SB_SYSTEM && (sb_error()->sys_errno == EMFILE || sb_error()->sys_errno == ENFILE))
        return code;
    sb_report(diff->options->notify, SB_PROBLEM, "unreadable", size > 0 ? dir : ".",
              "%s; its contents are not compared", sb_error()->text);
    return SB_OK;
}

static enum sb_code list_ours(struct diff *diff, const char *dir, size_t size,
                              struct sb_listing **out)
{
    size_t before = diff->prefix.size;
    enum sb_code code;

    TRY(sb_buf_add(&diff->prefix, dir, size));
    code = sb_hierarchy_list(diff->ours, diff->prefix.data ? diff->prefix.data : "",
                             size > 0 ? diff->prefix.size : before - (before > 0), out);
    sb_buf_cut(&diff->prefix, before);
    return code;
}

static enum sb_code enter(struct diff *diff, const char *dir, size_t size, bool ours, bool theirs)
{
    struct frame *frame;

    TRY(sb_grow(&diff->frames, &diff->capacity, diff->depth, sizeof(*frame)));
    frame = &diff->frames[diff->depth++];
    *frame = (struct frame){0};
    if (theirs)
        TRY(list_theirs(diff, dir, size, &frame->theirs));
    /* Nothing is reported as missing because its directory could not be read. */
    if (ours && (!theirs || frame->theirs))
        return list_ours(diff, dir, size, &frame->ours);
    return SB_OK;
}

/* Skips rows whose parent is not the one in their name: they have no name below the prefix. */
static enum sb_code next_of_ours(struct diff *diff, struct frame *frame)
{
    struct sb_entry *entry = &frame->our_next.entry;
    size_t before = diff->prefix.size;
    enum sb_code code;

    do
        code = sb_listing_next(diff->ours, frame->ours, &frame->our_next);
    while (!code && before > 0 &&
           (entry->path_size <= before || memcmp(entry->path, diff->prefix.data, before) != 0));
    if (!code) {
        entry->path += before;
        entry->path_size -= before;
    }
    return code;
}

/* Reads the next child of each side of the innermost directory, unless it is at its end. */
static enum sb_code look_ahead(struct diff *diff, struct frame *frame)
{
    enum sb_code code = SB_OK;

    if (frame->ours && !frame->ours_waits) {
        code = next_of_ours(diff, frame);
        frame->ours_waits = !code;
    }
    if (code == SB_END) {
        sb_listing_free(diff->ours, frame->ours);
        frame->ours = NULL;
        code = SB_OK;
    }
    if (code || !frame->theirs || frame->theirs_wait)
        return code;
    code = sb_listing_next(diff->theirs, frame->theirs, &frame->their_next);
    frame->theirs_wait = !code;
    if (code == SB_SYSTEM || code == SB_NOENT || code == SB_INVALID) {
        sb_report(diff->options->notify, SB_PROBLEM, "changed", NULL,
                  "the tree changed while it was compared: %s", sb_error()->text);
        code = SB_END;
    }
    if (code == SB_END) {
        sb_listing_free(diff->theirs, frame->theirs);
        frame->theirs = NULL;
        code = SB_OK;
    }
    return code;
}

/*
 * Takes the lesser of the waiting children, or both if they have the same name; at least one is
 * waiting.
 */
static void take_lesser(struct frame *frame, const struct sb_child **ours,
                        const struct sb_child **theirs)
{
    const struct sb_entry *ours_of = &frame->our_next.entry, *theirs_of = &frame->their_next.entry;
    int order = 0;

    if (frame->ours_waits && frame->theirs_wait)
        order = sb_compare_bytes(ours_of->path, ours_of->path_size, theirs_of->path,
                                 theirs_of->path_size);
    if (!frame->theirs_wait || order < 0) {
        *ours = &frame->our_next;
        frame->ours_waits = false;
    } else if (!frame->ours_waits || order > 0) {
        *theirs = &frame->their_next;
        frame->theirs_wait = false;
    } else {
        *ours = &frame->our_next;
        *theirs = &frame->their_next;
        frame->ours_waits = frame->theirs_wait = false;
    }
}

static bool is_directory(const struct sb_child *child)
{
    return child && !child->special && !child->entry.defect && child->entry.type == SB_DIR;
}

/*
 * The next name of the walk and its entries. SB_END at its end. The children live until the next
 * call.
 */
static enum sb_code next_pair(struct diff *diff, const struct sb_child **ours,
                              const struct sb_child **theirs)
{
    bool into_ours = diff->descend_ours, into_theirs = diff->descend_theirs;
    const struct sb_entry *any;

    /* Enters the last entry, if it was a directory. */
    diff->descend_ours = diff->descend_theirs = false;
    if (into_ours || into_theirs)
        TRY(enter(diff, diff->descend.data, diff->descend.size, into_ours, into_theirs));
    *ours = *theirs = NULL;
    while (!*ours && !*theirs) {
        struct frame *frame;

        if (diff->depth == 0)
            return SB_END;
        frame = &diff->frames[diff->depth - 1];
        TRY(look_ahead(diff, frame));
        if (frame->ours_waits || frame->theirs_wait)
            take_lesser(frame, ours, theirs);
        else
            leave(diff);
    }
    any = *ours ? &(*ours)->entry : &(*theirs)->entry;
    if (diff->options->brief && is_directory(*ours) != is_directory(*theirs) && selected(diff, any))
        return SB_OK;
    if ((is_directory(*ours) || is_directory(*theirs)) && reachable(diff, any)) {
        diff->descend_ours = is_directory(*ours);
        diff->descend_theirs = is_directory(*theirs);
        TRY(sb_buf_set(&diff->descend, any->path, any->path_size));
    }
    return SB_OK;
}

static enum sb_code fill(void *context, void *slot)
{
    struct diff *diff = context;
    struct pairs *pairs = slot;
    const struct sb_child *ours, *theirs;
    const struct sb_entry *entry;

    pairs->count = 0;
    pairs->bytes = pairs->files = 0;
    pairs->damaged = false;
    sb_buf_clear(&pairs->text);
    while (!is_full(pairs)) {
        enum sb_code code = next_pair(diff, &ours, &theirs);

        if (code == SB_END)
            break;
        if (code)
            return code;
        TRY(sb_heed_interrupt());
        entry = ours ? &ours->entry : &theirs->entry;
        if (!selected(diff, entry))
            continue;
        if (!ours || !theirs)
            TRY(sb_unmatched_add(diff->one_sided, !ours, entry->path, entry->path_size,
                                 sb_archive_path(diff->archive), diff->options->notify));
        TRY(add_pair(pairs, ours, theirs));
    }
    return pairs->count > 0 || pairs->events.text.size > 0 ? SB_OK : SB_END;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    const struct diff *diff = context;

    (void)turns;
    return compare_pairs(slot, diff->ours, diff->theirs);
}

static enum sb_code drain(void *context, void *slot)
{
    struct diff *diff = context;
    struct pairs *pairs = slot;

    if (pairs->damaged)
        TRY(sb_archive_still_current(diff->archive));
    sb_events_report(&pairs->events, diff->options->notify);
    report_pairs(pairs, diff->options);
    sb_count_up(&diff->bytes, pairs->bytes);
    diff->files += pairs->files;
    if (diff->options->progress)
        diff->options->progress(diff->options->context, diff->bytes, diff->files);
    return SB_OK;
}

static enum sb_code run(struct diff *diff)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = diff->options->threads;
    unsigned slots = threads * 2 + 1;
    struct pairs *pairs;
    enum sb_code code;

    TRY(SB_NEW_ARRAY(&pairs, slots));
    for (unsigned i = 0; i < slots; i++) {
        pairs[i].options = diff->options;
        pairs[i].prefix_size = diff->prefix.size;
    }
    code = enter(diff, "", 0, true, true);
    if (!code)
        code = sb_pipeline_run(&ops, diff, pairs, sizeof(*pairs), slots, threads);
    for (unsigned i = 0; i < slots; i++) {
        sb_buf_release(&pairs[i].text);
        sb_events_release(&pairs[i].events);
    }
    free(pairs);
    return code;
}

static enum sb_code find_prefix(struct diff *diff)
{
    struct sb_entry entry;
    bool stripped;
    enum sb_code code;

    if (!diff->options->prefix)
        return SB_OK;
    TRY(sb_name_normalize(diff->options->prefix, &diff->prefix, &stripped));
    if (diff->prefix.size == 0)
        return SB_OK;
    code = sb_archive_lookup(diff->archive, diff->prefix.data, diff->prefix.size, &entry);
    if (code == SB_NOENT || (!code && entry.type != SB_DIR))
        return sb_fail(SB_NOENT, "%s: holds no directory %s", sb_archive_path(diff->archive),
                       diff->options->prefix);
    return code ? code : sb_buf_add_char(&diff->prefix, '/');
}

static void release(struct diff *diff)
{
    while (diff->depth > 0)
        leave(diff);
    free(diff->frames);
    for (size_t i = 0; i < diff->reach_count; i++)
        free(diff->reaches[i].name);
    free(diff->reaches);
    sb_buf_release(&diff->descend);
    sb_buf_release(&diff->prefix);
    sb_names_free(diff->one_sided[false]);
    sb_names_free(diff->one_sided[true]);
    sb_select_free(diff->select);
    sb_hierarchy_free(diff->ours);
}

enum sb_code sb_diff(struct sb_archive *archive, struct sb_shards *shards,
                     struct sb_hierarchy *other, const struct sb_diff_options *options)
{
    CLEANUP(release) struct diff diff = {.options = options, .archive = archive, .theirs = other};

    TRY(sb_hierarchy_open_archive(&diff.ours, archive, shards));
    TRY(find_prefix(&diff));
    if (options->path_count > 0) {
        TRY(sb_select_new(&diff.select, archive, options->paths, options->path_count,
                          SB_REACH_SUBTREE));
        TRY(find_reaches(&diff));
    }
    TRY(run(&diff));
    for (size_t i = 0; i < options->path_count; i++) {
        if (sb_select_unmatched(diff.select, i))
            sb_report(options->notify, SB_PROBLEM, "missing", options->paths[i],
                      "no such file or directory on either side%s",
                      sb_unmatched_in(archive, options->paths[i]));
    }
    return SB_OK;
}
