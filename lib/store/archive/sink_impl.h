/*
 * An archive as a sink, and what becomes of members whose names it holds already. Shared by sink.c
 * and holdings.c only.
 *
 * Of the functions here sb_meet_compare is for workers; the others belong to the sink's thread.
 */
#ifndef SB_STORE_ARCHIVE_SINK_IMPL_H
#define SB_STORE_ARCHIVE_SINK_IMPL_H

#include "archive/writer/rowset.h"
#include "store/archive/holdings.h"
#include "store/sinks.h"

/* What item->mark says. */
enum {
    MARK_UNCHECKED = 1 << 0,  /* its CRC32C was computed here, for want of another */
    MARK_OVER_OWN = 1 << 1,   /* it replaces a file that an earlier stretch stored */
    MARK_NEW_ROW = 1 << 2,    /* its mode, owner or time are not those of the file it replaces, */
    MARK_SAME_BYTES = 1 << 3, /* but its bytes are */
    MARK_MOVED = 1 << 4,      /* the archive may have its bytes under a name that does not come */
    MARK_LINK_RIVAL = 1 << 5, /* a hard link whose name the archive has: is it to the same bytes? */
};

struct archive_sink {
    struct sb_sink sink;
    struct sb_archive_sink_options options; /* whose strings are the caller's */
    bool appends;
    struct sb_writer *writer;    /* NULL in a dry run */
    struct sb_archive *existing; /* dry run of an append: what names are looked up in */
    struct sb_rowset changing;   /* with unmet: rows of the archive whose bytes become others */

    struct sb_holdings holdings;

    /*
     * Files that the archive had, and whose bytes are those of members that came: a hard link to
     * one may get the archive's bytes. In a dry run also what would be stored. NULL unless there
     * may be hard links.
     */
    struct sb_names **same, *own_same;

    /* Where the member that comes in parts lies; touched only in turn. */
    uint32_t part_shard;
    int64_t part_place;

    int64_t own_superseded; /* files of earlier stretches */
    int64_t renewed_bytes;  /* of the files that counts.renewed counts */

    /* What its parts add up to so far; touched only by drain. */
    uint32_t part_crc;
    bool part_unchecked;
};

/* SB_OK: it is taken, as the item says from now on; SB_END: it is left out. */
enum sb_code sb_meet_existing(struct archive_sink *self, const struct sb_member *member,
                              struct sb_item *item) SB_CHECKED;

/* Of an item with `compares`: are its bytes those that the archive has? Then none are stored. */
enum sb_code sb_meet_compare(const struct archive_sink *self, struct sb_batch *batch,
                             struct sb_item *item) SB_CHECKED;

/* What a later hard link to this name may rely on. */
enum sb_code sb_meet_note_same(struct archive_sink *self, const struct sb_entry *entry,
                               bool same) SB_CHECKED;

/* What the archive has of a file is not what its hard links will have. */
enum sb_code sb_meet_note_changing(struct archive_sink *self,
                                   const struct sb_item *item) SB_CHECKED;

/*
 * Are the bytes that the archive has under the name of a hard link's target those of the target, as
 * it came in this run?
 */
enum sb_code sb_meet_has_target(struct archive_sink *self, const char *target,
                                bool *has) SB_CHECKED;

/* A hard link to be brought up to date: has it the bytes of its target already? */
enum sb_code sb_meet_compare_link(struct archive_sink *self, struct sb_item *item) SB_CHECKED;

/* MARK_LINK_RIVAL: it is passed over if its target came with the bytes that the archive has. */
enum sb_code sb_meet_judge_link(struct archive_sink *self, struct sb_item *item) SB_CHECKED;

#endif
