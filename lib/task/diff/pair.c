#include "task/diff/pair.h"

#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "core/time.h"

#include <errno.h>
#include <string.h>

#define MODE_BITS 07777u

#define BIT SB_DIFF_BIT

void sb_pairs_release(struct sb_pairs *pairs)
{
    sb_buf_release(&pairs->text);
    sb_events_release(&pairs->events);
}

void sb_pairs_clear(struct sb_pairs *pairs)
{
    pairs->count = 0;
    pairs->bytes = 0;
    pairs->files = 0;
    pairs->damaged = false;
    sb_buf_clear(&pairs->text);
}

bool sb_pairs_full(const struct sb_pairs *pairs)
{
    return pairs->count == SB_PAIRS_MAX || pairs->bytes >= SB_PAIRS_BYTES_MAX ||
           pairs->events.text.size >= SB_PAIRS_BYTES_MAX;
}

static enum sb_code keep_text(struct sb_pairs *pairs, const char *text, size_t size, size_t *at)
{
    *at = pairs->text.size;
    TRY(sb_buf_add(&pairs->text, text, size));
    TRY(sb_buf_add_char(&pairs->text, '\0'));
    return SB_OK;
}

static bool both_have(const struct sb_pair *pair, unsigned what)
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

static bool same_owner(const struct sb_pair *pair)
{
    const struct sb_entry *ours = &pair->ours.entry, *theirs = &pair->theirs.entry;

    return !both_have(pair, SB_HAS_UID) || !both_have(pair, SB_HAS_GID) ||
           (ours->uid == theirs->uid && ours->gid == theirs->gid);
}

/* Differences in the metadata alone. */
static unsigned compare_metadata(const struct sb_pair *pair, int64_t time_grain)
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

static bool bytes_needed(const struct sb_diff_options *options, const struct sb_pair *pair)
{
    const unsigned settled = BIT(SB_DIFF_MISSING) | BIT(SB_DIFF_EXTRA) | BIT(SB_DIFF_TYPE) |
                             BIT(SB_DIFF_SIZE) | BIT(SB_DIFF_DAMAGED);
    enum sb_type type = pair->ours.entry.type;

    if ((pair->differs & settled) || type == SB_DIR ||
        (options->brief && (pair->differs & ~options->ignored)))
        return false;
    return !(options->ignored & BIT(type == SB_LINK ? SB_DIFF_TARGET : SB_DIFF_BYTES));
}

enum sb_code sb_pairs_add(struct sb_pairs *pairs, const struct sb_child *ours,
                          const struct sb_child *theirs)
{
    struct sb_pair *pair = &pairs->pairs[pairs->count];
    const struct sb_entry *any = ours ? &pair->ours.entry : &pair->theirs.entry;
    size_t before = ours ? pairs->prefix_size : 0;
    const char *defect;

    *pair = (struct sb_pair){.is_ours = ours != NULL, .is_theirs = theirs != NULL};
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
static enum sb_code our_failure(struct sb_pairs *pairs, struct sb_pair *pair)
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

static enum sb_code their_failure(struct sb_pairs *pairs, const char *path)
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
static enum sb_code compare_pair(struct sb_pairs *pairs, struct sb_pair *pair,
                                 struct sb_hierarchy *ours, struct sb_reader *our_reader,
                                 struct sb_hierarchy *theirs, struct sb_reader *their_reader)
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
    if (is_link && sb_buf_add_char(&pairs->text, '\0'))
        return sb_fail_memory();
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

enum sb_code sb_pairs_compare(struct sb_pairs *pairs, struct sb_hierarchy *ours,
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

void sb_pairs_report(const struct sb_pairs *pairs, const struct sb_diff_options *options)
{
    const char *text = pairs->text.data;

    for (size_t i = 0; i < pairs->count; i++) {
        const struct sb_pair *pair = &pairs->pairs[i];
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
