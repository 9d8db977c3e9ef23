#include "store/catalog_bytes.h"

#include "archive/database.h"
#include "store/kind.h"

#include "core/interrupt.h"
#include "core/io.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (1 << 20)
#define IDLE_MOST   64 /* unused loaders that are kept for the next read */

struct sb_catalog_bytes {
    struct sb_bytes base;
    struct sb_input *input;
    struct sb_source *source;

    pthread_mutex_t lock; /* protects all fields below once `bytes` is filled */
    sqlite3 *db;          /* made for the first member in SB_SHARD_APART */
    sqlite3_stmt *add;
    sqlite3_stmt *find;
    int64_t end; /* end of the used part of SB_SHARD_APART */
    struct sb_loader *idle[IDLE_MOST];
    size_t idle_count;
};

/* A member in SB_SHARD_APART. */
struct apart {
    int64_t at;
    struct sb_member member; /* with the fields that its loader needs */
    struct sb_buf kept;
    bool is_kept;
};

enum { AT = 1, SIZE, TYPE, PLACE, KEPT = PLACE + 3 };

static enum sb_code open_table(struct sb_catalog_bytes *bytes)
{
    return SB_TABLES(&bytes->db, bytes->input->path,
                     "CREATE TABLE apart (at INTEGER PRIMARY KEY, size INTEGER,"
                     " type INTEGER, a INTEGER, b INTEGER, c INTEGER, kept BLOB); BEGIN",
                     {&bytes->add, "INSERT INTO apart VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
                     {&bytes->find, "SELECT NULL, at, size, type, a, b, c, kept FROM apart"
                                    " WHERE at <= ?1 ORDER BY at DESC LIMIT 1"});
}

enum sb_code sb_catalog_bytes_add(struct sb_catalog_bytes *bytes, const struct sb_member *member,
                                  const void *kept, int64_t *at)
{
    int64_t size = member->entry.size;
    sqlite3_stmt *add;

    *at = bytes->end;
    if (__builtin_add_overflow(bytes->end, size, &bytes->end))
        return sb_fail(SB_LIMIT, "the sizes add up to more than 2^63 - 1 bytes");
    if (size == 0 || (!kept && !bytes->source->loads))
        return SB_OK;
    if (!bytes->db)
        TRY(open_table(bytes));
    add = bytes->add;
    sqlite3_bind_int64(add, AT, *at);
    sqlite3_bind_int64(add, SIZE, size);
    sqlite3_bind_int(add, TYPE, (int)member->entry.type);
    for (int i = 0; i < 3; i++)
        sqlite3_bind_int64(add, PLACE + i, (int64_t)member->place[i]);
    if (kept)
        sqlite3_bind_blob(add, KEPT, kept, (int)size, SQLITE_STATIC);
    else
        sqlite3_bind_null(add, KEPT);
    return sb_database_step(add);
}

static enum sb_code fail_nowhere(const struct sb_catalog_bytes *bytes)
{
    if (!bytes->source->loads)
        return sb_fail(
            SB_INVALID,
            "%s: can only be read in sequence; 'shardbox convert' makes an archive of it",
            bytes->source->name);
    return sb_fail(SB_DAMAGED, "%s: no member has these bytes", bytes->source->name);
}

/* The member that covers `offset`; call with the lock held. */
static enum sb_code find_apart(struct sb_catalog_bytes *bytes, int64_t offset, struct apart *out)
{
    sqlite3_stmt *find = bytes->find;
    enum sb_code code = SB_OK;
    int rc;

    *out = (struct apart){0};
    if (!find)
        return fail_nowhere(bytes);
    SB_BIND(find, offset);
    rc = sqlite3_step(find);
    if (rc == SQLITE_ROW) {
        out->at = sqlite3_column_int64(find, AT);
        out->member.entry.path = "";
        out->member.entry.size = sqlite3_column_int64(find, SIZE);
        out->member.entry.type = (enum sb_type)sqlite3_column_int(find, TYPE);
        for (int i = 0; i < 3; i++)
            out->member.place[i] = (uint64_t)sqlite3_column_int64(find, PLACE + i);
        out->is_kept = sqlite3_column_type(find, KEPT) == SQLITE_BLOB;
        if (out->is_kept && sb_buf_set(&out->kept, sqlite3_column_blob(find, KEPT),
                                       (size_t)sqlite3_column_bytes(find, KEPT)))
            code = sb_fail_memory();
    }
    if (rc != SQLITE_ROW || offset - out->at >= out->member.entry.size)
        code = rc == SQLITE_ROW || rc == SQLITE_DONE ? fail_nowhere(bytes)
                                                     : sb_database_fail(bytes->db);
    sqlite3_reset(find);
    return code;
}

/* Finds the member, and a loader for it unless its bytes were kept. */
static enum sb_code take(struct sb_catalog_bytes *bytes, int64_t offset, struct apart *apart,
                         struct sb_loader **loader)
{
    enum sb_code code;

    *loader = NULL;
    pthread_mutex_lock(&bytes->lock);
    code = find_apart(bytes, offset, apart);
    if (!code && !apart->is_kept && bytes->idle_count > 0)
        *loader = bytes->idle[--bytes->idle_count];
    else if (!code && !apart->is_kept)
        code = sb_loader_open(bytes->source, loader);
    pthread_mutex_unlock(&bytes->lock);
    if (code)
        sb_buf_release(&apart->kept);
    return code;
}

static void give_back(struct sb_catalog_bytes *bytes, struct apart *apart, struct sb_loader *loader)
{
    sb_buf_release(&apart->kept);
    if (!loader)
        return;
    pthread_mutex_lock(&bytes->lock);
    if (bytes->idle_count < IDLE_MOST) {
        bytes->idle[bytes->idle_count++] = loader;
        loader = NULL;
    }
    pthread_mutex_unlock(&bytes->lock);
    sb_loader_free(loader);
}

static void keep_first_problem(void *context, enum sb_level level, const char *kind,
                               const char *subject, const char *text)
{
    struct sb_error *err = context;

    (void)kind;
    (void)subject;
    if (level == SB_PROBLEM && err->code == SB_OK)
        INTO(err, sb_fail(SB_DAMAGED, "%s", text));
}

/* Makes an error of the first problem that a loader reported. */
static enum sb_code fail_by_events(struct sb_events *events)
{
    struct sb_notify notify = {.call = keep_first_problem, .context = sb_error()};

    sb_error()->code = SB_OK;
    if (events->text.size > 0)
        sb_events_report(events, &notify);
    if (sb_error()->code == SB_OK)
        sb_fail(SB_DAMAGED, "its bytes cannot be had");
    return sb_error()->code;
}

/* The requested part of a member's bytes, copied out of the stream of all of them. */
struct window {
    int64_t skip;
    int64_t left;
    sb_each_block *each;
    void *context;
    bool full; /* the part is complete, and the stream may stop */
};

static enum sb_code pass_window(void *context, const void *data, size_t size)
{
    struct window *window = context;
    const char *from = data;
    size_t take;
    enum sb_code code;

    if (window->skip >= (int64_t)size) {
        window->skip -= (int64_t)size;
        return SB_OK;
    }
    from += window->skip;
    take = size - (size_t)window->skip;
    window->skip = 0;
    if ((int64_t)take > window->left)
        take = (size_t)window->left;
    code = take > 0 ? window->each(window->context, from, take) : SB_OK;
    window->left -= (int64_t)take;
    /* If the part reaches the end of the member, the stream goes on to its end: only there is the
     * checksum compared. */
    window->full = !code && window->left == 0 && from + take < (const char *)data + size;
    return window->full ? sb_fail(SB_LIMIT, "nothing more is wanted") : code;
}

/* loader: NULL if the bytes were kept. */
static enum sb_code stream_apart(struct apart *apart, struct sb_loader *loader, int64_t offset,
                                 int64_t size, sb_each_block *each, void *context)
{
    struct window window = {
        .skip = offset - apart->at, .left = size, .each = each, .context = context};
    struct sb_events events = {0};
    enum sb_code code;

    if (!loader) {
        code = apart->kept.data ? pass_window(&window, apart->kept.data, apart->kept.size) : SB_OK;
    } else {
        code = sb_loader_stream(loader, &apart->member, pass_window, &window, &events);
        if (code == SB_END)
            code = fail_by_events(&events);
        sb_events_release(&events);
    }
    if (code == SB_LIMIT && window.full)
        return SB_OK;
    if (!code && window.left > 0)
        return sb_fail(SB_DAMAGED, "its bytes end early");
    return code;
}

/* A sb_each_block: context is a char **, which it moves to the end of what it copied. */
static enum sb_code copy_bytes(void *context, const void *data, size_t size)
{
    char **to = context;

    memcpy(*to, data, size);
    *to += size;
    return SB_OK;
}

/* Reads a whole member. */
static enum sb_code load_apart(struct apart *apart, struct sb_loader *loader, void *data)
{
    int64_t size = apart->member.entry.size;
    struct sb_events events = {0};
    enum sb_code code;

    code = sb_loader_load(loader, &apart->member, data, (size_t)size, &events);
    if (code == SB_END)
        code = fail_by_events(&events);
    else if (code == SB_LIMIT || (!code && apart->member.entry.size != size))
        code = sb_fail(SB_DAMAGED, "it has another size than was said");
    sb_events_release(&events);
    return code;
}

/* Reads from the one member at `offset`; *size is lowered to what that member has. */
static enum sb_code read_apart(struct sb_catalog_bytes *bytes, int64_t offset, char *data,
                               size_t *size)
{
    struct sb_loader *loader;
    struct apart apart;
    int64_t left;
    enum sb_code code;

    TRY(take(bytes, offset, &apart, &loader));
    left = apart.member.entry.size - (offset - apart.at);
    if ((int64_t)*size > left)
        *size = (size_t)left;
    if (loader && offset == apart.at && (int64_t)*size == left)
        code = load_apart(&apart, loader, data);
    else
        code = stream_apart(&apart, loader, offset, (int64_t)*size, copy_bytes, &data);
    give_back(bytes, &apart, loader);
    return code;
}

static enum sb_code read_located(struct sb_catalog_bytes *bytes, int64_t offset, void *data,
                                 size_t size)
{
    return sb_file_read_exactly(bytes->input->file, data, size, offset);
}

static enum sb_code read_bytes(struct sb_bytes *base, uint32_t shard, int64_t offset, void *data,
                               size_t size)
{
    struct sb_catalog_bytes *bytes = (struct sb_catalog_bytes *)base;
    char *to = data;

    if (shard != SB_SHARD_APART)
        return read_located(bytes, offset, data, size);
    /* A reader that merges adjacent extents reads several members at once. */
    for (size_t part; size > 0; size -= part, offset += (int64_t)part, to += part) {
        part = size;
        TRY(read_apart(bytes, offset, to, &part));
    }
    return SB_OK;
}

static enum sb_code stream_located(struct sb_catalog_bytes *bytes, int64_t offset, int64_t size,
                                   sb_each_block *each, void *context)
{
    CLEANUP(sb_freep) void *block = NULL;

    TRY(sb_alloc(&block, BLOCK_BYTES));
    while (size > 0) {
        size_t part = size < BLOCK_BYTES ? (size_t)size : BLOCK_BYTES;

        TRY(sb_heed_interrupt());
        TRY(read_located(bytes, offset, block, part));
        TRY(each(context, block, part));
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    return SB_OK;
}

static enum sb_code stream_bytes(struct sb_bytes *base, uint32_t shard, int64_t offset,
                                 int64_t size, sb_each_block *each, void *context)
{
    struct sb_catalog_bytes *bytes = (struct sb_catalog_bytes *)base;
    struct sb_loader *loader;
    struct apart apart;
    enum sb_code code;

    if (shard != SB_SHARD_APART)
        return stream_located(bytes, offset, size, each, context);
    TRY(take(bytes, offset, &apart, &loader));
    code = stream_apart(&apart, loader, offset, size, each, context);
    give_back(bytes, &apart, loader);
    return code;
}

static enum sb_code stat_bytes(struct sb_bytes *base, uint32_t shard, struct stat *out)
{
    struct sb_catalog_bytes *bytes = (struct sb_catalog_bytes *)base;
    const struct sb_input *input = bytes->input;

    if (shard != 0 || (!input->file && !input->pipe))
        return sb_fail(SB_NOENT, "%s: has no shard %u", input->name, shard);
    *out = input->st;
    return SB_OK;
}

static enum sb_code name_bytes(struct sb_bytes *base, uint32_t shard, struct sb_buf *out)
{
    const char *name = ((struct sb_catalog_bytes *)base)->input->name;

    (void)shard;
    return sb_buf_set(out, name, strlen(name));
}

static void free_bytes(struct sb_bytes *base)
{
    sb_catalog_bytes_free((struct sb_catalog_bytes *)base);
}

static const struct sb_bytes_ops ops = {
    .free = free_bytes,
    .read = read_bytes,
    .stream = stream_bytes,
    .stat = stat_bytes,
    .path = name_bytes,
};

enum sb_code sb_catalog_bytes_new(struct sb_catalog_bytes **out, struct sb_input *input,
                                  struct sb_source *source)
{
    struct sb_catalog_bytes *bytes = calloc(1, sizeof(*bytes));

    *out = bytes;
    if (!bytes) {
        sb_source_free(source);
        return sb_fail_memory();
    }
    bytes->base.ops = &ops;
    bytes->input = input;
    bytes->source = source;
    pthread_mutex_init(&bytes->lock, NULL);
    return SB_OK;
}

void sb_catalog_bytes_free(struct sb_catalog_bytes *bytes)
{
    if (!bytes)
        return;
    while (bytes->idle_count > 0)
        sb_loader_free(bytes->idle[--bytes->idle_count]);
    sb_database_finish(bytes->db);
    sb_source_free(bytes->source);
    pthread_mutex_destroy(&bytes->lock);
    free(bytes);
}

struct sb_bytes *sb_catalog_bytes_finish(struct sb_catalog_bytes *bytes)
{
    return &bytes->base;
}
