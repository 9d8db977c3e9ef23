/*
 * ls --shards, --rsync-list and --at: the shards of an archive.
 */
#ifndef SB_CMD_UI_SHARD_TABLE_H
#define SB_CMD_UI_SHARD_TABLE_H

#include "open/opening.h"

/* A row per shard: number, size, bytes in use, gaps, files, path; of a protected archive also its
 * parity, and a row of the index. json: enum json_form. */
enum sb_code show_shards(struct sb_archive *archive, bool human, int json,
                         struct left_out *left_out) SB_CHECKED;

/* A line with the path, from its byte `skip` on; `parity`: another with that of its parity file. */
void show_file(const char *path, size_t skip, bool parity, bool nul);

/*
 * The current names of the shards in use, relative to the directory that the index is in; `whole`:
 * also that of the index after them, and that of a parity file after that of its file.
 */
enum sb_code show_shard_names(struct sb_archive *archive, bool whole, bool nul) SB_CHECKED;

/* Bytes of a shard: "SHARD:OFFSET" or "SHARD:OFFSET+LENGTH". */
struct place {
    uint32_t shard;
    int64_t offset;
    int64_t length;
};

bool parse_place(const char *text, struct place *out);

/* Calls `each` for the files that own any of these bytes, in order of address. */
enum sb_code find_owners(struct sb_archive *archive, const struct place *place,
                         void (*each)(void *context, const struct sb_entry *entry), void *context,
                         struct left_out *left_out) SB_CHECKED;

#endif
