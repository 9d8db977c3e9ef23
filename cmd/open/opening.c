#include "open/opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/context.h"
#include "core/number.h"
#include "store/cache/cache.h"
#include "store/catalog.h"
#include "store/charset.h"
#include "store/container.h"
#include "store/samples/samples.h"
#include "store/unmatched.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MEMLIMIT_MIN ((int64_t)1 << 20)

#define TARGET_MAX 65536 /* bytes */

const char *const opening_words[] = {
    "archive", "tar", "cpio", "zip", "bag", "bagz", "syrah", "cache", NULL,
};

bool parse_from(void *settings, const char *value)
{
    struct opening *opening = settings;

    opening->from = sb_container_named(value);
    if (opening->from.kind != SB_UNKNOWN && !(sb_container_can(opening->from.kind) & SB_CAN_WALK))
        return true;
    message_usage("--from: '%s' is not archive, tar, cpio, zip, bag, bagz, syrah or cache", value);
    return false;
}

bool charset_is_known(const char *name)
{
    struct sb_charset *charset;

    if (sb_charset_open(&charset, name)) {
        message_usage("--iconv: %s", sb_error()->text);
        return false;
    }
    sb_charset_free(charset);
    return true;
}

bool parse_iconv(void *settings, const char *value)
{
    (void)settings;
    sb_context_now->charset = value;
    return charset_is_known(value);
}

bool parse_ignore_zeros(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    sb_context_now->ignore_zeros = true;
    return true;
}

bool parse_multi_volume(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    sb_context_now->multi_volume = true;
    return true;
}

bool parse_nested(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    sb_context_now->nested = true;
    return true;
}

bool parse_keep_case(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    sb_context_now->keep_case = true;
    return true;
}

bool parse_memlimit(void *settings, const char *value)
{
    int64_t size;

    (void)settings;
    if (!sb_parse_size(value, &size) || size < MEMLIMIT_MIN) {
        message_usage("--memlimit: '%s' is no size of at least 1M, such as 500M or 4G", value);
        return false;
    }
    sb_context_now->decoder_memory = size;
    return true;
}

/* "a.barecat/cats": what is in a container is no part of its path. */
static void explain_path(const char *path)
{
    struct sb_buf file = {0};
    struct stat st;

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (slash == path || !slash[1] || sb_buf_set(&file, path, (size_t)(slash - path)) ||
            stat(file.data, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        sb_fail(sb_error()->code,
                "%s: %s is a file; what is in it is an operand of its own, after it: %s", path,
                file.data, slash + 1);
        break;
    }
    sb_buf_release(&file);
}

enum sb_code open_store_with(struct sb_store **out, const char *path, const struct opening *opening,
                             const struct sb_notify *notify)
{
    const struct sb_store_options options = {
        .from = opening->from,
        .bag = opening->bag,
        .notify = notify,
        .once = opening->once,
    };

    if (!sb_store_open(out, path, &options))
        return SB_OK;
    explain_path(path);
    return sb_error()->code;
}

enum sb_code open_store(struct sb_store **out, const char *path, const struct opening *opening)
{
    return open_store_with(out, path, opening, &message_notify);
}

void explain_failure(const char *path)
{
    static const struct sb_store_options by_content;
    unsigned can = sb_store_abilities(path, by_content.from);
    struct sb_store *store;

    if ((sb_error()->code != SB_FORMAT && sb_error()->code != SB_EXISTS && !(can & SB_CAN_KEYS)) ||
        can == 0 || (can & (SB_CAN_SHARDS | SB_CAN_WALK)) ||
        IGNORED(sb_store_open(&store, path, &by_content)))
        return;
    sb_fail(SB_FORMAT,
            "%s: is a %s, and only archives can be changed; 'shardbox convert' makes one of it",
            path, sb_store_word(store));
    sb_store_free(store);
}

enum sb_code catalog_store(struct sb_store *store, struct sb_archive **archive,
                           const struct sb_source_options *source,
                           const struct sb_catalog_options *options,
                           struct sb_catalog_result *result)
{
    enum sb_code code = sb_store_catalog(store, archive, source, options, result);

    message_progress_hide();
    if (!code && result->damage.code)
        message_error("%s; what comes after it is not known", result->damage.text);
    return code;
}

enum sb_code catalog_whole(struct sb_store *store, struct sb_archive **archive,
                           const struct opening *opening)
{
    const struct sb_source_options source = {.locate = opening->places,
                                             .threads = sb_default_threads()};
    const struct sb_catalog_options options = {.notify = &message_notify,
                                               .progress = message_progress_call};
    struct sb_catalog_result result;

    return catalog_store(store, archive, &source, &options, &result);
}

enum sb_code open_catalog(struct sb_store **out, struct sb_archive **archive, const char *path,
                          const struct opening *opening)
{
    *archive = NULL;
    return open_store(out, path, opening) ? sb_error()->code
                                          : catalog_whole(*out, archive, opening);
}

enum sb_code open_table(struct sb_store *store, struct sb_table **out, bool samples,
                        const struct opening *opening)
{
    struct sb_archive *archive;

    *out = NULL;
    if (!samples)
        return sb_store_table(store, out);
    return catalog_whole(store, &archive, opening)
               ? sb_error()->code
               : sb_table_of_samples(out, archive, false, ".", &message_notify);
}

enum sb_code need_shards(const struct sb_archive *archive, const char *what)
{
    if (!sb_archive_is_adopted(archive))
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: is no archive, and has no %s", sb_archive_path(archive), what);
}

void complain_of_unmatched(struct sb_archive *archive, const struct sb_select *select,
                           char *const *args, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (sb_select_unmatched(select, i))
            sb_report(&message_notify, SB_PROBLEM, "missing", args[i],
                      "no such file or directory in the archive%s",
                      sb_unmatched_in(archive, args[i]));
    }
}

void leave_out(struct left_out *left_out, const struct sb_entry *entry)
{
    if (left_out->count++ > 0)
        return;
    if (sb_buf_add_format(&left_out->first, "%s: %s", entry->path, entry->defect))
        output_check(ENOMEM);
}

void complain_of_left_out(struct left_out *left_out)
{
    if (left_out->count == 1)
        message_problem("%s; left out, see 'shardbox verify'", left_out->first.data);
    else if (left_out->count > 1)
        message_problem("%s; left out with %" PRId64 " more, 'shardbox verify' names them",
                        left_out->first.data, left_out->count - 1);
    sb_buf_release(&left_out->first);
    left_out->count = 0;
}

bool read_target(struct sb_content *content, const struct sb_entry *entry, struct sb_buf *out)
{
    struct sb_entry now = *entry;

    sb_buf_clear(out);
    if (!content || entry->size > TARGET_MAX)
        return false;
    if (sb_buf_reserve(out, TARGET_MAX + 1))
        output_check(ENOMEM);
    if (IGNORED(sb_content_read(content, &now, out->data, TARGET_MAX, true)))
        return false;
    out->size = (size_t)now.size;
    out->data[out->size] = '\0';
    return true;
}

const char *const compression_words[] = {"auto", "none", "zstd", NULL};
const char *const limits_words[] = {"auto", "tail", "separate", NULL};
const char *const layout_words[] = {"concatenated", "interleaved", NULL};

enum sb_code bag_options_of(const struct sb_bag_words *words, struct sb_container_type from,
                            struct sb_bag_options *out)
{
    *out = (struct sb_bag_options){
        .compression = words->compression,
        .limits = words->limits,
        .layout = words->layout,
        .otherwise = sb_container_can(from.kind) & SB_CAN_RECORDS && from.filter == SB_FILTER_ZSTD
                         ? SB_COMPRESSION_ZSTD
                         : SB_COMPRESSION_NONE,
    };
    return words->dictionary ? sb_dictionary_read(&out->dictionary, words->dictionary) : SB_OK;
}

bool is_bag(const char *path, const struct opening *opening)
{
    if (opening->from.kind != SB_UNKNOWN)
        return sb_container_can(opening->from.kind) & SB_CAN_RECORDS;
    return sb_store_abilities(path, opening->from) & SB_CAN_RECORDS;
}

enum sb_code open_bag(struct sb_bag **out, const char *path, const struct sb_bag_options *options)
{
    const struct opening as_bag = {.from = sb_container_named("bag")};
    struct sb_store *store;
    enum sb_code code = open_store(&store, path, &as_bag);

    *out = NULL;
    if (code)
        return code;
    code = sb_store_bag(store, out, options, 0);
    sb_store_free(store);
    return code;
}

static enum sb_code stop_at_first(void *context, const char *path, const char *name)
{
    (void)context;
    (void)path;
    return sb_fail(SB_EXISTS, "%s", name);
}

bool holds_caches(const struct sb_store *store)
{
    return sb_store_can(store, SB_CAN_WALK) &&
           IGNORED(sb_cache_list(sb_store_path(store), stop_at_first, NULL)) == SB_EXISTS;
}

struct each {
    take_cache *take;
    void *context;
};

static enum sb_code open_one(void *context, const char *path, const char *name)
{
    static const struct opening plain;
    const struct each *each = context;
    struct sb_table *table = NULL;
    struct sb_store *store;
    enum sb_code code = open_store(&store, path, &plain);

    if (!code)
        code = sb_store_table(store, &table);
    if (!code)
        code = each->take(each->context, table, path, name);
    sb_table_free(table);
    sb_store_free(store);
    if (code == SB_FORMAT || (code && !sb_ends_work(sb_error()))) {
        message_problem("%s", sb_error()->text);
        code = SB_OK;
    }
    return code;
}

enum sb_code each_cache(const char *path, take_cache *take, void *context)
{
    struct each each = {.take = take, .context = context};

    return sb_cache_list(path, open_one, &each);
}

void complain_of_key(const struct sb_row_key *key, const char *what)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key->text, key->size, SB_ESCAPE));
    message_problem("key '%s': %s", text.data ? text.data : "", what);
    sb_buf_release(&text);
}
