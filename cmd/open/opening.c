#include "open/opening.h"
#include "open/bag_opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/cache/cache.h"
#include "store/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TARGET_MAX 65536 /* bytes */

bool parse_from(void *settings, const char *value)
{
    struct opening *opening = settings;

    opening->from = sb_container_named(value);
    if (opening->from.kind != SB_UNKNOWN && opening->from.kind != SB_DIRECTORY)
        return true;
    message_usage("--from: '%s' is not archive, tar, cpio, zip, bag, bagz, syrah or cache", value);
    return false;
}

enum sb_code open_archive(struct sb_archive **out, const char *path, struct sb_error *err)
{
    enum sb_code code = sb_archive_open(out, path, err);
    int major, minor;

    if (!code && sb_archive_schema(*out) == SB_SCHEMA_NEWER) {
        sb_archive_version(*out, &major, &minor);
        message_warning("%s: schema %d.%d is newer than this program, which may not show all of it",
                        path, major, minor);
    }
    if (!code && sb_archive_is_unlocked(*out))
        message_note("%s: " SB_UNLOCKED_NOTE, path);
    return code;
}

bool looked_for_as_archive(const char *path, const struct opening *opening)
{
    return opening->from.kind == SB_ARCHIVE ||
           (opening->from.kind == SB_UNKNOWN && strcmp(path, "-") != 0 && !sb_is_bag(path) &&
            !sb_is_cache(path));
}

bool may_be_other(const char *path, const struct opening *opening, struct sb_error *err)
{
    if (err->code == SB_SYSTEM && err->sys_errno == EISDIR) {
        sb_fail(
            err, SB_INVALID,
            "%s: is a directory, not a container; commands such as plain ls, find and du read it",
            path);
        return false;
    }
    if (opening->from.kind == SB_ARCHIVE || sb_archive_looks_like(path))
        return false;
    /* "No such file" may also be said of a pipe: its name in /dev/fd leads nowhere. */
    return err->code == SB_NOENT ? access(path, F_OK) == 0 : err->code == SB_FORMAT;
}

enum sb_code open_input(struct sb_input **out, const char *path, const struct opening *opening,
                        struct sb_error *err)
{
    struct sb_input *input = malloc(sizeof(*input));
    enum sb_code code;

    *out = NULL;
    if (!input)
        return sb_fail_memory(err);
    code = sb_input_open(input, path, opening->from.kind, err);
    if (code)
        free(input);
    else
        *out = input;
    return code;
}

void explain_failure(const char *path, struct sb_error *err)
{
    struct sb_error ignored;
    struct sb_input input;
    struct stat st;

    /* What a pipe holds is not used up for the sake of a message. */
    if (stat(path, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return;
    if ((err->code != SB_FORMAT && err->code != SB_EXISTS && !sb_is_cache(path)) ||
        sb_input_open(&input, path, SB_UNKNOWN, &ignored))
        return;
    if (input.type.kind != SB_ARCHIVE && input.type.kind != SB_DIRECTORY)
        sb_fail(err, SB_FORMAT,
                "%s: is a %s, and only archives can be changed; 'shardbox convert' makes one of it",
                path, sb_container_word(input.type.kind));
    sb_input_close(&input);
}

void damage_is_fatal(struct sb_error *err)
{
    if (err->code == SB_DAMAGED)
        err->code = SB_FORMAT;
}

/* A source that is read as the options say, and if it is a bag, as its words do. */
static enum sb_code open_source(struct container *out, const struct opening *opening,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err)
{
    struct sb_source_options with_bag = *options;
    struct sb_bag_options bag;
    enum sb_code code;

    if (out->input->type.kind != SB_BAG || options->bag)
        return sb_source_open(&out->source, out->input, options, notify, err);
    if (bag_options_of(&opening->bag, opening->from, &bag, err))
        return err->code;
    with_bag.bag = &bag;
    code = sb_source_open(&out->source, out->input, &with_bag, notify, err);
    sb_dictionary_free(bag.dictionary);
    return code;
}

enum sb_code open_container_with(struct container *out, const char *path,
                                 const struct opening *opening,
                                 const struct sb_source_options *options,
                                 const struct sb_notify *notify, struct sb_error *err)
{
    *out = (struct container){0};
    if (looked_for_as_archive(path, opening)) {
        enum sb_code code = open_archive(&out->archive, path, err);

        out->kind = SB_ARCHIVE;
        if (!code || !may_be_other(path, opening, err))
            return code ? err->code : SB_OK;
    }
    if (open_input(&out->input, path, opening, err))
        return err->code;
    if (open_source(out, opening, options, notify, err)) {
        damage_is_fatal(err);
        close_container(out);
        return err->code;
    }
    out->kind = out->input->type.kind;
    return SB_OK;
}

enum sb_code open_container(struct container *out, const char *path, const struct opening *opening,
                            bool no_check, struct sb_error *err)
{
    struct sb_source_options options = {.no_check = no_check, .locate = opening->places};

    return open_container_with(out, path, opening, &options, &message_notify, err);
}

void close_container(struct container *container)
{
    sb_archive_free(container->archive);
    sb_source_free(container->source);
    if (container->input)
        sb_input_close(container->input);
    free(container->input);
    *container = (struct container){0};
}

enum sb_code catalog_container(struct container *container,
                               const struct sb_catalog_options *options,
                               struct sb_catalog_result *result, struct sb_error *err)
{
    enum sb_code code = sb_catalog_open(&container->archive, container->input, container->source,
                                        options, result, err);

    container->input = NULL;
    container->source = NULL;
    if (code)
        damage_is_fatal(err);
    message_progress_hide();
    if (!code && result->damage.code)
        message_error("%s; what stands behind is not known", result->damage.text);
    return code ? err->code : SB_OK;
}

enum sb_code open_catalog(struct container *out, const char *path, const struct opening *opening,
                          bool checksums, struct sb_error *err)
{
    struct sb_catalog_options options = {
        .checksums = checksums, .notify = &message_notify, .progress = message_progress_call};
    struct sb_catalog_result result;
    enum sb_code code = open_container(out, path, opening, false, err);

    if (!code && !out->archive)
        code = catalog_container(out, &options, &result, err);
    return code;
}

enum sb_code open_as_archive(struct sb_archive **out, const char *path,
                             const struct opening *opening, struct sb_error *err)
{
    struct container container;
    enum sb_code code = open_catalog(&container, path, opening, false, err);

    *out = container.archive;
    return code;
}

enum sb_code need_shards(const struct sb_archive *archive, const char *what, struct sb_error *err)
{
    if (!sb_archive_is_adopted(archive))
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s: is no archive, and has no %s", sb_archive_path(archive),
                   what);
}

void complain_of_unmatched(const struct sb_select *select, char *const *args, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (sb_select_unmatched(select, i))
            message_problem("%s: no such file or directory in the archive",
                            *args[i] ? args[i] : "''");
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
        message_problem("%s; left out, 'shardbox verify' tells more", left_out->first.data);
    else if (left_out->count > 1)
        message_problem("%s; left out with %" PRId64 " more, 'shardbox verify' names them",
                        left_out->first.data, left_out->count - 1);
    sb_buf_release(&left_out->first);
    left_out->count = 0;
}

bool read_target(struct sb_content *content, const struct sb_entry *entry, struct sb_buf *out)
{
    struct sb_entry now = *entry;
    struct sb_error ignored;

    sb_buf_clear(out);
    if (!content || entry->size > TARGET_MAX)
        return false;
    if (sb_buf_reserve(out, TARGET_MAX + 1))
        output_check(ENOMEM);
    if (sb_content_read(content, &now, out->data, TARGET_MAX, true, &ignored))
        return false;
    out->size = (size_t)now.size;
    out->data[out->size] = '\0';
    return true;
}
