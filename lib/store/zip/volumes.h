/*
 * The files that a zip is split over, next to each other, as one.
 *
 * x.z01, x.z02, ... x.zip are split by their writer, as by zip -s (APPNOTE, section 8): offsets
 * count within each. x.zip.001, x.zip.002, ... were cut anywhere, as by 7z -v or split. Any of them
 * is the name of all.
 */
#ifndef SB_STORE_ZIP_VOLUMES_H
#define SB_STORE_ZIP_VOLUMES_H

#include "store/zip/directory.h"

/*
 * As sb_zip_find_end, and where the path names a file of several, *file becomes all of them.
 * SB_FORMAT, too: one of them is missing, which the text names.
 */
enum sb_code sb_zip_open_volumes(struct sb_file **file, const char *path,
                                 struct sb_zip_end *end) SB_CHECKED;

/* Is it the name of a file of several that nothing in it shows to be one? */
bool sb_zip_is_volume(const char *path);

#endif
