#include "ui/shared_options.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "archive/archive.h"
#include "archive/own/own_names.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/context.h"
#include "core/io.h"
#include "core/number.h"
#include "store/container.h"
#include "store/part_name.h"
#include "store/shard_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const existing_words[] = {"fail", "skip", "replace", "newer", NULL};

const char *const to_words[] = {
    "archive", "dir",     "tar",   "tar.gz", "tar.bz2", "tar.xz",      "tar.lzma",
    "tar.zst", "tar.lz4", "tgz",   "tbz2",   "txz",     "tzst",        "zip",
    "bag",     "bagz",    "syrah", "syr",    "cache",   "torchcachex", NULL,
};

size_t output_operand(const char **output, char *const *operands, int count)
{
    if (*output)
        return (size_t)count;
    if (count < 1)
        return 0;
    *output = operands[count - 1];
    return (size_t)count - 1;
}

bool output_is_first(const char *output, char *const *operands, int count)
{
    const char *last = count > 0 ? operands[count - 1] : NULL;

    if (output != last || count < 2 || access(last, F_OK) != 0 ||
        !(sb_container_takes(sb_container_by_suffix(operands[0]).kind) & SB_TO_INDEX) ||
        access(operands[0], F_OK) == 0 || sb_archive_looks_like(operands[0]))
        return false;
    message_error("%s: no such file, and %s, which is there, would be OUTPUT, as the last operand "
                  "is; name OUTPUT with -o",
                  operands[0], last);
    return true;
}

bool output_is_added_to(bool append, const char *output)
{
    static const char *const left[] = {"",      SB_OLD_INDEX, SB_NEW_SUFFIX, SB_NEW_INDEX,
                                       SB_PART, ".part.new",  "-shard-00000"};
    struct sb_buf name = {0};
    struct stat st;
    bool there = !append || strchr(output, '@');

    for (size_t i = 0; !there && i < ARRAY_SIZE(left); i++) {
        sb_buf_clear(&name);
        there = sb_buf_add_format(&name, "%s%s", output, left[i]) || lstat(name.data, &st) == 0;
    }
    sb_buf_release(&name);
    if (!there)
        message_note("%s: is not there, and is made", output);
    return append && there;
}

bool parse_format(void *settings, const char *value)
{
    (void)settings;
    for (int i = 0; sb_tar_format_words[i]; i++) {
        if (strcmp(value, sb_tar_format_words[i]) != 0)
            continue;
        sb_context_now->tar_format = i;
        return true;
    }
    message_usage("--format: '%s' is none of pax, ustar, gnu", value);
    return false;
}

bool parse_time(const char *option, const char *value, bool zero, int64_t *out)
{
    *out = 0;
    if ((zero && strcmp(value, "0") == 0) || sb_parse_duration(value, out))
        return true;
    message_usage("--%s: '%s' is no time, such as 90s, 5m, 2h or 1d", option, value);
    return false;
}

/* Somebody at a terminal should know why nothing happens. */
static void say_waiting(const char *why)
{
    if (isatty(STDERR_FILENO))
        message_warning("%.*s; waiting for it", (int)strcspn(why, ";"), why);
}

bool parse_wait(void *settings, const char *value)
{
    int64_t seconds = -1;

    (void)settings;
    if (*value && !parse_time("wait", value, true, &seconds))
        return false;
    sb_context_now->lock_wait = seconds;
    sb_context_now->waits = say_waiting;
    return true;
}

bool parse_bwlimit(void *settings, const char *value)
{
    size_t size = strlen(value);
    bool in_a_second = size > 2 && strcmp(value + size - 2, "/s") == 0;
    char *number = strndup(value, in_a_second ? size - 2 : size);
    int64_t rate = 0;
    bool good = number && sb_parse_size(number, &rate);

    (void)settings;
    if (!number)
        message_error("out of memory");
    else if (!good)
        message_usage("--bwlimit: '%s' is no rate, such as 50M or 50M/s", value);
    free(number);
    if (good)
        sb_throttle_set(&sb_context_now->throttle, rate);
    return good;
}

bool owners_are_set(const struct owner_options *options)
{
    return !options->leave && (options->preserve || geteuid() == 0);
}

bool part_parse(const char *text, struct sb_share *out)
{
    *out = (struct sb_share){0};
    if (!text || sb_share_parse(out, text) == SB_OK)
        return true;
    message_error("--part: %s", sb_error()->text);
    return false;
}

bool part_name_output(const char **path, struct sb_share share, bool bag, struct sb_buf *out)
{
    if (share.count == 0)
        return true;
    if (sb_part_name(*path, share, bag, out)) {
        message_error("%s", sb_error()->text);
        return false;
    }
    *path = out->data;
    return true;
}

enum sb_code part_add_line(struct sb_buf *out, struct sb_share share)
{
    char text[48];

    if (share.count == 0)
        return SB_OK;
    snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, share.index + 1, share.count);
    return resume_add_line(out, "--part", text);
}

/* Options that do not change what is stored. */
static const char without_effect[] =
    "append bwlimit checkpoint resume force threads quiet verbose progress report no-progress "
    "max-size output wait";

enum sb_code resume_add_line(struct sb_buf *out, const char *option, const char *value)
{
    if (option)
        TRY(sb_buf_add_text(out, option));
    if (option && value)
        TRY(sb_buf_add_char(out, '='));
    for (const char *at = value; at && *at; at++)
        TRY(*at == '\n' ? sb_buf_add_text(out, "\\n") : sb_buf_add_char(out, *at));
    return sb_buf_add_char(out, '\n');
}

enum sb_code resume_add_options(struct sb_buf *out, const char *except)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(given[i].name);

        if (word_is_among(without_effect, given[i].name, size) ||
            word_is_among(except, given[i].name, size))
            continue;
        sb_buf_clear(&name);
        TRY(sb_buf_add_format(&name, "--%s", given[i].name));
        TRY(resume_add_line(out, name.data, given[i].value));
    }
    return SB_OK;
}

void resume_hint(const char *archive, bool appends)
{
    message_error("%s%s: keeps what was committed; go on with --resume", archive,
                  appends ? "" : ".part");
}

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
