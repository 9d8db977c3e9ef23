#include "ui/shared_options.h"

#include "archive/archive.h"
#include "archive/own/own_names.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/context.h"
#include "core/number.h"
#include "store/container.h"
#include "ui/message.h"

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
