#include "store/feed/la_open.h"

#include <errno.h>

int sb_la_open(struct archive *archive, void *context, archive_read_callback *read,
               archive_skip_callback *skip)
{
    if (archive_read_set_read_callback(archive, read) != ARCHIVE_OK ||
        archive_read_set_skip_callback(archive, skip) != ARCHIVE_OK ||
        archive_read_set_callback_data(archive, context) != ARCHIVE_OK)
        return ARCHIVE_FATAL;
    return archive_read_open1(archive);
}

int sb_la_next(struct archive *archive, struct archive_entry **entry)
{
    if (!*entry)
        *entry = archive_entry_new2(archive);
    if (*entry)
        return archive_read_next_header2(archive, *entry);
    archive_set_error(archive, ENOMEM, "out of memory");
    return ARCHIVE_FATAL;
}
