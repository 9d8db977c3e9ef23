#include "task/split/fill.h"

#include "archive/database.h"

enum sb_code sb_split_fill_measure(struct sb_split_fill *fill, enum sb_split_unit unit,
                                   struct sb_archive *archive, struct sb_error *err)
{
    enum sb_code code = sb_database_integer(sb_archive_database(archive),
                                            "SELECT sum(size) FROM main.files"
                                            " WHERE typeof(size) = 'integer' AND size > 0",
                                            0, &fill->bytes_ahead, err);

    if (!code)
        code = sb_split_unit_count(unit, archive, &fill->units_ahead, err);
    fill->by_number = fill->bytes_ahead == 0;
    if (fill->by_number)
        fill->bytes_ahead = fill->units_ahead;
    return code;
}

/*
 * Is the part at hand nearer to its share without this unit? Its share is an equal one of all that
 * the parts before it have left; and one for each part that is yet to come is kept where there are
 * enough.
 */
static bool share_is_full(const struct sb_split_fill *fill, int64_t size)
{
    int64_t parts_ahead = fill->amount - fill->at_hand;
    double share = (double)fill->bytes_ahead / (double)parts_ahead;

    if (fill->units_ahead - fill->units < parts_ahead)
        return true;
    return (double)fill->bytes + (double)size / 2 > share;
}

static bool is_full(const struct sb_split_fill *fill, int64_t size)
{
    if (fill->units == 0)
        return false;
    if (fill->by_size)
        return size > fill->amount - fill->bytes;
    return fill->at_hand + 1 < fill->amount && share_is_full(fill, size);
}

int64_t sb_split_fill_next(struct sb_split_fill *fill, int64_t size)
{
    if (fill->by_number)
        size = 1;
    if (is_full(fill, size)) {
        fill->at_hand++;
        fill->bytes_ahead -= fill->bytes;
        fill->units_ahead -= fill->units;
        fill->bytes = fill->units = 0;
    }
    if (__builtin_add_overflow(fill->bytes, size, &fill->bytes))
        fill->bytes = INT64_MAX;
    fill->units++;
    return fill->at_hand;
}
