/*
 * Bags to bags: frames are copied unchanged if both sides are compressed alike; else decoded and
 * encoded on threads.
 */
#ifndef SB_TASK_CONVERT_REBAG_H
#define SB_TASK_CONVERT_REBAG_H

#include "store/bag/writer.h"
#include "store/record_choice.h"

struct sb_rebag_options {
    struct sb_record_choice *choice;  /* NULL: all */
    bool same_dictionary;             /* frames of both sides use the same dictionary, or none */
    struct sb_dictionary *dictionary; /* for encoding */
    int level;
    unsigned threads;
    bool decode; /* even if frames could be copied: a level was requested */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t records);
    void *context;
};

struct sb_rebag_counts {
    int64_t records;
    int64_t bytes;   /* stored */
    int64_t damaged; /* left out, reported as SB_PROBLEM ("damaged") */
};

/*
 * Adds the selected records; does not commit the writer. Selected records that do not exist are
 * reported as SB_PROBLEM ("missing").
 */
enum sb_code sb_rebag(struct sb_bag *bag, struct sb_bag_writer *writer,
                      const struct sb_rebag_options *options,
                      struct sb_rebag_counts *counts) SB_CHECKED;

#endif
