#include "task/complete/complete.h"
#include "task/complete/found.h"

#include "archive/archive.h"
#include "core/name.h"
#include "store/naming.h"
#include "store/store.h"

#include <string.h>

static enum sb_code add_row(struct sb_found *found, size_t dir, const struct sb_entry *entry)
{
    if (entry->defect)
        return SB_OK;
    return sb_found_add(found, entry->path + dir, entry->path_size - dir, entry->type == SB_DIR);
}

/* A name that is what was typed comes before all that begin with it. */
static enum sb_code add_same(struct sb_found *found, struct sb_archive *archive,
                             const struct sb_buf *name, size_t dir)
{
    struct sb_entry entry;
    enum sb_code code;

    if (!*found->begin)
        return SB_OK;
    code = sb_archive_lookup(archive, name->data, name->size, &entry);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    entry.path = name->data;
    entry.path_size = name->size;
    return add_row(found, dir, &entry);
}

/* name: the directory and what names begin with; dir: where the latter begins. */
static enum sb_code walk_archive(struct sb_found *found, struct sb_archive *archive,
                                 const struct sb_buf *name, const char *directory, size_t dir)
{
    struct sb_query query = {.order = SB_BY_PATH,
                             .files = true,
                             .dirs = true,
                             .shallow = true,
                             .columns = SB_NAMES,
                             .under = directory,
                             .after = *found->begin ? found->begin : NULL};
    enum sb_code code = add_same(found, archive, name, dir);
    struct sb_cursor *cursor;
    struct sb_entry entry;

    if (!code)
        code = sb_cursor_open(&cursor, archive, &query);
    if (code)
        return code;
    while (!(code = sb_cursor_next(cursor, &entry))) {
        if (!sb_found_fits(found, entry.path + dir, entry.path_size - dir))
            break;
        code = add_row(found, dir, &entry);
        if (code)
            break;
    }
    sb_cursor_free(cursor);
    return code;
}

static enum sb_code add_member(struct sb_found *found, const struct sb_member *member,
                               const char *directory, size_t dir, struct sb_buf *clean)
{
    bool is_dir = member->entry.type == SB_DIR;
    const char *problem, *slash, *rest;
    size_t size;

    if (sb_naming_clean(member->entry.path, member->entry.path_size, is_dir, clean, &problem))
        return sb_fail_memory();
    if (problem || clean->size <= dir ||
        !sb_name_within(clean->data, clean->size, directory, dir > 0 ? dir - 1 : 0))
        return SB_OK;
    rest = clean->data + dir;
    size = clean->size - dir;
    slash = memchr(rest, '/', size);
    return slash ? sb_found_add(found, rest, (size_t)(slash - rest), true)
                 : sb_found_add(found, rest, size, is_dir);
}

static enum sb_code walk_source(struct sb_found *found, struct sb_store *store,
                                const char *directory, size_t dir)
{
    struct sb_source *source;
    struct sb_member member;
    struct sb_buf clean = {0};
    enum sb_code code = sb_store_source(store, &source, NULL, NULL);

    if (code)
        return code;
    while (!code && !(code = sb_source_next(source, &member)))
        code = add_member(found, &member, directory, dir, &clean);
    sb_buf_release(&clean);
    sb_source_free(source);
    return code;
}

enum sb_code sb_complete_members(struct sb_store *store, const struct sb_complete_options *options)
{
    struct sb_archive *archive = sb_store_archive(store);
    const char *slash = strrchr(options->typed, '/');
    size_t kept = slash ? (size_t)(slash - options->typed) + 1 : 0;
    struct sb_buf directory = {0}, name = {0};
    struct sb_found found;
    bool stripped;
    size_t dir;
    enum sb_code code = SB_OK;

    sb_found_begin(&found, options, kept);
    if (sb_buf_set(&name, options->typed, kept) ||
        sb_name_normalize(name.data, &directory, &stripped) ||
        sb_buf_set(&name, directory.data, directory.size) ||
        (name.size > 0 && sb_buf_add_char(&name, '/')))
        code = sb_fail_memory();
    dir = name.size;
    if (!code && sb_buf_add_text(&name, found.begin))
        code = sb_fail_memory();
    if (!code && archive)
        code = walk_archive(&found, archive, &name, directory.data, dir);
    else if (!code && sb_store_can(store, SB_CAN_PATHS) && !sb_store_is_compressed(store))
        code = walk_source(&found, store, directory.data, dir);
    sb_found_end(&found);
    sb_buf_release(&directory);
    sb_buf_release(&name);
    return code == SB_END ? SB_OK : code;
}
