#include "archive/listed.h"

#include "archive/database.h"
#include "archive/many.h"
#include "archive/reader.h"
#include "core/list.h"
#include "core/name.h"

#include <stdlib.h>
#include <string.h>

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
    CLEANUP(sb_listed_freep) struct sb_listed *listed = calloc(1, sizeof(*listed));

    *out = NULL;
    if (!listed)
        return sb_fail_memory();
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

static enum sb_code run(struct sb_listed *listed, size_t first, sb_many_work *work)
{
    listed->first = first;
    sb_name_order(listed->order, listed->count - first, name_at, listed);
    return sb_many_run(listed->many, 0, listed->count - first, work, listed);
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
    return run(listed, 0, look_up);
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
    enum sb_code code = run(listed, from, read_pages);

    return code == SB_INTERRUPT || code == SB_NOMEM ? code : SB_OK;
}
