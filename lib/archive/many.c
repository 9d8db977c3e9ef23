#include "archive/many.h"

#include "archive/database.h"
#include "archive/reader.h"
#include "core/array.h"
#include "core/list.h"
#include "core/name.h"
#include "core/pipeline.h"
#include "core/time.h"

#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MOST     4096     /* items in one read transaction */
#define PIECE_MEASURED 4        /* items that show how long one takes */
#define WORTH_NS       10000000 /* what is done sooner is done by one thread */
#define CACHE_KIB      40960    /* of all connections but the archive's */
#define LATEST         4        /* pieces that make the pace, about */

struct piece {
    struct sb_archive *twin; /* NULL: not opened, or there can be none */
    bool tried;
    size_t from, to;
};

struct sb_many {
    struct sb_archive *archive; /* for what has none of its own */
    unsigned threads;
    int64_t pace; /* nanoseconds for an item; 0: unknown */
    struct piece *pieces;
    pthread_mutex_t mutex; /* of the archive, while threads run */
};

/* Of one call of sb_many_run. */
struct run {
    struct sb_many *many;
    sb_many_work *work;
    void *context;
    size_t next, to, piece_size;
};

enum sb_code sb_many_new(struct sb_many **out, struct sb_archive *archive, unsigned threads)
{
    CLEANUP(sb_many_freep) struct sb_many *many = NULL;

    *out = NULL;
    TRY(SB_NEW(&many));
    pthread_mutex_init(&many->mutex, NULL);
    many->archive = archive;
    many->threads = threads > 0 && !sb_archive_is_adopted(archive) ? threads : 1;
    TRY(SB_NEW_ARRAY(&many->pieces, many->threads));
    *out = TAKE(many);
    return SB_OK;
}

void sb_many_free(struct sb_many *many)
{
    if (!many)
        return;
    for (unsigned i = 0; many->pieces && i < many->threads; i++)
        sb_archive_free(many->pieces[i].twin);
    free(many->pieces);
    pthread_mutex_destroy(&many->mutex);
    free(many);
}

static enum sb_code work_on(const struct run *run, struct sb_archive *archive, size_t from,
                            size_t to)
{
    TRY(sb_archive_begin(archive));
    return sb_archive_end(archive, run->work(run->context, archive, from, to));
}

static enum sb_code work_alone(struct run *run)
{
    size_t most = run->many->pace || run->many->threads == 1 ? PIECE_MOST : PIECE_MEASURED;
    size_t to = run->to - run->next < most ? run->to : run->next + most;
    int64_t began = sb_clock_ns(), took;
    enum sb_code code = work_on(run, run->many->archive, run->next, to);

    took = (sb_clock_ns() - began) / (int64_t)(to - run->next);
    run->many->pace = run->many->pace ? run->many->pace + (took - run->many->pace) / LATEST : took;
    run->next = to;
    return code;
}

static bool is_worth_it(const struct run *run)
{
    return run->many->threads > 1 && run->many->pace > 0 && run->to - run->next > 1 &&
           (int64_t)(run->to - run->next) > WORTH_NS / run->many->pace;
}

static enum sb_code fill(void *context, void *slot)
{
    struct run *run = context;
    struct piece *piece = slot;

    if (run->next == run->to)
        return SB_END;
    piece->from = run->next;
    piece->to = run->to - run->next < run->piece_size ? run->to : run->next + run->piece_size;
    run->next = piece->to;
    return SB_OK;
}

static void open_twin(const struct sb_many *many, struct piece *piece)
{
    char small_cache[64];

    piece->tried = true;
    snprintf(small_cache, sizeof(small_cache), "PRAGMA cache_size=-%u", CACHE_KIB / many->threads);
    if (IGNORED(sb_archive_open_twin(&piece->twin, many->archive)) == SB_OK &&
        IGNORED(sb_database_run(piece->twin->db, small_cache)) == SB_OK)
        return;
    sb_archive_free(piece->twin);
    piece->twin = NULL;
}

bool sb_many_detach(struct sb_many *many)
{
    struct piece *first = many->pieces;

    if (!first->tried && many->threads > 1)
        open_twin(many, first);
    if (!first->twin)
        return false;
    many->archive = first->twin;
    return true;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct run *run = context;
    struct sb_many *many = run->many;
    struct piece *piece = slot;
    enum sb_code code;

    (void)turns;
    if (!piece->tried)
        open_twin(many, piece);
    if (piece->twin && piece->twin != many->archive)
        return work_on(run, piece->twin, piece->from, piece->to);
    pthread_mutex_lock(&many->mutex);
    code = work_on(run, many->archive, piece->from, piece->to);
    pthread_mutex_unlock(&many->mutex);
    return code;
}

/* One piece for each connection: names that are sorted come to the one that has their pages. */
static enum sb_code work_together(struct run *run)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};
    struct sb_many *many = run->many;

    run->piece_size = (run->to - run->next - 1) / many->threads + 1;
    return sb_pipeline_run(&ops, run, many->pieces, sizeof(*many->pieces), many->threads,
                           many->threads);
}

enum sb_code sb_many_run(struct sb_many *many, size_t from, size_t to, sb_many_work *work_on_items,
                         void *context)
{
    struct run run = {
        .many = many, .work = work_on_items, .context = context, .next = from, .to = to};
    enum sb_code code = SB_OK;

    while (!code && run.next < run.to && !is_worth_it(&run))
        code = work_alone(&run);
    return code || run.next == run.to ? code : work_together(&run);
}

static size_t common_size(size_t count, sb_name_at *name, const void *context)
{
    size_t common, size;
    const char *first = name(context, 0, &common);

    for (size_t i = 1; i < count && common > 0; i++) {
        const char *text = name(context, i, &size);
        size_t same = 0;

        while (same < common && same < size && text[same] == first[same])
            same++;
        common = same;
    }
    return common;
}

static int compare(const void *a, const void *b)
{
    const struct sb_name_place *x = a, *y = b;

    if (x->high != y->high)
        return COMPARE(x->high, y->high);
    if (x->low != y->low)
        return COMPARE(x->low, y->low);
    return COMPARE(x->place, y->place);
}

void sb_name_order(struct sb_name_place *order, size_t count, sb_name_at *name, const void *context)
{
    size_t common, size;
    bool sorted = true;

    if (count == 0)
        return;
    common = common_size(count, name, context);
    for (size_t i = 0; i < count; i++) {
        const char *text = name(context, i, &size);
        uint64_t words[2] = {0};

        size -= common;
        memcpy(words, text + common, size < sizeof(words) ? size : sizeof(words));
        order[i] =
            (struct sb_name_place){.high = be64toh(words[0]), .low = be64toh(words[1]), .place = i};
        sorted = sorted && (i == 0 || compare(&order[i - 1], &order[i]) < 0);
    }
    if (!sorted)
        qsort(order, count, sizeof(*order), compare);
}

#define NAMES_MOST 16384
#define BYTES_MOST ((size_t)4 << 20)

/* Where the texts of a name are: they move while names are added. */
struct texts {
    size_t given, name, name_size;
};

struct sb_listed {
    struct sb_list *list;
    struct sb_many *many;
    struct sb_buf text;
    struct sb_buf normal; /* the last name */
    struct texts *texts;
    struct sb_listed_name *names;
    struct sb_name_place *order; /* of look-ups; the numbers of names from `first` on */
    size_t first;
    size_t count, capacity;
    struct sb_error ended; /* SB_OK while more may come */
};

enum sb_code sb_listed_new(struct sb_listed **out, struct sb_archive *archive, struct sb_list *list,
                           unsigned threads)
{
    CLEANUP(sb_listed_freep) struct sb_listed *listed = NULL;

    *out = NULL;
    TRY(SB_NEW(&listed));
    listed->list = list;
    TRY(sb_many_new(&listed->many, archive, threads));
    *out = TAKE(listed);
    return SB_OK;
}

void sb_listed_free(struct sb_listed *listed)
{
    if (!listed)
        return;
    sb_many_free(listed->many);
    sb_buf_release(&listed->text);
    sb_buf_release(&listed->normal);
    free(listed->texts);
    free(listed->names);
    free(listed->order);
    free(listed);
}

static enum sb_code grow(struct sb_listed *listed)
{
    size_t texts = listed->capacity, names = texts, order = texts;

    TRY(sb_grow(&listed->texts, &texts, listed->count, sizeof(*listed->texts)));
    TRY(sb_grow(&listed->names, &names, listed->count, sizeof(*listed->names)));
    TRY(sb_grow(&listed->order, &order, listed->count, sizeof(*listed->order)));
    listed->capacity = texts;
    return SB_OK;
}

static enum sb_code add(struct sb_listed *listed, const char *given)
{
    struct texts *texts;
    bool stripped;

    if (listed->count == listed->capacity)
        TRY(grow(listed));
    texts = &listed->texts[listed->count];
    texts->given = listed->text.size;
    TRY(sb_name_normalize(given, &listed->normal, &stripped));
    TRY(sb_buf_add(&listed->text, given, strlen(given) + 1));
    texts->name = listed->text.size;
    texts->name_size = listed->normal.size;
    TRY(sb_buf_add(&listed->text, listed->normal.data, listed->normal.size + 1));
    listed->count++;
    return SB_OK;
}

enum sb_code sb_listed_take(struct sb_listed *listed)
{
    const char *given;
    size_t size;

    listed->count = 0;
    sb_buf_clear(&listed->text);
    while (!listed->ended.code) {
        listed->ended.code = INTO(&listed->ended, sb_list_next(listed->list, &given, &size));
        if (!listed->ended.code)
            TRY(add(listed, given));
        if (listed->count == NAMES_MOST || listed->text.size >= BYTES_MOST ||
            !sb_list_ready(listed->list))
            break;
    }
    if (listed->count == 0) {
        *sb_error() = listed->ended;
        return sb_error()->code;
    }
    for (size_t i = 0; i < listed->count; i++)
        listed->names[i] =
            (struct sb_listed_name){.given = listed->text.data + listed->texts[i].given,
                                    .name = listed->text.data + listed->texts[i].name};
    return SB_OK;
}

size_t sb_listed_count(const struct sb_listed *listed)
{
    return listed->count;
}

const struct sb_listed_name *sb_listed_at(const struct sb_listed *listed, size_t number)
{
    return &listed->names[number];
}

static const char *name_at(const void *context, size_t place, size_t *size)
{
    const struct sb_listed *listed = context;

    *size = listed->texts[listed->first + place].name_size;
    return listed->names[listed->first + place].name;
}

static enum sb_code run_listed(struct sb_listed *listed, size_t first, sb_many_work *each)
{
    listed->first = first;
    sb_name_order(listed->order, listed->count - first, name_at, listed);
    return sb_many_run(listed->many, 0, listed->count - first, each, listed);
}

static enum sb_code look_up(void *context, struct sb_archive *archive, size_t from, size_t to)
{
    struct sb_listed *listed = context;
    enum sb_code code = SB_OK;

    for (size_t i = from; !code && i < to; i++) {
        size_t number = listed->first + listed->order[i].place;
        struct sb_listed_name *name = &listed->names[number];

        code =
            sb_archive_lookup(archive, name->name, listed->texts[number].name_size, &name->entry);
        name->there = !code;
        name->entry.path = name->name;
        if (code == SB_NOENT)
            code = SB_OK;
    }
    return code;
}

enum sb_code sb_listed_look_up(struct sb_listed *listed)
{
    return run_listed(listed, 0, look_up);
}

/* One step reads the page; there may be no such index. */
static void step_once(struct sb_archive *archive, enum sb_statement which, int64_t first,
                      int64_t second, int64_t third)
{
    sqlite3_stmt *statement;

    if (IGNORED(sb_archive_statement(archive, which, &statement)))
        return;
    SB_BIND(statement, first, second, third);
    sqlite3_step(statement);
    sqlite3_reset(statement);
}

static enum sb_code read_pages(void *context, struct sb_archive *archive, size_t from, size_t to)
{
    struct sb_listed *listed = context;

    for (size_t i = from; i < to; i++) {
        size_t number = listed->first + listed->order[i].place;
        const char *name = listed->names[number].name;
        size_t size = listed->texts[number].name_size;
        struct sb_entry entry;

        if (IGNORED(sb_archive_lookup(archive, name, size, &entry)) || entry.type == SB_DIR ||
            entry.defect)
            continue;
        step_once(archive, SB_ADDRESS_SAME, entry.shard, entry.offset, entry.row - 1);
        step_once(archive, SB_FILE_BESIDE, entry.row, 0, 0);
    }
    return SB_OK;
}

enum sb_code sb_listed_read_ahead(struct sb_listed *listed, size_t from)
{
    enum sb_code code = run_listed(listed, from, read_pages);

    return code == SB_INTERRUPT || code == SB_NOMEM ? code : SB_OK;
}
