/*
 * Names of bags: which files "data@16.bagz" means.
 *
 * As Bagz has it (google-deepmind/bagz, file_system/shard_spec.cc): items between commas, empty
 * ones skipped; in an item the first "@N" (1 to 99999) behind its last '/' stands for
 * "-00000-of-NNNNN" and on, "@*" for the N of the last "-00000-of-NNNNN" that is there; any other
 * '@' is a letter. Beyond that: a path that exists is itself, whatever is in it, as a whole and
 * item by item; items may be globs, whose files come in order of name, "limits." files left out;
 * "fs:" before an item is taken off.
 */
#ifndef SB_STORE_SHARD_SPEC_H
#define SB_STORE_SHARD_SPEC_H

#include "core/buf.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define SB_SPEC_SHARDS_MAX 99999 /* of one item */

struct sb_spec {
    char **paths;
    size_t count;
};

/*
 * The files of a spec, in order. They need not be there, but for globs and "@*": SB_NOENT when
 * nothing matches. SB_INVALID for what is not on a file system ("gs://..."): the text shows the
 * pipe to use instead.
 */
enum sb_code sb_spec_expand(struct sb_spec *out, const char *spec, struct sb_error *err) SB_CHECKED;
void sb_spec_release(struct sb_spec *spec);

/* Is it a name of a bag: *.bag or *.bagz? */
bool sb_is_bag_name(const char *path);

/* Could it be the spec of bags, by its words alone: "@N" or "@*", commas, globs, "fs:", "gs:", and
 * each item's suffix .bag or .bagz? */
bool sb_spec_is_of_bags(const char *spec);

/*
 * The specs that one of bags side by side joins by '+': "image.float32.bagz+label.npy@4.bagz". One
 * ends before a '+' that .bag or .bagz is before, unless a file's name goes on behind it. A spec of
 * no others is the only one.
 */
enum sb_code sb_spec_beside(struct sb_spec *out, const char *spec, struct sb_error *err) SB_CHECKED;

/* A name in which a set of shards is written: "PREFIX@16SUFFIX", or a single file. */
struct sb_shard_pattern {
    const char *path; /* kept */
    size_t prefix_size;
    const char *suffix; /* within path */
    bool is_set;
    uint32_t shards; /* 0: "@*", their number is known in the end */
};

/* SB_INVALID for several items, or what is not on a file system; "fs:" is passed over. */
enum sb_code sb_shard_pattern_parse(struct sb_shard_pattern *out, const char *path,
                                    struct sb_error *err) SB_CHECKED;

/* Appends the name of a shard; of a single file its path. */
enum sb_code sb_shard_pattern_name(const struct sb_shard_pattern *pattern, uint32_t shard,
                                   uint32_t shards, struct sb_buf *out) SB_CHECKED;

/* Appends DIR/limits.NAME for DIR/NAME. */
enum sb_code sb_limits_name(const char *path, struct sb_buf *out) SB_CHECKED;

#endif
