/* lib/task/transfer/transfer.h: recoders */
#include "check.h"
#include "task/transfer/transfer.h"

#include <stdint.h>
#include <stdlib.h>

static const char *const suffixes[] = {[SB_FILTER_GZIP] = ".gz",
                                       [SB_FILTER_BZIP2] = ".bz2",
                                       [SB_FILTER_XZ] = ".xz",
                                       [SB_FILTER_ZSTD] = ".zst"};

static const struct sb_recode decompress = {.decompress = true, .all_layers = true};

static enum sb_code collect(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size) ? sb_fail_memory() : SB_OK;
}

/* Fed in pieces of `step` bytes; *out is made anew. */
static enum sb_code recode(struct sb_recoder *recoder, const struct sb_recode *options,
                           const char *name, const struct sb_buf *in, size_t step,
                           struct sb_buf *out)
{
    enum sb_code code;

    sb_buf_clear(out);
    code = sb_recoder_begin(recoder, options, name, strlen(name), (int64_t)in->size, collect, out);
    for (size_t at = 0; code == SB_OK && at < in->size; at += step)
        code = sb_recoder_feed(recoder, in->data + at, in->size - at < step ? in->size - at : step);
    return code ? code : sb_recoder_finish(recoder);
}

static bool same(const struct sb_buf *a, const struct sb_buf *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void fill(struct sb_buf *buf, size_t size)
{
    uint32_t random = 7;

    sb_buf_clear(buf);
    CHECK(sb_buf_reserve(buf, size) == SB_OK);
    for (size_t i = 0; i < size; i++) {
        random = random * 1103515245 + 12345;
        CHECK(sb_buf_add_char(buf, (char)(random >> 28)) == SB_OK);
    }
}

static void names(void)
{
    static const struct {
        const char *name, *stripped, *recompressed;
        unsigned layers;
    } all[] = {
        {"a", "a", "a.zst", 0},
        {"a.gz", "a", "a.zst", 1},
        {"d.gz/a.tar.gz.zst", "d.gz/a.tar", "d.gz/a.tar.zst", 2},
        {"a.xz.bz2", "a", "a.zst", 2},
        {".gz", ".gz", ".gz.zst", 0},
        {"d/.gz.xz", "d/.gz", "d/.gz.zst", 1},
        {"a.gz.gz.gz.gz.gz", "a.gz", "a.gz.zst", 4},
        {"agz", "agz", "agz.zst", 0},
        {"a.tgz", "a.tgz", "a.tgz.zst", 0},
    };
    struct sb_recode both = {.decompress = true, .all_layers = true, .compress = SB_FILTER_ZSTD};
    struct sb_recode one = {.decompress = true};
    struct sb_recode put_on = {.compress = SB_FILTER_XZ};
    struct sb_buf out = {0};
    unsigned layers;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        size_t size = strlen(all[i].name);

        CHECK(sb_recode_name(&decompress, all[i].name, size, &out, &layers) == SB_OK);
        CHECK_TEXT(out.data, all[i].stripped);
        CHECK(layers == all[i].layers);
        CHECK(sb_recode_name(&both, all[i].name, size, &out, &layers) == SB_OK);
        CHECK_TEXT(out.data, all[i].recompressed);
    }
    CHECK(sb_recode_name(&one, "a.gz.xz", 7, &out, &layers) == SB_OK && layers == 1);
    CHECK_TEXT(out.data, "a.gz");
    CHECK(sb_recode_name(&put_on, "a.gz", 4, &out, &layers) == SB_OK && layers == 0);
    CHECK_TEXT(out.data, "a.gz.xz");
    CHECK(sb_recode_works(&both) && sb_recode_works(&put_on) && sb_recode_works(&decompress));
    CHECK(!sb_recode_works(&(struct sb_recode){0}));
    sb_buf_release(&out);
}

static void levels(void)
{
    struct sb_recode options = {.compress = SB_FILTER_ZSTD, .level = 19};

    CHECK(sb_recode_check(&options) == SB_OK);
    options.level = 20;
    CHECK(sb_recode_check(&options) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "level 20: zstd has 1 to 19");
    options = (struct sb_recode){.compress = SB_FILTER_GZIP, .level = -1};
    CHECK(sb_recode_check(&options) == SB_INVALID);
}

/* Every size from nothing to more than all buffers, in pieces of every kind. */
static void what_is_put_on_comes_off(void)
{
    static const size_t sizes[] = {0, 1, 5000, 131072, 700000};
    static const size_t steps[] = {1 << 20, 1000, 65536};
    struct sb_buf plain = {0}, packed = {0}, other = {0}, back = {0};
    struct sb_recoder *recoder;

    CHECK(sb_recoder_new(&recoder) == SB_OK);
    for (unsigned coding = SB_FILTER_GZIP; coding <= SB_FILTER_ZSTD; coding++) {
        struct sb_recode compress = {.compress = (enum sb_filter_kind)coding, .level = 1};
        char name[8];

        snprintf(name, sizeof(name), "a%s", suffixes[coding]);
        for (size_t i = 0; i < 5; i++) {
            fill(&plain, sizes[i]);
            CHECK(recode(recoder, &compress, "a", &plain, 777, &packed) == SB_OK);
            for (size_t j = 0; j < 3; j++) {
                CHECK(recode(recoder, &compress, "a", &plain, steps[j], &other) == SB_OK);
                CHECK(same(&packed, &other));
                CHECK(recode(recoder, &decompress, name, &packed, steps[j], &back) == SB_OK);
                CHECK(same(&plain, &back));
            }
        }
    }
    sb_recoder_free(recoder);
    sb_recoder_free(NULL);
    sb_buf_release(&plain);
    sb_buf_release(&packed);
    sb_buf_release(&other);
    sb_buf_release(&back);
}

static void layers_and_recompression(void)
{
    struct sb_recode gzip = {.compress = SB_FILTER_GZIP}, zstd = {.compress = SB_FILTER_ZSTD};
    struct sb_recode both = {.decompress = true, .all_layers = true, .compress = SB_FILTER_XZ};
    struct sb_buf plain = {0}, inner = {0}, outer = {0}, out = {0}, back = {0};
    struct sb_recoder *recoder;

    fill(&plain, 300000);
    CHECK(sb_recoder_new(&recoder) == SB_OK);
    CHECK(recode(recoder, &gzip, "a", &plain, 5000, &inner) == SB_OK);
    CHECK(recode(recoder, &zstd, "a.gz", &inner, 5000, &outer) == SB_OK);
    CHECK(recode(recoder, &decompress, "a.gz.zst", &outer, 5000, &out) == SB_OK);
    CHECK(same(&plain, &out));
    CHECK(recode(recoder, &both, "a.gz.zst", &outer, 5000, &out) == SB_OK);
    CHECK(recode(recoder, &decompress, "a.xz", &out, 5000, &back) == SB_OK);
    CHECK(same(&plain, &back));
    CHECK(recode(recoder, &decompress, "a.txt", &plain, 5000, &out) == SB_OK);
    CHECK(same(&plain, &out));
    sb_recoder_free(recoder);
    sb_buf_release(&plain);
    sb_buf_release(&inner);
    sb_buf_release(&outer);
    sb_buf_release(&out);
    sb_buf_release(&back);
}

/* gzip(1) writes a name and a time into the header; we do not. */
static void gzip_without_name_and_time(void)
{
    struct sb_recode gzip = {.compress = SB_FILTER_GZIP};
    struct sb_buf plain = {0}, out = {0};
    struct sb_recoder *recoder;

    CHECK(sb_recoder_new(&recoder) == SB_OK);
    CHECK(recode(recoder, &gzip, "name", &plain, 1, &out) == SB_OK);
    CHECK(out.size > 10 && memcmp(out.data, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) == 0);
    sb_recoder_free(recoder);
    sb_buf_release(&out);
    sb_buf_release(&plain);
}

/* What every tool of the four formats takes, and what none should. */
static void concatenated_cut_short_and_junk(void)
{
    struct sb_buf plain = {0}, packed = {0}, twice = {0}, out = {0};
    struct sb_recoder *recoder;
    char name[8];

    fill(&plain, 3000);
    CHECK(sb_recoder_new(&recoder) == SB_OK);
    for (unsigned coding = SB_FILTER_GZIP; coding <= SB_FILTER_ZSTD; coding++) {
        struct sb_recode compress = {.compress = (enum sb_filter_kind)coding};
        size_t whole;

        snprintf(name, sizeof(name), "a%s", suffixes[coding]);
        CHECK(recode(recoder, &compress, "a", &plain, 777, &packed) == SB_OK);
        whole = packed.size;

        CHECK(sb_buf_set(&twice, packed.data, whole) == SB_OK);
        CHECK(sb_buf_add(&twice, packed.data, whole) == SB_OK);
        CHECK(recode(recoder, &decompress, name, &twice, 100, &out) == SB_OK);
        CHECK(out.size == 6000 && memcmp(out.data + 3000, plain.data, 3000) == 0);
        CHECK(recode(recoder, &decompress, name, &twice, whole, &out) == SB_OK);
        CHECK(out.size == 6000);

        CHECK(sb_buf_add_text(&packed, "junk behind it") == SB_OK);
        CHECK(recode(recoder, &decompress, name, &packed, 5, &out) == SB_DAMAGED);
        CHECK(recode(recoder, &decompress, name, &packed, 10000, &out) == SB_DAMAGED);
        for (size_t cut = 0; cut < whole; cut++) {
            sb_buf_cut(&packed, whole - 1 - cut);
            CHECK(recode(recoder, &decompress, name, &packed, 100, &out) == SB_DAMAGED);
        }
        CHECK(recode(recoder, &decompress, name, &plain, 100, &out) == SB_DAMAGED);
    }
    CHECK(strstr(sb_error()->text, "is not zstd data, whatever its name says") != NULL);
    sb_recoder_free(recoder);
    sb_buf_release(&plain);
    sb_buf_release(&packed);
    sb_buf_release(&twice);
    sb_buf_release(&out);
}

/* A flipped bit is found, but where the format has bits that mean nothing. */
static void flipped_bits(void)
{
    struct sb_buf plain = {0}, packed = {0}, out = {0};
    struct sb_recoder *recoder;
    char name[8];

    fill(&plain, 500);
    CHECK(sb_recoder_new(&recoder) == SB_OK);
    for (unsigned coding = SB_FILTER_GZIP; coding <= SB_FILTER_ZSTD; coding++) {
        struct sb_recode compress = {.compress = (enum sb_filter_kind)coding};

        snprintf(name, sizeof(name), "a%s", suffixes[coding]);
        CHECK(recode(recoder, &compress, "a", &plain, 777, &packed) == SB_OK);
        for (size_t bit = 0; bit < 8 * packed.size; bit++) {
            enum sb_code code;

            packed.data[bit / 8] ^= (char)(1 << bit % 8);
            code = recode(recoder, &decompress, name, &packed, 100, &out);
            packed.data[bit / 8] ^= (char)(1 << bit % 8);
            CHECK(code == SB_DAMAGED || code == SB_LIMIT || (code == SB_OK && same(&plain, &out)));
        }
    }
    sb_recoder_free(recoder);
    sb_buf_release(&plain);
    sb_buf_release(&packed);
    sb_buf_release(&out);
}

static enum sb_code read_frame(const void *bytes, size_t size)
{
    struct sb_buf in = {0}, out = {0};
    struct sb_recoder *recoder;
    enum sb_code code;

    CHECK(sb_recoder_new(&recoder) == SB_OK && sb_buf_set(&in, bytes, size) == SB_OK);
    code = recode(recoder, &decompress, "a.zst", &in, 1000, &out);
    sb_recoder_free(recoder);
    sb_buf_release(&in);
    sb_buf_release(&out);
    return code;
}

/*
 * RFC 8878: magic, descriptor, window, content size, one raw block of a byte. Nothing is allocated
 * for what they merely declare.
 */
static void zstd_frames_that_declare_too_much(void)
{
    static const unsigned char huge_content[] = {0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x58, 0, 0, 0,
                                                 0,    0,    0,    0,    0x10, 0x09, 0, 0, 'x'};
    static const unsigned char single_segment[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,  0,
                                                   0,    0,    0,    0x10, 0x09, 0, 0, 'x'};
    static const unsigned char huge_window[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, 0x09, 0, 0, 'x'};
    static const unsigned char sound[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0x09, 0, 0, 'x'};
    static const unsigned char skipped[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};

    CHECK(read_frame(huge_content, sizeof(huge_content)) == SB_DAMAGED);
    CHECK(read_frame(single_segment, sizeof(single_segment)) == SB_LIMIT);
    CHECK(read_frame(huge_window, sizeof(huge_window)) == SB_LIMIT);
    CHECK_TEXT(sb_error()->text, "its zstd data need more than 128 MiB of memory");
    CHECK(read_frame(sound, sizeof(sound)) == SB_OK);
    CHECK(read_frame(sound, sizeof(sound) - 1) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "its zstd data are cut short");
    CHECK(read_frame(skipped, sizeof(skipped)) == SB_OK);
}

/* Zeros behind a gzip member, as tapes leave them, are no junk; a byte behind these is. */
static void padding_of_gzip(void)
{
    struct sb_recode gzip = {.compress = SB_FILTER_GZIP};
    struct sb_buf plain = {0}, packed = {0}, out = {0};
    struct sb_recoder *recoder;

    fill(&plain, 10);
    CHECK(sb_recoder_new(&recoder) == SB_OK);
    CHECK(recode(recoder, &gzip, "a", &plain, 10, &packed) == SB_OK);
    CHECK(sb_buf_add(&packed, "\0\0\0", 3) == SB_OK);
    CHECK(recode(recoder, &decompress, "a.gz", &packed, 1, &out) == SB_OK);
    CHECK(same(&plain, &out));
    CHECK(sb_buf_add(&packed, "x", 1) == SB_OK);
    CHECK(recode(recoder, &decompress, "a.gz", &packed, 1, &out) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "has junk after its gzip data");
    sb_recoder_free(recoder);
    sb_buf_release(&plain);
    sb_buf_release(&packed);
    sb_buf_release(&out);
}

/* Of a file that shrank meanwhile a zstd frame would say what is not so. */
static void another_size_than_was_told(void)
{
    struct sb_recode zstd = {.compress = SB_FILTER_ZSTD};
    struct sb_buf out = {0};
    struct sb_recoder *recoder;

    CHECK(sb_recoder_new(&recoder) == SB_OK);
    CHECK(sb_recoder_begin(recoder, &zstd, "a", 1, 10, collect, &out) == SB_OK);
    CHECK(sb_recoder_feed(recoder, "only9byte", 9) == SB_OK);
    CHECK(sb_recoder_finish(recoder) == SB_CHANGED);
    CHECK(sb_recoder_begin(recoder, &zstd, "a", 1, -1, collect, &out) == SB_OK);
    CHECK(sb_recoder_feed(recoder, "only9byte", 9) == SB_OK);
    CHECK(sb_recoder_finish(recoder) == SB_OK);
    sb_recoder_free(recoder);
    sb_buf_release(&out);
}

static void bombs_stop_at_the_limit(void)
{
    struct sb_recode options = {.decompress = true, .max_size = 100000};
    struct sb_buf plain = {0}, packed = {0}, out = {0};
    struct sb_recoder *recoder;
    char name[8];

    CHECK(sb_buf_reserve(&plain, 3000000) == SB_OK);
    memset(plain.data, 0, 3000000);
    plain.size = 3000000;
    CHECK(sb_recoder_new(&recoder) == SB_OK);
    for (unsigned coding = SB_FILTER_GZIP; coding <= SB_FILTER_ZSTD; coding++) {
        struct sb_recode compress = {.compress = (enum sb_filter_kind)coding};

        snprintf(name, sizeof(name), "a%s", suffixes[coding]);
        CHECK(recode(recoder, &compress, "a", &plain, 1000000, &packed) == SB_OK);
        CHECK(recode(recoder, &options, name, &packed, 1000000, &out) == SB_LIMIT);
        CHECK(out.size <= 200000);
    }
    CHECK_TEXT(sb_error()->text, "becomes more than 100000 bytes; see --max-size");
    sb_recoder_free(recoder);
    sb_buf_release(&plain);
    sb_buf_release(&packed);
    sb_buf_release(&out);
}

int main(void)
{
    RUN(names);
    RUN(levels);
    RUN(what_is_put_on_comes_off);
    RUN(layers_and_recompression);
    RUN(gzip_without_name_and_time);
    RUN(concatenated_cut_short_and_junk);
    RUN(flipped_bits);
    RUN(zstd_frames_that_declare_too_much);
    RUN(padding_of_gzip);
    RUN(another_size_than_was_told);
    RUN(bombs_stop_at_the_limit);
    return check_end();
}
