/* lib/store/part_name.h */
#include "store/part_name.h"
#include "check.h"

static const char *name_of(const char *path, bool bag)
{
    static struct sb_buf name;

    if (sb_part_name(path, (struct sb_share){1, 4}, bag, &name))
        return sb_error()->text;
    return name.data;
}

static void the_number_goes_before_the_suffix(void)
{
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"out.barecat", "out-00001-of-00004.barecat"},
        {"dir.tar/out.barecat", "dir.tar/out-00001-of-00004.barecat"},
        {"out.tar.zst", "out-00001-of-00004.tar.zst"},
        {"out.tgz", "out-00001-of-00004.tgz"},
        {"out.zip", "out-00001-of-00004.zip"},
        {"out.v2.zip", "out.v2-00001-of-00004.zip"},
        {"out.bagz", "out-00001-of-00004.bagz"},
        {"out.bag", "out-00001-of-00004.bag"},
        {"out", "out-00001-of-00004"},
        {"out.v2", "out.v2-00001-of-00004"},
        {"./out", "./out-00001-of-00004"},
        {"out/", "out-00001-of-00004"},
        {"a/out.d//", "a/out.d-00001-of-00004"},
        {".barecat", ".barecat-00001-of-00004"},
        {"a/.zip", "a/.zip-00001-of-00004"},
        {"...", "...-00001-of-00004"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_TEXT(name_of(cases[i].path, false), cases[i].name);
}

static void a_set_of_bags_has_as_many_shards_as_there_are_parts(void)
{
    CHECK_TEXT(name_of("out.bagz", true), "out-00001-of-00004.bagz");
    CHECK_TEXT(name_of("out@4.bagz", true), "out-00001-of-00004.bagz");
    CHECK_TEXT(name_of("out@*.bagz", true), "out-00001-of-00004.bagz");
    CHECK_TEXT(name_of("d/out@4.part.bag", true), "d/out-00001-of-00004.part.bag");
    CHECK_TEXT(name_of("out@16.bagz", true),
               "out@16.bagz: is a set of 16 shards, but the work is cut into 4 parts; "
               "each part is one shard");
    CHECK(strstr(name_of("a.bagz,b.bagz", true), "an output has one name"));
}

static void elsewhere_an_at_is_a_letter(void)
{
    CHECK_TEXT(name_of("out@16.barecat", false), "out@16-00001-of-00004.barecat");
}

static void what_ends_in_no_name_is_refused(void)
{
    static const char *const paths[] = {"", "/", "//", ".", "..", "a/..", "a/.", "a/../"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        CHECK(strstr(name_of(paths[i], false), "ends in no name"));
}

static void what_is_not_cut_keeps_its_name(void)
{
    struct sb_buf name = {0};

    CHECK(sb_part_name("out@16.bagz", (struct sb_share){0}, true, &name) == SB_OK);
    CHECK_TEXT(name.data, "out@16.bagz");
    CHECK_TEXT(name_of("-", false), "-");
    CHECK(sb_part_name("a.zip", (struct sb_share){99998, 99999}, false, &name) == SB_OK);
    CHECK_TEXT(name.data, "a-99998-of-99999.zip");
    sb_buf_release(&name);
}

static bool is_of_the_work(const char *name)
{
    return sb_is_part_file(name, "out-00001-of-00004.barecat", (struct sb_share){1, 4});
}

static void the_files_of_all_parts_are_known(void)
{
    CHECK(is_of_the_work("out-00001-of-00004.barecat"));
    CHECK(is_of_the_work("out-00003-of-00004.barecat"));
    CHECK(is_of_the_work("out-00003-of-00004.barecat.new-shard-00000"));
    CHECK(!is_of_the_work("out-00003-of-00005.barecat"));
    CHECK(!is_of_the_work("out-00003-of-00004.zip"));
    CHECK(!is_of_the_work("out-000030-of-00004.barecat"));
    CHECK(!is_of_the_work("out-0003-of-00004.barecat"));
    CHECK(!is_of_the_work("out-"));
    CHECK(!is_of_the_work(""));
    CHECK(!is_of_the_work("out-00003-of-00004.barecat.bak"));
    CHECK(!is_of_the_work("out-00003-of-00004.barecat-shard-7"));
    CHECK(sb_is_part_file("out.new", "out", (struct sb_share){0}));
    CHECK(!sb_is_part_file("out.csv", "out", (struct sb_share){0}));
    CHECK(!sb_is_part_file("ou", "out", (struct sb_share){0}));
}

int main(void)
{
    RUN(the_number_goes_before_the_suffix);
    RUN(a_set_of_bags_has_as_many_shards_as_there_are_parts);
    RUN(elsewhere_an_at_is_a_letter);
    RUN(what_ends_in_no_name_is_refused);
    RUN(what_is_not_cut_keeps_its_name);
    RUN(the_files_of_all_parts_are_known);
    return check_end();
}
