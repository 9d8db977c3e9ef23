#include "archive/parity/pieces.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/own/own_names.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/spool.h"
#include "core/time.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK     ((size_t)256 << 10)
#define TEMPORARY "temporary file (see TMPDIR)"

/* A piece that is not as it was. */
struct piece {
    int64_t offset;
    int64_t size;
    bool made;
    int64_t at; /* where that is kept */
};

struct sb_pieces {
    const struct sb_parity *parity;
    const struct sb_file *file;
    struct piece *bad;
    size_t count, capacity;
    struct sb_spool bytes; /* of those that were made */
};

enum sb_code sb_pieces_new(struct sb_pieces **out, const struct sb_parity *parity,
                           const struct sb_file *file, const char *beside)
{
    TRY(SB_NEW(out));
    **out =
        (struct sb_pieces){.parity = parity, .file = file, .bytes = {.fd = -1, .beside = beside}};
    return SB_OK;
}

void sb_pieces_free(struct sb_pieces *pieces)
{
    if (!pieces)
        return;
    sb_spool_release(&pieces->bytes);
    free(pieces->bad);
    free(pieces);
}

static enum sb_code add(struct sb_pieces *pieces, int64_t offset, size_t size, bool made)
{
    TRY(sb_grow(&pieces->bad, &pieces->capacity, pieces->count + 1, sizeof(*pieces->bad)));
    pieces->bad[pieces->count++] = (struct piece){
        .offset = offset, .size = (int64_t)size, .made = made, .at = sb_spool_size(&pieces->bytes)};
    return SB_OK;
}

static enum sb_code take_lost(void *context, int64_t offset, size_t size)
{
    return add(context, offset, size, false);
}

static enum sb_code take_mended(void *context, int64_t offset, const void *bytes, size_t size)
{
    struct sb_pieces *pieces = context;

    TRY(add(pieces, offset, size, true));
    return sb_spool_add(&pieces->bytes, bytes, size);
}

enum sb_code sb_pieces_find(struct sb_pieces *pieces, const struct sb_parity_check_options *options,
                            struct sb_parity_bad *found)
{
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = pieces};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;
    enum sb_code code = SB_OK;

    pieces->count = 0;
    sb_spool_clear(&pieces->bytes);
    if (options->from < pieces->parity->super.shape.size || options->from == 0)
        code = sb_parity_check(&bad, pieces->parity, pieces->file, options);
    if (!code && bad && !bad->of_another)
        code = sb_parity_mend(pieces->parity, pieces->file, bad, &mender);
    if (found)
        *found = bad ? *bad : (struct sb_parity_bad){0};
    return code;
}

/* The first piece that ends after this byte, or the count. */
static size_t find(const struct sb_pieces *pieces, int64_t offset)
{
    return FIRST_WHERE(i, pieces->count, pieces->bad[i].offset + pieces->bad[i].size > offset);
}

int64_t sb_pieces_lost(const struct sb_pieces *pieces, int64_t from, int64_t to)
{
    int64_t lost = 0;

    for (size_t i = find(pieces, from); i < pieces->count && pieces->bad[i].offset < to; i++) {
        const struct piece *piece = &pieces->bad[i];
        int64_t begin = piece->offset > from ? piece->offset : from;
        int64_t end = piece->offset + piece->size < to ? piece->offset + piece->size : to;

        if (!piece->made)
            lost += end - begin;
    }
    return lost;
}

/* Some bytes, at least one, that are all made, or all in the file: *size of them. */
static enum sb_code read_some(struct sb_pieces *pieces, void *data, size_t *size, int64_t offset)
{
    size_t i = find(pieces, offset);
    const struct piece *piece = &pieces->bad[i];
    int64_t most;

    if (i == pieces->count || piece->offset > offset) {
        most = i == pieces->count ? INT64_MAX : piece->offset - offset;
        if ((int64_t)*size > most)
            *size = (size_t)most;
        return sb_file_read_exactly(pieces->file, data, *size, offset);
    }
    if (!piece->made)
        return sb_fail(SB_DAMAGED, "%s: what is missing cannot be made", pieces->file->name);
    most = piece->offset + piece->size - offset;
    if ((int64_t)*size > most)
        *size = (size_t)most;
    return sb_spool_get(&pieces->bytes, piece->at + (offset - piece->offset), data, *size);
}

enum sb_code sb_pieces_read(struct sb_pieces *pieces, void *data, size_t size, int64_t offset)
{
    unsigned char *to = data;

    for (size_t some = size; size > 0; some = size) {
        TRY(read_some(pieces, to, &some, offset));
        to += some;
        offset += (int64_t)some;
        size -= some;
    }
    return SB_OK;
}

enum sb_code sb_pieces_feed(struct sb_pieces *pieces, int64_t offset, int64_t size,
                            sb_each_block *each, void *context)
{
    CLEANUP(sb_freep) unsigned char *block = NULL;

    TRY(sb_alloc(&block, BLOCK));
    for (int64_t done = 0; done < size;) {
        size_t some = size - done < (int64_t)BLOCK ? (size_t)(size - done) : BLOCK;

        TRY(sb_pieces_read(pieces, block, some, offset + done));
        TRY(each(context, block, some));
        done += (int64_t)some;
    }
    return SB_OK;
}

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    return sb_write_full(*(int *)context, data, size, TEMPORARY);
}

enum sb_code sb_pieces_write(const struct sb_parity *parity, const struct sb_file *file, int fd)
{
    const struct sb_parity_check_options all = {0};
    CLEANUP(sb_pieces_freep) struct sb_pieces *pieces = NULL;

    TRY(sb_pieces_new(&pieces, parity, file, file->name));
    TRY(sb_pieces_find(pieces, &all, NULL));
    return sb_pieces_feed(pieces, 0, parity->super.shape.size, write_block, &fd);
}

/* The database that was protected, in a file without a name. */
static enum sb_code open_protected(struct sqlite3 **out, const struct sb_parity *parity,
                                   const struct sb_file *file)
{
    CLEANUP(sb_file_freep) struct sb_file *copy = NULL;
    int fd;

    TRY(sb_temp_file(&fd, file->name));
    TRY(sb_file_take(&copy, fd, TEMPORARY));
    TRY(sb_pieces_write(parity, file, fd));
    return sb_database_open_unnamed(out, copy);
}

static bool is_same_row(struct sqlite3_stmt *a, struct sqlite3_stmt *b)
{
    return sb_compare_bytes(sqlite3_column_blob(a, 0), (size_t)sqlite3_column_bytes(a, 0),
                            sqlite3_column_blob(b, 0), (size_t)sqlite3_column_bytes(b, 0)) == 0 &&
           sqlite3_column_int64(a, 1) == sqlite3_column_int64(b, 1) &&
           sqlite3_column_int64(a, 2) == sqlite3_column_int64(b, 2);
}

/* Do two indexes have other files, or in other places? */
static bool differ(struct sqlite3 *a, struct sqlite3 *b)
{
    static const char rows[] = "SELECT path, shard, offset FROM main.files ORDER BY path";
    CLEANUP(sqlite3_finalizep) struct sqlite3_stmt *right = NULL, *left = NULL;
    int step, other;

    if (IGNORED(sb_database_prepare(a, &left, rows)) ||
        IGNORED(sb_database_prepare(b, &right, rows)))
        return true;
    do {
        step = sqlite3_step(left);
        other = sqlite3_step(right);
    } while (step == SQLITE_ROW && other == SQLITE_ROW && is_same_row(left, right));
    return step != SQLITE_DONE || other != SQLITE_DONE;
}

static enum sb_code compare(const struct sb_parity *parity, const struct sb_file *file,
                            bool *another)
{
    CLEANUP(sb_database_closep) struct sqlite3 *before = NULL, *now = NULL;
    int64_t is_index = 0;

    TRY(sb_database_open_as_it_is(&now, file->name));
    TRY(sb_database_integer(now, "SELECT count(*) FROM sqlite_master WHERE name = 'files'", 0,
                            &is_index));
    if (is_index)
        TRY(open_protected(&before, parity, file));
    *another = is_index ? differ(now, before) : !sb_protect_is_current(&parity->super, &file->st);
    return SB_OK;
}

enum sb_code sb_pieces_is_another(const struct sb_parity *parity, const struct sb_file *file,
                                  bool *another)
{
    enum sb_code code;

    *another = false;
    if (sb_database_is_damaged(file->name, true))
        return SB_OK;
    code = compare(parity, file, another);
    /* What cannot be read, or made, is no reason to write over what is sound. */
    *another = *another || code == SB_DAMAGED;
    return code == SB_DAMAGED ? SB_OK : code;
}

/* Both files; none where there is no parity file that can be used. */
static enum sb_code open_both(struct sb_parity **parity, struct sb_file **file, const char *path)
{
    CLEANUP(sb_freep) char *name = NULL;
    CLEANUP(sb_parity_freep) struct sb_parity *found = NULL;

    if (asprintf(&name, "%s" SB_PROTECT_SUFFIX, path) < 0)
        return sb_fail_memory();
    if (IGNORED(sb_parity_open(&found, name)) || !sb_protect_has_note(&found->super))
        return SB_OK;
    TRY(sb_file_open(file, path, "file"));
    *parity = TAKE(found);
    return SB_OK;
}

/* Files of a shard without a checksum, in the order of their offsets. */
struct unchecked {
    const struct sb_file *file; /* the shard */
    struct sqlite3_stmt *rows;
    int64_t from, to; /* of the current file; after the last one INT64_MAX */
    bool damaged;
};

static void release(struct unchecked *files)
{
    sqlite3_finalize(files->rows);
}

/* The first of them that ends after this byte, which is not before that of the last call. */
static enum sb_code seek(struct unchecked *files, int64_t offset)
{
    enum sb_code code = SB_OK;

    while (files->to <= offset && sb_database_row(files->rows, &code)) {
        int64_t size = sqlite3_column_int64(files->rows, 1);

        files->from = sqlite3_column_int64(files->rows, 0);
        files->to = size < INT64_MAX - files->from ? files->from + size : INT64_MAX;
    }
    if (!code && files->to <= offset)
        files->from = files->to = INT64_MAX;
    return code;
}

static enum sb_code has_unchecked(void *context, int64_t from, int64_t to, bool *has)
{
    struct unchecked *files = context;

    TRY(seek(files, from));
    *has = files->from < to;
    return SB_OK;
}

static enum sb_code blame_lost(void *context, int64_t offset, size_t size)
{
    struct unchecked *files = context;
    bool has;

    TRY(has_unchecked(files, offset, offset + (int64_t)size, &has));
    files->damaged |= has;
    return SB_OK;
}

/* What lies between these files, or after the last, may have been written by a run that was killed
 * before its commit. */
static enum sb_code compare_files(void *context, int64_t offset, const void *bytes, size_t size)
{
    struct unchecked *files = context;
    unsigned char there[SB_PARITY_PIECE_MOST];
    int64_t end = offset + (int64_t)size;
    size_t got = 0;

    if (IGNORED(sb_file_read(files->file, there, size, offset, &got)))
        got = 0;
    for (int64_t at = offset; at < end && !files->damaged;) {
        int64_t from, to;

        TRY(seek(files, at));
        from = files->from > at ? files->from : at;
        to = files->to < end ? files->to : end;
        if (from >= to)
            break;
        files->damaged = to - offset > (int64_t)got ||
                         memcmp(there + (from - offset), (const char *)bytes + (from - offset),
                                (size_t)(to - from)) != 0;
        at = to;
    }
    return SB_OK;
}

enum sb_code sb_pieces_prove_unchecked(struct sqlite3 *index, uint32_t shard,
                                       const struct sb_parity *parity, const struct sb_file *file)
{
    static const char query[] = "SELECT offset, size FROM main.files WHERE shard = ?1 AND size > 0"
                                " AND offset >= 0 AND crc32c IS NULL ORDER BY offset";
    CLEANUP(release) struct unchecked files = {.file = file};
    struct sb_parity_check_options wanted = {.chooses = has_unchecked, .chooser = &files};
    const struct sb_parity_mender mender = {
        .mended = compare_files, .lost = blame_lost, .context = &files};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;

    TRY(sb_database_prepare(index, &files.rows, query));
    SB_BIND(files.rows, shard);
    TRY(seek(&files, 0));
    wanted.from = files.from;
    if (wanted.from < parity->super.shape.size)
        TRY(sb_parity_check(&bad, parity, file, &wanted));
    if (!bad || bad->data == 0 || bad->of_another)
        return SB_OK;
    sqlite3_reset(files.rows);
    files.from = files.to = 0;
    TRY(sb_parity_mend(parity, file, bad, &mender));
    if (!files.damaged)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: files without a checksum are not as they were protected, though no commit "
                   "came since: damage would be protected; repair it first, with 'shardbox verify "
                   "--repair --trust-parity'",
                   file->name);
}

/* Neither written to nor given another time since its parity file was written, which need not be
 * opened to know that. True also without a parity file. A copy may be older than that of the parity
 * file: but then its time is new, and later than that of the index. */
static bool is_untouched(const char *shard, const struct sb_parity_super *index)
{
    CLEANUP(sb_freep) char *name = sb_own_name(shard, SB_PROTECT_SUFFIX);
    struct stat st, parity;

    return name && (stat(name, &parity) ||
                    (stat(shard, &st) == 0 && sb_time_ns(st.st_ctim) < sb_time_ns(parity.st_mtim) &&
                     sb_time_ns(st.st_mtim) <= sb_time_ns(sb_protect_noted_time(index))));
}

/* The last one is written to, and those with another time are protected again. */
static enum sb_code prove_shards(struct sqlite3 *db, const char *index, const struct sb_parity *of)
{
    CLEANUP(sb_freep) char *base = strndup(index, sb_index_base_size(index));
    uint32_t count;

    if (!base)
        return sb_fail_memory();
    /* Who changes it says what is wrong with it. */
    if (IGNORED(sb_shard_count_in_use(db, index, &count)))
        return SB_OK;
    for (uint32_t i = 0; i < count; i++) {
        CLEANUP(sb_freep) char *shard = sb_shard_name(base, i);
        CLEANUP(sb_file_freep) struct sb_file *file = NULL;
        CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;

        TRY(shard ? SB_OK : sb_error()->code);
        if ((i + 1 < count && is_untouched(shard, &of->super)) ||
            IGNORED(open_both(&parity, &file, shard)) || !parity ||
            !sb_protect_is_of_index(&parity->super, &of->super))
            continue;
        if (i + 1 == count || !sb_protect_is_current(&parity->super, &file->st))
            TRY(sb_pieces_prove_unchecked(db, i, parity, file));
    }
    return SB_OK;
}

enum sb_code sb_pieces_prove(struct sqlite3 *db, const char *index)
{
    const struct sb_parity_check_options all = {0};
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;
    enum sb_protect_commit commit;
    bool another;

    TRY(open_both(&parity, &file, index));
    if (!parity)
        return SB_OK;
    TRY(sb_protect_commit_of(&parity->super, file, &commit));
    if (commit != SB_COMMIT_SAME)
        return SB_OK;
    TRY(sb_parity_check(&bad, parity, file, &all));
    if (bad->of_another)
        return SB_OK;
    if (bad->data == 0)
        return prove_shards(db, index, parity);
    TRY(sb_pieces_is_another(parity, file, &another));
    if (another)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: is not as it was protected, though no commit came since: it is damaged, "
                   "and would be protected so; repair it first, with 'shardbox verify --repair'",
                   file->name);
}

/* Bytes that were made, and their CRC32C. */
struct made {
    struct sb_spool *out;
    uint32_t crc;
};

static enum sb_code keep_block(void *context, const void *data, size_t size)
{
    struct made *made = context;

    made->crc = sb_crc32c(made->crc, data, size);
    return sb_spool_add(made->out, data, size);
}

enum sb_code sb_pieces_make(const char *shard, int64_t offset, int64_t size, uint32_t crc32c,
                            struct sb_spool *out, bool *right)
{
    const struct sb_parity_check_options wanted = {.from = offset, .to = offset + size};
    struct made made = {.out = out};
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;
    CLEANUP(sb_pieces_freep) struct sb_pieces *pieces = NULL;
    enum sb_code code;

    *right = false;
    sb_spool_clear(out);
    TRY(open_both(&parity, &file, shard));
    if (!parity)
        return SB_OK;
    TRY(sb_pieces_new(&pieces, parity, file, shard));
    code = sb_pieces_find(pieces, &wanted, NULL);
    if (!code)
        code = sb_pieces_feed(pieces, offset, size, keep_block, &made);
    *right = !code && made.crc == crc32c;
    return code == SB_DAMAGED ? SB_OK : code;
}
