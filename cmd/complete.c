/*
 * shardbox --complete: what may follow on a command line, for the completion scripts: names in a
 * container that begin with TYPED, each ended by a NUL. A shell waits meanwhile, so that what is
 * not found soon is left out.
 */
#include "open/bag_opening.h"
#include "open/opening.h"
#include "ui/command.h"
#include "ui/completions.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/buf.h"
#include "core/context.h"
#include "store/bag/record_names.h"
#include "store/table.h"
#include "task/complete/complete.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#define NAMES_MOST 1000
#define WORK_US    120000 /* of processor time */
#define WAIT_S     1      /* in all, where others keep the machine or the disk busy */

struct settings {
    struct opening opening;
    const char *keys;
    bool samples;
};

static const char *const synopsis[] = {"path|row|array CONTAINER TYPED", NULL};

static const struct option options[] = {
    OPTION_TEXT(0, "keys", struct settings, keys, "BAG", "records are found by the names in BAG",
                OPERAND_FILE),
    OPTION_FLAG(0, "samples", struct settings, samples, "rows are samples"),
    OPTION_FROM,
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_NESTED,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

static struct sb_context *impatient;

static void stop(int number)
{
    (void)number;
    atomic_store(&impatient->cancelled, SIGALRM);
}

static void set_alarms(void)
{
    const struct itimerval work = {.it_value = {.tv_usec = WORK_US}};
    const struct itimerval wait = {.it_value = {.tv_sec = WAIT_S}};
    const struct sigaction action = {.sa_handler = stop};

    impatient = sb_context_now;
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_PROF, &work, NULL);
    setitimer(ITIMER_REAL, &wait, NULL);
}

/* What was found in time counts. */
static enum sb_code forgive_alarm(enum sb_code code)
{
    const struct itimerval never = {0};
    int alarm = SIGALRM;
    bool late;

    setitimer(ITIMER_PROF, &never, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    late = atomic_compare_exchange_strong(&impatient->cancelled, &alarm, 0);
    return late && code == SB_INTERRUPT ? SB_OK : code;
}

static enum sb_code add(void *context, const char *name, size_t size)
{
    struct sb_buf *found = context;

    if (sb_buf_add(found, name, size) || sb_buf_add_char(found, '\0'))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code complete_table(const struct settings *settings, struct sb_store *store,
                                   bool columns, const struct sb_complete_options *how)
{
    struct sb_table *table;
    enum sb_code code = open_table(store, &table, settings->samples, &settings->opening);

    if (!code && settings->keys)
        code = sb_record_names_by_keys(&table->names, settings->keys, NULL, NULL);
    if (!code)
        code = columns ? sb_complete_columns(table, how) : sb_complete_rows(table, how);
    if (table)
        sb_record_names_free(table->names);
    sb_table_free(table);
    return code;
}

static enum sb_code complete(const struct settings *settings, const char *what,
                             struct sb_store *store, const struct sb_complete_options *how)
{
    bool rows = settings->samples || sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS);

    if (sb_store_is_compressed(store) || sb_store_is_stream(store) ||
        sb_store_can(store, SB_CAN_WALK))
        return SB_OK;
    if (strcmp(what, "path") != 0 && rows)
        return complete_table(settings, store, strcmp(what, "array") == 0, how);
    return strcmp(what, "array") != 0 ? sb_complete_members(store, how) : SB_OK;
}

static int run(void *context, char **operands, int count)
{
    const struct settings *settings = context;
    struct sb_buf found = {0};
    struct sb_complete_options how = {.limit = NAMES_MOST, .each = add, .context = &found};
    struct sb_store *store = NULL;
    enum sb_code code = SB_OK;

    if (count != 3)
        return message_usage(
            "--complete takes path, row or array, a container, and what was typed");
    how.typed = operands[2];
    set_alarms();
    if (sb_store_abilities(operands[1], settings->opening.from))
        code = open_store_with(&store, operands[1], &settings->opening, NULL);
    if (!code && store)
        code = complete(settings, operands[0], store, &how);
    sb_store_free(store);
    code = forgive_alarm(code);
    if (code)
        message_failure();
    else
        output_bytes(found.data, found.size);
    sb_buf_release(&found);
    return message_status();
}

const struct command complete_command = {
    .name = "complete",
    .summary = "names in a container that begin with what was typed",
    .synopsis = synopsis,
    .options = options,
    .operands = OPERAND_ANY,
    .settings_size = sizeof(struct settings),
    .run = run,
};
