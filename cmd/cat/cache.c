#include "cat/cache.h"
#include "open/arrays_given.h"
#include "open/cache_opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include "task/table/cache_fetch.h"

#include <inttypes.h>
#include <stdlib.h>

const char *cat_cache_clash(void)
{
    static const char *const others[] = {"range",          "no-check", "decompress",
                                         "decompress-all", "order",    NULL};
    const char *of_bags = cat_records_given();

    return of_bags ? of_bags : options_given_of(others);
}

static enum sb_code fetch(const struct cat_request *request, struct given_names *given,
                          const struct sb_cache_fetch_options *options,
                          struct sb_cache_fetch_counts *counts, struct sb_error *err)
{
    struct sb_fetch_names names = given_names_of(given);
    struct sb_cache *cache = NULL;
    int64_t written = 0;
    struct sb_fetch_output output = {.write = output_directly, .context = &written};
    enum sb_code code = open_cache(&cache, request->store, err);

    if (!code && request->files_from)
        code = sb_list_open(&given->list, request->files_from, request->nul ? '\0' : '\n', err);
    else if (request->operand_count == 0)
        given->cache = cache;
    if (!code)
        code = sb_cache_fetch(cache, options, &names, &output, &message_notify, counts, err);
    message_progress_end();
    given_names_release(given);
    sb_cache_free(cache);
    return code;
}

static int check_usage(const struct cat_request *request)
{
    const char *clash = cat_cache_clash();

    if (clash)
        return message_usage("%s: is a cache, which --%s does not go with", request->spec, clash);
    return STATUS_CLEAN;
}

int cat_cache(const struct cat_request *request, enum sb_array_as as)
{
    struct sb_cache_fetch_options options = {
        .as = as,
        .framing = request->framing,
        .line_end = request->nul ? '\0' : '\n',
        .threads = request->threads,
    };
    struct given_names given = {.operands = request->operands,
                                .end = request->operands + request->operand_count,
                                .share = request->share};
    struct sb_cache_fetch_counts counts = {0};
    const char **arrays;
    struct sb_error err;
    enum sb_code code;
    int status = check_usage(request);

    if (status)
        return status;
    options.array_count = arrays_given(&arrays);
    options.arrays = arrays;
    code = fetch(request, &given, &options, &counts, &err);
    free(arrays);
    if (code)
        return message_failure(&err);
    if (counts.missing > 0 && request->framing == SB_FRAMING_BATCH)
        message_problem("%" PRId64 " of the keys asked for %s not there", counts.missing,
                        counts.missing == 1 ? "is" : "are");
    return message_status();
}
