#include "store/la_open.h"

int sb_la_open(struct archive *archive, void *context, archive_read_callback *read,
               archive_skip_callback *skip)
{
    if (archive_read_set_read_callback(archive, read) != ARCHIVE_OK ||
        archive_read_set_skip_callback(archive, skip) != ARCHIVE_OK ||
        archive_read_set_callback_data(archive, context) != ARCHIVE_OK)
        return ARCHIVE_FATAL;
    return archive_read_open1(archive);
}
