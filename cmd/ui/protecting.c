#include "ui/protecting.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/context.h"
#include "core/io.h"
#include "core/number.h"
#include "store/shard_spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct {
    bool given;
    unsigned per_mille; /* 0: as it is, or the default */
    char **outputs;
    size_t count, capacity;
} later;

bool parse_redundancy(const char *option, const char *value, unsigned *per_mille)
{
    char *end;
    unsigned long whole = strtoul(value, &end, 10), tenth = 0;

    if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
        tenth = (unsigned long)(end[1] - '0');
        end += 2;
    }
    if (*end == '%')
        end++;
    if (*value >= '0' && *value <= '9' && !*end && whole <= 1000 && whole * 10 + tenth > 0 &&
        whole * 10 + tenth <= 10000) {
        *per_mille = (unsigned)(whole * 10 + tenth);
        return true;
    }
    message_usage("--%s: '%s' is not like 5%% or 0.5%%, from 0.1%% to 1000%%", option, value);
    return false;
}

static void show_progress(void *context, int64_t bytes)
{
    struct protecting *protecting = context;

    protecting->done += bytes;
    message_progress_update(protecting->done, protecting->total, 0);
}

static void add_file(void *context, const char *path)
{
    struct protecting *protecting = context;
    struct protect_file *file;

    output_need(
        sb_grow(&protecting->files, &protecting->capacity, protecting->count + 1, sizeof(*file)));
    file = &protecting->files[protecting->count++];
    file->path = strdup(path);
    output_need(file->path ? SB_OK : SB_NOMEM);
    file->work = sb_protect_work(path, &protecting->wanted);
    protecting->total += file->work;
}

void protecting_add(struct protecting *protecting, const char *path)
{
    if (sb_protect_walk(path, protecting->wanted.parity_dir, add_file, protecting))
        message_failure();
}

static enum sb_code protect(struct protecting *protecting, const struct protect_file *file,
                            bool late)
{
    int64_t end = protecting->done + file->work;
    enum sb_code code = sb_protect(file->path, &protecting->wanted);

    /* Some files need not be read. */
    protecting->done = end;
    if (code && late && code != SB_INTERRUPT)
        message_problem("%s", sb_error()->text);
    else if (code)
        message_failure();
    return code;
}

size_t protecting_run(struct protecting *protecting, bool late)
{
    size_t failed = 0;
    bool more = true;

    protecting->wanted.progress = show_progress;
    protecting->wanted.context = protecting;
    for (size_t i = 0; i < protecting->count; i++) {
        enum sb_code code = more ? protect(protecting, &protecting->files[i], late) : SB_OK;

        failed += code != SB_OK;
        /* Then no other file can be done either. */
        more = more && code != SB_INTERRUPT && code != SB_NOMEM;
        free(protecting->files[i].path);
    }
    free(protecting->files);
    message_progress_end();
    return failed;
}

bool parse_protect(void *settings, const char *value)
{
    (void)settings;
    later.given = true;
    sb_context_now->protects = true;
    return !*value || parse_redundancy("protect", value, &later.per_mille);
}

bool protect_is_given(void)
{
    return later.given;
}

void protect_later(const char *path)
{
    if (!later.given)
        return;
    output_need(sb_grow(&later.outputs, &later.capacity, later.count + 1, sizeof(*later.outputs)));
    later.outputs[later.count] = strdup(path);
    output_need(later.outputs[later.count++] ? SB_OK : SB_NOMEM);
}

/* A bag comes with its limits, if these are a file of their own. */
static void add_with_limits(struct protecting *protecting, const char *path)
{
    struct sb_buf limits = {0};
    struct stat st;

    protecting_add(protecting, path);
    if (!sb_is_bag_name(path))
        return;
    output_need(sb_limits_name(path, &limits));
    if (lstat(limits.data, &st) == 0)
        add_file(protecting, limits.data);
    sb_buf_release(&limits);
}

static void add_output(struct protecting *protecting, const char *path)
{
    struct sb_spec spec = {0};
    struct stat st;

    if (lstat(path, &st) == 0 || !sb_spec_is_of_bags(path)) {
        add_with_limits(protecting, path);
        return;
    }
    if (sb_spec_expand(&spec, path))
        message_failure();
    for (size_t i = 0; i < spec.count; i++)
        add_with_limits(protecting, spec.paths[i]);
    sb_spec_release(&spec);
}

static void protect_output(const char *path)
{
    struct protecting protecting = {
        .wanted = {.act = SB_PROTECT_UPDATE,
                   .per_mille = later.per_mille,
                   .threads = sb_default_threads(),
                   .notify = &message_notify},
    };

    add_output(&protecting, path);
    if (protecting_run(&protecting, true))
        message_problem("%s: is written, but not all of its parity is current; run 'shardbox "
                        "protect --update' on it",
                        path);
}

void protect_outputs(void)
{
    for (size_t i = 0; i < later.count; i++) {
        if (message_status() <= STATUS_PARTIAL)
            protect_output(later.outputs[i]);
        free(later.outputs[i]);
    }
    free(later.outputs);
    later.count = later.capacity = 0;
    later.outputs = NULL;
}
