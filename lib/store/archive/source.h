/*
 * An archive that is open, as a sequence of its members: all of them, or those of some paths.
 */
#ifndef SB_STORE_ARCHIVE_SOURCE_H
#define SB_STORE_ARCHIVE_SOURCE_H

#include "archive/archive.h"
#include "core/share.h"
#include "store/source.h"

/* By samples (store/samples/samples.h), in the order of their first files: those of a share. */
struct sb_sample_order {
    struct sb_share share;
    const char *beside; /* see sb_temp_directory */
};

/* The archive is of the caller, open as long. */
struct sb_archive_source_options {
    char *const *paths; /* PATH and GLOB arguments: these, in one walk by path. What matches nothing
                           is reported as "missing". None: everything, as `order` says. */
    size_t path_count;
    enum sb_member_order order;
    const struct sb_sample_order *samples; /* the files of a sample are neighbours, directories come
                                              last; kept */
    bool no_check;
    const struct sb_notify *notify;
};
enum sb_code sb_source_open_archive(struct sb_source **out, struct sb_archive *archive,
                                    const struct sb_archive_source_options *options) SB_CHECKED;

#endif
