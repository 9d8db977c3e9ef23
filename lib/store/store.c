#include "store/kind.h"

#include "archive/index_file.h"
#include "core/context.h"
#include "store/cache/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Attempts to open a path that is replaced again and again meanwhile. */
#define REPLACED_MOST 10

struct sb_store {
    struct sb_input input;
    struct sb_store_options options;
    struct sb_bag_options bag; /* valid if bag_read */
    bool bag_read;
    struct sb_archive *catalog; /* NULL until it is needed */
};

/* Only an archive can be opened despite damage. */
static enum sb_code damage_is_fatal(void)
{
    if (sb_error()->code == SB_DAMAGED)
        sb_error()->code = SB_FORMAT;
    return sb_error()->code;
}

static enum sb_code refuse_tree(const char *path)
{
    return sb_fail(SB_INVALID,
                   "%s: is a directory, not a container; commands such as plain ls, find and du "
                   "read it, and 'shardbox pack' makes an archive of it",
                   path);
}

static void report_version(const struct sb_store *store)
{
    const struct sb_notify *notify = store->options.notify;
    const char *path = store->input.path;
    int major, minor;

    if (sb_archive_schema(store->input.archive) == SB_SCHEMA_NEWER) {
        sb_archive_version(store->input.archive, &major, &minor);
        sb_report(notify, SB_WARNING, "newer", path,
                  "schema %d.%d is newer than this program, which may not show all of it", major,
                  minor);
    }
    if (sb_archive_remade(store->input.archive) != 0)
        sb_report(notify, SB_WARNING, "older", path,
                  "its index was lost, and is one of before, which may not know all files of its "
                  "shards; 'shardbox upgrade --accept' takes it as it is");
    if (sb_archive_is_unlocked(store->input.archive))
        sb_report(notify, SB_NOTE, "unlocked", path, SB_UNLOCKED_NOTE);
}

/* SB_CHANGED: the path leads to another file than the one that was looked at. */
static enum sb_code open_archive(struct sb_store *store)
{
    struct sb_input *input = &store->input;
    const struct sb_index_found found = {.path = input->path,
                                         .file = input->file,
                                         .start = input->first,
                                         .start_size = input->first_size};
    enum sb_code code = sb_archive_open_found(&input->archive, input->path,
                                              input->file ? &found : NULL, store->options.once);
    struct stat now;

    sb_file_free(input->file);
    input->file = NULL;

    if (code == SB_NOENT && strchr(input->path, '{') && strstr(input->path, ".."))
        return sb_fail(SB_NOENT, "%s: no such file; without quotes, the shell writes out {A..B}",
                       input->path);
    if (code == SB_SYSTEM && sb_error()->sys_errno == EISDIR)
        return refuse_tree(input->path);
    if (code == SB_FORMAT && input->there && stat(input->path, &now) == 0 &&
        (now.st_ino != input->st.st_ino || now.st_dev != input->st.st_dev))
        return SB_CHANGED;
    if (!code)
        report_version(store);
    return code;
}

static enum sb_code look(struct sb_store *store, const char *spec)
{
    TRY(sb_input_open(&store->input, spec, store->options.from.kind));
    if (store->input.kind == &sb_archive_kind)
        TRY(open_archive(store));
    return SB_OK;
}

enum sb_code sb_store_open(struct sb_store **out, const char *spec,
                           const struct sb_store_options *options)
{
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&store));
    store->options = *options;
    code = look(store, spec);
    for (int i = 0; code == SB_CHANGED && i < REPLACED_MOST; i++)
        code = look(store, spec);
    TRY(code);
    *out = TAKE(store);
    return SB_OK;
}

void sb_store_free(struct sb_store *store)
{
    if (!store)
        return;
    if (store->catalog != store->input.archive)
        sb_archive_free(store->catalog);
    sb_archive_free(store->input.archive);
    sb_dictionary_free(store->bag.dictionary);
    sb_input_close(&store->input);
    free(store);
}

const char *sb_store_name(const struct sb_store *store)
{
    return store->input.name;
}

const char *sb_store_path(const struct sb_store *store)
{
    return store->input.path;
}

const char *sb_store_word(const struct sb_store *store)
{
    return store->input.kind->word;
}

/* Is it on a pipe, or compressed as a whole? */
static bool is_in_pieces(const struct sb_input *input)
{
    return input->pipe || (input->kind != &sb_bag_kind && input->type.filter != SB_FILTER_NONE);
}

static unsigned abilities(const struct sb_input *input)
{
    const struct sb_kind *kind = input->kind;

    if (!input->file && !input->pipe && !kind->by_path)
        return kind->can_as_several;
    return is_in_pieces(input) ? kind->can_in_pieces : kind->can;
}

bool sb_store_can(const struct sb_store *store, enum sb_store_ability ability)
{
    return abilities(&store->input) & ability;
}

enum sb_code sb_store_refuse_tree(const struct sb_store *store)
{
    return sb_store_can(store, SB_CAN_WALK) ? refuse_tree(store->input.path) : SB_OK;
}

bool sb_store_is_compressed(const struct sb_store *store)
{
    return store->input.kind != &sb_bag_kind && store->input.type.filter != SB_FILTER_NONE;
}

bool sb_store_is_stream(const struct sb_store *store)
{
    const struct sb_input *input = &store->input;

    return input->pipe || input->kind == &sb_frames_kind;
}

int64_t sb_store_time_grain(const struct sb_store *store)
{
    return store->input.kind->time_grain;
}

bool sb_store_has_checksums(const struct sb_store *store)
{
    enum sb_filter_kind filter = store->input.type.filter;

    return store->input.kind->has_checksums ||
           (filter != SB_FILTER_NONE && filter != SB_FILTER_LZMA && filter != SB_FILTER_COMPRESS);
}

const char *sb_store_unproved(const struct sb_store *store)
{
    const struct sb_kind *kind = store->input.kind;

    return kind->unproved ? kind->unproved(&store->input) : NULL;
}

struct sb_archive *sb_store_archive(const struct sb_store *store)
{
    return store->input.archive;
}

struct sb_archive *sb_store_take_archive(struct sb_store *store)
{
    return TAKE(store->input.archive);
}

/* Sets store->bag from the options, for a source whose options have no `bag`. */
static enum sb_code read_bag_words(struct sb_store *store)
{
    const struct sb_bag_words *words = &store->options.bag;
    const struct sb_container_type *from = &store->options.from;

    if (store->bag_read)
        return SB_OK;
    store->bag_read = true;
    store->bag = (struct sb_bag_options){
        .compression = words->compression,
        .limits = words->limits,
        .layout = words->layout,
        .otherwise = from->kind == SB_BAG && from->filter == SB_FILTER_ZSTD ? SB_COMPRESSION_ZSTD
                                                                            : SB_COMPRESSION_NONE,
    };
    return words->dictionary ? sb_dictionary_read(&store->bag.dictionary, words->dictionary)
                             : SB_OK;
}

enum sb_code sb_store_source(struct sb_store *store, struct sb_source **out,
                             const struct sb_source_options *options,
                             const struct sb_notify *notify)
{
    struct sb_source_options wanted = options ? *options : (struct sb_source_options){0};

    *out = NULL;
    if (!wanted.bag) {
        TRY(read_bag_words(store));
        wanted.bag = &store->bag;
    }
    return sb_source_open(out, &store->input, &wanted, notify);
}

enum sb_code sb_store_bag(struct sb_store *store, struct sb_bag **out,
                          const struct sb_bag_options *options, int64_t max_size)
{
    *out = NULL;
    if (store->input.kind != &sb_bag_kind)
        return SB_OK;
    if (!options)
        TRY(read_bag_words(store));
    return sb_input_open_bag(out, &store->input, options ? options : &store->bag, max_size,
                             store->options.notify);
}

enum sb_code sb_store_syrah(struct sb_store *store, struct sb_syrah_set **out)
{
    *out = NULL;
    if (store->input.kind != &sb_syrah_kind)
        return SB_OK;
    return sb_input_open_syrah(out, &store->input);
}

enum sb_code sb_store_cache(struct sb_store *store, struct sb_cache **out)
{
    *out = NULL;
    if (store->input.kind != &sb_cache_kind)
        return SB_OK;
    return sb_cache_open(out, &store->input.path, 1, store->options.notify);
}

enum sb_code sb_store_table(struct sb_store *store, struct sb_table **out)
{
    const struct sb_kind *kind = store->input.kind;

    *out = NULL;
    if (!kind->table)
        return sb_fail(SB_INVALID, "%s: is a %s, which has no rows", store->input.name, kind->word);
    TRY(read_bag_words(store));
    return kind->table(out, &store->input, &store->bag, store->options.notify);
}

enum sb_code sb_store_file(struct sb_store *store, struct sb_file **out)
{
    enum sb_code code = sb_input_spool(&store->input, 0);

    *out = sb_file_ref(store->input.file);
    return code;
}

unsigned sb_store_abilities(const char *spec, struct sb_container_type from)
{
    struct sb_input input;
    struct stat st;
    unsigned can;

    if (strcmp(spec, "-") == 0 ||
        (stat(spec, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
        IGNORED(sb_input_open(&input, spec, from.kind)))
        return 0;
    can = abilities(&input);
    sb_input_close(&input);
    return can;
}

static enum sb_code walk(struct sb_store *store, const struct sb_source_options *how,
                         const struct sb_catalog_options *options, struct sb_catalog_result *result)
{
    struct sb_source *source;
    enum sb_code code = sb_store_source(store, &source, how, options->notify);

    if (!code)
        code = sb_catalog_open(&store->catalog, &store->input, source, options, result);
    return code ? damage_is_fatal() : SB_OK;
}

/* SB_INVALID: this input has no such walk. */
static enum sb_code scan(struct sb_store *store, const struct sb_catalog_options *options,
                         struct sb_catalog_result *result)
{
    const struct sb_kind *kind = store->input.kind;
    struct sb_source *source;
    enum sb_code code;

    if (!options->wanted || options->metadata || !kind->scan || !store->input.file ||
        sb_context_now->charset || sb_context_now->nested || !sb_store_can(store, SB_CAN_PATHS))
        return sb_fail(SB_INVALID, "%s: is not looked through for single members",
                       store->input.name);
    code = kind->scan(&source, &store->input, options->wanted, options->context);
    if (!code)
        code = sb_catalog_open(&store->catalog, &store->input, source, options, result);
    return code && code != SB_INVALID ? damage_is_fatal() : code;
}

enum sb_code sb_store_catalog(struct sb_store *store, struct sb_archive **out,
                              const struct sb_source_options *source,
                              const struct sb_catalog_options *options,
                              struct sb_catalog_result *result)
{
    struct sb_catalog_options all = *options;
    enum sb_code code = SB_OK;

    *out = NULL;
    *result = (struct sb_catalog_result){0};
    if (store->input.archive) {
        *out = store->input.archive;
        return SB_OK;
    }
    TRY(sb_store_refuse_tree(store));
    code = scan(store, options, result);
    if (code == SB_INVALID)
        code = walk(store, source, options, result);
    if (!code && result->links_left) {
        sb_archive_free(store->catalog);
        store->catalog = NULL;
        all.wanted = NULL;
        code = walk(store, source, &all, result);
    }
    *out = store->catalog;
    return code;
}
