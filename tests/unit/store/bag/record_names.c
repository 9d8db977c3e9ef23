/* lib/store/bag/record_names.h */
#include "store/bag/record_names.h"
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The name of a record by a format; a failure's text. */
static const char *name(const char *format, int64_t record)
{
    static char text[400];
    struct sb_record_names *names;
    struct sb_buf out = {0};

    if (sb_record_names_by_format(&names, format))
        return sb_error()->text;
    CHECK(sb_record_names_count(names) == -1);
    CHECK(sb_record_name(names, record, &out) == SB_OK);
    CHECK(out.size == strlen(out.data));
    snprintf(text, sizeof(text), "%s", out.data);
    sb_record_names_free(names);
    sb_buf_release(&out);
    return text;
}

static void formats(void)
{
    CHECK_TEXT(name(SB_RECORD_NAME_FORMAT, 7), "00000007");
    CHECK_TEXT(name("%d", 0), "0");
    CHECK_TEXT(name("%d", INT64_MAX), "9223372036854775807");
    CHECK_TEXT(name("a/%04d.pb", 12345), "a/12345.pb");
    CHECK_TEXT(name("%5d", 42), "   42");
    CHECK_TEXT(name("%-5d|", 42), "42   |");
    CHECK_TEXT(name("%-05d|", 42), "42   |");
    CHECK_TEXT(name("100%%-%d%%", 3), "100%-3%");
}

static void what_is_no_format(void)
{
    static const char *const bad[] = {
        "",   "x",   "%",    "%s",   "%d%d", "%5",    "%ld",
        "%x", "%+d", "% d",  "%.3d", "%*d",  "%999d", "%99999999999999999999d",
        "%n", "%d%", "%d%s", "%1$d", "%%d",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sb_record_names *names;

        if (!CHECK(sb_record_names_by_format(&names, bad[i]) == SB_INVALID))
            printf("# %s\n", bad[i]);
    }
    CHECK_TEXT(
        name("x", 0),
        "--name-format: 'x' must have one %d in it, or %08d for a number of 8 digits, and %% "
        "for a percent sign");
}

static void several_inputs_are_numbered_on(void)
{
    struct sb_record_names *names;
    struct sb_buf out = {0};

    CHECK(sb_record_names_by_format(&names, "%d") == SB_OK);
    sb_record_names_place(names, 1000, 4);
    CHECK(sb_record_name(names, 3, &out) == SB_OK);
    CHECK_TEXT(out.data, "1012");
    CHECK(sb_record_name(names, INT64_MAX / 2, &out) == SB_LIMIT);
    sb_record_names_free(names);
    sb_buf_release(&out);
}

/* Keys "a", "", "c": limits 1, 1, 2. */
static void keys(void)
{
    static const char bag[] = "ac\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0";
    char path[] = "/tmp/record_names.XXXXXX";
    int fd = mkstemp(path);
    struct sb_record_names *names;
    struct sb_buf out = {0};

    if (!CHECK(fd >= 0 && write(fd, bag, sizeof(bag) - 1) == sizeof(bag) - 1))
        return;
    CHECK(sb_record_names_by_keys(&names, path, NULL, NULL) == SB_OK);
    CHECK(sb_record_names_count(names) == 3);
    CHECK(sb_record_name(names, 2, &out) == SB_OK);
    CHECK_TEXT(out.data, "c");
    CHECK(sb_record_name(names, 1, &out) == SB_OK);
    CHECK(out.size == 0);
    CHECK(sb_record_name(names, 0, &out) == SB_OK);
    CHECK_TEXT(out.data, "a");
    CHECK(sb_record_name(names, 3, &out) == SB_LIMIT);
    CHECK(strstr(sb_error()->text, ": has 3 keys; there is none for record 3"));
    CHECK(ftruncate(fd, 1) == 0);
    CHECK(sb_record_name(names, 2, &out) == SB_DAMAGED);
    sb_record_names_free(names);
    sb_buf_release(&out);
    CHECK(sb_record_names_by_keys(&names, "/no/such.bag", NULL, NULL) == SB_NOENT);
    close(fd);
    unlink(path);
}

int main(void)
{
    RUN(formats);
    RUN(what_is_no_format);
    RUN(several_inputs_are_numbered_on);
    RUN(keys);
    return check_end();
}
