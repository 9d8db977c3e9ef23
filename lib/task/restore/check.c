#include "archive/checksum.h"
#include "archive/shards.h"
#include "task/restore/impl.h"

struct check {
    struct sb_restore *restore;
    enum sb_restore_state state, right, wrong;
    int64_t after; /* the last item that was begun */
};

static enum sb_code next(void *context, struct sb_checksum_extent *extent, struct sb_error *err)
{
    struct check *check = context;
    struct sb_restore_item item;
    enum sb_code code = sb_restore_list_next(check->restore->list, check->after, check->state,
                                             check->state, &item, err);

    if (code)
        return code;
    check->after = item.id;
    *extent = (struct sb_checksum_extent){
        .shard = item.shard,
        .offset = item.offset,
        .size = item.size,
        .name = item.path,
        .name_size = item.path_size,
        .id = item.id,
        .expected = item.crc32c,
    };
    return SB_OK;
}

static enum sb_code done(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure, struct sb_error *err)
{
    const struct check *check = context;
    bool right = !failure && crc == extent->expected;

    return sb_restore_list_set(check->restore->list, extent->id,
                               right ? check->right : check->wrong, err);
}

enum sb_code sb_restore_check(struct sb_restore *restore, enum sb_restore_state state,
                              enum sb_restore_state right, enum sb_restore_state wrong,
                              struct sb_error *err)
{
    static const struct sb_checksum_ops ops = {.next = next, .done = done};
    struct check check = {.restore = restore, .state = state, .right = right, .wrong = wrong};
    struct sb_shards *shards;
    enum sb_code code = sb_shards_open_at(&shards, sb_restore_target_base(restore->target), err);

    if (code == SB_OK)
        code = sb_checksum(shards, &ops, &check, restore->options->threads, err);
    sb_shards_free(shards);
    return code;
}
