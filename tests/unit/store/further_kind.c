/*
 * A kind of container that is built in for this test alone: what it takes is its own source and
 * table, and the line of the table of kinds. A "notes" file begins with "NOTES\n"; each line behind
 * that is a member, its name up to a '=' and its bytes; and a row, which is these bytes.
 */
#define SB_FURTHER_KINDS &notes_kind
#include "store/kind.h"

static const struct sb_kind notes_kind;

/* The table, with that line more; its functions come before those of the library. */
#include "../../../lib/store/kinds.c" // NOLINT(bugprone-suspicious-include)

#include "archive/content.h"
#include "check.h"
#include "store/table.h"
#include "task/table/choice.h"

#include <stdlib.h>
#include <unistd.h>

#define MAGIC "NOTES\n"

struct notes {
    struct sb_source base;
    const struct sb_file *file;
    int64_t at;
    char line[64];
};

static void free_notes(struct sb_source *base)
{
    free(base);
}

static enum sb_code next_note(struct sb_source *base, struct sb_member *member)
{
    struct notes *notes = (struct notes *)base;
    size_t got;
    char *equals, *end;
    enum sb_code code =
        sb_file_read(notes->file, notes->line, sizeof(notes->line) - 1, notes->at, &got);

    if (code)
        return code;
    notes->line[got] = '\0';
    equals = strchr(notes->line, '=');
    end = strchr(notes->line, '\n');
    if (!equals || !end)
        return SB_END;
    *equals = '\0';
    *member = (struct sb_member){.entry = {.path = notes->line,
                                           .path_size = (size_t)(equals - notes->line),
                                           .type = SB_FILE,
                                           .size = end - equals - 1},
                                 .located = true,
                                 .at = notes->at + (equals + 1 - notes->line),
                                 .dir_fd = -1};
    notes->at += end + 1 - notes->line;
    return SB_OK;
}

static enum sb_code open_notes(struct sb_source **out, struct sb_input *input,
                               const struct sb_source_options *options,
                               const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {.free = free_notes, .next = next_note};
    struct notes *notes = calloc(1, sizeof(*notes));

    (void)options, (void)notify;
    if (!notes)
        return sb_fail_memory();
    *notes = (struct notes){.base = {.ops = &ops, .name = input->name},
                            .file = input->file,
                            .at = (int64_t)strlen(MAGIC)};
    *out = &notes->base;
    return SB_OK;
}

/* The row's bytes in the whole of a small file; NULL: there is none. */
static const char *find_row(const struct sb_file *file, int64_t row, char whole[256], size_t *size)
{
    char *line = whole + strlen(MAGIC);
    size_t got;

    if (IGNORED(sb_file_read(file, whole, 255, 0, &got)))
        return NULL;
    whole[got] = '\0';
    for (; *line && row > 0; row--)
        line = strchr(line, '\n') + 1;
    if (!*line)
        return NULL;
    line = strchr(line, '=') + 1;
    *size = strcspn(line, "\n");
    return line;
}

struct notes_table {
    struct sb_table base;
    const struct sb_file *file; /* the input's */
};

static void free_table(struct sb_table *table)
{
    (void)table;
}

static enum sb_code count_notes(struct sb_table *table, int64_t *count)
{
    char whole[256];
    size_t size;

    for (*count = 0; find_row(((struct notes_table *)table)->file, *count, whole, &size);)
        ++*count;
    return SB_OK;
}

static enum sb_code new_reader(const struct sb_table *table, void **out)
{
    *out = (void *)table;
    return SB_OK;
}

static void free_reader(void *reader)
{
    (void)reader;
}

static enum sb_code decode_note(void *reader, const struct sb_stored_cell *cell, const void *stored,
                                void *data, size_t room, size_t *size)
{
    const struct notes_table *table = reader;
    char whole[256];
    const char *note = find_row(table->file, cell->cell.row, whole, size);

    (void)stored, (void)room;
    memcpy(data, note, *size);
    return SB_OK;
}

static enum sb_code name_note(void *reader, const struct sb_cell *cell, struct sb_buf *out)
{
    (void)reader;
    return sb_buf_add_format(out, "note %lld", (long long)cell->row);
}

static enum sb_code open_table(struct sb_table **out, struct sb_input *input,
                               const struct sb_bag_options *none, const struct sb_notify *notify)
{
    static const struct sb_table_ops ops = {.free = free_table,
                                            .count = count_notes,
                                            .reader_new = new_reader,
                                            .reader_free = free_reader,
                                            .decode = decode_note,
                                            .subject = name_note};
    struct notes_table *table = calloc(1, sizeof(*table));

    (void)none, (void)notify;
    if (!table)
        return sb_fail_memory();
    *table = (struct notes_table){.base = {.ops = &ops,
                                           .name = input->name,
                                           .row_word = "note",
                                           .numbered = true,
                                           .cell_size = 8},
                                  .file = input->file};
    *out = &table->base;
    return SB_OK;
}

static enum sb_sure begins_as_notes(const struct sb_input *input)
{
    return sb_input_begins(input, MAGIC, strlen(MAGIC)) ? SB_BY_MAGIC : SB_NO;
}

static const struct sb_kind notes_kind = {
    .word = "file of notes",
    .words = (const struct sb_kind_word[]){{"notes", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_PLACES,
    .by_content = begins_as_notes,
    .source = open_notes,
    .table = open_table,
};

static const struct sb_store_options by_content;
static char top[] = "/tmp/further-kind.XXXXXX";

static struct sb_store *open_file(void)
{
    struct sb_store *store = NULL;

    CHECK(sb_store_open(&store, "file", &by_content) == SB_OK);
    return store;
}

static void it_is_told_by_its_content(void)
{
    struct sb_store *store = open_file();

    CHECK_TEXT(sb_store_word(store), "file of notes");
    CHECK(sb_store_can(store, SB_CAN_PATHS) && !sb_store_can(store, SB_CAN_NUMBERS));
    CHECK(!sb_store_archive(store));
    CHECK(sb_store_abilities("file", by_content.from) & SB_CAN_PLACES);
    sb_store_free(store);
}

static void its_word_is_one_of_from_and_a_suffix(void)
{
    struct sb_container_type named = sb_container_named("notes");

    CHECK(named.kind != SB_UNKNOWN && sb_container_by_suffix("x.notes").kind == named.kind);
    CHECK(sb_container_base_size("x.notes") == 1);
    CHECK_TEXT(sb_container_word(named.kind), "file of notes");
}

static void its_members_come_in_sequence(void)
{
    struct sb_store *store = open_file();
    struct sb_source *source = NULL;
    struct sb_member member;

    CHECK(sb_store_source(store, &source, NULL, NULL) == SB_OK);
    CHECK(sb_source_next(source, &member) == SB_OK);
    CHECK_TEXT(member.entry.path, "a/one");
    CHECK(sb_source_next(source, &member) == SB_OK);
    CHECK_TEXT(member.entry.path, "two");
    CHECK(sb_source_next(source, &member) == SB_END);
    sb_source_free(source);
    sb_store_free(store);
}

static void any_member_can_be_had_by_its_path(void)
{
    const struct sb_catalog_options options = {0};
    struct sb_catalog_result result;
    struct sb_store *store = open_file();
    struct sb_archive *archive;
    struct sb_content *content = NULL;
    struct sb_entry entry;
    char bytes[16] = "";

    CHECK(sb_store_catalog(store, &archive, NULL, &options, &result) == SB_OK);
    CHECK(!result.in_sequence);
    CHECK(sb_archive_lookup(archive, "two", 3, &entry) == SB_OK);
    CHECK(entry.type == SB_FILE && entry.size == 6);
    CHECK(sb_content_open(&content, archive, NULL) == SB_OK);
    CHECK(sb_content_read(content, &entry, bytes, sizeof(bytes), true) == SB_OK);
    CHECK_TEXT(bytes, "second");
    CHECK(sb_archive_lookup(archive, "a", 1, &entry) == SB_OK && entry.type == SB_DIR);
    sb_content_free(content);
    sb_store_free(store);
}

static enum sb_code keep(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size) ? sb_fail_memory() : SB_OK;
}

static void rows_are_chosen_by_number_and_fetched(void)
{
    const struct sb_slice slices[] = {{.single = true, .start = -1}, {.single = true}};
    const struct sb_row_group group = {.words = "-1,0", .slice_count = 2};
    const struct sb_table_choice_options options = {
        .rows = {.slices = slices, .slice_count = 2, .sample = -1},
        .groups = &group,
        .group_count = 1};
    const struct sb_table_fetch_options wanted = {.framing = SB_FRAMING_LINE, .threads = 1};
    struct sb_buf out = {0};
    const struct sb_fetch_output output = {.write = keep, .context = &out};
    struct sb_table_fetch_counts counts;
    struct sb_table_choice *choice = NULL;
    struct sb_store *store = open_file();
    struct sb_table *table = NULL;
    struct sb_cell_feed feed;

    CHECK(sb_store_table(store, &table) == SB_OK);
    CHECK(sb_table_choice_new(&choice, table, &options, NULL) == SB_OK);
    feed = sb_table_choice_feed(choice);
    CHECK(sb_table_fetch(table, &feed, &wanted, &output, NULL, &counts) == SB_OK);
    CHECK_TEXT(out.data, "second\nfirst\n");
    CHECK(counts.cells == 2);
    sb_table_choice_free(choice);
    sb_table_free(table);
    sb_store_free(store);
    sb_buf_release(&out);
}

static void another_kind_does_not_take_it(void)
{
    const struct sb_store_options as_zip = {.from.kind = SB_ZIP};
    struct sb_store *store = NULL;
    struct sb_source *source = NULL;

    CHECK(sb_store_open(&store, "file", &as_zip) == SB_OK);
    CHECK(sb_store_source(store, &source, NULL, NULL) == SB_FORMAT);
    sb_store_free(store);
}

int main(void)
{
    FILE *file;

    if (!mkdtemp(top) || chdir(top))
        return 1;
    file = fopen("file", "w");
    if (!file || fputs(MAGIC "a/one=first\ntwo=second\n", file) < 0 || fclose(file))
        return 1;
    RUN(it_is_told_by_its_content);
    RUN(its_word_is_one_of_from_and_a_suffix);
    RUN(its_members_come_in_sequence);
    RUN(any_member_can_be_had_by_its_path);
    RUN(rows_are_chosen_by_number_and_fetched);
    RUN(another_kind_does_not_take_it);
    if (chdir("/") || !check_remove_tree(top))
        return 1;
    return check_end();
}
