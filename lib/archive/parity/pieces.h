/*
 * The bytes of a file as they were when it was protected: what is bad of it is made by its parity
 * file. The caller knows which are right.
 *
 * The file may have changed since: what is made of pieces that changed is old, or nothing. Belongs
 * to one thread.
 */
#ifndef SB_ARCHIVE_PARITY_PIECES_H
#define SB_ARCHIVE_PARITY_PIECES_H

#include "archive/parity/check.h"
#include "core/io.h"

struct sb_pieces;

/* Both, and the string, must outlive it. beside: of a temporary file, see sb_temp_directory. */
enum sb_code sb_pieces_new(struct sb_pieces **out, const struct sb_parity *parity,
                           const struct sb_file *file, const char *beside) SB_CHECKED;
void sb_pieces_free(struct sb_pieces *pieces); /* NULL is allowed */
FREEP(sb_pieces_free, struct sb_pieces)

/* Makes what is bad of the bytes that the options choose; what was made before is dropped. *found,
 * which may be NULL: what was found, without the bits. */
enum sb_code sb_pieces_find(struct sb_pieces *pieces, const struct sb_parity_check_options *options,
                            struct sb_parity_bad *found) SB_CHECKED;

/* How many bytes of these, which were found, could not be made. */
int64_t sb_pieces_lost(const struct sb_pieces *pieces, int64_t from, int64_t to);

/*
 * Reads bytes that were found: as they are in the file, or as they were made. SB_DAMAGED: some
 * could not be made.
 */
enum sb_code sb_pieces_read(struct sb_pieces *pieces, void *data, size_t size,
                            int64_t offset) SB_CHECKED;

/* Passes such bytes to `each`, block by block. */
enum sb_code sb_pieces_feed(struct sb_pieces *pieces, int64_t offset, int64_t size,
                            sb_each_block *each, void *context) SB_CHECKED;

/* Writes all of the file as it was protected. SB_DAMAGED: some of it could not be made. */
enum sb_code sb_pieces_write(const struct sb_parity *parity, const struct sb_file *file,
                             int fd) SB_CHECKED;

/*
 * An SQLite file that counts as many commits as when it was protected, and has other bytes: is it
 * another one, and not damaged? Two archives, or two copies that went different ways, can count
 * alike. An index is if SQLite finds nothing wrong, and its files have other names or places;
 * any other database if SQLite finds nothing wrong, and it has another time.
 */
enum sb_code sb_pieces_is_another(const struct sb_parity *parity, const struct sb_file *file,
                                  bool *another) SB_CHECKED;

/*
 * Before an index, which db has open to write, is changed and then protected: SB_DAMAGED if its
 * parity file, beside it, is of the same commit and has other bytes, and it is not another index;
 * or if those of shards which were protected with this state have other bytes of files without a
 * checksum. SB_OK also where it has none, or none that can be used.
 */
struct sqlite3;
enum sb_code sb_pieces_prove(struct sqlite3 *db, const char *index) SB_CHECKED;

/*
 * Of a shard that was protected with the state that its index has: SB_DAMAGED if files without a
 * checksum are not as they were then. Reads these files.
 */
enum sb_code sb_pieces_prove_unchecked(struct sqlite3 *index, uint32_t shard,
                                       const struct sb_parity *parity,
                                       const struct sb_file *file) SB_CHECKED;

/*
 * The right bytes of a file in a shard, whose checksum is known: *right if the parity file beside
 * the shard makes them; then the spool, which the caller has, holds them.
 */
struct sb_spool;
enum sb_code sb_pieces_make(const char *shard, int64_t offset, int64_t size, uint32_t crc32c,
                            struct sb_spool *out, bool *right) SB_CHECKED;

#endif
