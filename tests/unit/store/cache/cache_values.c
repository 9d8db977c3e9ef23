/* lib/store/cache/cache.h: what columns mean, values, and what is damaged. */
#include "core/thread.h"
#include "make_cache.h"

#include <stdatomic.h>

/* One row with that many values in each column, by columns "name type ...": t text, b binary,
 * f float32, i int64 of 1, B bool. */
static void make_columns(const char *dir, int number, const char *spec, bool dict)
{
    static const struct sb_arrow_pair pair = {"tensor_keys", "[]", 2};
    struct sb_arrow_schema schema = {.pairs = &pair, .pair_count = dict, .beside = "."};
    struct sb_arrow_column columns[10];
    struct sb_arrow_writer *writer;
    char names[10][50], type;
    size_t count = 0;

    while (sscanf(spec, " %49s %c", names[count], &type) == 2) {
        columns[count] = (struct sb_arrow_column){
            .name = names[count],
            .type = type == 't'   ? SB_ARROW_TEXT
                    : type == 'b' ? SB_ARROW_BINARY
                                  : SB_ARROW_LIST,
            .dtype = type == 'f'   ? SB_DTYPE_FLOAT32
                     : type == 'i' ? SB_DTYPE_INT64
                     : type == 'B' ? SB_DTYPE_BOOL
                                   : SB_DTYPE_NONE,
        };
        spec = strstr(spec, names[count]) + strlen(names[count]) + 2;
        count++;
    }
    schema.columns = columns;
    schema.column_count = count;
    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    for (size_t i = 0; i < count; i++) {
        static const int64_t one = 1;
        static const float half = 0.5F;
        static const unsigned char yes = 1;

        if (columns[i].dtype == SB_DTYPE_FLOAT32)
            add(writer, i, &half, sizeof(half));
        else if (columns[i].dtype == SB_DTYPE_INT64)
            add(writer, i, &one, sizeof(one));
        else if (columns[i].dtype == SB_DTYPE_BOOL)
            add(writer, i, &yes, sizeof(yes));
        else
            add(writer, i, "k", 1);
    }
    if (count > 0)
        sb_arrow_writer_end_row(writer);
    finish(writer, segment_path(dir, number));
}

/* "dict x:float32 y:blob", or "damaged". */
static const char *form_of(struct sb_cache *cache, uint32_t number)
{
    static char text[500];
    struct sb_cache_segment segment;
    size_t size;

    CHECK(sb_cache_segment(cache, number, &segment) == SB_OK);
    if (segment.damaged)
        return "damaged";
    size = (size_t)snprintf(text, sizeof(text), "%s", sb_cache_structure_words[segment.structure]);
    for (size_t i = 0; i < segment.field_count; i++) {
        const struct sb_cache_field *field = &segment.fields[i];

        size += (size_t)snprintf(text + size, sizeof(text) - size, " %s:%s", field->name,
                                 field->blob ? "blob" : sb_dtype_word(field->dtype));
    }
    return text;
}

static void columns_say_what_a_key_has(void)
{
    static const struct {
        const char *columns;
        bool dict;
        const char *form;
    } cases[] = {
        {"key t data f shape i", false, "tensor :float32"},
        {"shape i key t data B", false, "tensor :bool"},
        {"key t blob b", false, "blob :blob"},
        {"key t x_data f x_shape i", true, "dict x:float32"},
        {"key t x_data f x_shape i y_blob b z_data i z_shape i", true,
         "dict x:float32 y:blob z:int64"},
        {"key t x_data f x_shape i", false, "dict x:float32"},
        {"key t item0_data f item0_shape i item1_blob b", false, "tuple item0:float32 item1:blob"},
        {"key t item0_data f item0_shape i", true, "dict item0:float32"},
        {"key t item1_data f item1_shape i", false, "dict item1:float32"},
        {"key t", true, "dict"},
        /* names that look like columns of others */
        {"key t a_data f a_shape i a_shape_data i a_shape_shape i", true,
         "dict a:float32 a_shape:int64"},
        {"key t _data f _shape i", true, "dict :float32"},
        {"key t data_data f data_shape i", true, "dict data:float32"},
        {"key t blob_blob b _blob b", true, "dict blob:blob :blob"},
    };
    struct sb_cache *cache;

    make_cache("forms");
    for (int i = 0; i < (int)(sizeof(cases) / sizeof(*cases)); i++)
        make_columns("forms", i, cases[i].columns, cases[i].dict);
    cache = open_cache("forms");
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK_TEXT(form_of(cache, i), cases[i].form);
    CHECK_TEXT(told, "");
    sb_cache_free(cache);
}

static void schema_json_tells_a_list_from_a_tuple(void)
{
    static const struct {
        const char *json;
        const char *form;
    } cases[] = {
        {"{\"fields\": [], \"output_structure\": \"list\"}", "list item0:float32"},
        {"{\"output_structure\": \"tuple\"}", "tuple item0:float32"},
        {"{\"output_structure\": \"dict\"}", "tuple item0:float32"},
        {"{\"output_structure\": {\"list\": 1}}", "tuple item0:float32"},
        {"{\"output_structure\": \"list\"", "tuple item0:float32"},
        {"", "tuple item0:float32"},
    };

    make_cache("lists");
    make_columns("lists", 0, "key t item0_data f item0_shape i", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sb_cache *cache;

        write_file("lists", "schema.json", cases[i].json, strlen(cases[i].json));
        cache = open_cache("lists");
        CHECK_TEXT(form_of(cache, 0), cases[i].form);
        sb_cache_free(cache);
    }
}

static void what_is_no_cache_is_named_and_left_out(void)
{
    static const char *const columns[] = {
        "x_data f x_shape i",            /* no key */
        "key b data f shape i",          /* no text */
        "key t x_data f",                /* half a field */
        "key t x_data f x_shape f",      /* a shape of another type */
        "key t x_data f y_shape i",      /* */
        "key t blob b data f shape i",   /* none of the three */
        "key t x_data f x_shape i y t",  /* a column that is none of a cache */
        "key t x_data f x_shape i key t" /* twice */
    };
    int count = sizeof(columns) / sizeof(*columns);
    struct sb_cache *cache;

    make_cache("others");
    for (int i = 0; i < count; i++)
        make_columns("others", i, columns[i], true);
    make_segment("others", count, "a=1");
    cache = open_cache("others");
    for (int i = 0; i < count; i++) {
        if (!CHECK(strcmp(form_of(cache, (uint32_t)i), "damaged") == 0))
            printf("# %s\n", columns[i]);
    }
    CHECK_TEXT(form_of(cache, (uint32_t)count), "tensor :int64");
    told[strcspn(told, "\n")] = '\0';
    CHECK_TEXT(told, "damaged: others/segments/segment_000000.arrow: has no column 'key' of texts; "
                     "left out");
    sb_cache_free(cache);
}

static const char *keys_of(struct sb_cache *cache)
{
    static char text[500];
    struct sb_cache_row row;
    enum sb_code code;
    size_t size = 0;

    text[0] = '\0';
    while ((code = sb_cache_next(cache, &row)) == SB_OK)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s%.*s", size ? " " : "",
                                 row.superseded ? "-" : "", (int)row.key.size, row.key.text);
    CHECK(code == SB_END);
    return text;
}

static void damaged_segments_among_sound_ones_are_told_once(void)
{
    struct sb_row_key key = {"b", 1};
    struct sb_cache_place place;
    struct sb_cache *cache;
    int64_t rows, live;

    make_cache("damage");
    make_segment("damage", 0, "a=1 b=2");
    make_segment("damage", 1, "b=3");
    make_segment("damage", 2, "b=4 a=5");
    make_segment("damage", 3, "c=6");
    CHECK(truncate(segment_path("damage", 2), 300) == 0);
    write_file("damage", "segments/segment_000001.arrow", "", 0);
    make_index("damage", "a=2:1 b=2:0 c=3:0", 0);
    cache = open_cache("damage");
    CHECK(sb_cache_find(cache, &key, 1, &place) == SB_OK);
    CHECK(place.segment == 0 && place.row == 1);
    CHECK_TEXT(keys_of(cache), "a b c");
    CHECK(sb_cache_count(cache, &rows, &live) == SB_OK && rows == 3 && live == 3);
    CHECK_TEXT(told, "damaged: damage/segments/segment_000002.arrow: is an Arrow file without an "
                     "end; left out\n"
                     "damaged: damage/segments/segment_000001.arrow: is not an Arrow file; left "
                     "out\n");
    sb_cache_free(cache);
}

/* Keys of a row lead out of their column: what came before it must not have superseded others. */
static void keys_that_lead_out_cost_their_segment(void)
{
    static const unsigned char offset[] = {0xff, 0xff, 0xff, 0x7f};
    static unsigned char bytes[8192], offsets[] = {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    unsigned char *at;
    struct sb_cache *cache;
    ssize_t size;
    int fd;

    make_cache("offsets");
    make_segment("offsets", 0, "a=1 b=2 c=3");
    make_segment("offsets", 1, "a=4 b=5 c=6");
    fd = open(segment_path("offsets", 1), O_RDWR | O_CLOEXEC);
    size = read(fd, bytes, sizeof(bytes));
    at = memmem(bytes, (size_t)size, offsets, sizeof(offsets));
    CHECK(at && pwrite(fd, offset, sizeof(offset), at - bytes + 4) == sizeof(offset));
    close(fd);
    cache = open_cache("offsets");
    CHECK_TEXT(keys_of(cache), "a b c");
    CHECK_TEXT(told, "damaged: offsets/segments/segment_000001.arrow: row 0 of column 'key' leads "
                     "out of it; left out\n");
    sb_cache_free(cache);
}

static void values_come_with_their_shapes(void)
{
    struct sb_cache_place place = {0};
    struct sb_cache_reader *reader;
    struct sb_cache_value value;
    struct sb_cache_part part;
    struct sb_row_key key;
    struct sb_cache *cache;
    unsigned char byte = 9;
    const void *data;
    float number;
    size_t size;

    make_cache("values");
    make_columns("values", 0, "key t x_data f x_shape i m_data B m_shape i y_blob b", true);
    cache = open_cache("values");
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    CHECK(sb_cache_value(reader, place, 0, &value) == SB_OK);
    memcpy(&number, value.data, sizeof(number));
    CHECK(number == 0.5F && value.array.dims == 1 && value.array.shape[0] == 1);
    CHECK(value.offset > 0 && value.shape_offset > value.offset);
    CHECK(sb_cache_value(reader, place, 1, &value) == SB_OK);
    CHECK(value.array.dtype == SB_DTYPE_BOOL && value.array.data_size == 1 && value.data[0] == 1);
    CHECK(value.offset == -1 && value.shape_offset > 0);
    CHECK(sb_cache_part_find(reader, place, 0, SB_FORM_RAW, &part) == SB_OK && part.size == 4);
    CHECK(sb_cache_part_copy(reader, &part, 0, sizeof(number), &number) == SB_OK);
    CHECK(number == 0.5F);
    CHECK(sb_cache_part_find(reader, place, 0, SB_FORM_SHAPE, &part) == SB_OK && part.size == 8);
    CHECK(sb_cache_part_copy(reader, &part, 0, 1, &byte) == SB_OK && byte == 1);
    byte = 9;
    CHECK(sb_cache_part_find(reader, place, 1, SB_FORM_NPY, &part) == SB_OK && part.size == 129);
    CHECK(sb_cache_part_copy(reader, &part, 128, 1, &byte) == SB_OK && byte == 1);
    CHECK(sb_cache_part_copy(reader, &part, 129, 0, &byte) == SB_OK);
    CHECK(sb_cache_part_copy(reader, &part, 1, 1, &byte) == SB_OK && byte == 'N');
    CHECK(sb_cache_part_block(reader, &part, 0, &data, &size) == SB_OK && size == 129);
    CHECK(memcmp(data, "\x93NUMPY", 6) == 0 && ((const char *)data)[128] == 1);
    CHECK(sb_cache_value(reader, place, 2, &value) == SB_OK);
    CHECK(value.array.data_size == 1 && value.data[0] == 'k' && value.offset > 0);
    CHECK(sb_cache_key_at(reader, place, &key) == SB_OK && key.size == 1 && *key.text == 'k');
    CHECK(sb_cache_value(reader, place, 3, &value) == SB_DAMAGED);
    place.row = 1;
    CHECK(sb_cache_value(reader, place, 0, &value) == SB_DAMAGED);
    place.segment = 1;
    CHECK(sb_cache_key_at(reader, place, &key) == SB_DAMAGED);
    sb_cache_reader_free(reader);
    sb_cache_free(cache);
}

/* Bits, of which a row's begin and end anywhere in a byte. */
static void bools_are_copied_from_anywhere(void)
{
    static const struct sb_arrow_column columns[] = {
        {"key", SB_ARROW_TEXT, SB_DTYPE_NONE},
        {"data", SB_ARROW_LIST, SB_DTYPE_BOOL},
        {"shape", SB_ARROW_LIST, SB_DTYPE_INT64},
    };
    struct sb_arrow_schema schema = {.columns = columns, .column_count = 3, .beside = "."};
    static const unsigned char bools[21] = {1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1,
                                            1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
    struct sb_cache_place place = {.row = 1};
    struct sb_arrow_writer *writer;
    struct sb_cache_reader *reader;
    struct sb_cache_part part;
    struct sb_cache *cache;

    make_cache("bools");
    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    for (int64_t count = 3; count <= 21; count += 18) {
        add(writer, 0, "k", 1);
        add(writer, 1, bools, (size_t)count);
        add(writer, 2, &count, sizeof(count));
        sb_arrow_writer_end_row(writer);
    }
    finish(writer, segment_path("bools", 0));
    cache = open_cache("bools");
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    CHECK(sb_cache_part_find(reader, place, 0, SB_FORM_RAW, &part) == SB_OK);
    for (size_t at = 0; at <= sizeof(bools); at++) {
        for (size_t size = 0; size <= sizeof(bools) - at; size++) {
            unsigned char copy[sizeof(bools)];

            CHECK(sb_cache_part_copy(reader, &part, (int64_t)at, size, copy) == SB_OK);
            CHECK(memcmp(copy, bools + at, size) == 0);
        }
    }
    sb_cache_reader_free(reader);
    sb_cache_free(cache);
}

/* Shapes that are not of so many values: each is a row's own trouble. */
static void shapes_must_fit(void)
{
    static const struct sb_arrow_column columns[] = {
        {"key", SB_ARROW_TEXT, SB_DTYPE_NONE},
        {"data", SB_ARROW_LIST, SB_DTYPE_INT16},
        {"shape", SB_ARROW_LIST, SB_DTYPE_INT64},
    };
    static const struct {
        int64_t values;
        size_t dims;
        int64_t shape[3];
        bool fits;
    } cases[] = {
        {6, 2, {2, 3}, true},
        {1, 0, {0}, true},
        {0, 2, {0, 5}, true},
        {6, 2, {2, 4}, false},
        {0, 0, {0}, false},
        {6, 2, {-2, -3}, false},
        {0, 3, {INT64_MAX, INT64_MAX, 2}, false},
        {0, 2, {INT64_C(1) << 62, 4}, false},
    };
    struct sb_arrow_schema schema = {.columns = columns, .column_count = 3, .beside = "."};
    static const int64_t many[SB_NPY_DIMS_MOST + 1];
    static const int16_t numbers[6];
    struct sb_cache_place place = {0};
    struct sb_arrow_writer *writer;
    struct sb_cache_reader *reader;
    struct sb_cache_value value;
    struct sb_cache *cache;

    make_cache("shapes");
    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    for (size_t i = 0; i <= sizeof(cases) / sizeof(*cases); i++) {
        bool last = i == sizeof(cases) / sizeof(*cases);

        add(writer, 0, "k", 1);
        add(writer, 1, numbers, last ? 0 : (size_t)cases[i].values * 2);
        add(writer, 2, last ? many : cases[i].shape, last ? sizeof(many) : cases[i].dims * 8);
        sb_arrow_writer_end_row(writer);
    }
    finish(writer, segment_path("shapes", 0));
    cache = open_cache("shapes");
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    for (; place.row < (int64_t)(sizeof(cases) / sizeof(*cases)); place.row++) {
        enum sb_code code = sb_cache_value(reader, place, 0, &value);

        if (!CHECK(code == (cases[place.row].fits ? SB_OK : SB_DAMAGED)))
            printf("# case %ld\n", (long)place.row);
    }
    CHECK(sb_cache_value(reader, place, 0, &value) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text,
               "shapes/segments/segment_000000.arrow: a shape has too many dimensions");
    sb_cache_reader_free(reader);
    sb_cache_free(cache);
}

static void a_segment_may_shrink_while_it_is_mapped(void)
{
    struct sb_cache_place place = {0};
    struct sb_cache_reader *reader;
    struct sb_cache_value value;
    struct sb_cache *cache;

    make_cache("shrinks");
    make_segment("shrinks", 0, "a=1 b=2");
    make_segment("shrinks", 1, "c=3");
    cache = open_cache("shrinks");
    CHECK_TEXT(keys_of(cache), "a b c");
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    CHECK(truncate(segment_path("shrinks", 0), 0) == 0);
    if (sb_cache_value(reader, place, 0, &value) == SB_OK)
        CHECK(sb_cache_reader_check(reader) == SB_DAMAGED);
    else
        CHECK(sb_error()->code == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text,
               "shrinks/segments/segment_000000.arrow: has become shorter, or cannot be "
               "read");
    sb_cache_rewind(cache);
    CHECK_TEXT(keys_of(cache), "c");
    CHECK_TEXT(told,
               "damaged: shrinks/segments/segment_000000.arrow: has become shorter, or cannot "
               "be read; left out\n");
    sb_cache_reader_free(reader);
    sb_cache_free(cache);
}

#define SEGMENTS 1100 /* more than stay mapped */
#define DISTINCT 10
#define THREADS  4

struct reading {
    struct sb_cache *cache;
    atomic_int wrong;
};

static void *read_values(void *argument)
{
    struct reading *reading = argument;
    struct sb_cache_reader *reader;
    struct sb_cache_value value;

    if (sb_cache_reader_new(&reader, reading->cache))
        return NULL;
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        struct sb_cache_place place = {.segment = i * 7 % SEGMENTS};
        int64_t number = -1;

        if (sb_cache_value(reader, place, 0, &value) == SB_OK)
            memcpy(&number, value.data, sizeof(number));
        if (number != place.segment % DISTINCT)
            reading->wrong++;
    }
    sb_cache_reader_free(reader);
    return NULL;
}

static void readers_on_threads_share_what_is_mapped(void)
{
    struct reading reading = {0};
    pthread_t threads[THREADS];
    char rows[200];

    make_cache("many");
    for (int i = 0; i < DISTINCT; i++) {
        snprintf(rows, sizeof(rows), "k%d=%d", i, i);
        make_segment("many", i, rows);
    }
    for (int i = DISTINCT; i < SEGMENTS; i++) {
        snprintf(rows, sizeof(rows), "%s", segment_path("many", i % DISTINCT));
        CHECK(link(rows, segment_path("many", i)) == 0);
    }
    reading.cache = open_cache("many");
    for (size_t i = 0; i < THREADS; i++)
        CHECK(sb_thread_start(&threads[i], read_values, &reading));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(reading.wrong == 0);
    sb_cache_free(reading.cache);
}

static char listed[200];

static enum sb_code list(void *context, const char *path, const char *name)
{
    size_t size = strlen(listed);

    (void)context;
    snprintf(listed + size, sizeof(listed) - size, "%s=%s ", name, path);
    return SB_OK;
}

static void caches_in_a_directory_are_listed(void)
{
    CHECK(mkdir("parent", 0700) == 0 && mkdir("parent/other", 0700) == 0);
    CHECK(sb_cache_list("parent", list, NULL) == SB_END);
    make_cache("parent/b");
    make_segment("parent/b", 0, "a=1");
    make_cache("parent/a");
    make_index("parent/a", "", 0);
    make_cache("parent/empty");
    write_file("parent", "file", "x", 1);
    CHECK(sb_cache_list("parent", list, NULL) == SB_OK);
    CHECK_TEXT(listed, "a=parent/a b=parent/b ");
    CHECK(sb_cache_list("nowhere", list, NULL) == SB_NOENT);
}

static void what_has_no_segments_is_no_cache(void)
{
    const char *dir = "parent/other";
    struct sb_cache *cache;

    CHECK(sb_cache_open(&cache, &dir, 1, &notify) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text,
               "parent/other: is no cache of torchcachex: it has no directory segments");
    cache = open_cache("parent/a");
    CHECK(sb_cache_segment_count(cache) == 0);
    CHECK_TEXT(keys_of(cache), "");
    sb_cache_free(cache);
}

int main(void)
{
    enter_directory();
    RUN(columns_say_what_a_key_has);
    RUN(schema_json_tells_a_list_from_a_tuple);
    RUN(what_is_no_cache_is_named_and_left_out);
    RUN(damaged_segments_among_sound_ones_are_told_once);
    RUN(keys_that_lead_out_cost_their_segment);
    RUN(values_come_with_their_shapes);
    RUN(bools_are_copied_from_anywhere);
    RUN(shapes_must_fit);
    RUN(a_segment_may_shrink_while_it_is_mapped);
    RUN(readers_on_threads_share_what_is_mapped);
    RUN(caches_in_a_directory_are_listed);
    RUN(what_has_no_segments_is_no_cache);
    leave_directory();
    return check_end();
}
