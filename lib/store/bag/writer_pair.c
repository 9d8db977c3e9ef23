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
    return IGNORED(sb_bag_has_grown(writer->pattern.path, writer->append->new_end,
                                    writer->append->new_limits_size, grown));
}

/* Only names are left to do, so that it is worth a second try. */
static enum sb_code commit_keys(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code = sb_bag_append_commit(keys);
    bool grown;

    if (code && (has_grown(keys, &grown) || !grown) && IGNORED(sb_bag_append_commit(keys)))
        leave(records, keys);
    return code;
}

/* A commit that failed may have done its work: then the keys get theirs all the same. */
static enum sb_code commit_tied(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code = sb_bag_tie(records, keys);
    bool grown;

    if (code)
        return code;
    code = sb_bag_append_commit(records);
    if (!code)
        return commit_keys(records, keys);
    if (has_grown(records, &grown))
        leave(records, keys);
    else if (grown)
        (void)!IGNORED(commit_keys(records, keys));
    return code;
}

static enum sb_code commit_new(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code = sb_bag_writer_commit(keys);

    if (code == SB_OK) {
        code = sb_bag_writer_commit(records);
        if (code)
            sb_bag_take_names(records);
    }
    if (code)
        sb_bag_take_names(keys);
    return code;
}

enum sb_code sb_bag_writer_commit_pair(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    TRY(sb_bag_writer_finish(records));
    TRY(sb_bag_writer_finish(keys));
    return is_tied(records, keys) ? commit_tied(records, keys) : commit_new(records, keys);
}
