/*
 * A list of paths to be packed, looked up on threads ahead of the walk. Not for others than the
 * source of pack.
 */
#ifndef SB_TASK_PACK_LIST_H
#define SB_TASK_PACK_LIST_H

#include "core/error.h"

#include <stddef.h>
#include <sys/stat.h>

struct sb_pack_list {
    const char *path; /* of the list; "-" is standard input */
    char end;         /* of each path in it: '\n' or '\0' */
    int base_fd;      /* what paths are relative to */
    unsigned threads;
    bool must_name; /* see sb_list_must_name */
    void *context;

    /* The calling thread, in the order of the list; empty ones do not come. found is what lstat
     * says, or NULL where that failed. A code other than SB_OK ends it. */
    enum sb_code (*each)(void *context, const char *path, size_t size, const struct stat *found,
                         struct sb_error *err);
};

/* Memory is bounded whatever the list. Errors of sb_list_open and sb_list_next. */
enum sb_code sb_pack_list_read(const struct sb_pack_list *list, struct sb_error *err) SB_CHECKED;

#endif
