#include "archive/database.h"
#include "core/array.h"
#include "core/file.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "store/arrow/arrow.h"
#include "store/cache/index.h"
#include "task/verify/cache_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA     "schema.json"
#define INDEX      "index.pkl"
#define WRONG_MOST ((size_t)8 << 20) /* hashes, 64 MiB */

/*
 * The columns of a cache, from its schema.json and from its segments, are compared.
 *
 * torchcachex writes schema.json with json.dump (backend.py, _save_schema): fields with their names
 * and types in PyArrow's words; metadata, in which tensor_keys is JSON within a string; and
 * output_structure. Memory is that of the file, which may have at most a megabyte.
 */
struct column {
    char *name; /* both are empty if the JSON lacks them */
    char *type; /* "string", "binary", "list<float32>"; from schema.json unchanged */
};

/* {0} is an empty one. */
struct schema {
    struct column *fields; /* sorted by name */
    size_t count, capacity;

    /* Only from schema.json. */
    char *structure; /* NULL: missing */
    char **tensors;  /* names in tensor_keys, sorted */
    size_t tensor_count, tensor_capacity;
};

static void release_schema(struct schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        free(schema->fields[i].name);
        free(schema->fields[i].type);
    }
    for (size_t i = 0; i < schema->tensor_count; i++)
        free(schema->tensors[i]);
    free(schema->fields);
    free(schema->tensors);
    free(schema->structure);
    *schema = (struct schema){0};
}

static int by_name(const void *a, const void *b)
{
    const struct column *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* name and type are NULL if they are missing in the JSON; then they are empty. */
static enum sb_code add_field(struct schema *schema, const char *name, const char *type)
{
    struct column *field;

    TRY(sb_grow(&schema->fields, &schema->capacity, schema->count, sizeof(*field)));
    field = &schema->fields[schema->count++];
    *field = (struct column){0};
    TRY(sb_copy_text(&field->name, name ? name : ""));
    return sb_copy_text(&field->type, type ? type : "");
}

/* PyArrow has used several words for a type, and torchcachex reads them all: the usual one. */
static const char *usual_word(const char *type)
{
    static const char *const words[][2] = {
        {"halffloat", "float16"}, {"float", "float32"}, {"double", "float64"}};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    }
    return type;
}

/* Replaces out by the type as a segment has it: "list<float>" and "list<item: float>" are
 * "list<float32>". SB_NOMEM. */
static enum sb_code usual_type(const char *type, struct sb_buf *out)
{
    const char *inner = strncmp(type, "list<", 5) == 0 ? type + 5 : NULL;
    const char *colon = inner ? strstr(inner, ": ") : NULL;

    sb_buf_clear(out);
    if (!inner || type[strlen(type) - 1] != '>')
        return sb_buf_add_text(out, type);
    inner = colon ? colon + 2 : inner;
    TRY(sb_buf_add(out, inner, strlen(inner) - 1));
    if (out->size > 0) {
        const char *word = usual_word(out->data);

        if (word != out->data)
            TRY(sb_buf_set(out, word, strlen(word)));
    }
    TRY(sb_buf_reserve(out, 6));
    memmove(out->data + 5, out->data, out->size);
    memcpy(out->data, "list<", 5);
    out->size += 5;
    return sb_buf_add_char(out, '>');
}

/* Runs a query over the text as ?1 and calls `take` for each row. SB_FORMAT: the text cannot be
 * queried. */
static enum sb_code query(sqlite3 *db, const char *question, const struct sb_buf *text,
                          enum sb_code (*take)(struct schema *schema, sqlite3_stmt *row),
                          struct schema *schema)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int result = SQLITE_OK;

    TRY(sb_database_prepare(db, &statement, question));
    result = sqlite3_bind_text(statement, 1, text->data, (int)text->size, SQLITE_STATIC);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
            TRY(take(schema, statement));
    }
    if (result == SQLITE_NOMEM)
        return sb_fail_memory();
    if (result != SQLITE_DONE)
        return sb_fail(SB_FORMAT, "is no JSON that a cache has (%s)", sqlite3_errmsg(db));
    return SB_OK;
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static enum sb_code take_field(struct schema *schema, sqlite3_stmt *row)
{
    return add_field(schema, text_of(row, 0), text_of(row, 1));
}

static enum sb_code take_structure(struct schema *schema, sqlite3_stmt *row)
{
    const char *text = text_of(row, 0);

    return text ? sb_copy_text(&schema->structure, text) : SB_OK;
}

static enum sb_code take_tensor(struct schema *schema, sqlite3_stmt *row)
{
    const char *name = text_of(row, 0);

    TRY(sb_grow(&schema->tensors, &schema->tensor_capacity, schema->tensor_count,
                sizeof(*schema->tensors)));
    return sb_copy_text(&schema->tensors[schema->tensor_count++], name ? name : "");
}

static enum sb_code parse(sqlite3 *db, const struct sb_buf *text, struct schema *schema)
{
    static const char fields[] = "SELECT json_extract(value, '$.name'), json_extract(value, "
                                 "'$.type') FROM json_each(?1, '$.fields')";
    static const char structure[] = "SELECT json_extract(?1, '$.output_structure')";
    static const char tensors[] =
        "SELECT value FROM json_each(json_extract(?1, '$.metadata.tensor_keys'))";

    TRY(query(db, fields, text, take_field, schema));
    TRY(query(db, structure, text, take_structure, schema));
    TRY(query(db, tensors, text, take_tensor, schema));
    if (schema->count > 0)
        qsort(schema->fields, schema->count, sizeof(*schema->fields), by_name);
    if (schema->tensor_count > 0)
        qsort(schema->tensors, schema->tensor_count, sizeof(*schema->tensors), by_text);
    return SB_OK;
}

/* SB_NOENT: it is missing. SB_FORMAT: it cannot be read, with the reason, but not its name, in the
 * text. */
static enum sb_code read_json(struct schema *schema, const char *dir)
{
    CLEANUP(sb_buf_release) struct sb_buf text = {0};
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;

    TRY(sb_cache_load_schema(dir, &text));
    TRY(sb_database_open_private(&db, dir));
    return parse(db, &text, schema);
}

static enum sb_code describe_column(const struct sb_arrow_column *column, struct schema *schema,
                                    struct sb_buf *type)
{
    sb_buf_clear(type);
    if (column->type == SB_ARROW_LIST)
        TRY(sb_buf_add_format(type, "list<%s>", sb_dtype_word(column->dtype)));
    else
        TRY(sb_buf_add_text(type, column->type == SB_ARROW_TEXT ? "string" : "binary"));
    return add_field(schema, column->name, type->data);
}

/* The columns of a segment, whose metadata alone are read. Errors as of arrow.h. */
static enum sb_code read_segment(struct schema *schema, const char *path)
{
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    CLEANUP(sb_arrow_freep) struct sb_arrow *arrow = NULL;
    CLEANUP(sb_buf_release) struct sb_buf type = {0};

    TRY(sb_file_map_path(&mapping, path));
    TRY(sb_arrow_open(&arrow, mapping->data, mapping->size));
    for (size_t i = 0; i < arrow->column_count; i++)
        TRY(describe_column(&arrow->columns[i], schema, &type));
    TRY(sb_mapping_check(mapping));
    if (schema->count > 0)
        qsort(schema->fields, schema->count, sizeof(*schema->fields), by_name);
    return SB_OK;
}

/* What all segments are compared with. */
struct wanted {
    struct schema schema;
    const char *origin; /* its file, relative to the cache's directory; NULL: not known yet */
    bool json;          /* it is that of schema.json */
};

#define REPORT(check, path, ...)                                                                   \
    sb_verify_defect((check)->events, SB_REMEDY_REPAIR, "schema",                                  \
                     sb_defect_of((path), strlen(path)), __VA_ARGS__)

static void report_more(struct sb_cache_check *check, const char *path, const char *name,
                        const char *origin)
{
    REPORT(check, path, "has a column '%s', which %s has not", name, origin);
}

static void report_less(struct sb_cache_check *check, const char *path, const char *name,
                        const char *origin)
{
    REPORT(check, path, "has no column '%s', which %s has", name, origin);
}

/* Compares a column of a segment with the one in its place; *same: they agree. */
static enum sb_code compare_columns(struct sb_cache_check *check, const char *path,
                                    const struct column *here, const struct column *other,
                                    const char *origin, bool *same)
{
    int order = strcmp(here->name, other->name);
    CLEANUP(sb_buf_release) struct sb_buf type = {0};

    *same = false;
    if (order < 0)
        report_more(check, path, here->name, origin);
    else if (order > 0)
        report_less(check, path, other->name, origin);
    else if (usual_type(other->type, &type))
        return sb_fail_memory();
    else if (strcmp(type.data ? type.data : "", here->type) != 0)
        REPORT(check, path, "has the column '%s' as %s, which %s has as %s", here->name, here->type,
               origin, *other->type ? other->type : "nothing");
    else
        *same = true;
    return SB_OK;
}

/* Names the first difference; both are sorted. */
static enum sb_code compare_fields(struct sb_cache_check *check, const char *path,
                                   const struct schema *here, const struct wanted *wanted)
{
    const struct schema *other = &wanted->schema;
    size_t i;
    bool same = true;

    for (i = 0; same && i < here->count && i < other->count; i++)
        TRY(compare_columns(check, path, &here->fields[i], &other->fields[i], wanted->origin,
                            &same));
    if (same && i < here->count)
        report_more(check, path, here->fields[i].name, wanted->origin);
    else if (same && i < other->count)
        report_less(check, path, other->fields[i].name, wanted->origin);
    return SB_OK;
}

/* Of a dict, torchcachex treats as tensors only the columns that it has named. */
static void compare_tensors(struct sb_cache_check *check, const char *path,
                            const struct sb_cache_segment *segment, const struct wanted *wanted)
{
    const struct schema *schema = &wanted->schema;
    size_t arrays = 0;

    for (size_t i = 0; i < segment->field_count; i++) {
        const struct sb_cache_field *field = &segment->fields[i];

        arrays += !field->blob;
        if ((schema->tensor_count > 0 &&
             bsearch(&field->name, schema->tensors, schema->tensor_count, sizeof(*schema->tensors),
                     by_text)) == !field->blob)
            continue;
        REPORT(check, path, "'%s' is %s, but tensor_keys of " SCHEMA " says otherwise", field->name,
               field->blob ? "a blob" : "a tensor");
        return;
    }
    if (arrays != wanted->schema.tensor_count)
        REPORT(check, path, "has %zu tensors, but tensor_keys of " SCHEMA " %zu", arrays,
               wanted->schema.tensor_count);
}

/* Only schema.json distinguishes a list from a tuple, and both from a dict of item0, ... */
static bool same_structure(enum sb_cache_structure structure, const char *word)
{
    if (structure == SB_CACHE_TUPLE || structure == SB_CACHE_LIST)
        return strcmp(word, sb_cache_structure_words[SB_CACHE_TUPLE]) == 0 ||
               strcmp(word, sb_cache_structure_words[SB_CACHE_LIST]) == 0;
    return strcmp(word, sb_cache_structure_words[structure]) == 0;
}

static void compare_structure(struct sb_cache_check *check, const char *path,
                              const struct sb_cache_segment *segment, const struct wanted *wanted)
{
    const char *declared = wanted->schema.structure ? wanted->schema.structure : "nothing";

    if (!same_structure(segment->structure, declared))
        REPORT(check, path, "holds values that are a %s, but output_structure of " SCHEMA " is %s",
               sb_cache_structure_words[segment->structure], declared);
    else if (segment->structure == SB_CACHE_DICT)
        compare_tensors(check, path, segment, wanted);
}

static enum sb_code check_segment(struct sb_cache_check *check, uint32_t number,
                                  struct wanted *wanted)
{
    struct sb_cache_segment segment;
    struct schema here = {0};
    int64_t before;
    const char *path;
    enum sb_code code = sb_cache_segment(check->cache, number, &segment);

    if (code || segment.damaged)
        return code;
    path = sb_cache_path_within(check, segment.path);
    code = read_segment(&here, segment.path);
    if (!code && !wanted->origin) {
        wanted->schema = here;
        wanted->origin = path;
        return SB_OK;
    }
    before = check->result->defects;
    if (!code)
        code = compare_fields(check, path, &here, wanted);
    if (!code && wanted->json && check->result->defects == before)
        compare_structure(check, path, &segment, wanted);
    release_schema(&here);
    /* It was found sound a moment ago: whoever reads it next will report it. */
    return code == SB_FORMAT || code == SB_DAMAGED || code == SB_NOENT ? SB_OK : code;
}

/* A missing schema.json is no defect, but is reported. */
static enum sb_code read_schema(struct sb_cache_check *check, struct wanted *wanted)
{
    enum sb_code code = read_json(&wanted->schema, check->dir);

    if (!code) {
        wanted->origin = SCHEMA;
        wanted->json = true;
        return SB_OK;
    }
    release_schema(&wanted->schema);
    if (code == SB_FORMAT)
        REPORT(check, SCHEMA, "%s", sb_error()->text);
    else if (code == SB_NOENT && check->segments > 0)
        sb_report(check->notify, SB_WARNING, "schema", check->dir,
                  "has no " SCHEMA
                  ", without which torchcachex cannot read it, and a list cannot be "
                  "distinguished from a tuple; 'shardbox convert' writes it anew, with one");
    return code == SB_FORMAT || code == SB_NOENT ? SB_OK : code;
}

enum sb_code sb_cache_check_schemas(struct sb_cache_check *check)
{
    struct wanted wanted = {.origin = NULL};
    enum sb_code code = read_schema(check, &wanted);

    for (uint32_t i = 0; !code && i < check->segments; i++)
        code = check_segment(check, i, &wanted);
    release_schema(&wanted.schema);
    return code;
}

/* index.pkl */

struct index_check {
    struct sb_cache_check *check;
    unsigned char *found; /* a bit for each row that the index leads to */
    int64_t right;        /* of these rows */
    int64_t entries;

    /* Hashes of keys that an entry did not lead to. The lowest bit says that a later entry did,
     * which is the one that Python uses. 0: free. */
    uint64_t *wrong;
    size_t count, capacity; /* capacity: a power of two, or 0 */
    struct sb_hash_key hash_key;
    struct sb_buf first; /* that no later one leads to */
};

static uint64_t hash_of(const struct index_check *index, const struct sb_pickle_entry *entry)
{
    return sb_hash64(&index->hash_key, entry->key, entry->key_size) | 2;
}

/* Where the hash is, or may be put; at least one slot is free. */
static uint64_t *slot_of(const struct index_check *index, uint64_t hash)
{
    size_t at = (size_t)(hash >> 2) & (index->capacity - 1);

    while (index->wrong[at] && (index->wrong[at] | 1) != (hash | 1))
        at = (at + 1) & (index->capacity - 1);
    return &index->wrong[at];
}

static enum sb_code grow(struct index_check *index)
{
    struct index_check old = *index;
    size_t capacity = old.capacity ? 2 * old.capacity : 256;
    uint64_t *wrong;

    if (capacity > WRONG_MOST)
        return sb_fail(SB_FORMAT, "has more keys that are not where it says than can be counted");
    TRY(SB_NEW_ARRAY(&wrong, capacity));
    index->wrong = wrong;
    index->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.wrong[i])
            *slot_of(index, old.wrong[i]) = old.wrong[i];
    }
    free(old.wrong);
    return SB_OK;
}

static enum sb_code note_wrong(struct index_check *index, const struct sb_pickle_entry *entry)
{
    uint64_t *slot, hash = hash_of(index, entry) & ~UINT64_C(1);

    if (2 * index->count >= index->capacity)
        TRY(grow(index));
    slot = slot_of(index, hash);
    index->count += *slot == 0;
    *slot = hash;
    return SB_OK;
}

static void note_right(struct index_check *index, const struct sb_pickle_entry *entry)
{
    uint64_t *slot = index->count > 0 ? slot_of(index, hash_of(index, entry)) : NULL;

    if (slot && *slot)
        *slot |= 1;
}

static enum sb_code report_stale(struct sb_cache_check *check, const char *text)
{
    TRY(sb_cache_is_same(check));
    check->stale = true;
    check->result->repairable++;
    sb_verify_defect(check->events, SB_REMEDY_INDEX, "stale", sb_defect_of(INDEX, strlen(INDEX)),
                     "%s", text);
    return SB_OK;
}

/* Finds a segment by the number in its name; the last one if several have it. */
static bool find_segment(const struct sb_cache_check *check, int64_t number, uint32_t *segment)
{
    size_t after = FIRST_WHERE(i, check->segments, check->numbers[i] > number);

    *segment = (uint32_t)after - 1;
    return after > 0 && check->numbers[after - 1] == number;
}

/* *row: among all rows. False: the entry leads nowhere, or to a row that does not count. */
static bool find_row(const struct sb_cache_check *check, const struct sb_pickle_entry *entry,
                     struct sb_cache_place *place, int64_t *row)
{
    if (!find_segment(check, entry->segment, &place->segment) || entry->row < 0 ||
        entry->row >= check->first_rows[place->segment + 1] - check->first_rows[place->segment])
        return false;
    place->row = entry->row;
    *row = check->first_rows[place->segment] + entry->row;
    return check->live_row[*row / 8] >> *row % 8 & 1;
}

static enum sb_code judge(struct index_check *index, const struct sb_pickle_entry *entry,
                          bool *right)
{
    struct sb_cache_place place;
    struct sb_row_key key;
    int64_t row;
    enum sb_code code;

    *right = false;
    if (!find_row(index->check, entry, &place, &row))
        return SB_OK;
    code = sb_cache_key_at(index->check->reader, place, &key);
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    *right = key.size == entry->key_size &&
             (key.size == 0 || memcmp(key.text, entry->key, key.size) == 0);
    if (*right && !(index->found[row / 8] >> row % 8 & 1)) {
        index->found[row / 8] |= (unsigned char)(1 << row % 8);
        index->right++;
    }
    return SB_OK;
}

static enum sb_code take_entry(void *context, const struct sb_pickle_entry *entry)
{
    struct index_check *index = context;
    bool right;

    index->entries++;
    TRY(sb_heed_interrupt());
    TRY(judge(index, entry, &right));
    if (right)
        note_right(index, entry);
    else
        TRY(note_wrong(index, entry));
    return SB_OK;
}

/* Ends at the first key that no later entry corrects. */
static enum sb_code find_first(void *context, const struct sb_pickle_entry *entry)
{
    struct index_check *index = context;
    uint64_t found = *slot_of(index, hash_of(index, entry));

    if (!found || found & 1)
        return SB_OK;
    TRY(sb_buf_set(&index->first, entry->key, entry->key_size));
    return SB_END;
}

/* An index that cannot be read, or is a link to itself, is a defect; the segments are still used.
 */
static enum sb_code map_index(const char *path, struct sb_mapping **out)
{
    enum sb_code code = sb_file_map_path(out, path);
    int cause = sb_error()->sys_errno;

    if (code == SB_SYSTEM && (cause == ELOOP || cause == EACCES || cause == EIO))
        return sb_fail(SB_FORMAT, "cannot be read: %s", strerror(cause));
    return code;
}

/* SB_FORMAT: it is a defect. */
static enum sb_code read_index(struct index_check *index,
                               enum sb_code (*each)(void *context,
                                                    const struct sb_pickle_entry *entry))
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    enum sb_code code;

    TRY(sb_buf_add_format(&path, "%s/" INDEX, index->check->dir));
    TRY(map_index(path.data, &mapping));
    code = sb_pickle_index_read(mapping->data, (size_t)mapping->size, each, index);
    if ((!code || code == SB_FORMAT) && sb_mapping_check(mapping))
        return sb_fail(SB_FORMAT, "shrank while it was read");
    return code;
}

static enum sb_code describe_wrong(struct index_check *index, int64_t wrong, int64_t missing,
                                   struct sb_buf *text)
{
    if (wrong > 0)
        TRY(sb_buf_add_format(
            text, "%" PRId64 " of its keys %s not where it says, the first one '%s'", wrong,
            wrong == 1 ? "is" : "are", index->first.data ? index->first.data : ""));
    if (missing > 0)
        TRY(sb_buf_add_format(text,
                              "%s%" PRId64 " of %" PRId64 " keys of the segments %s not in it, "
                              "or not where they count",
                              wrong > 0 ? "; " : "", missing, index->check->keys,
                              missing == 1 ? "is" : "are"));
    return SB_OK;
}

static enum sb_code judge_all(struct index_check *index)
{
    int64_t wrong = 0, missing = index->check->keys - index->right;
    CLEANUP(sb_buf_release) struct sb_buf text = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < index->capacity; i++)
        wrong += index->wrong[i] && !(index->wrong[i] & 1);
    if (wrong > 0)
        code = read_index(index, find_first);
    if (code && code != SB_END)
        return code;
    TRY(describe_wrong(index, wrong, missing, &text));
    return text.size > 0 ? report_stale(index->check, text.data) : SB_OK;
}

static void release(struct index_check *index)
{
    sb_buf_release(&index->first);
    free(index->wrong);
    free(index->found);
}

enum sb_code sb_cache_check_index(struct sb_cache_check *check)
{
    int64_t rows = check->first_rows[check->segments];
    CLEANUP(release) struct index_check index = {.check = check};
    enum sb_code code;

    TRY(SB_NEW_ARRAY(&index.found, (size_t)rows / 8 + 1));
    code = sb_hash_key_draw(&index.hash_key);
    if (!code)
        code = read_index(&index, take_entry);
    check->has_index = code != SB_NOENT;
    if (!code) {
        code = judge_all(&index);
    } else if (code == SB_FORMAT) {
        struct sb_error why = *sb_error();

        code = report_stale(check, why.text);
    }
    return code == SB_NOENT ? SB_OK : code;
}
