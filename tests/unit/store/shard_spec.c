/* lib/store/shard_spec.h */
#include "store/shard_spec.h"
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/shard_spec.XXXXXX";

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    if (CHECK(fd >= 0))
        close(fd);
}

static void clear(void)
{
    CHECK(system("rm -rf ./*") == 0); /* NOLINT(cert-env33-c): a directory of our own */
}

/* The paths of a spec, with blanks between them; a failure's text. */
static const char *list_by(enum sb_code (*list)(struct sb_spec *out, const char *spec),
                           const char *text)
{
    static char joined[4096];
    struct sb_spec spec;
    size_t used = 0;

    if (list(&spec, text)) {
        snprintf(joined, sizeof(joined), "%s", sb_error()->text);
        return joined;
    }
    joined[0] = '\0';
    for (size_t i = 0; i < spec.count && used < sizeof(joined); i++)
        used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? " " : "",
                                 spec.paths[i]);
    sb_spec_release(&spec);
    return joined;
}

static const char *expand(const char *text)
{
    return list_by(sb_spec_expand, text);
}

static const char *beside(const char *text)
{
    return list_by(sb_spec_beside, text);
}

static void sets_have_their_names_by_number(void)
{
    CHECK_TEXT(expand("a@2.bagz"), "a-00000-of-00002.bagz a-00001-of-00002.bagz");
    CHECK_TEXT(expand("d@2/a@1.bag"), "d@2/a-00000-of-00001.bag");
    CHECK_TEXT(expand("a@0001"), "a-00000-of-00001");
    CHECK_TEXT(expand("a@1,,b@1x,"), "a-00000-of-00001 b-00000-of-00001x");
}

static void an_at_that_is_a_letter(void)
{
    CHECK_TEXT(expand("a@b.bagz"), "a@b.bagz");
    CHECK_TEXT(expand("a@0.bagz"), "a@0.bagz");
    CHECK_TEXT(expand("a@100000.bagz"), "a@100000.bagz");
    CHECK_TEXT(expand("a@99999999999999999999.bagz"), "a@99999999999999999999.bagz");
    CHECK_TEXT(expand("a@"), "a@");
    CHECK_TEXT(expand("d@2/a"), "d@2/a");
    CHECK_TEXT(expand("me@home@1"), "me@home-00000-of-00001");
}

static void the_largest_set(void)
{
    struct sb_spec spec;

    if (!CHECK(sb_spec_expand(&spec, "a@99999") == SB_OK))
        return;
    CHECK(spec.count == 99999);
    CHECK_TEXT(spec.paths[99998], "a-99998-of-99999");
    sb_spec_release(&spec);
}

static void a_path_that_exists_is_taken_literally(void)
{
    make("a@2.bag");
    make("b,c.bag");
    make("x*.bag");
    make("xy.bag");
    CHECK_TEXT(expand("a@2.bag"), "a@2.bag");
    CHECK_TEXT(expand("b,c.bag"), "b,c.bag");
    CHECK_TEXT(expand("x*.bag"), "x*.bag");
    CHECK_TEXT(expand("q@1.bag,a@2.bag"), "q-00000-of-00001.bag a@2.bag");
    make("fs:a.bag");
    CHECK_TEXT(expand("fs:a.bag"), "fs:a.bag");
    make("gs:a.bag");
    CHECK_TEXT(expand("gs:a.bag"), "gs:a.bag");
    clear();
}

static void a_star_means_the_last_set_that_is_there(void)
{
    CHECK_TEXT(expand("a@*.bagz"), "a@*.bagz: there is no a-00000-of-NNNNN.bagz");
    make("a-00000-of-00001.bagz");
    make("a-00000-of-00003.bagz");
    make("a-00001-of-00004.bagz");
    make("ab-00000-of-00009.bagz");
    make("a-00000-of-00009.bag");
    CHECK_TEXT(expand("a@*.bagz"),
               "a-00000-of-00003.bagz a-00001-of-00003.bagz a-00002-of-00003.bagz");
    make("[a]-00000-of-00001.bag");
    CHECK_TEXT(expand("[a]@*.bag"), "[a]-00000-of-00001.bag");
    make("z-00000-of-00000.bag");
    CHECK_TEXT(expand("z@*.bag"), "z@*.bag: there is no z-00000-of-NNNNN.bag");
    clear();
}

static void a_plus_behind_a_bag_begins_another_beside_it(void)
{
    CHECK_TEXT(beside("a.bag"), "a.bag");
    CHECK_TEXT(beside("a.int8.bagz+b@4.bagz+c@*.bag"), "a.int8.bagz b@4.bagz c@*.bag");
    CHECK_TEXT(beside("a.bag,b.bag+c.bag"), "a.bag,b.bag c.bag");
    CHECK_TEXT(beside("c++.bag+d+e/f.bag"), "c++.bag d+e/f.bag");
    CHECK_TEXT(beside("a+b"), "a+b");
    CHECK_TEXT(beside("a.bag+"), "a.bag ");
    make("a.bag+b.bag");
    make("a.bag+b.bag+c");
    CHECK_TEXT(beside("a.bag+b.bag"), "a.bag+b.bag");
    CHECK_TEXT(beside("a.bag+b.bag+c"), "a.bag+b.bag+c");
    CHECK_TEXT(beside("a.bag+b.bag+d.bag"), "a.bag+b.bag d.bag");
    clear();
}

static void globs_come_in_order_of_name(void)
{
    make("b.bagz");
    make("a.bagz");
    make("B.bagz");
    make("limits.a.bagz");
    CHECK_TEXT(expand("*.bagz"), "B.bagz a.bagz b.bagz");
    CHECK_TEXT(expand("[ab].bagz,a.bagz"), "a.bagz b.bagz a.bagz");
    CHECK_TEXT(expand("q*.bagz"), "q*.bagz: no file is called so");
    CHECK_TEXT(expand("limits.*"), "limits.*: no file is called so");
    CHECK_TEXT(expand("./*a.bagz"), "./a.bagz");
    clear();
}

static void prefixes_of_file_systems(void)
{
    CHECK_TEXT(expand("fs:a.bagz"), "a.bagz");
    CHECK_TEXT(expand("/fs:/x/a@1.bagz,posix:b.bag"), "/x/a-00000-of-00001.bagz b.bag");
    CHECK_TEXT(expand("gs://bucket/a@4.bagz"),
               "gs://bucket/a@4.bagz: is not on a file system; use a pipe: gsutil cat "
               "gs://bucket/a@4.bagz | shardbox ... --from=bagz -");
    CHECK_TEXT(expand("/gs:/bucket/a.bagz"),
               "/gs:/bucket/a.bagz: is not on a file system; use a pipe: gsutil cat "
               "gs://bucket/a.bagz | shardbox ... --from=bagz -");
    CHECK_TEXT(expand("s3://b/a.bagz"),
               "s3://b/a.bagz: is not on a file system; use a pipe: aws s3 cp s3://b/a.bagz - | "
               "shardbox ... --from=bagz -");
    CHECK_TEXT(expand("a:b.bagz"), "a:b.bagz");
    CHECK_TEXT(expand(","), "\",\" names no file");
}

static void specs_by_their_words(void)
{
    CHECK(sb_spec_is_of_bags("a.bag"));
    CHECK(sb_spec_is_of_bags("d/a@16.bagz"));
    CHECK(sb_spec_is_of_bags("a@*.bagz"));
    CHECK(sb_spec_is_of_bags("a.bag,,b*.bagz,"));
    CHECK(sb_spec_is_of_bags("gs://x/a.bagz"));
    CHECK(!sb_spec_is_of_bags("a.bag,b.tar"));
    CHECK(!sb_spec_is_of_bags("a.bagzz"));
    CHECK(!sb_spec_is_of_bags(".bagz"));
    CHECK(!sb_spec_is_of_bags(","));
    CHECK(!sb_spec_is_of_bags(""));
}

static void names_to_write(void)
{
    struct sb_shard_pattern pattern;
    struct sb_buf name = {0};

    if (!CHECK(sb_shard_pattern_parse(&pattern, "fs:d/o@16.bagz") == SB_OK))
        return;
    CHECK(pattern.is_set && pattern.shards == 16);
    CHECK(sb_shard_pattern_name(&pattern, 3, 16, &name) == SB_OK);
    CHECK_TEXT(name.data, "d/o-00003-of-00016.bagz");
    CHECK(sb_shard_pattern_parse(&pattern, "o@*.bag") == SB_OK);
    CHECK(pattern.is_set && pattern.shards == 0);
    CHECK(sb_shard_pattern_parse(&pattern, "me@home.bag") == SB_OK);
    CHECK(!pattern.is_set);
    sb_buf_clear(&name);
    CHECK(sb_shard_pattern_name(&pattern, 0, 1, &name) == SB_OK);
    CHECK_TEXT(name.data, "me@home.bag");
    CHECK(sb_shard_pattern_parse(&pattern, "a.bag,b.bag") == SB_INVALID);
    CHECK(sb_shard_pattern_parse(&pattern, "gs://a/b.bag") == SB_INVALID);
    sb_buf_release(&name);
}

static void names_of_limits(void)
{
    struct sb_buf name = {0};

    CHECK(sb_limits_name("a.bag", &name) == SB_OK);
    CHECK_TEXT(name.data, "limits.a.bag");
    sb_buf_clear(&name);
    CHECK(sb_limits_name("/x/y/a.bag", &name) == SB_OK);
    CHECK_TEXT(name.data, "/x/y/limits.a.bag");
    sb_buf_release(&name);
}

int main(void)
{
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    RUN(sets_have_their_names_by_number);
    RUN(an_at_that_is_a_letter);
    RUN(the_largest_set);
    RUN(a_plus_behind_a_bag_begins_another_beside_it);
    RUN(a_path_that_exists_is_taken_literally);
    RUN(a_star_means_the_last_set_that_is_there);
    RUN(globs_come_in_order_of_name);
    RUN(prefixes_of_file_systems);
    RUN(specs_by_their_words);
    RUN(names_to_write);
    RUN(names_of_limits);
    if (rmdir(directory))
        return 1;
    return check_end();
}
