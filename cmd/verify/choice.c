#include "verify/verify.h"

#include "archive/shards.h"
#include "core/array.h"
#include "core/number.h"

#include <stdlib.h>
#include <string.h>

const char *verify_choice_given(const struct verify_choice_settings *settings)
{
    const struct {
        const char *value, *name;
    } options[] = {
        {settings->subset, "subset"}, {settings->part, "part"},
        {settings->shards, "shards"}, {settings->max_time, "max-time"},
        {settings->state, "state"},   {settings->max_age, "max-age"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (options[i].value)
            return options[i].name;
    }
    return NULL;
}

const char *verify_choice_not_of_bags(const struct verify_choice_settings *settings,
                                      const struct sb_verify_choice *choice)
{
    if (choice->percent > 0 || choice->bytes > 0)
        return "subset";
    if (settings->max_time)
        return "max-time";
    if (settings->state)
        return "state";
    return settings->max_age ? "max-age" : NULL;
}

/* Digits, with one point at most, and '%'. */
static bool parse_percent(const char *text, double *out)
{
    size_t size = strspn(text, "0123456789.");
    char *end;

    if (size == 0 || strcmp(text + size, "%") != 0)
        return false;
    *out = strtod(text, &end);
    return end == text + size && *out > 0 && *out <= 100;
}

static enum sb_code parse_part(const char *text, struct sb_share *out)
{
    return sb_share_parse(out, text) ? sb_fail(SB_INVALID, "--part: %s", sb_error()->text) : SB_OK;
}

static enum sb_code parse_subset(const char *text, struct sb_verify_choice *out)
{
    if (strchr(text, '/') && IGNORED(sb_share_parse(&out->share, text)) == SB_OK)
        return SB_OK;
    if (parse_percent(text, &out->percent) || (sb_parse_size(text, &out->bytes) && out->bytes > 0))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "--subset=%s: is no share (2/7), no percentage (5%%) and no size (10G)", text);
}

/* "A", "A-B", "A-", "-B" */
static bool parse_shards(const char *text, struct sb_verify_choice *out)
{
    const char *dash = strchr(text, '-');
    char first[8] = "";

    out->has_shards = true;
    if (!dash) {
        out->last_shard = 0;
        if (!sb_parse_integer(text, 0, SB_SHARD_MAX, &out->first_shard))
            return false;
        out->last_shard = out->first_shard;
        return true;
    }
    if ((size_t)(dash - text) >= sizeof(first) || (dash == text && !dash[1]))
        return false;
    memcpy(first, text, (size_t)(dash - text));
    out->last_shard = SB_SHARD_MAX;
    return (!*first || sb_parse_integer(first, 0, SB_SHARD_MAX, &out->first_shard)) &&
           (!dash[1] || sb_parse_integer(dash + 1, 0, SB_SHARD_MAX, &out->last_shard)) &&
           out->first_shard <= out->last_shard;
}

static enum sb_code parse_times(const struct verify_choice_settings *settings,
                                struct sb_verify_choice *out)
{
    if (settings->max_time && !sb_parse_duration(settings->max_time, &out->max_seconds))
        return sb_fail(SB_INVALID, "--max-time=%s: is no time, such as 90m, 2h or 1d",
                       settings->max_time);
    if (settings->max_age && !sb_parse_duration(settings->max_age, &out->max_age))
        return sb_fail(SB_INVALID, "--max-age=%s: is no time, such as 12h, 30d or 8w",
                       settings->max_age);
    if (settings->max_age && !settings->state)
        return sb_fail(SB_INVALID,
                       "--max-age goes with --state=FILE, which remembers what was read when");
    return SB_OK;
}

enum sb_code verify_choice_of(const struct verify_choice_settings *settings,
                              struct sb_verify_choice *out)
{
    *out = (struct sb_verify_choice){.state = settings->state};
    if (settings->state && !*settings->state)
        return sb_fail(SB_INVALID, "--state: the name is empty; give it a file");
    if (settings->subset)
        TRY(parse_subset(settings->subset, out));
    if (settings->part && out->share.count > 0)
        return sb_fail(SB_INVALID, "--subset=%s and --part=%s both cut into shares; give one",
                       settings->subset, settings->part);
    if (settings->part)
        TRY(parse_part(settings->part, &out->share));
    if (settings->shards && !parse_shards(settings->shards, out))
        return sb_fail(SB_INVALID, "--shards=%s: is no range of shards, as 3, 0-9 or 10- are",
                       settings->shards);
    return parse_times(settings, out);
}
