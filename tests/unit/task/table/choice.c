/* lib/task/table/choice.h, over a table of Syrah files */
#include "task/table/choice.h"
#include "check.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/io.h"
#include "core/list.h"
#include "store/syrah/set.h"

#include <bson/bson.h>
#include <endian.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64

/* A column of int64 that are all 22, or 0: every array is empty, and lies where the data begin. */
static void add_column(bson_t *to, const char *name, int64_t value, size_t items)
{
    uint64_t values[MOST];

    for (size_t i = 0; i < items; i++)
        values[i] = htole64((uint64_t)value);
    bson_append_binary(to, name, -1, BSON_SUBTYPE_BINARY, (const uint8_t *)values,
                       (uint32_t)(items * sizeof(*values)));
}

/* Of so many items, whose arrays are called by a letter each, and are empty. */
static struct sb_syrah *file_of(const char *arrays, size_t items)
{
    const uint64_t place = htole64(SB_SYRAH_HEADER);
    bson_t document = BSON_INITIALIZER;
    int fd = memfd_create("syrah", MFD_CLOEXEC);
    struct sb_syrah *syrah;
    struct sb_file *file;
    uint64_t size;

    for (const char *array = arrays; *array; array++) {
        bson_t columns;

        bson_append_document_begin(&document, array, 1, &columns);
        add_column(&columns, "offset", SB_SYRAH_HEADER, items);
        add_column(&columns, "size", 0, items);
        bson_append_utf8(&columns, "dtype", -1, "int32", -1);
        bson_append_document_end(&document, &columns);
    }
    size = htole64(document.len);
    CHECK(sb_write_full(fd, "GS\0\0\2\0", 6, "x.syr") == SB_OK);
    CHECK(sb_write_full(fd, &place, sizeof(place), "x.syr") == SB_OK);
    CHECK(sb_write_full(fd, &size, sizeof(size), "x.syr") == SB_OK);
    CHECK(sb_write_full(fd, bson_get_data(&document), document.len, "x.syr") == SB_OK);
    bson_destroy(&document);
    if (!CHECK(sb_file_take(&file, fd, "x.syr") == SB_OK) || sb_syrah_open(&syrah, file))
        syrah = NULL;
    sb_file_free(file);
    return syrah;
}

static struct sb_table *table_of(const char *arrays, size_t items)
{
    struct sb_syrah *syrah = file_of(arrays, items);
    struct sb_syrah_set *set;
    struct sb_table *table;

    if (!syrah || sb_syrah_set_of(&set, syrah))
        return NULL;
    return sb_table_of_syrah(&table, set) == SB_OK ? table : NULL;
}

static bool add_cell(struct sb_buf *out, struct sb_table *table, const struct sb_cell_run *run,
                     int64_t row, uint32_t column)
{
    const char *name = sb_table_column(table, run->columns ? run->columns[column] : column).name;

    return sb_buf_add_format(out, " %" PRId64 "%s%s", row, name, run->as_file ? ".npy" : "") ==
           SB_OK;
}

/* What is chosen, as "0a 0b"; what is not there as "(9/a)", a line that is no slice as "(-)". */
static const char *chosen(struct sb_table *table, const struct sb_table_choice_options *options)
{
    static struct sb_buf out;
    struct sb_table_choice *choice;
    struct sb_cell_feed feed;
    struct sb_cell_run run;
    enum sb_code code = SB_OK;
    int given = 0;

    sb_buf_clear(&out);
    if (sb_buf_add_text(&out, "") || sb_table_choice_new(&choice, table, options, NULL))
        return "refused";
    feed = sb_table_choice_feed(choice);
    while (given < MOST && (code = feed.next(feed.context, &run)) != SB_END) {
        if (code &&
            sb_buf_add_format(&out, " (%s)", run.rows.count < 0 ? "-" : feed.missing(feed.context)))
            break;
        for (int64_t i = 0; !code && i < run.rows.count && given < MOST; i++, given++) {
            for (uint32_t k = 0; k < run.column_count; k++)
                CHECK(add_cell(&out, table, &run, run.rows.first + i * run.rows.step, k));
        }
    }
    sb_table_choice_free(choice);
    return out.size ? out.data + 1 : "";
}

/* Two operands at most; what stands behind a '/' is an array. */
struct asked {
    struct sb_slice slices[2];
    struct sb_row_group groups[2];
    struct sb_table_choice_options options;
    char words[2][16];
};

static void ask(struct asked *asked, const char *first, const char *second)
{
    const char *operands[] = {first, second};

    *asked = (struct asked){.options.rows.sample = -1};
    for (size_t i = 0; i < 2 && operands[i]; i++) {
        char slice[16];
        char *slash;

        snprintf(asked->words[i], sizeof(asked->words[i]), "%s", operands[i]);
        snprintf(slice, sizeof(slice), "%s", operands[i]);
        slash = strchr(slice, '/');
        if (slash)
            *slash = '\0';
        CHECK(sb_slice_parse(&asked->slices[i], slice) == SB_OK);
        asked->groups[i] =
            (struct sb_row_group){.words = asked->words[i],
                                  .slice_count = 1,
                                  .column = slash ? asked->words[i] + (slash - slice) + 1 : NULL};
        asked->options.group_count++;
    }
    asked->options.groups = asked->groups;
    asked->options.rows.slices = asked->slices;
    asked->options.rows.slice_count = asked->options.group_count;
}

static const char *of(struct sb_table *table, const char *first, const char *second)
{
    struct asked asked;

    ask(&asked, first, second);
    return chosen(table, &asked.options);
}

static void items_have_all_arrays_or_one(void)
{
    struct sb_table *table = table_of("ab", 3);

    if (!CHECK(table))
        return;
    CHECK_TEXT(of(table, NULL, NULL), "0a 0b 1a 1b 2a 2b");
    CHECK_TEXT(of(table, "1", "-1/a"), "1a 1b 2a");
    CHECK_TEXT(of(table, "::-1/b", "::2"), "2b 1b 0b 0a 0b 2a 2b");
    CHECK_TEXT(of(table, "7:", "0:9:2/b"), "0b 2b");
    CHECK_TEXT(of(table, "9", "-7/b"), "(9) (-7/b)");
    CHECK_TEXT(of(table, "0:2/x", "2/b"), "(0:2/x) 2b");
    CHECK_TEXT(of(table, "1/a.npy", ":2/b.int32"), "1a.npy 0b 1b");
    CHECK_TEXT(of(table, "1/a.txt", "1/b.int64"), "(1/a.txt) (1/b.int64)");
    sb_table_free(table);
}

static void chosen_arrays_keep_the_order_of_the_file(void)
{
    const char *const arrays[] = {"c", "a", "c"}, *const none[] = {"x"};
    struct sb_table *table = table_of("abc", 2);
    struct asked asked;

    if (!CHECK(table))
        return;
    ask(&asked, "::-1", "0/b");
    asked.options.columns = arrays;
    asked.options.column_count = 3;
    CHECK_TEXT(chosen(table, &asked.options), "1a 1c 0a 0c 0b");
    asked.options.columns = none;
    asked.options.column_count = 1;
    CHECK_TEXT(chosen(table, &asked.options), "refused");
    CHECK_TEXT(sb_error()->text, "x.syr: has no array 'x'");
    sb_table_free(table);
}

static int pipe_with(const char *text, char path[32])
{
    int fds[2];

    CHECK(pipe(fds) == 0);
    CHECK(sb_write_full(fds[1], text, strlen(text), "a pipe") == SB_OK);
    close(fds[1]);
    snprintf(path, 32, "/dev/fd/%d", fds[0]);
    return fds[0];
}

static const char *listed(struct sb_table *table, const char *text, struct sb_share share)
{
    struct asked asked;
    const char *result;
    char path[32];
    int fd = pipe_with(text, path);

    ask(&asked, NULL, NULL);
    asked.options.share = share;
    CHECK(sb_list_open(&asked.options.rows.list, path, '\n') == SB_OK);
    result = chosen(table, &asked.options);
    sb_list_free(asked.options.rows.list);
    close(fd);
    return result;
}

static void lines_are_slices_with_an_array_where_they_name_one(void)
{
    const struct sb_share whole = {0};
    struct sb_table *table = table_of("ab", 3);

    if (!CHECK(table))
        return;
    CHECK_TEXT(listed(table, "2\n0:2/b\n", whole), "2a 2b 0b 1b");
    CHECK_TEXT(listed(table, "9/a\n1/x\nno\n1/a", whole), "(9/a) (1/x) (-) 1a");
    CHECK_TEXT(listed(table, "", whole), "");
    sb_table_free(table);
}

static void shares_of_a_list_are_cut_by_items(void)
{
    struct sb_table *table = table_of("ab", 3);
    const char *text = "2\n9\n0:2/b\n1\n";

    if (!CHECK(table))
        return;
    CHECK_TEXT(listed(table, text, (struct sb_share){0, 2}), "2a 2b 0b");
    CHECK_TEXT(listed(table, text, (struct sb_share){1, 2}), "1b 1a 1b");
    sb_table_free(table);
}

static void what_is_drawn_are_items_of_one_kind(void)
{
    struct sb_table *table = table_of("ab", 3);
    struct asked asked;

    if (!CHECK(table))
        return;
    ask(&asked, "2/b", "0:2/b");
    asked.options.rows.shuffle = true;
    CHECK(strlen(chosen(table, &asked.options)) == strlen("2b 0b 1b"));
    asked.options.share = (struct sb_share){1, 3};
    CHECK(strlen(chosen(table, &asked.options)) == strlen("2b"));
    ask(&asked, "2/b", "0:2");
    asked.options.rows.sample = 1;
    CHECK_TEXT(chosen(table, &asked.options), "refused");
    sb_table_free(table);
}

static void totals(void)
{
    struct sb_table *table = table_of("ab", 3);
    struct sb_table_choice *choice;
    struct sb_cell_feed feed;
    struct asked asked;

    ask(&asked, "0:2", "2/b");
    if (!CHECK(table) || !CHECK(sb_table_choice_new(&choice, table, &asked.options, NULL) == SB_OK))
        return;
    feed = sb_table_choice_feed(choice);
    CHECK(feed.total(feed.context) == 5);
    CHECK(sb_table_choice_rows(choice) == 3);
    CHECK(feed.round(feed.context) == 0);
    CHECK(feed.ready(feed.context));
    sb_table_choice_free(choice);
    sb_table_free(table);
}

static void a_file_without_items_or_arrays_has_nothing(void)
{
    struct sb_table *empty = table_of("ab", 0), *bare = table_of("", 0);
    struct asked asked;

    if (!CHECK(empty && bare))
        return;
    CHECK_TEXT(of(empty, NULL, NULL), "");
    CHECK_TEXT(of(empty, "0", ":"), "(0)");
    CHECK_TEXT(of(bare, NULL, NULL), "");
    ask(&asked, NULL, NULL);
    asked.options.rows.forever = true;
    CHECK_TEXT(chosen(empty, &asked.options), "");
    sb_table_free(empty);
    sb_table_free(bare);
}

static void specs_are_told_by_their_words(void)
{
    CHECK(sb_syrah_set_is_spec("a.syr,b.syr"));
    CHECK(sb_syrah_set_is_spec("a@4.syr"));
    CHECK(sb_syrah_set_is_spec("a-*.syr"));
    CHECK(!sb_syrah_set_is_spec("a.syr"));
    CHECK(!sb_syrah_set_is_spec("a.syr,b.bag"));
    CHECK(!sb_syrah_set_is_spec(",.syr"));
    CHECK(!sb_syrah_set_is_spec(","));
}

int main(void)
{
    RUN(items_have_all_arrays_or_one);
    RUN(chosen_arrays_keep_the_order_of_the_file);
    RUN(lines_are_slices_with_an_array_where_they_name_one);
    RUN(shares_of_a_list_are_cut_by_items);
    RUN(what_is_drawn_are_items_of_one_kind);
    RUN(totals);
    RUN(a_file_without_items_or_arrays_has_nothing);
    RUN(specs_are_told_by_their_words);
    return check_end();
}
