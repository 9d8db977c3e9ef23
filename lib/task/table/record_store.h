/*
 * Where numbered records lie, as sb_record_fetch asks for them: in a bag, or as arrays of items.
 *
 * A kind fills in a struct that begins with struct sb_record_store. All of it may be used by any
 * number of threads; a reader belongs to one.
 */
#ifndef SB_TASK_TABLE_RECORD_STORE_H
#define SB_TASK_TABLE_RECORD_STORE_H

#include "task/table/record_fetch.h"

struct sb_record_store;

/* A record that was looked up; places sort as the bytes lie on disk. */
struct sb_stored_record {
    struct sb_place place;
    struct sb_extent extent;
};

/* As the functions of bag.h that are called alike, of which more is said there. */
struct sb_record_store_ops {
    enum sb_code (*reader_new)(const struct sb_record_store *store, void **out,
                               struct sb_error *err);
    void (*reader_free)(void *reader);

    struct sb_place (*place_of)(const struct sb_record_store *store, int64_t record);

    /* What is damaged has its subject before it. */
    enum sb_code (*extents)(void *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good, struct sb_error *err);
    enum sb_code (*read)(void *reader, uint32_t shard, int64_t offset, void *data, size_t size,
                         struct sb_error *err);

    /* Is it given out as something else than the bytes that are stored? */
    bool (*is_encoded)(const struct sb_record_store *store, struct sb_place place);

    /* From its stored bytes; the text of SB_DAMAGED says all. */
    enum sb_code (*decode)(void *reader, const struct sb_stored_record *record, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err);
    enum sb_code (*size)(void *reader, const struct sb_stored_record *record, int64_t *size,
                         struct sb_error *err);
    enum sb_code (*stream)(void *reader, const struct sb_stored_record *record, sb_each_block *each,
                           void *context, struct sb_error *err);

    /* Appends what it is called in messages: "record 7". */
    enum sb_code (*subject)(const struct sb_record_store *store, int64_t record,
                            struct sb_buf *out);

    /* Replaces out by its name in a frame, where the store is `named`; from the calling thread.
     * SB_DAMAGED, SB_LIMIT: it has none, and is damaged. */
    enum sb_code (*name)(const struct sb_record_store *store, int64_t record, struct sb_buf *out,
                         struct sb_error *err);

    /* Its number in a frame. NULL: as here. */
    int64_t (*index)(const struct sb_record_store *store, int64_t record);
};

struct sb_record_store {
    const struct sb_record_store_ops *ops;
    const char *name; /* for messages; kept */
    bool named;
    int64_t average_size; /* of records, above 0 */
};

/* Numbers of records, as record_choice.h gives them. */
struct sb_record_feed {
    enum sb_code (*next)(void *context, struct sb_record_run *run, struct sb_error *err);
    bool (*ready)(void *context);
    int64_t (*round)(void *context);
    int64_t (*total)(void *context);

    /* Of what next said is not there: the word that asked for it, in frames. NULL: its number. */
    const char *(*missing)(void *context);
    void *context;
};

/* As sb_record_fetch, wherever the records are. */
enum sb_code
sb_record_fetch_from(const struct sb_record_store *store, const struct sb_record_feed *feed,
                     const struct sb_record_fetch_options *options,
                     const struct sb_fetch_output *output, const struct sb_notify *notify,
                     struct sb_record_fetch_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
