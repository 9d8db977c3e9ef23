#include "cat/rows.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/bag/record_names.h"
#include "task/index/record_index.h"

#include <inttypes.h>
#include <string.h>

#define KEYED_AT_ONCE 4096 /* records that were found by their keys, fetched together */

/* Records by key: numbers that were found wait for others, so that they are fetched together. */
struct keyed {
    struct cat_job *job;
    struct sb_fetch_names names;
    int64_t found[KEYED_AT_ONCE];
    size_t count, next;
};

static enum sb_code next_found(void *context, struct sb_cell_run *run)
{
    struct keyed *keyed = context;

    if (keyed->next == keyed->count)
        return sb_error()->code = SB_END;
    *run = (struct sb_cell_run){
        .rows = {.first = keyed->found[keyed->next++], .step = 1, .count = 1}, .column_count = 1};
    return SB_OK;
}

static bool are_found(void *context)
{
    (void)context;
    return true;
}

static int64_t count_found(void *context)
{
    return (int64_t)((const struct keyed *)context)->count;
}

static enum sb_code fetch_keyed(struct keyed *keyed, bool is_last)
{
    const struct sb_cell_feed feed = {
        .next = next_found, .ready = are_found, .total = count_found, .context = keyed};
    enum sb_code code = cat_fetch(keyed->job, &feed, is_last);

    keyed->count = keyed->next = 0;
    return code;
}

static enum sb_code answer_missing(struct keyed *keyed, const void *key, size_t size)
{
    const struct cat_request *request = keyed->job->request;
    const char *keys = keyed->job->settings->keys;
    CLEANUP(sb_buf_release) struct sb_buf line = {0};

    TRY(fetch_keyed(keyed, false));
    keyed->job->missing++;
    if (request->framing != SB_FRAMING_BATCH) {
        message_problem("%.*s: no such record in %s", (int)size, (const char *)key,
                        keys ? keys : request->spec);
        return SB_OK;
    }
    if (sb_buf_add(&line, key, size) || sb_buf_add_text(&line, " missing") ||
        sb_buf_add_char(&line, request->nul ? '\0' : '\n'))
        return sb_fail_memory();
    return output_directly(&keyed->job->written, line.data, line.size);
}

static enum sb_code take_found(void *context, const void *key, size_t key_size,
                               const int64_t *records, size_t count)
{
    struct keyed *keyed = context;

    if (count == 0)
        return answer_missing(keyed, key, key_size);
    keyed->found[keyed->count++] = records[0];
    if (keyed->count == KEYED_AT_ONCE || !keyed->names.ready(keyed->names.context))
        return fetch_keyed(keyed, false);
    return SB_OK;
}

static enum sb_code open_keys(const struct cat_job *job, struct sb_bag **keys)
{
    int64_t records = sb_bag_count(job->table->ops->records(job->table));

    TRY(open_bag(keys, job->settings->keys, NULL));
    if (sb_bag_count(*keys) == records)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: has %" PRId64 " records, and %s %" PRId64
                   ": they are not the keys of those",
                   job->settings->keys, sb_bag_count(*keys), job->request->spec, records);
}

static enum sb_code find_and_fetch(struct cat_job *job, struct given_names *given)
{
    const char *keys_spec = job->settings->keys;
    struct sb_record_index_options options = {.threads = job->request->threads};
    struct keyed keyed = {.job = job, .names = given_names_of(given)};
    CLEANUP(sb_bag_freep) struct sb_bag *keys = NULL;

    if (keys_spec)
        TRY(open_keys(job, &keys));
    if (keys_spec && job->request->framing != SB_FRAMING_NONE)
        TRY(sb_record_names_by_keys(&job->table->names, keys_spec, NULL, &message_notify));
    TRY(sb_record_index_find(keys ? keys : job->table->ops->records(job->table), &options,
                             &keyed.names, take_found, &keyed, &message_notify));
    return fetch_keyed(&keyed, true);
}

/* Keys of --find come first, then operands, then the list. */
enum sb_code cat_by_key(struct cat_job *job)
{
    const struct cat_request *request = job->request;
    struct given_keys keys;
    enum sb_code code;

    given_keys_begin(&keys);
    keys.names.share = request->share;
    code = given_keys_open(&keys, request->operands, request->operand_count, request->files_from,
                           request->nul ? '\0' : '\n');
    if (!code)
        code = find_and_fetch(job, &keys.names);
    given_keys_close(&keys);
    return code;
}
