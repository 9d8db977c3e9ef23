/*
 * What may have been meant by a name or pattern that nothing in an archive matches.
 */
#ifndef SB_STORE_UNMATCHED_H
#define SB_STORE_UNMATCHED_H

#include "core/name.h"
#include "store/names.h"

struct sb_archive;

/* To follow "no such file in the archive": "", or "; " and what to do. Looks for a file of this
 * name only if it is called as a container. form: in which there is one. */
const char *sb_unmatched_hint(const char *name, enum sb_form form);

/* The form in which the archive has one; and the hint then. */
enum sb_form sb_unmatched_form(struct sb_archive *archive, const char *name);
const char *sb_unmatched_in(struct sb_archive *archive, const char *name);

/* Notes a name that only this side of two has; warns if the other had it in another form. beside:
 * see sb_temp_directory. */
enum sb_code sb_unmatched_add(struct sb_names *sides[2], bool side, const char *name, size_t size,
                              const char *beside, const struct sb_notify *notify) SB_CHECKED;
void sb_unmatched_warn(const struct sb_notify *notify, const char *name);

#endif
