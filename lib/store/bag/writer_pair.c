/*
 * Records and their keys, committed together.
 */
#include "store/bag/writer_private.h"

static bool is_tied(const struct sb_bag_writer *records, const struct sb_bag_writer *keys)
{
    return records->append && keys->append && records->append->begun && keys->append->begun;
}

/* What is not finished is left to the next writer, as after a kill. */
static void leave(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    records->append->left = keys->append->left = true;
    records->made = keys->made = 0;
}

static enum sb_code has_grown(const struct sb_bag_writer *writer, bool *grown)
{
    struct sb_error ignored;

    return sb_bag_has_grown(writer->pattern.path, writer->append->new_end,
                            writer->append->new_limits_size, grown, &ignored);
}

/* Only names are left to do, so that it is worth a second try. */
static enum sb_code commit_keys(struct sb_bag_writer *records, struct sb_bag_writer *keys,
                                struct sb_error *err)
{
    enum sb_code code = sb_bag_append_commit(keys, err);
    struct sb_error ignored;
    bool grown;

    if (code && (has_grown(keys, &grown) || !grown) && sb_bag_append_commit(keys, &ignored))
        leave(records, keys);
    return code;
}

/* A commit that failed may have done its work: then the keys get theirs all the same. */
static enum sb_code commit_tied(struct sb_bag_writer *records, struct sb_bag_writer *keys,
                                struct sb_error *err)
{
    enum sb_code code = sb_bag_tie(records, keys, err);
    struct sb_error ignored;
    bool grown;

    if (code)
        return code;
    code = sb_bag_append_commit(records, err);
    if (!code)
        return commit_keys(records, keys, err);
    if (has_grown(records, &grown))
        leave(records, keys);
    else if (grown)
        (void)!commit_keys(records, keys, &ignored);
    return code;
}

static enum sb_code commit_new(struct sb_bag_writer *records, struct sb_bag_writer *keys,
                               struct sb_error *err)
{
    enum sb_code code = sb_bag_writer_commit(keys, err);

    if (code == SB_OK) {
        code = sb_bag_writer_commit(records, err);
        if (code)
            sb_bag_take_names(records);
    }
    if (code)
        sb_bag_take_names(keys);
    return code;
}

enum sb_code sb_bag_writer_commit_pair(struct sb_bag_writer *records, struct sb_bag_writer *keys,
                                       struct sb_error *err)
{
    enum sb_code code = sb_bag_writer_finish(records, err);

    if (code == SB_OK)
        code = sb_bag_writer_finish(keys, err);
    if (code)
        return code;
    return is_tied(records, keys) ? commit_tied(records, keys, err)
                                  : commit_new(records, keys, err);
}
