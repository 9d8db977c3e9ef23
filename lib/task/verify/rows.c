#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "task/verify/impl.h"
#include "task/verify/treestat.h"

#include <string.h>

struct pass {
    struct verify *verify;
    struct sb_treestat *tree; /* NULL if only a selection is checked */
    struct sb_buf last;       /* name of the last row */
    enum sb_type last_type;
    bool begun;
    uint32_t shard; /* of the last extent, */
    int64_t end;    /* and its end */
};

/* Compares the tree statistics of a row with the computed ones. */
static enum sb_code closed(void *context, const struct sb_treestat_dir *dir)
{
    struct verify *verify = context;
    const struct sb_tree_sums *is = &dir->stored, *should = &dir->computed;
    bool all = sb_archive_schema(verify->archive) != SB_SCHEMA_OLD;
    struct sb_defect place = sb_defect_of(dir->path, dir->path_size);

    if (!dir->has_row)
        return sb_verify_report(verify, SB_REMEDY_UPGRADE, "parent", place,
                                "the directory has no row in the index");
    if (is->num_files_tree == should->num_files_tree && is->size_tree == should->size_tree &&
        (!all || (is->num_files == should->num_files && is->num_subdirs == should->num_subdirs)))
        return SB_OK;
    return sb_verify_report(
        verify, SB_REMEDY_UPGRADE, "statistics", place,
        "tree statistics are %lld subdirectories, %lld files, %lld files and %lld bytes "
        "in all; should be %lld, %lld, %lld, %lld",
        (long long)is->num_subdirs, (long long)is->num_files, (long long)is->num_files_tree,
        (long long)is->size_tree, (long long)should->num_subdirs, (long long)should->num_files,
        (long long)should->num_files_tree, (long long)should->size_tree);
}

static enum sb_code check_name(struct verify *verify, const struct sb_entry *entry)
{
    const char *problem = sb_name_problem(entry->path, entry->path_size);

    if (!problem && !sb_is_utf8(entry->path, entry->path_size)) {
        verify->result->raw_names++;
        if (!sb_parent_is_computable(entry->path, entry->path_size))
            problem = "is not UTF-8, and SQLite computes its parent wrongly";
    }
    if (!problem)
        return SB_OK;
    return sb_verify_report_row(verify, SB_REMEDY_ENTRIES, "name", sb_verify_name(entry), "name %s",
                                problem);
}

/* Rows of one name follow each other. */
static enum sb_code check_repeated(struct pass *pass, const struct sb_entry *entry)
{
    bool again = pass->begun && pass->last.size == entry->path_size &&
                 memcmp(pass->last.data, entry->path, entry->path_size) == 0;
    bool was_dir = pass->last_type == SB_DIR, is_dir = entry->type == SB_DIR;

    pass->begun = true;
    pass->last_type = entry->type;
    TRY(sb_buf_set(&pass->last, entry->path, entry->path_size));
    if (!again)
        return SB_OK;
    if (was_dir != is_dir)
        return sb_verify_report(pass->verify, SB_REMEDY_ENTRIES, "conflict", sb_verify_name(entry),
                                "is both a file and a directory");
    return sb_verify_report(pass->verify, SB_REMEDY_ENTRIES, "duplicate", sb_verify_place(entry),
                            "the name occurs twice in the index");
}

static enum sb_code report_bounds(struct verify *verify, const struct sb_entry *entry)
{
    struct sb_defect place = sb_verify_place(entry);
    struct shard_info *info;

    TRY(sb_verify_shard_look(verify, entry->shard, &info));
    if (info)
        TRY(sb_verify_shard_report(verify, entry->shard));
    place.follows = info && info->state == SHARD_MISSING;
    if (!info || info->state != SHARD_THERE)
        return sb_verify_report_row(verify, SB_REMEDY_SHARDS, "bounds", place,
                                    "its %lld bytes are in shard %u, which cannot be read",
                                    (long long)entry->size, entry->shard);
    return sb_verify_report_row(
        verify, SB_REMEDY_SHARDS, "bounds", place,
        "its bytes %lld to %lld of shard %u lie beyond the shard's end at %lld",
        (long long)entry->offset, (long long)entry->offset + (long long)entry->size, entry->shard,
        (long long)info->size);
}

/* The row may have been read before the file was moved. */
enum sb_code sb_verify_bounds(struct verify *verify, const struct sb_entry *entry)
{
    struct sb_entry now = *entry;

    for (int i = 0; i < SB_VERIFY_MOVES_MOST; i++) {
        bool holds;
        enum sb_code code = sb_verify_shard_holds(verify, &now, &holds);

        if (code != SB_OK || holds)
            return code;
        if (now.generation == sb_archive_generation(verify->archive))
            return report_bounds(verify, &now);
        code = sb_archive_lookup(verify->archive, entry->path, entry->path_size, &now);
        if (code == SB_NOENT)
            return SB_OK;
        if (code != SB_OK || now.defect || now.type == SB_DIR || now.size == 0)
            return code;
        now.path = entry->path;
    }
    return sb_verify_report(verify, SB_REMEDY_SHARDS, "bounds", sb_verify_place(entry),
                            "is moved about all the time");
}

static enum sb_code check_bounds(struct pass *pass, const struct sb_entry *entry)
{
    struct verify *verify = pass->verify;
    struct shard_info *info;
    int64_t end = entry->offset + entry->size;

    TRY(sb_verify_shard_look(verify, entry->shard, &info));
    if (entry->shard < pass->shard || (entry->shard == pass->shard && entry->offset < pass->end))
        verify->apart = false;
    pass->shard = entry->shard;
    pass->end = end;
    if (info && end > info->needed)
        info->needed = end;
    if (verify->by_shard && info)
        return sb_verify_shard_report(verify, entry->shard);
    if (info && info->state == SHARD_THERE && end <= info->size)
        return SB_OK;
    return sb_verify_bounds(verify, entry);
}

static enum sb_code check_file(struct pass *pass, const struct sb_entry *entry)
{
    struct verify *verify = pass->verify;

    verify->result->files++;
    if (entry->defect)
        return SB_OK;
    sb_count_up(&verify->result->bytes, entry->size);
    verify->result->unchecked += !(entry->has & SB_HAS_CRC);
    if (!(entry->has & SB_HAS_CRC) && verify->options->strict)
        TRY(sb_verify_report_row(verify, SB_REMEDY_SUMS, "unchecked", sb_verify_place(entry),
                                 "has no checksum"));
    if (entry->size > 0)
        return check_bounds(pass, entry);
    /* A file without bytes must have the checksum of no bytes. */
    if (!(entry->has & SB_HAS_CRC))
        return SB_OK;
    verify->result->files_read += entry->crc32c == 0;
    if (entry->crc32c == 0)
        return SB_OK;
    return sb_verify_report_row(verify, SB_REMEDY_SHARDS, "checksum", sb_verify_place(entry),
                                "is empty, but its CRC32C in the index is %08x", entry->crc32c);
}

static enum sb_code add_to_tree(struct pass *pass, const struct sb_entry *entry)
{
    struct sb_tree_sums sums = {entry->num_subdirs, entry->num_files, entry->num_files_tree,
                                entry->size_tree};

    if (!pass->tree)
        return SB_OK;
    if (entry->type == SB_DIR)
        return sb_treestat_dir(pass->tree, entry->path, entry->path_size, &sums, 0);
    return sb_treestat_file(pass->tree, entry->path, entry->path_size,
                            entry->size > 0 ? entry->size : 0);
}

static enum sb_code check_row(struct pass *pass, const struct sb_entry *entry)
{
    struct verify *verify = pass->verify;

    if (entry->defect) {
        verify->rows_are_sound = false;
        TRY(sb_verify_report_row(verify, SB_REMEDY_ENTRIES, "row", sb_verify_name(entry), "%s",
                                 entry->defect));
    }
    /* Rows whose path is not text come last, unordered, and nothing can be below them. */
    if (entry->defect && pass->begun && strcmp(entry->path, pass->last.data) < 0)
        return SB_OK;
    TRY(check_name(verify, entry));
    TRY(check_repeated(pass, entry));
    if (entry->type == SB_DIR)
        verify->result->dirs++;
    else
        TRY(check_file(pass, entry));
    return add_to_tree(pass, entry);
}

/* Cursors leave out the root, and a look-up finds it even without a row. */
static enum sb_code check_root(struct pass *pass)
{
    struct verify *verify = pass->verify;
    bool old = sb_archive_schema(verify->archive) == SB_SCHEMA_OLD;
    struct sb_entry root;
    int64_t rows;

    TRY(sb_database_integer(sb_archive_database(verify->archive),
                            old ? "SELECT count(*) FROM directories WHERE path = ''"
                                : "SELECT count(*) FROM dirs WHERE path = ''",
                            0, &rows));
    if (rows == 0)
        return SB_OK;
    verify->result->dirs++;
    TRY(sb_archive_lookup(verify->archive, "", 0, &root));
    if (root.defect)
        TRY(sb_verify_report_row(verify, SB_REMEDY_ENTRIES, "row", sb_verify_name(&root), "%s",
                                 root.defect));
    return add_to_tree(pass, &root);
}

/* SB_END after the last row; SB_OK: the time was over before. */
static enum sb_code check_rows(struct pass *pass, struct sb_select *select)
{
    struct sb_query query = {.order = SB_BY_PATH, .files = true, .dirs = true};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;

    if (!select) {
        TRY(sb_cursor_open(&cursor, pass->verify->archive, &query));
        pass->tree = sb_treestat_new(closed, pass->verify);
        TRY(pass->tree ? check_root(pass) : sb_fail_memory());
    }
    for (;;) {
        TRY(select ? sb_select_next(select, &entry) : sb_cursor_next(cursor, &entry));
        TRY(check_row(pass, &entry));
        if (sb_verify_gives_up(pass->verify))
            return SB_OK;
        TRY(sb_heed_interrupt());
    }
}

enum sb_code sb_verify_rows(struct verify *verify, struct sb_select *select)
{
    struct pass pass = {.verify = verify};
    enum sb_code code;

    verify->apart = true;
    verify->rows_are_sound = !select;
    code = check_rows(&pass, select);
    if (code == SB_END)
        code = pass.tree ? sb_treestat_end(pass.tree) : SB_OK;
    if (code == SB_DAMAGED)
        verify->apart = verify->rows_are_sound = false;
    code = sb_verify_index_failed(verify, code);
    sb_treestat_free(pass.tree);
    sb_buf_release(&pass.last);
    return code;
}

/* Extents */

/* The extent that ends last among those before in this shard. */
struct holder {
    struct sb_entry entry; /* its path is in `name` */
    struct sb_buf name;
    bool any;
};

/*
 * Hard links of a wrapped tar: the same bytes under two names, in a shard that is only linked. Both
 * may be without a checksum, as `convert --wrap --no-checksum` leaves them; and a killed `upgrade
 * --checksums` may have added that of one of them, but not of the other.
 */
static bool shares_lawfully(const struct verify *verify, const struct sb_entry *a,
                            const struct sb_entry *b)
{
    return a->offset == b->offset && a->size == b->size &&
           (!(a->has & b->has & SB_HAS_CRC) || a->crc32c == b->crc32c) &&
           a->shard < verify->shard_count && verify->shard_info[a->shard].linked;
}

/* Compares both ends, because files that were moved meanwhile come out of order. */
static bool touch(const struct sb_entry *a, const struct sb_entry *b)
{
    return !a->defect && !b->defect && a->type != SB_DIR && b->type != SB_DIR && a->size > 0 &&
           b->size > 0 && a->shard == b->shard && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

/* Looks up both in one transaction, because one may have been moved to the place of the other. */
static enum sb_code still_touch(struct verify *verify, const struct sb_entry *held,
                                const struct sb_entry *entry, bool *touches)
{
    struct sb_entry a = {.type = SB_DIR}, b = {.type = SB_DIR};
    enum sb_code code;

    *touches = false;
    TRY(sb_archive_begin(verify->archive));
    code = sb_archive_lookup(verify->archive, held->path, held->path_size, &a);
    if (code == SB_OK)
        code = sb_archive_lookup(verify->archive, entry->path, entry->path_size, &b);
    code = sb_archive_end(verify->archive, code);
    *touches = code == SB_OK && touch(&a, &b);
    return code == SB_NOENT ? SB_OK : code;
}

static enum sb_code doubt_overlap(struct verify *verify, const struct sb_entry *held,
                                  const struct sb_entry *entry)
{
    int64_t held_end = held->offset + held->size, end = entry->offset + entry->size;
    bool touches = held->generation == entry->generation;

    if (!touches)
        TRY(still_touch(verify, held, entry, &touches));
    if (!touches)
        return SB_OK;
    return sb_verify_report_row(
        verify, SB_REMEDY_ENTRIES, "overlap", sb_verify_place(entry),
        "shares bytes %lld to %lld of shard %u with %s", (long long)entry->offset,
        (long long)(held_end < end ? held_end : end), entry->shard, held->path);
}

static enum sb_code check_extent(struct verify *verify, struct holder *holder,
                                 const struct sb_entry *entry)
{
    const struct sb_entry *held = &holder->entry;
    bool touches = holder->any && touch(held, entry);

    if (touches && shares_lawfully(verify, held, entry))
        verify->result->shared++;
    else if (touches)
        TRY(doubt_overlap(verify, held, entry));
    if (touches && entry->offset + entry->size <= held->offset + held->size)
        return SB_OK;
    TRY(sb_buf_set(&holder->name, entry->path, entry->path_size));
    holder->entry = *entry;
    holder->entry.path = holder->name.data;
    holder->any = true;
    return SB_OK;
}

enum sb_code sb_verify_overlaps(struct verify *verify)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct holder holder = {0};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    if (verify->apart)
        return SB_OK;
    code = sb_cursor_open(&cursor, verify->archive, &query);
    while (code == SB_OK) {
        code = sb_cursor_next(cursor, &entry);
        if (code == SB_OK && !entry.defect && entry.size > 0)
            code = check_extent(verify, &holder, &entry);
        if (code == SB_OK && sb_verify_gives_up(verify))
            break;
    }
    sb_buf_release(&holder.name);
    return sb_verify_index_failed(verify, code == SB_END ? SB_OK : code);
}
