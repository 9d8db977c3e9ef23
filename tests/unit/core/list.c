/* lib/core/list.h */
#include "core/list.h"
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char file[] = "/tmp/list-test-XXXXXX";

static void write_file(const void *data, size_t size)
{
    int fd = open(file, O_WRONLY | O_TRUNC);

    CHECK(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static struct sb_list *open_list(const void *data, size_t size, char end)
{
    struct sb_list *list;

    write_file(data, size);
    CHECK(sb_list_open(&list, file, end) == SB_OK);
    return list;
}

static void expect(struct sb_list *list, const char *wanted)
{
    const char *name = NULL;
    size_t size = 0;

    CHECK(sb_list_next(list, &name, &size) == SB_OK);
    CHECK_TEXT(name, wanted);
    CHECK(size == strlen(wanted));
}

static void expect_end(struct sb_list *list)
{
    const char *name;
    size_t size;

    CHECK(sb_list_next(list, &name, &size) == SB_END);
    CHECK(sb_list_next(list, &name, &size) == SB_END);
}

static void lines_may_be_empty(void)
{
    static const char text[] = "a\n\nlonger name\n\n";
    struct sb_list *list = open_list(text, sizeof(text) - 1, '\n');

    expect(list, "a");
    expect(list, "");
    expect(list, "longer name");
    expect(list, "");
    expect_end(list);
    sb_list_free(list);
}

static void the_last_name_needs_no_end(void)
{
    struct sb_list *list = open_list("a\nb", 3, '\n');

    expect(list, "a");
    expect(list, "b");
    expect_end(list);
    sb_list_free(list);

    list = open_list("a\n\0b", 4, '\0');
    expect(list, "a\n");
    expect(list, "b");
    expect_end(list);
    sb_list_free(list);
}

static void an_empty_file_has_no_names(void)
{
    struct sb_list *list = open_list("", 0, '\n');

    CHECK(sb_list_ready(list));
    expect_end(list);
    sb_list_free(list);
}

static void a_nul_within_a_line_counts(void)
{
    struct sb_list *list = open_list("a\0b\n", 4, '\n');
    const char *name;
    size_t size;

    CHECK(sb_list_next(list, &name, &size) == SB_OK);
    CHECK(size == 3 && memcmp(name, "a\0b", 4) == 0);
    sb_list_free(list);
}

/* Names of every length up to some thousand, so that they lie across every kind of block end. */
static void names_across_blocks_stay_whole(void)
{
    enum { COUNT = 3000 };
    static char data[COUNT * (COUNT + 3) / 2];
    size_t size = 0;
    struct sb_list *list;
    char wanted[COUNT + 1];

    for (size_t i = 0; i < COUNT; i++) {
        memset(data + size, 'a' + (int)(i % 26), i);
        size += i;
        data[size++] = '\n';
    }
    list = open_list(data, size, '\n');
    for (size_t i = 0; i < COUNT; i++) {
        memset(wanted, 'a' + (int)(i % 26), i);
        wanted[i] = '\0';
        expect(list, wanted);
    }
    expect_end(list);
    sb_list_free(list);
}

static void the_longest_name_is_taken_and_no_longer_one(void)
{
    size_t size = SB_LIST_NAME_MAX;
    char *data = malloc(4 * size);
    struct sb_list *list;
    const char *name;
    size_t got;

    memset(data, 'x', 4 * size);
    data[size] = '\n';
    list = open_list(data, size + 1, '\n');
    CHECK(sb_list_next(list, &name, &got) == SB_OK && got == size);
    expect_end(list);
    sb_list_free(list);

    data[size] = 'x';
    data[size + 1] = '\n';
    list = open_list(data, size + 2, '\n');
    CHECK(sb_list_next(list, &name, &got) == SB_LIMIT);
    sb_list_free(list);

    data[size + 1] = 'x';
    list = open_list(data, 4 * size, '\n');
    CHECK(sb_list_next(list, &name, &got) == SB_LIMIT);
    CHECK(strstr(sb_error()->text, file) && strstr(sb_error()->text, "newlines"));
    sb_list_free(list);
    free(data);
}

static void a_missing_file_and_a_directory_are_errors(void)
{
    struct sb_list *list;
    const char *name;
    size_t size;

    CHECK(sb_list_open(&list, "/no/such/list", '\n') == SB_NOENT && !list);
    CHECK(strstr(sb_error()->text, "/no/such/list"));
    CHECK(sb_list_open(&list, "/", '\n') == SB_OK);
    CHECK(sb_list_ready(list));
    CHECK(sb_list_next(list, &name, &size) == SB_SYSTEM);
    CHECK(sb_list_next(list, &name, &size) == SB_SYSTEM);
    sb_list_free(list);
    sb_list_free(NULL);
}

/* "-" is standard input: a pipe, of which half a name has come. */
static void ready_means_a_whole_name(void)
{
    struct sb_list *list;
    int ends[2], before = dup(STDIN_FILENO);

    CHECK(pipe(ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    CHECK(sb_list_open(&list, "-", '\n') == SB_OK);
    CHECK(!sb_list_ready(list));
    CHECK(write(ends[1], "on", 2) == 2);
    CHECK(!sb_list_ready(list));
    CHECK(write(ends[1], "e\ntw", 4) == 4);
    CHECK(sb_list_ready(list));
    expect(list, "one");
    CHECK(!sb_list_ready(list));
    close(ends[1]);
    CHECK(sb_list_ready(list));
    expect(list, "tw");
    CHECK(sb_list_ready(list));
    expect_end(list);
    sb_list_free(list);
    CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
}

int main(void)
{
    int fd = mkstemp(file);

    if (fd < 0)
        return 1;
    close(fd);
    RUN(lines_may_be_empty);
    RUN(the_last_name_needs_no_end);
    RUN(an_empty_file_has_no_names);
    RUN(a_nul_within_a_line_counts);
    RUN(names_across_blocks_stay_whole);
    RUN(the_longest_name_is_taken_and_no_longer_one);
    RUN(a_missing_file_and_a_directory_are_errors);
    RUN(ready_means_a_whole_name);
    unlink(file);
    return check_end();
}
