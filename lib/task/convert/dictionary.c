#include "task/convert/dictionary.h"

#include "store/bag/bag.h"

static enum sb_code pass_over(void *context, const void *data, size_t size, struct sb_error *err)
{
    (void)context;
    (void)data;
    (void)size;
    (void)err;
    return SB_OK;
}

/* The first record of a shard that is not empty. SB_END: there is none. */
static enum sb_code find_bytes(struct sb_bag_reader *reader, uint32_t shard, int64_t records,
                               struct sb_extent *out, struct sb_error *err)
{
    for (int64_t i = 0; i < records; i++) {
        struct sb_place place = {.shard = shard, .index = i};
        size_t good;
        enum sb_code code = sb_bag_extents(reader, place, 1, out, &good, err);

        if (code || out->size > 0)
            return code;
    }
    return SB_END;
}

/* One dictionary must read all of a bag: that of its first record must be the new one's, if any. */
static enum sb_code hold_against(struct sb_bag *bag, struct sb_error *err)
{
    struct sb_bag_reader *reader;
    struct sb_extent extent;
    enum sb_code code = sb_bag_reader_new(&reader, bag, err);

    if (!code)
        code = SB_END;
    for (uint32_t i = 0; code == SB_END && i < sb_bag_shard_count(bag); i++)
        code = find_bytes(reader, i, sb_bag_shard(bag, i)->records, &extent, err);
    if (!code)
        code = sb_bag_stream(reader, &extent, pass_over, NULL, err);
    sb_bag_reader_free(reader);
    if (code == SB_DAMAGED)
        return sb_fail(err, SB_INVALID,
                       "%s: its records cannot be read by the dictionary that is to be used for "
                       "more; --dictionary must be that of the bag",
                       sb_bag_name(bag));
    return code == SB_END ? SB_OK : code;
}

/* What keeps the bag from being opened is told by its writer. */
static enum sb_code check_appended(const struct sb_convert_options *options,
                                   struct sb_dictionary *dictionary, struct sb_error *err)
{
    const struct sb_bag_writer_options *write = &options->records.write;
    struct sb_bag_options read = {
        .compression = write->compression, .dictionary = dictionary, .limits = write->limits};
    struct sb_error ignored;
    struct sb_bag *bag;
    enum sb_code code;

    if (sb_bag_open(&bag, options->output, &read, NULL, &ignored))
        return SB_OK;
    code = hold_against(bag, err);
    sb_bag_free(bag);
    return code;
}

enum sb_code sb_convert_dictionary(struct sb_dictionary **out,
                                   const struct sb_convert_options *options, struct sb_error *err)
{
    const char *path = options->records.dictionary;
    enum sb_code code;

    *out = NULL;
    if (!path)
        return SB_OK;
    code = sb_dictionary_read(out, path, err);
    return code || !options->append ? code : check_appended(options, *out, err);
}
