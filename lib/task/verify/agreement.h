/*
 * Do the indexes of an archive's SQLite file have the entries that its rows need, and no others?
 *
 * PRAGMA integrity_check looks up each row in each index, which takes most of its time. This reads
 * each table and each index once, in the order in which they are stored. An index agrees if its
 * entries ascend, none comes twice that must not, and the keyed hashes of all keys with their row
 * numbers add up to the same sum as those of the rows.
 *
 * It proves and does not describe: false means that only integrity_check can say.
 */
#ifndef SB_TASK_VERIFY_AGREEMENT_H
#define SB_TASK_VERIFY_AGREEMENT_H

#include <stdbool.h>

struct sqlite3;

/*
 * True: integrity_check would report nothing that quick_check does not. For that every path is text
 * and every indexed value text, an integer or NULL. False also after any failure, as by an
 * interrupt. The caller has begun a read transaction, which quick_check shares.
 */
bool sb_verify_indexes_agree(struct sqlite3 *db);

/*
 * After that: on this connection the expression of `parent` yields only NULL or an empty text. It
 * is NULL where it was before, and quick_check compares it with nothing else.
 */
bool sb_verify_blank_parents(struct sqlite3 *db);

#endif
