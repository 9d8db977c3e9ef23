/*
 * Bags side by side, as a table: row i consists of record i of each, and each is a column.
 *
 * A column has the name of the bag's file without its suffixes. The suffix before .bag or .bagz
 * says what the records are: image.float32.bagz has values of a float32, caption.str.bagz texts,
 * label.npy.bagz .npy files; those of scan.jpg.bagz are bytes, and the column is called scan.jpg.
 */
#ifndef SB_STORE_BESIDE_BESIDE_H
#define SB_STORE_BESIDE_BESIDE_H

#include "store/bag/bag.h"
#include "store/table.h"

struct sb_beside_options {
    const struct sb_bag_options *bag; /* how they are read; NULL: the defaults */

    /* All must be arrays: of bags whose names do not say it of this type, or, if it is none, of
     * .npy files, by their first record. */
    bool arrays;
    enum sb_dtype dtype;
};

/* What the name of a bag says; false: nothing but the array's name, form and dtype are not set. */
bool sb_bag_array_name(struct sb_array_name *out, const char *spec);

/* SB_INVALID: the bags differ in their number of records, two have the same name, or nothing says
 * what one holds. */
enum sb_code sb_table_of_bags(struct sb_table **out, char *const *specs, size_t count,
                              const struct sb_beside_options *options,
                              const struct sb_notify *notify) SB_CHECKED;

#endif
