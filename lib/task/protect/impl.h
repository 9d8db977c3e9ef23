/*
 * One file that is protected, and its parity file.
 */
#ifndef SB_TASK_PROTECT_IMPL_H
#define SB_TASK_PROTECT_IMPL_H

#include "archive/parity/bad.h"
#include "archive/parity/make.h"
#include "archive/parity/note.h"
#include "store/out/lock.h"
#include "task/protect/protect.h"

/* Locks on indexes. */
struct sb_protect_holds {
    int fds[3];
    unsigned count;
    bool only_reads; /* goes on where locks do not work, since no writer can write there */
};

struct sb_protected {
    const char *path;
    const struct sb_protect_options *options;
    const struct sb_protect_guard *guard; /* NULL: all bytes */
    struct sb_buf name;                   /* of the parity file */
    char *origin; /* the absolute path, if the parity file is elsewhere; else NULL */
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_protect_evidence evidence; /* for a repair that is going to write */
    bool resumes; /* it goes on with one that was killed, which nobody wrote after */
    struct sb_out_lock lock;
    struct sb_protect_holds holds;
};

/* Finds the name of the parity file, and the origin. */
enum sb_code sb_protected_begin(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/* Closes all of it, drops the locks. */
void sb_protected_end(struct sb_protected *work);

/* For a repair: to be written. SB_FORMAT: no regular file, a link, or of several names. */
enum sb_code sb_protected_open(struct sb_protected *work, enum sb_parity_access access,
                               struct sb_error *err) SB_CHECKED;

/* SB_NOENT: there is none; SB_FORMAT: none that was made by sb_protect; SB_EXISTS: that of another
 * file. */
enum sb_code sb_protected_open_parity(struct sb_protected *work, enum sb_parity_access access,
                                      struct sb_error *err) SB_CHECKED;

/* The first SB_PROTECT_HEAD bytes of the file, zeros after its end. */
enum sb_code sb_protect_read_head(const struct sb_protected *work, unsigned char *head,
                                  struct sb_error *err) SB_CHECKED;

/* The length of a name without the end of a parity file's; 0: it does not end so. */
size_t sb_protect_base_size(const char *name);

/*
 * Of a parity file that is not current: SB_CHANGED. A repair may have been killed after it wrote
 * and before it gave the file its time again, which looks like a change by others: only the user
 * knows, and with that time it can go on. `always`: else SB_OK where no repair was under way.
 */
enum sb_code sb_protect_refuse_changed(const struct sb_protected *work, bool always,
                                       struct sb_error *err) SB_CHECKED;

/* Likewise for one by what an index says: which state of it. Zeros if that is not known. */
void sb_protect_find_index_evidence(struct sb_protect_evidence *evidence,
                                    const struct sb_protect_index *index);

/* Does a note of a repair that was killed come from one by this state of the index, since when
 * nobody wrote to the archive? index NULL: no. */
bool sb_protect_trusts(const struct sb_parity_super *super, const struct sb_protect_index *index);

/* Of an index, by its own parity file. */
enum sb_protect_age {
    SB_PROTECT_NEWER,    /* than when it was protected, or that is not known */
    SB_PROTECT_NO_NEWER, /* a shard that changed since has what it does not know */
    SB_PROTECT_REMADE,   /* it was lost, and made again as it was then: likewise */
};

enum sb_protect_age sb_protect_age_of_index(const struct sb_protect_options *options,
                                            const struct sb_protect_index *index);

/* For a repair of the file by itself: which file it is, and how many of its pieces are bad. */
void sb_protect_find_evidence(struct sb_protected *work, int64_t bad);

/*
 * A repair was killed, and the file has another time than is noted: did only that write to it? Of
 * an index it can be known: it is the same file, each commit of others counts in SQLite's header,
 * which is noted, too, and no more pieces are bad than before. *only is false also where it is not
 * known.
 */
enum sb_code sb_protect_was_only_repaired(const struct sb_protected *work, bool *only,
                                          struct sb_error *err) SB_CHECKED;

/*
 * Bad pieces were found in a file that has the size and the time which are noted: has another file
 * of these taken its place? So it seems of an index that is a sound database, if commits were
 * counted, or if more is bad than SQLite could overlook. Of other files nothing says so.
 */
enum sb_code sb_protect_is_another(const struct sb_protected *work, struct sb_parity_bad *bad,
                                   bool *another, struct sb_error *err) SB_CHECKED;

/* SB_NOENT, and what to do about the parity file, if there is one. */
enum sb_code sb_protect_fail_missing(const struct sb_protected *work, int error_number,
                                     struct sb_error *err);

/* sb_parity_make, or one of its kind. */
typedef enum sb_code sb_protect_write(const struct sb_file *file,
                                      const struct sb_parity_options *options,
                                      struct sb_error *err);

/* Removes what a killed run left under the name of a parity file that is made, and refuses what
 * none did. The name goes to the buffer. */
enum sb_code sb_protect_clear(const struct sb_protected *work, struct sb_buf *temporary,
                              struct sb_error *err) SB_CHECKED;

/* The pieces of a word as they are requested, or as the open parity file has them. */
enum sb_code sb_protect_choose_words(const struct sb_protected *work,
                                     struct sb_parity_options *wanted,
                                     struct sb_error *err) SB_CHECKED;

/* The file is open; the parity file, too, if its words are to be kept. vet: NULL, or what
 * sb_protect_vet_begin made. */
struct sb_protect_vet;
enum sb_code sb_protect_write_parity(struct sb_protected *work, sb_protect_write *write,
                                     struct sb_protect_vet *vet, struct sb_error *err) SB_CHECKED;

enum sb_code sb_protect_make(struct sb_protected *work, struct sb_error *err) SB_CHECKED;
enum sb_code sb_protect_update(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/* Checks, and repairs if that is requested. */
enum sb_code sb_protect_repair(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/*
 * Keeps others away while a file that may be an archive's index, or a shard, or both, is changed:
 * its writers, ours by their lock and Barecat by SQLite's, and of an index readers, too. Released
 * also after a failure. SB_LOCKED: somebody has it, or a change was interrupted; waits as the
 * context allows.
 */
enum sb_code sb_protect_hold(struct sb_protect_holds *holds, const char *path,
                             struct sb_error *err) SB_CHECKED;

/*
 * Likewise while such a file is read: readers of an index go on, and its state is one that was
 * committed.
 */
enum sb_code sb_protect_hold_to_read(struct sb_protect_holds *holds, const char *path,
                                     struct sb_error *err) SB_CHECKED;
void sb_protect_release(struct sb_protect_holds *holds);

/* Is it an archive's index, by its beginning or by the shards beside it? */
bool sb_protect_is_index(const char *path);

/* The length of an archive's name in that of its shard; 0: it is no name of a shard. */
size_t sb_protect_base_of_shard(const char *path);

/*
 * Files of a shard that changed, while its parity is made anew: damaged bytes must not be protected
 * as if they were right.
 */
struct sb_protect_vet;

/*
 * Of a file that has no shard's name, and of one that its archive does not use: *out is NULL. Else
 * writers are kept out until it is freed. SB_DAMAGED, SB_NOENT: the index is damaged or lost.
 */
enum sb_code sb_protect_vet_begin(struct sb_protect_vet **out, const struct sb_protected *work,
                                  struct sb_error *err) SB_CHECKED;
void sb_protect_vet_free(struct sb_protect_vet *vet); /* NULL is allowed */

/* context: the vet. The files with bytes in this stretch; of several calls each begins where the
 * one before ended, or later. SB_DAMAGED: one does not match its CRC32C. As `renews` of
 * archive/parity/make.h. */
enum sb_code sb_protect_vet(void *context, int64_t from, int64_t to,
                            struct sb_error *err) SB_CHECKED;

#endif
