/*
 * Names of what is on no file system here: "https://host/a.tar", "gs:bucket/a", "user@host:a",
 * "host::module/a". Whatever exists under such a name is a file all the same, and so is what is
 * typed with "./" before it. Pure functions but for that look, thread-safe.
 */
#ifndef SB_ARCHIVE_REMOTE_H
#define SB_ARCHIVE_REMOTE_H

#include "core/error.h"

#include <stddef.h>

/*
 * The name without a '/' that pathlib puts before it; NULL: it is on the file system. With
 * `any_host`, "host:a" is such a name as well, as for rsync.
 */
const char *sb_remote_name(const char *path, bool any_host);

enum sb_remote_use {
    SB_REMOTE_READ,  /* from standard input */
    SB_REMOTE_WRITE, /* to standard output */
    SB_REMOTE_FILES, /* several files, which no pipe carries: an archive */
};

/*
 * SB_INVALID for such a name; the text has the pipe to type, with `option` ("--from=bagz ") before
 * the '-', or says what to do instead.
 */
enum sb_code sb_remote_refuse(const char *path, enum sb_remote_use use,
                              const char *option) SB_CHECKED;

#endif
