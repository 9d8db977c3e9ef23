#include "archive/parity/pieces.h"

#include "archive/database.h"
#include "archive/parity/mend.h"
#include "archive/parity/note.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK ((size_t)256 << 10)

struct sb_pieces {
    const struct sb_parity *parity;
    const struct sb_file *file;
    struct sb_piece *bad;
    size_t count, capacity;
    struct sb_spool bytes; /* of those that were made */
};

enum sb_code sb_pieces_new(struct sb_pieces **out, const struct sb_parity *parity,
                           const struct sb_file *file, const char *beside)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return sb_fail_memory();
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
    pieces->bad[pieces->count++] = (struct sb_piece){
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
    struct sb_parity_bad *bad = NULL;
    enum sb_code code = SB_OK;

    pieces->count = 0;
    sb_spool_clear(&pieces->bytes);
    if (options->from < pieces->parity->super.shape.size || options->from == 0)
        code = sb_parity_check(&bad, pieces->parity, pieces->file, options);
    if (!code && bad && !bad->of_another)
        code = sb_parity_mend(pieces->parity, pieces->file, bad, &mender);
    if (found)
        *found = bad ? *bad : (struct sb_parity_bad){0};
    sb_parity_bad_free(bad);
    return code;
}

const struct sb_piece *sb_pieces_next(const struct sb_pieces *pieces, size_t *i)
{
    return *i < pieces->count ? &pieces->bad[(*i)++] : NULL;
}

enum sb_code sb_pieces_get(struct sb_pieces *pieces, const struct sb_piece *piece, void *data)
{
    return sb_spool_get(&pieces->bytes, piece->at, data, (size_t)piece->size);
}

/* The first piece that ends after this byte, or the count. */
static size_t find(const struct sb_pieces *pieces, int64_t offset)
{
    size_t low = 0, high = pieces->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pieces->bad[middle].offset + pieces->bad[middle].size <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t sb_pieces_lost(const struct sb_pieces *pieces, int64_t from, int64_t to)
{
    int64_t lost = 0;

    for (size_t i = find(pieces, from); i < pieces->count && pieces->bad[i].offset < to; i++) {
        const struct sb_piece *piece = &pieces->bad[i];
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
    const struct sb_piece *piece = &pieces->bad[i];
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

    while (size > 0) {
        size_t some = size;

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
    unsigned char *block = malloc(BLOCK);
    enum sb_code code = block ? SB_OK : sb_fail_memory();

    for (int64_t done = 0; !code && done < size;) {
        size_t some = size - done < (int64_t)BLOCK ? (size_t)(size - done) : BLOCK;

        code = sb_pieces_read(pieces, block, some, offset + done);
        if (!code)
            code = each(context, block, some);
        done += (int64_t)some;
    }
    free(block);
    return code;
}

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    return sb_write_full(*(int *)context, data, size, "temporary file (see TMPDIR)");
}

/* What was protected, as a file of its own, whose name the caller frees. */
static enum sb_code write_protected(struct sb_pieces *pieces, const char *directory, char **name)
{
    enum sb_code code;
    int fd;

    if (asprintf(name, "%s/shardbox-XXXXXX", directory) < 0) {
        *name = NULL;
        return sb_fail_memory();
    }
    fd = mkostemp(*name, O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", *name);
    code = sb_pieces_feed(pieces, 0, pieces->parity->super.shape.size, write_block, &fd);
    close(fd);
    return code;
}

/* The database that was protected, whose name is gone. */
static enum sb_code open_protected(struct sqlite3 **out, const struct sb_parity *parity,
                                   const struct sb_file *file)
{
    const struct sb_parity_check_options all = {0};
    char *directory = sb_temp_directory(file->name), *name = NULL;
    struct sb_pieces *pieces = NULL;
    enum sb_code code = directory ? SB_OK : sb_fail_memory();

    *out = NULL;
    if (!code)
        code = sb_pieces_new(&pieces, parity, file, file->name);
    if (!code)
        code = sb_pieces_find(pieces, &all, NULL);
    if (!code)
        code = write_protected(pieces, directory, &name);
    if (!code)
        code = sb_database_open_as_it_is(out, name);
    if (name)
        unlink(name);
    sb_pieces_free(pieces);
    free(directory);
    free(name);
    return code;
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
    struct sqlite3_stmt *left = NULL, *right = NULL;
    int step = SQLITE_DONE, other = SQLITE_ROW;

    if (!IGNORED(sb_database_prepare(a, &left, rows)) &&
        !IGNORED(sb_database_prepare(b, &right, rows))) {
        do {
            step = sqlite3_step(left);
            other = sqlite3_step(right);
        } while (step == SQLITE_ROW && other == SQLITE_ROW && is_same_row(left, right));
    }
    sqlite3_finalize(left);
    sqlite3_finalize(right);
    return step != SQLITE_DONE || other != SQLITE_DONE;
}

enum sb_code sb_pieces_is_another(const struct sb_parity *parity, const struct sb_file *file,
                                  bool *another)
{
    struct sqlite3 *now = NULL, *before = NULL;
    int64_t is_index = 0;
    enum sb_code code;

    *another = false;
    if (sb_database_is_damaged(file->name, true))
        return SB_OK;
    code = sb_database_open_as_it_is(&now, file->name);
    if (!code)
        code = sb_database_integer(now, "SELECT count(*) FROM sqlite_master WHERE name = 'files'",
                                   0, &is_index);
    if (!code && is_index)
        code = open_protected(&before, parity, file);
    if (!code)
        *another =
            is_index ? differ(now, before) : !sb_protect_is_current(&parity->super, &file->st);
    sb_database_close(now);
    sb_database_close(before);
    /* What cannot be read, or made, is no reason to write over what is sound. */
    if (code == SB_DAMAGED) {
        *another = true;
        return SB_OK;
    }
    return code;
}

/* Both files; none where there is no parity file that can be used. */
struct both {
    struct sb_file *file;
    struct sb_parity *parity;
};

static void close_both(struct both *both)
{
    sb_parity_free(both->parity);
    sb_file_free(both->file);
}

static enum sb_code open_both(struct both *both, const char *path)
{
    char *name = NULL;
    enum sb_code code;

    *both = (struct both){0};
    if (asprintf(&name, "%s" SB_PROTECT_SUFFIX, path) < 0)
        return sb_fail_memory();
    code = IGNORED(sb_parity_open(&both->parity, name));
    free(name);
    if (!code && sb_protect_has_note(&both->parity->super))
        return sb_file_open(&both->file, path, "file");
    sb_parity_free(both->parity);
    both->parity = NULL;
    return SB_OK;
}

static enum sb_code prove(const struct both *both)
{
    const struct sb_parity_check_options all = {0};
    unsigned char head[SB_PROTECT_HEAD] = {0};
    struct sb_parity_bad *bad = NULL;
    bool another = false;
    size_t got;
    enum sb_code code = sb_file_read(both->file, head, sizeof(head), 0, &got);

    if (code || sb_protect_commit(&both->parity->super, head) != SB_COMMIT_SAME)
        return code;
    code = sb_parity_check(&bad, both->parity, both->file, &all);
    if (!code && bad->data > 0 && !bad->of_another)
        code = sb_pieces_is_another(both->parity, both->file, &another);
    if (!code && bad->data > 0 && !bad->of_another && !another)
        code =
            sb_fail(SB_DAMAGED,
                    "%s: is not as it was protected, though no commit came since: it is damaged, "
                    "and would be protected so; repair it first, with 'shardbox verify --repair'",
                    both->file->name);
    sb_parity_bad_free(bad);
    return code;
}

enum sb_code sb_pieces_prove(const char *index)
{
    struct both both;
    enum sb_code code = open_both(&both, index);

    if (!code && both.parity)
        code = prove(&both);
    close_both(&both);
    return code;
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
    struct sb_pieces *pieces = NULL;
    struct both both;
    enum sb_code code = open_both(&both, shard);

    *right = false;
    sb_spool_clear(out);
    if (!code && both.parity) {
        code = sb_pieces_new(&pieces, both.parity, both.file, shard);
        if (!code)
            code = sb_pieces_find(pieces, &wanted, NULL);
        if (!code)
            code = sb_pieces_feed(pieces, offset, size, keep_block, &made);
        *right = !code && made.crc == crc32c;
        if (code == SB_DAMAGED)
            code = SB_OK;
    }
    sb_pieces_free(pieces);
    close_both(&both);
    return code;
}
