/* lib/task/item_choice.h, and lib/store/syrah_set.h beneath it */
#include "task/table/item_choice.h"
#include "check.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/list.h"

#include <bson/bson.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64

static struct sb_error err;

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
    CHECK(sb_write_full(fd, "GS\0\0\2\0", 6, "x.syr", &err) == SB_OK);
    CHECK(sb_write_full(fd, &place, sizeof(place), "x.syr", &err) == SB_OK);
    CHECK(sb_write_full(fd, &size, sizeof(size), "x.syr", &err) == SB_OK);
    CHECK(sb_write_full(fd, bson_get_data(&document), document.len, "x.syr", &err) == SB_OK);
    bson_destroy(&document);
    return sb_syrah_open(&syrah, fd, "x.syr", &err) ? NULL : syrah;
}

static struct sb_syrah_set *set_of(const char *arrays, size_t items)
{
    struct sb_syrah *syrah = file_of(arrays, items);
    struct sb_syrah_set *set;

    return syrah && sb_syrah_set_of(&set, syrah, &err) == SB_OK ? set : NULL;
}

/* What is chosen, as "0a 0b"; what is not there as "(9/a)", a line that is no slice as "(-)". */
static const char *chosen(const struct sb_syrah_set *set,
                          const struct sb_item_choice_options *options)
{
    static struct sb_buf out;
    uint32_t arrays = sb_syrah_set_array_count(set);
    struct sb_item_choice *choice;
    struct sb_record_run run;
    enum sb_code code = SB_OK;
    int given = 0;

    sb_buf_clear(&out);
    if (sb_buf_add_text(&out, "") || sb_item_choice_new(&choice, set, options, NULL, &err))
        return "refused";
    while (given < MOST && (code = sb_item_choice_next(choice, &run, &err)) != SB_END) {
        if (code &&
            sb_buf_add_format(&out, " (%s)", run.count < 0 ? "-" : sb_item_choice_missing(choice)))
            break;
        for (int64_t i = 0; !code && i < run.count && given < MOST; i++, given++) {
            int64_t number = run.first + i * run.step;

            if (sb_buf_add_format(&out, " %" PRId64 "%s", number / arrays,
                                  sb_syrah_set_array(set, (uint32_t)(number % arrays))->name))
                break;
        }
    }
    sb_item_choice_free(choice);
    return out.size ? out.data + 1 : "";
}

/* Two operands at most; what stands behind a '/' is an array. */
struct asked {
    struct sb_slice slices[2];
    struct sb_item_group groups[2];
    struct sb_item_choice_options options;
    char words[2][16];
};

static void ask(struct asked *asked, const char *first, const char *second)
{
    const char *operands[] = {first, second};

    *asked = (struct asked){.options.records.sample = -1};
    for (size_t i = 0; i < 2 && operands[i]; i++) {
        char slice[16];
        char *slash;

        snprintf(asked->words[i], sizeof(asked->words[i]), "%s", operands[i]);
        snprintf(slice, sizeof(slice), "%s", operands[i]);
        slash = strchr(slice, '/');
        if (slash)
            *slash = '\0';
        CHECK(sb_slice_parse(&asked->slices[i], slice, &err) == SB_OK);
        asked->groups[i] =
            (struct sb_item_group){.words = asked->words[i],
                                   .slice_count = 1,
                                   .array = slash ? asked->words[i] + (slash - slice) + 1 : NULL};
        asked->options.group_count++;
    }
    asked->options.groups = asked->groups;
    asked->options.records.slices = asked->slices;
    asked->options.records.slice_count = asked->options.group_count;
}

static const char *of(const struct sb_syrah_set *set, const char *first, const char *second)
{
    struct asked asked;

    ask(&asked, first, second);
    return chosen(set, &asked.options);
}

static void items_have_all_arrays_or_one(void)
{
    struct sb_syrah_set *set = set_of("ab", 3);

    if (!CHECK(set))
        return;
    CHECK_TEXT(of(set, NULL, NULL), "0a 0b 1a 1b 2a 2b");
    CHECK_TEXT(of(set, "1", "-1/a"), "1a 1b 2a");
    CHECK_TEXT(of(set, "::-1/b", "::2"), "2b 1b 0b 0a 0b 2a 2b");
    CHECK_TEXT(of(set, "7:", "0:9:2/b"), "0b 2b");
    CHECK_TEXT(of(set, "9", "-7/b"), "(9) (-7/b)");
    CHECK_TEXT(of(set, "0:2/x", "2/b"), "(0:2/x) 2b");
    sb_syrah_set_free(set);
}

static void chosen_arrays_keep_the_order_of_the_file(void)
{
    const char *const arrays[] = {"c", "a", "c"}, *const none[] = {"x"};
    struct sb_syrah_set *set = set_of("abc", 2);
    struct asked asked;

    if (!CHECK(set))
        return;
    ask(&asked, "::-1", "0/b");
    asked.options.arrays = arrays;
    asked.options.array_count = 3;
    CHECK_TEXT(chosen(set, &asked.options), "1a 1c 0a 0c 0b");
    asked.options.arrays = none;
    asked.options.array_count = 1;
    CHECK_TEXT(chosen(set, &asked.options), "refused");
    CHECK_TEXT(err.text, "x.syr: has no array 'x'");
    sb_syrah_set_free(set);
}

static int pipe_with(const char *text, char path[32])
{
    int fds[2];

    CHECK(pipe(fds) == 0);
    CHECK(sb_write_full(fds[1], text, strlen(text), "a pipe", &err) == SB_OK);
    close(fds[1]);
    snprintf(path, 32, "/dev/fd/%d", fds[0]);
    return fds[0];
}

static const char *listed(const struct sb_syrah_set *set, const char *text, struct sb_share share)
{
    struct asked asked;
    const char *result;
    char path[32];
    int fd = pipe_with(text, path);

    ask(&asked, NULL, NULL);
    asked.options.share = share;
    CHECK(sb_list_open(&asked.options.records.list, path, '\n', &err) == SB_OK);
    result = chosen(set, &asked.options);
    sb_list_free(asked.options.records.list);
    close(fd);
    return result;
}

static void lines_are_slices_with_an_array_where_they_name_one(void)
{
    const struct sb_share whole = {0};
    struct sb_syrah_set *set = set_of("ab", 3);

    if (!CHECK(set))
        return;
    CHECK_TEXT(listed(set, "2\n0:2/b\n", whole), "2a 2b 0b 1b");
    CHECK_TEXT(listed(set, "9/a\n1/x\nno\n1/a", whole), "(9/a) (1/x) (-) 1a");
    CHECK_TEXT(listed(set, "", whole), "");
    sb_syrah_set_free(set);
}

static void shares_of_a_list_are_cut_by_items(void)
{
    struct sb_syrah_set *set = set_of("ab", 3);
    const char *text = "2\n9\n0:2/b\n1\n";

    if (!CHECK(set))
        return;
    CHECK_TEXT(listed(set, text, (struct sb_share){0, 2}), "2a 2b 0b");
    CHECK_TEXT(listed(set, text, (struct sb_share){1, 2}), "1b 1a 1b");
    sb_syrah_set_free(set);
}

static void what_is_drawn_are_items_of_one_kind(void)
{
    struct sb_syrah_set *set = set_of("ab", 3);
    struct asked asked;

    if (!CHECK(set))
        return;
    ask(&asked, "2/b", "0:2/b");
    asked.options.records.shuffle = true;
    CHECK(strlen(chosen(set, &asked.options)) == strlen("2b 0b 1b"));
    asked.options.share = (struct sb_share){1, 3};
    CHECK(strlen(chosen(set, &asked.options)) == strlen("2b"));
    ask(&asked, "2/b", "0:2");
    asked.options.records.sample = 1;
    CHECK_TEXT(chosen(set, &asked.options), "refused");
    sb_syrah_set_free(set);
}

static void totals(void)
{
    struct sb_syrah_set *set = set_of("ab", 3);
    struct sb_item_choice *choice;
    struct asked asked;

    ask(&asked, "0:2", "2/b");
    if (!CHECK(set) ||
        !CHECK(sb_item_choice_new(&choice, set, &asked.options, NULL, &err) == SB_OK))
        return;
    CHECK(sb_item_choice_total(choice) == 5);
    CHECK(sb_item_choice_items(choice) == 3);
    CHECK(sb_item_choice_round(choice) == 0);
    CHECK(sb_item_choice_ready(choice));
    sb_item_choice_free(choice);
    sb_syrah_set_free(set);
}

static void a_file_without_items_or_arrays_has_nothing(void)
{
    struct sb_syrah_set *empty = set_of("ab", 0), *bare = set_of("", 0);
    struct asked asked;

    if (!CHECK(empty && bare))
        return;
    CHECK_TEXT(of(empty, NULL, NULL), "");
    CHECK_TEXT(of(empty, "0", ":"), "(0)");
    CHECK_TEXT(of(bare, NULL, NULL), "");
    ask(&asked, NULL, NULL);
    asked.options.records.forever = true;
    CHECK_TEXT(chosen(empty, &asked.options), "");
    sb_syrah_set_free(empty);
    sb_syrah_set_free(bare);
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
