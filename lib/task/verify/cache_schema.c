#include "task/verify/cache_columns.h"
#include "task/verify/cache_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME "schema.json"

/* What all segments are compared with. */
struct wanted {
    struct sb_cache_schema schema;
    const char *origin; /* its file, relative to the cache's directory; NULL: not known yet */
    bool json;          /* it is that of schema.json */
};

static void report(struct sb_cache_check *check, const char *path, const char *format, ...)
    SB_PRINTF(3, 4);

static void report(struct sb_cache_check *check, const char *path, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sb_cache_defect(check, SB_REMEDY_REPAIR, "schema", path, strlen(path), "%s", text);
}

static void report_more(struct sb_cache_check *check, const char *path, const char *name,
                        const char *origin)
{
    report(check, path, "has a column '%s', which %s has not", name, origin);
}

static void report_less(struct sb_cache_check *check, const char *path, const char *name,
                        const char *origin)
{
    report(check, path, "has no column '%s', which %s has", name, origin);
}

/* Compares a column of a segment with the one in its place; *same: they agree. */
static enum sb_code compare_columns(struct sb_cache_check *check, const char *path,
                                    const struct sb_cache_column *here,
                                    const struct sb_cache_column *other, const char *origin,
                                    bool *same)
{
    int order = strcmp(here->name, other->name);
    CLEANUP(sb_buf_release) struct sb_buf type = {0};

    *same = false;
    if (order < 0)
        report_more(check, path, here->name, origin);
    else if (order > 0)
        report_less(check, path, other->name, origin);
    else if (sb_cache_usual_type(other->type, &type))
        return sb_fail_memory();
    else if (strcmp(type.data ? type.data : "", here->type) != 0)
        report(check, path, "has the column '%s' as %s, which %s has as %s", here->name, here->type,
               origin, *other->type ? other->type : "nothing");
    else
        *same = true;
    return SB_OK;
}

/* Names the first difference; both are sorted. */
static enum sb_code compare_fields(struct sb_cache_check *check, const char *path,
                                   const struct sb_cache_schema *here, const struct wanted *wanted)
{
    const struct sb_cache_schema *other = &wanted->schema;
    size_t i = 0;
    bool same = true;
    enum sb_code code = SB_OK;

    for (; !code && same && i < here->count && i < other->count; i++)
        code = compare_columns(check, path, &here->fields[i], &other->fields[i], wanted->origin,
                               &same);
    if (code || !same)
        return code;
    if (i < here->count)
        report_more(check, path, here->fields[i].name, wanted->origin);
    else if (i < other->count)
        report_less(check, path, other->fields[i].name, wanted->origin);
    return SB_OK;
}

/* Of a dict, torchcachex treats as tensors only the columns that it has named. */
static void compare_tensors(struct sb_cache_check *check, const char *path,
                            const struct sb_cache_segment *segment, const struct wanted *wanted)
{
    size_t arrays = 0;

    for (size_t i = 0; i < segment->field_count; i++) {
        const struct sb_cache_field *field = &segment->fields[i];

        arrays += !field->blob;
        if (sb_cache_schema_has_tensor(&wanted->schema, field->name) == !field->blob)
            continue;
        report(check, path, "'%s' is %s, but tensor_keys of " NAME " says otherwise", field->name,
               field->blob ? "a blob" : "a tensor");
        return;
    }
    if (arrays != wanted->schema.tensor_count)
        report(check, path, "has %zu tensors, but tensor_keys of " NAME " %zu", arrays,
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
        report(check, path, "holds values that are a %s, but output_structure of " NAME " is %s",
               sb_cache_structure_words[segment->structure], declared);
    else if (segment->structure == SB_CACHE_DICT)
        compare_tensors(check, path, segment, wanted);
}

static enum sb_code compare(struct sb_cache_check *check, const char *path,
                            const struct sb_cache_segment *segment,
                            const struct sb_cache_schema *here, const struct wanted *wanted)
{
    int64_t before = check->result->defects;

    TRY(compare_fields(check, path, here, wanted));
    if (wanted->json && check->result->defects == before)
        compare_structure(check, path, segment, wanted);
    return SB_OK;
}

static enum sb_code check_segment(struct sb_cache_check *check, uint32_t number,
                                  struct wanted *wanted)
{
    struct sb_cache_segment segment;
    struct sb_cache_schema here = {0};
    const char *path;
    enum sb_code code = sb_cache_segment(check->cache, number, &segment);

    if (code || segment.damaged)
        return code;
    path = sb_cache_path_within(check, segment.path);
    code = sb_cache_schema_of_segment(&here, segment.path);
    if (!code && !wanted->origin) {
        wanted->schema = here;
        wanted->origin = path;
        return SB_OK;
    }
    if (!code)
        code = compare(check, path, &segment, &here, wanted);
    sb_cache_schema_release(&here);
    /* It was found sound a moment ago: whoever reads it next will report it. */
    return code == SB_FORMAT || code == SB_DAMAGED || code == SB_NOENT ? SB_OK : code;
}

/* A missing schema.json is no defect, but is reported. */
static enum sb_code read_schema(struct sb_cache_check *check, struct wanted *wanted)
{
    enum sb_code code = sb_cache_schema_read(&wanted->schema, check->dir);

    if (!code) {
        wanted->origin = NAME;
        wanted->json = true;
        return SB_OK;
    }
    sb_cache_schema_release(&wanted->schema);
    if (code == SB_FORMAT)
        sb_cache_defect(check, SB_REMEDY_REPAIR, "schema", NAME, strlen(NAME), "%s",
                        sb_error()->text);
    else if (code == SB_NOENT && check->segments > 0)
        sb_report(check->notify, SB_WARNING, "schema", check->dir,
                  "has no " NAME ", without which torchcachex cannot read it, and a list cannot be "
                  "distinguished from a tuple; 'shardbox convert' writes it anew, with one");
    return code == SB_FORMAT || code == SB_NOENT ? SB_OK : code;
}

enum sb_code sb_cache_check_schemas(struct sb_cache_check *check)
{
    struct wanted wanted = {.origin = NULL};
    enum sb_code code = read_schema(check, &wanted);

    for (uint32_t i = 0; !code && i < check->segments; i++)
        code = check_segment(check, i, &wanted);
    sb_cache_schema_release(&wanted.schema);
    return code;
}
