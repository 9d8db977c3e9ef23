#include "task/verify/verify.h"

#include "core/choice.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "core/pipeline.h"
#include "store/batch.h"
#include "store/names.h"
#include "store/naming.h"
#include "store/store.h"
#include "store/unmatched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES (INT64_C(8) << 20) /* of members, before their batch is full */

struct check {
    struct sb_store *store;
    struct sb_source *source;
    const struct sb_verify_options *options;
    const struct sb_verify_events *events;
    const struct sb_notify *notify;
    struct sb_notify defects; /* makes defects of problems */
    struct sb_verify_result *result;
    struct sb_choice *choice; /* NULL: everything */
    struct sb_names *seen;    /* names so far */
    struct sb_naming naming;
    struct sb_buf text;
    int64_t members;
    bool ended;
};

static void report(struct check *check, enum sb_remedy remedy, const char *kind, const char *path,
                   const char *text)
{
    sb_verify_defect(check->events, remedy, kind, sb_defect_of(path, path ? strlen(path) : 0), "%s",
                     text);
}

/* Problems that the source and its loaders report are defects, under strict losses too; the rest is
 * only passed on. */
static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct check *check = context;

    if (level == SB_PROBLEM || (level == SB_LOSS && check->options->strict))
        report(check, SB_REMEDY_SHARDS, kind, subject, text);
    else
        sb_report(check->notify, level, kind, subject, "%s", text);
}

/*
 * A tar may hold a name twice, but not a zip: programs disagree on which one they see. A hard link
 * must come after its target; a missing target is reported once and then counts as seen, so that
 * many links to it are one defect.
 */
static enum sb_code check_names(struct check *check, const struct sb_member *member,
                                const char *name, size_t size)
{
    const char *problem;
    bool before;

    if (member->hard_link) {
        TRY(sb_naming_clean(member->hard_link, strlen(member->hard_link), false, &check->text,
                            &problem));
        TRY(sb_names_add(check->seen, check->text.data, check->text.size, &before));
        if (!before)
            report(check, SB_REMEDY_ENTRIES, "link", name,
                   "is a hard link to a name that does not come before it");
    }
    if (member->entry.type == SB_DIR)
        return SB_OK;
    TRY(sb_names_add(check->seen, name, size, &before));
    if (before && !sb_store_can(check->store, SB_CAN_REPEAT))
        report(check, SB_REMEDY_ENTRIES, "duplicate", name, "the name occurs twice");
    return SB_OK;
}

static enum sb_code count(struct check *check, const struct sb_member *member)
{
    struct sb_verify_result *result = check->result;
    int64_t most = check->options->max_size;

    if (member->entry.type == SB_DIR) {
        result->dirs++;
        return SB_OK;
    }
    result->files++;
    sb_count_up(&result->bytes, member->entry.size);
    result->unchecked += !sb_store_has_checksums(check->store);
    if (most == 0 || result->bytes <= most)
        return SB_OK;
    return sb_fail(SB_LIMIT, "%s: %s: more than --max-size, %" PRId64 " bytes, comes out of it",
                   check->source->name, member->entry.path, most);
}

/* The next member that is wanted, under its stored name. SB_END after the last. */
static enum sb_code next_member(struct check *check, struct sb_member *member)
{
    struct sb_entry *entry = &member->entry;
    const char *name;
    size_t size;
    bool before;
    enum sb_code code = SB_OK;

    for (;;) {
        TRY(sb_source_next(check->source, member));
        check->members++;
        code = sb_naming_map(&check->naming, entry->path, entry->path_size, entry->type == SB_DIR,
                             &name, &size);
        if (code == SB_END)
            continue;
        if (code)
            return code;
        if (check->choice && !sb_choice_takes(check->choice, name, size, entry->type == SB_DIR)) {
            check->result->selected = true;
            /* A chosen member may be a hard link to it. */
            if (entry->type != SB_DIR)
                TRY(sb_names_add(check->seen, name, size, &before));
            continue;
        }
        TRY(check_names(check, member, name, size));
        entry->path = name;
        entry->path_size = size;
        return count(check, member);
    }
}

/* Damage that ends the walk is a defect too; so is a bad format, but for that of the first member.
 */
static enum sb_code end_of_walk(struct check *check, enum sb_code code)
{
    if (code == SB_END)
        return SB_OK;
    if (code != SB_DAMAGED && (code != SB_FORMAT || check->members == 0))
        return code;
    report(check, SB_REMEDY_SHARDS, "damaged", NULL, sb_error()->text);
    return SB_OK;
}

static void show_progress(const struct check *check)
{
    const struct sb_verify_result *result = check->result;

    if (check->events->progress)
        check->events->progress(check->events->context, check->source->done, check->source->total,
                                result->files);
}

static bool has_bytes(const struct sb_member *member)
{
    return member->entry.type != SB_DIR && !member->hard_link && !member->special;
}

/* Members one after the other, in sequence. */

static enum sb_code read_member(struct check *check, const struct sb_member *member)
{
    int64_t read = 0;
    const void *data;
    size_t size;
    enum sb_code code;

    while (!(code = sb_source_block_sparse(check->source, &data, &size))) {
        read += (int64_t)size;
        sb_count_up(&check->result->bytes_read, (int64_t)size);
        show_progress(check);
    }
    if (code == SB_DAMAGED && check->source->goes_on) {
        report(check, SB_REMEDY_SHARDS, "damaged", member->entry.path, sb_error()->text);
        return SB_OK;
    }
    if (code != SB_END)
        return code;
    if (read != member->entry.size)
        report(check, SB_REMEDY_SHARDS, "damaged", member->entry.path,
               "it does not have as many bytes as its header says");
    check->result->files_read++;
    return SB_OK;
}

/* SB_END after the last. */
static enum sb_code check_in_sequence(struct check *check)
{
    bool read = !check->options->quick && !check->source->loads;
    struct sb_member member;

    for (;;) {
        TRY(next_member(check, &member));
        if (read && has_bytes(&member))
            TRY(read_member(check, &member));
        show_progress(check);
    }
}

/* Many members at once, by loaders. */

static enum sb_code fill(void *context, void *slot)
{
    struct check *check = context;
    struct sb_batch *batch = slot;
    struct sb_member member;
    struct sb_item *item;
    int64_t bytes = 0;
    enum sb_code code = SB_OK;

    sb_batch_clear(batch);
    while (!check->ended && !code && batch->count < SB_BATCH_ITEMS && bytes < BATCH_BYTES) {
        code = next_member(check, &member);
        if (!code && has_bytes(&member)) {
            sb_count_up(&bytes, member.entry.size);
            code = sb_batch_take(batch, &member, NULL, &item);
            continue;
        }
        check->ended = code != SB_OK;
        if (check->ended)
            code = end_of_walk(check, code);
    }
    sb_batch_seal(batch);
    if (code)
        return code;
    return batch->count > 0 ? SB_OK : SB_END;
}

static enum sb_code pass_over(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return sb_heed_interrupt();
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_batch *batch = slot;
    enum sb_code code = SB_OK;

    (void)context;
    (void)turns;
    for (size_t i = 0; i < batch->count && !code; i++) {
        struct sb_item *item = &batch->items[i];

        code =
            sb_loader_stream_sparse(batch->loader, &item->member, pass_over, NULL, &batch->events);
        item->state = code ? SB_ITEM_FAILED : SB_ITEM_READ;
        if (code == SB_END)
            code = SB_OK;
    }
    return code;
}

static enum sb_code drain(void *context, void *slot)
{
    struct check *check = context;
    struct sb_batch *batch = slot;

    if (batch->events.text.size > 0)
        sb_events_report(&batch->events, &check->defects);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state != SB_ITEM_READ)
            continue;
        check->result->files_read++;
        sb_count_up(&check->result->bytes_read, batch->items[i].member.entry.size);
    }
    show_progress(check);
    return SB_OK;
}

static enum sb_code check_by_loaders(struct check *check)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = check->options->threads, slots = 2 * threads + 1;
    struct sb_batch *batches;
    enum sb_code code = SB_OK;

    TRY(SB_NEW_ARRAY(&batches, slots));
    for (unsigned i = 0; !code && i < slots; i++)
        code = sb_loader_open(check->source, &batches[i].loader);
    if (!code)
        code = sb_pipeline_run(&ops, check, batches, sizeof(*batches), slots, threads);
    for (unsigned i = 0; i < slots; i++)
        sb_batch_release(&batches[i]);
    free(batches);
    return code;
}

static enum sb_code run(struct check *check)
{
    const struct sb_verify_options *options = check->options;
    enum sb_code code;

    check->defects = (struct sb_notify){.call = hear, .context = check};
    check->naming.notify = &check->defects;
    if (options->path_count > 0)
        TRY(sb_choice_new(&check->choice, options->paths, options->path_count));
    TRY(sb_names_new(&check->seen, sb_store_path(check->store)));
    code = sb_store_source(
        check->store, &check->source,
        &(struct sb_source_options){.max_size = options->max_size, .threads = options->threads},
        &check->defects);
    if (code)
        return end_of_walk(check, code);
    if (!options->quick && check->source->loads)
        TRY(check_by_loaders(check));
    else
        TRY(end_of_walk(check, check_in_sequence(check)));
    for (size_t i = 0; check->choice && i < options->path_count; i++) {
        if (sb_choice_unmatched(check->choice, i))
            sb_report(check->notify, SB_PROBLEM, "missing", options->paths[i],
                      "no such file or directory in the archive%s",
                      sb_unmatched_hint(options->paths[i], sb_choice_form(check->choice, i)));
    }
    return SB_OK;
}

enum sb_code sb_verify_container(struct sb_store *store, const struct sb_verify_options *options,
                                 const struct sb_verify_events *events)
{
    struct check check = {
        .store = store,
        .options = options,
        .events = events,
        .notify = events->notify,
        .result = events->result,
    };
    enum sb_code code;

    events->result->unproved = sb_store_unproved(store);
    code = run(&check);
    sb_source_free(check.source);
    sb_names_free(check.seen);
    sb_choice_free(check.choice);
    sb_naming_release(&check.naming);
    sb_buf_release(&check.text);
    if (!code && options->strict && check.result->unchecked > 0)
        report(&check, SB_REMEDY_SUMS, "unchecked", NULL, check.result->unproved);
    return code;
}
