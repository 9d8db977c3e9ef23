/*
 * Bags side by side, as items of arrays: item i consists of record i of each.
 *
 * An array is called as the bag's file without its suffixes, of which the one before .bag or .bagz
 * says what the records are: image.float32.bagz has values of a float32, caption.str.bagz texts,
 * label.npy.bagz .npy files.
 */
#ifndef SB_STORE_BAG_ARRAYS_H
#define SB_STORE_BAG_ARRAYS_H

#include "core/share.h"
#include "store/array/name.h"
#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/record_choice.h"
#include "store/source.h"

struct sb_bag_arrays_options {
    char *const *specs; /* of bags; kept */
    size_t count;
    const struct sb_bag_options *bag;               /* how they are read; NULL: the defaults */
    const struct sb_record_choice_options *records; /* which items; NULL: all */
    struct sb_share share;                          /* a run of these */
    struct sb_record_names *names;                  /* of items, by their records; NULL: they are
                                                     * counted. Of the caller */

    /* Of bags whose names do not say it, unless SB_DTYPE_NONE; else their first records must be
     * .npy files. */
    enum sb_dtype dtype;
};

/* What the name of a bag says; false: nothing but the array's name, form and dtype are not set. */
bool sb_bag_array_name(struct sb_array_name *out, const char *spec);

/*
 * Members are ITEM/ARRAY.npy, .txt or .float32, ...; without names ITEM counts from 00000000 on,
 * whichever records are chosen. SB_INVALID: bags that have not equally many records, or of which
 * nothing says what they hold. A record that cannot be read is told by its loader.
 */
enum sb_code sb_source_open_bag_arrays(struct sb_source **out,
                                       const struct sb_bag_arrays_options *options,
                                       const struct sb_notify *notify,
                                       struct sb_error *err) SB_CHECKED;

#endif
