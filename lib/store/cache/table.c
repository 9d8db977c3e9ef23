#include "store/table.h"
#include "store/kind.h"

#include "core/array.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "store/cache/cache.h"
#include "store/facts.h"
#include "store/usage.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_SIZE         4096 /* of a cell; nothing was read that says more */
#define SEGMENT_BITS       40   /* a row is a segment, and below it the row in that */
#define FINDS_BEFORE_TABLE 16
#define KEY_TABLE_ROWS     2750000

/* One that is free has SB_CACHE_NOWHERE as its segment. */
struct entry {
    uint32_t hash; /* some bits of it, which leave hardly a key to be compared in vain */
    uint32_t segment;
    uint32_t row;
};

/*
 * Where the keys of a cache count, as a table in memory: for keys that come one by one. It takes 18
 * to 36 bytes for each key, hashes and places: at most 48 MiB. Whatever is found is held against
 * the segment.
 */
struct key_table {
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    struct sb_hash_key seed;
    struct entry *entries;
    size_t capacity; /* a power of two; at least a third stays free */
};

static void free_keys(struct key_table *table)
{
    sb_cache_reader_free(table->reader);
    free(table->entries);
    free(table);
}
FREEP(free_keys, struct key_table)

static uint64_t hash_of(const struct key_table *table, const struct sb_row_key *key)
{
    return sb_hash64(&table->seed, key->text, key->size);
}

static void add_key(struct key_table *table, const struct sb_cache_row *row)
{
    uint64_t hash = hash_of(table, &row->key);
    size_t at = hash & (table->capacity - 1);

    while (table->entries[at].segment != SB_CACHE_NOWHERE)
        at = (at + 1) & (table->capacity - 1);
    table->entries[at] = (struct entry){.hash = (uint32_t)(hash >> 32),
                                        .segment = row->place.segment,
                                        .row = (uint32_t)row->place.row};
}

static enum sb_code fill_keys(struct key_table *table)
{
    struct sb_cache_segment segment;
    int64_t rows = 0, left;
    struct sb_cache_row row;
    enum sb_code code;

    /* Before all keys are read to find how many rows count: a table could not hold more. */
    for (uint32_t i = 0; i < sb_cache_segment_count(table->cache); i++) {
        TRY(sb_cache_segment(table->cache, i, &segment));
        if (__builtin_add_overflow(rows, segment.rows, &rows) || rows > KEY_TABLE_ROWS)
            return sb_fail(SB_LIMIT, "there are too many rows for a table");
    }
    TRY(sb_cache_count(table->cache, &rows, &left));
    table->capacity = 16;
    while (table->capacity - table->capacity / 3 <= (uint64_t)left)
        table->capacity *= 2;
    TRY(SB_NEW_ARRAY(&table->entries, table->capacity));
    for (size_t i = 0; i < table->capacity; i++)
        table->entries[i].segment = SB_CACHE_NOWHERE;
    sb_cache_rewind(table->cache);
    while (!(code = sb_cache_next(table->cache, &row))) {
        if (!row.superseded && left-- > 0)
            add_key(table, &row);
    }
    return code == SB_END ? SB_OK : code;
}

/* Goes through all keys. SB_LIMIT: there are more rows than such a table may have. */
static enum sb_code make_keys(struct key_table **out, struct sb_cache *cache)
{
    CLEANUP(free_keysp) struct key_table *table = NULL;

    *out = NULL;
    TRY(SB_NEW(&table));
    table->cache = cache;
    TRY(sb_hash_key_draw(&table->seed));
    TRY(sb_cache_reader_new(&table->reader, cache));
    TRY(fill_keys(table));
    *out = TAKE(table);
    return SB_OK;
}

/* false: the row can no longer be read. */
static bool compare_key(struct key_table *table, const struct entry *entry,
                        const struct sb_row_key *key, bool *same)
{
    struct sb_cache_place place = {.segment = entry->segment, .row = entry->row};
    struct sb_row_key found;

    if (IGNORED(sb_cache_key_at(table->reader, place, &found)))
        return false;
    *same = found.size == key->size && memcmp(found.text, key->text, key->size) == 0;
    return !IGNORED(sb_cache_reader_check(table->reader));
}

static bool find_key(struct key_table *table, const struct sb_row_key *key,
                     struct sb_cache_place *place)
{
    uint64_t hash = hash_of(table, key);
    size_t at = hash & (table->capacity - 1);
    const struct entry *entry = &table->entries[at];
    bool same = false;

    for (; entry->segment != SB_CACHE_NOWHERE; entry = &table->entries[at]) {
        if (entry->hash == (uint32_t)(hash >> 32) && !compare_key(table, entry, key, &same))
            return false;
        if (same)
            break;
        at = (at + 1) & (table->capacity - 1);
    }
    *place = (struct sb_cache_place){.segment = entry->segment, .row = entry->row};
    return true;
}

/* As sb_cache_find; false: a row can no longer be read, and what the table says is of no more use.
 */
static bool find_keys(struct key_table *table, const struct sb_row_key *keys, size_t count,
                      struct sb_cache_place *places)
{
    for (size_t i = 0; i < count; i++) {
        if (!find_key(table, &keys[i], &places[i]))
            return false;
    }
    return true;
}

struct cache_table {
    struct sb_table base;
    struct sb_cache *cache;
    struct sb_cache_reader *reader;  /* of the table's own thread; made when first needed */
    struct sb_cache_segment segment; /* of the row that was looked at last */
    uint32_t looked_at;
    struct sb_cache_part part;     /* that was described last */
    unsigned finds;                /* so far */
    struct key_table *keys;        /* NULL: as long as they are few */
    struct sb_cache_place *places; /* of keys that are looked up at a time */
    size_t capacity;
};

static struct cache_table *of(const struct sb_table *table)
{
    return (struct cache_table *)table;
}

static int64_t row_of(struct sb_cache_place place)
{
    return (int64_t)place.segment << SEGMENT_BITS | place.row;
}

static struct sb_cache_place place_of_row(int64_t row)
{
    return (struct sb_cache_place){.segment = (uint32_t)(row >> SEGMENT_BITS),
                                   .row = row & ((INT64_C(1) << SEGMENT_BITS) - 1)};
}

static void free_table(struct sb_table *table)
{
    sb_cache_reader_free(of(table)->reader);
    free_keysp(&of(table)->keys);
    free(of(table)->places);
    sb_cache_free(of(table)->cache);
}

static enum sb_code count(struct sb_table *table, int64_t *out)
{
    int64_t rows, keys;

    TRY(sb_cache_count(of(table)->cache, &rows, &keys));
    *out = table->superseded ? rows : keys;
    return SB_OK;
}

static enum sb_code row_at(struct sb_table *table, int64_t number, int64_t *row)
{
    struct sb_cache_place place;

    TRY(sb_cache_row_at(of(table)->cache, number, table->superseded, &place));
    *row = row_of(place);
    return SB_OK;
}

static enum sb_code columns(struct sb_table *base, int64_t row, uint32_t *number)
{
    struct cache_table *table = of(base);
    uint32_t segment = place_of_row(row).segment;

    if (segment != table->looked_at)
        TRY(sb_cache_segment(table->cache, segment, &table->segment));
    table->looked_at = segment;
    *number = (uint32_t)table->segment.field_count;
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    const struct sb_cache_field *field = &of(table)->segment.fields[number];

    return (struct sb_column){.name = field->name,
                              .form = field->blob ? SB_FORM_PICKLE : SB_FORM_NPY,
                              .dtype = field->dtype};
}

/* The last of several. */
static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    const struct sb_cache_segment *segment = &of(table)->segment;
    int64_t found = -1;

    for (size_t i = 0; i < segment->field_count; i++) {
        if (strlen(segment->fields[i].name) == size &&
            memcmp(segment->fields[i].name, name, size) == 0)
            found = (int64_t)i;
    }
    return found;
}

static enum sb_code need(struct sb_table *table, const char *name)
{
    return sb_cache_need_array(of(table)->cache, name, table->name);
}

static enum sb_code key_of(struct cache_table *table, int64_t row, struct sb_row_key *key)
{
    if (!table->reader)
        TRY(sb_cache_reader_new(&table->reader, table->cache));
    return sb_cache_key_at(table->reader, place_of_row(row), key);
}

static enum sb_code row_name(struct sb_table *table, int64_t row, struct sb_buf *out)
{
    struct sb_row_key key;

    TRY(key_of(of(table), row, &key));
    TRY(sb_buf_add(out, key.text, key.size));
    return SB_OK;
}

/* One look-up goes through all of the index, or of the keys. Making a table of them takes several
 * times as long, and a look-up in it hardly any time: a caller that looks up again and again wants
 * quick answers. Where no table can be made, look-ups go on as before. */
static enum sb_code look_up(struct cache_table *table, const struct sb_row_key *keys, size_t count)
{
    if (table->finds++ == FINDS_BEFORE_TABLE) {
        enum sb_code code = make_keys(&table->keys, table->cache);

        if (code && code != SB_NOMEM && code != SB_LIMIT)
            return code;
    }
    if (table->keys && find_keys(table->keys, keys, count, table->places))
        return SB_OK;
    free_keysp(&table->keys);
    table->keys = NULL;
    return sb_cache_find(table->cache, keys, count, table->places);
}

static enum sb_code find_rows(struct sb_table *base, const struct sb_row_key *keys, size_t number,
                              int64_t *rows, int64_t *bytes)
{
    struct cache_table *table = of(base);
    uint32_t ignored;

    *bytes = 0;
    if (number == 0)
        return SB_OK;
    TRY(sb_grow(&table->places, &table->capacity, number - 1, sizeof(*table->places)));
    TRY(look_up(table, keys, number));
    for (size_t i = 0; i < number; i++) {
        rows[i] = SB_NO_ROW;
        if (table->places[i].segment == SB_CACHE_NOWHERE)
            continue;
        rows[i] = row_of(table->places[i]);
        TRY(columns(base, rows[i], &ignored));
        if (table->segment.rows > 0)
            *bytes += table->segment.bytes / table->segment.rows;
    }
    return SB_OK;
}

static enum sb_code part(struct sb_table *table, uint32_t number, struct sb_table_part *out)
{
    struct sb_cache_segment segment;

    if (number >= sb_cache_segment_count(of(table)->cache))
        return sb_error()->code = SB_END;
    TRY(sb_cache_segment(of(table)->cache, number, &segment));
    *out =
        (struct sb_table_part){.path = segment.path, .rows = segment.rows, .bytes = segment.bytes};
    if (!segment.damaged)
        out->structure = sb_cache_structure_words[segment.structure];
    return SB_OK;
}

static enum sb_code describe_row(struct sb_table *base, int64_t row, struct sb_facts *facts)
{
    struct cache_table *table = of(base);
    struct sb_cache_place place = place_of_row(row);
    uint32_t number;

    TRY(columns(base, row, &number));
    TRY(key_of(table, row, &facts->key));
    facts->structure = sb_cache_structure_words[table->segment.structure];
    facts->superseded = sb_cache_superseded(table->cache, place);
    facts->part = table->segment.number;
    facts->place = place.row;
    facts->path = table->segment.path;
    return SB_OK;
}

static enum sb_code describe(struct sb_table *base, int64_t row, uint32_t number,
                             struct sb_facts *facts)
{
    struct cache_table *table = of(base);
    const struct sb_cache_field *field = &table->segment.fields[number];
    enum sb_code code =
        sb_cache_part_find(table->reader, place_of_row(row), number, SB_FORM_RAW, &table->part);

    facts->name = field->name;
    facts->dtype = field->blob ? "blob" : sb_dtype_word(field->dtype);
    facts->size = facts->offset = -1;
    if (code == SB_DAMAGED)
        facts->defect = sb_error()->text;
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    facts->shape = field->blob ? NULL : &table->part.value.array;
    facts->size = table->part.size;
    facts->offset = table->part.value.offset;
    return SB_OK;
}

static enum sb_code reader_new(const struct sb_table *table, void **out)
{
    struct sb_cache_reader *reader;
    enum sb_code code = sb_cache_reader_new(&reader, of(table)->cache);

    *out = reader;
    return code;
}

static void reader_free(void *reader)
{
    sb_cache_reader_free(reader);
}

static enum sb_code find_part(struct sb_cache_reader *reader, const struct sb_cell *cell,
                              struct sb_cache_part *part)
{
    return sb_cache_part_find(reader, place_of_row(cell->row), cell->column,
                              cell->npy ? SB_FORM_NPY : SB_FORM_RAW, part);
}

static enum sb_code decode(void *reader, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t capacity, size_t *size)
{
    struct sb_cache_part part;

    (void)stored;
    TRY(find_part(reader, &cell->cell, &part));
    if (part.size > (int64_t)capacity)
        return sb_error()->code = SB_LIMIT;
    *size = (size_t)part.size;
    return sb_cache_part_copy(reader, &part, 0, *size, data);
}

static enum sb_code size_of(void *reader, const struct sb_stored_cell *cell, int64_t *size)
{
    struct sb_cache_part part;

    TRY(find_part(reader, &cell->cell, &part));
    *size = part.size;
    return SB_OK;
}

static enum sb_code stream(void *reader, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *context)
{
    struct sb_cache_part part;
    const void *data;
    size_t size;

    TRY(find_part(reader, &cell->cell, &part));
    for (int64_t at = 0; at < part.size; at += (int64_t)size) {
        TRY(sb_cache_part_block(reader, &part, at, &data, &size));
        TRY(each(context, data, size));
    }
    return SB_OK;
}

static enum sb_code subject(void *reader, const struct sb_cell *cell, struct sb_buf *out)
{
    struct sb_row_key key;
    const char *array;

    if (IGNORED(sb_cache_key_at(reader, place_of_row(cell->row), &key)))
        return sb_buf_add_text(out, "a key");
    array = sb_cache_field_name(reader, cell->column);
    TRY(sb_buf_add_text(out, "key '"));
    TRY(sb_quote(out, key.text, key.size, SB_ESCAPE));
    TRY(sb_buf_add_char(out, '\''));
    return *array ? sb_buf_add_format(out, ", array '%s'", array) : SB_OK;
}

struct measuring {
    const struct sb_usage_options *options;
    struct sb_usage *usage;
};

/* What there is, by segments. */
enum { KEYS, ROWS, VALUES_BYTES, SUPERSEDED, SEGMENT_BYTES };
static const struct sb_measure of_keys[] = {
    {"keys", false}, {"rows", false}, {"bytes", true}, {"superseded", true}, {"stored", true}};

/* The row's own key is gone by then. */
static void report_damage(const struct measuring *measuring, struct sb_cache_reader *reader,
                          struct sb_cache_place place, const char *what)
{
    struct sb_row_key key;

    if (IGNORED(sb_cache_key_at(reader, place, &key)))
        key = (struct sb_row_key){.text = "?", .size = 1};
    sb_report(measuring->options->notify, SB_PROBLEM, "damaged", NULL, "key '%.*s': %s",
              (int)key.size, key.text, what);
}

static enum sb_code measure_row(const struct measuring *measuring, struct sb_cache_reader *reader,
                                const struct sb_cache_segment *segment,
                                const struct sb_cache_row *row)
{
    const struct sb_usage_options *options = measuring->options;
    int64_t *amounts = measuring->usage->lines[row->place.segment].amounts;

    amounts[ROWS]++;
    amounts[KEYS] += !row->superseded;
    for (size_t i = 0; i < segment->field_count; i++) {
        struct sb_cache_part part;
        enum sb_code code;

        if (!sb_array_is_among(segment->fields[i].name, options->columns, options->column_count))
            continue;
        code = sb_cache_part_find(reader, row->place, i, SB_FORM_RAW, &part);
        if (code == SB_DAMAGED) {
            report_damage(measuring, reader, row->place, sb_error()->text);
            continue;
        }
        TRY(code);
        sb_count_up(&amounts[row->superseded ? SUPERSEDED : VALUES_BYTES], part.size);
    }
    return SB_OK;
}

static enum sb_code measure_rows(const struct measuring *measuring, struct sb_cache *cache,
                                 struct sb_cache_reader *reader)
{
    struct sb_cache_segment segment = {0};
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_row row;
    enum sb_code code;

    sb_cache_rewind(cache);
    while (!(code = sb_cache_next(cache, &row))) {
        if (row.place.segment != last) {
            TRY(sb_heed_interrupt());
            TRY(sb_cache_segment(cache, row.place.segment, &segment));
            last = row.place.segment;
        }
        TRY(measure_row(measuring, reader, &segment, &row));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code usage_of(struct sb_table *table, const struct sb_usage_options *options,
                             struct sb_usage *usage)
{
    struct sb_cache *cache = of(table)->cache;
    const struct measuring measuring = {.options = options, .usage = usage};
    uint32_t count = sb_cache_segment_count(cache);
    CLEANUP(sb_cache_reader_freep) struct sb_cache_reader *reader = NULL;
    enum sb_code code;

    TRY(sb_usage_begin(usage, of_keys, ARRAY_SIZE(of_keys), count));
    for (uint32_t i = 0; i < count; i++) {
        struct sb_cache_segment segment;

        TRY(sb_cache_segment(cache, i, &segment));
        usage->lines[i] = (struct sb_usage_line){.name = segment.path,
                                                 .amounts = {[SEGMENT_BYTES] = segment.bytes}};
    }
    TRY(sb_cache_reader_new(&reader, cache));
    code = measure_rows(&measuring, cache, reader);
    sb_usage_sum_up(usage);
    return code;
}

static const struct sb_listing listing = {
    .object = SB_FACTS(SB_FACT(KEY, "key"), SB_FACT(STRUCTURE, "structure"),
                       SB_FACT(SUPERSEDED, "superseded"), SB_FACT(CELLS, "arrays"),
                       SB_FACT(PART, "segment"), SB_FACT(PLACE, "row"), SB_FACT(PATH, "file")),
    .cells =
        SB_FACTS(SB_FACT(NAME_IF_ANY, "name"), SB_FACT(DTYPE, "dtype"), SB_FACT(DAMAGED, "defect"),
                 SB_FACT(SHAPE, "shape"), SB_FACT(SIZE, "bytes"), SB_FACT(OFFSET, "offset")),
    .line = (const enum sb_fact_of[]){SB_FACT_SUPERSEDED, SB_FACT_PART, SB_FACT_STRUCTURE,
                                      SB_FACT_CELLS, SB_FACT_KEY, SB_FACT_END},
    .details = (const enum sb_fact_of[]){SB_FACT_SUPERSEDED, SB_FACT_PART, SB_FACT_PLACE,
                                         SB_FACT_STRUCTURE, SB_FACT_NAME, SB_FACT_DTYPE,
                                         SB_FACT_SHAPE, SB_FACT_SIZE, SB_FACT_KEY, SB_FACT_END},
};

static const struct sb_table_ops cache_ops = {
    .free = free_table,
    .count = count,
    .row = row_at,
    .columns = columns,
    .column = column,
    .find = find,
    .need = need,
    .row_name = row_name,
    .find_rows = find_rows,
    .part = part,
    .describe_row = describe_row,
    .describe = describe,
    .usage = usage_of,
    .reader_new = reader_new,
    .reader_free = reader_free,
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
};

enum sb_code sb_table_open_cache(struct sb_table **out, struct sb_input *input,
                                 const struct sb_bag_options *none, const struct sb_notify *notify)
{
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;
    struct sb_cache_segment segment = {.damaged = false};
    struct cache_table *table;

    (void)none;
    *out = NULL;
    TRY(sb_cache_open(&cache, &input->path, 1, notify));
    /* Of a cache that has segments, one can be read. */
    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        if (!segment.damaged)
            break;
    }
    if (segment.damaged)
        return sb_fail(SB_FORMAT, "%s: no segment of this cache can be read", input->path);
    TRY(SB_NEW(&table));
    table->base = (struct sb_table){.ops = &cache_ops,
                                    .name = input->path,
                                    .row_word = "key",
                                    .varied = true,
                                    .cell_size = USUAL_SIZE,
                                    .listing = &listing};
    table->cache = TAKE(cache);
    table->looked_at = SB_CACHE_NOWHERE;
    *out = &table->base;
    return SB_OK;
}
