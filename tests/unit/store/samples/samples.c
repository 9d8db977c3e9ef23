#include "store/samples/samples.h"

#include "check.h"

static const char *name_of(const char *path)
{
    static char name[64];
    size_t size = sb_sample_name_size(path, strlen(path));

    memcpy(name, path, size);
    name[size] = '\0';
    return name;
}

static void files_of_one_stem_are_one_sample(void)
{
    CHECK_TEXT(name_of("0017.jpg"), "0017.");
    CHECK_TEXT(name_of("0017.seg.png"), "0017.");
    CHECK_TEXT(name_of("a/b/0017.json"), "a/b/0017.");
    CHECK_TEXT(name_of("0017."), "0017.");
}

static void a_dot_of_a_directory_is_none_of_the_name(void)
{
    CHECK_TEXT(name_of("v1.0/0017.jpg"), "v1.0/0017.");
    CHECK_TEXT(name_of("v1.0/README"), "v1.0/README");
}

static void what_has_no_stem_is_a_sample_of_its_own(void)
{
    CHECK_TEXT(name_of("README"), "README");
    CHECK_TEXT(name_of(".x"), ".x");
    CHECK_TEXT(name_of("a/.x.y"), "a/.x.y");
    CHECK_TEXT(name_of(""), "");
}

/* With an argument: the names of the samples of the paths on standard input, a line each, for what
 * other programs make of them. */
static int filter(void)
{
    char line[8192];

    while (fgets(line, sizeof(line), stdin))
        printf("%.*s\n", (int)sb_sample_name_size(line, strcspn(line, "\n")), line);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return filter();
    RUN(files_of_one_stem_are_one_sample);
    RUN(a_dot_of_a_directory_is_none_of_the_name);
    RUN(what_has_no_stem_is_a_sample_of_its_own);
    return check_end();
}
