/*
 * Names of bags: the files that a spec like "data@16.bagz" stands for.
 *
 * Bagz defines specs (google-deepmind/bagz, file_system/shard_spec.cc). Items are separated by
 * commas, and empty ones skipped. In an item, the first "@N" (1 to 99999) after the last '/' means
 * "-00000-of-NNNNN" and so on; "@*" takes N from the last existing "-00000-of-NNNNN"; any other '@'
 * is an ordinary character. Beyond Bagz: a spec or an item that exists as a path is that file; an
 * item may be a glob, whose files are sorted by name, without "limits." files; and "fs:" before an
 * item is removed.
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
 * The files of a spec, in order. Only those of globs and "@*" must exist: SB_NOENT if none matches.
 * SB_INVALID: it is not on a file system ("gs://..."); the text shows the pipe to use instead.
 */
enum sb_code sb_spec_expand(struct sb_spec *out, const char *spec) SB_CHECKED;
void sb_spec_release(struct sb_spec *spec);

/* Does the name end in .bag or .bagz? */
bool sb_is_bag_name(const char *path);

/* Is it a spec of bags by its text alone? It has "@N", "@*", a comma, a glob, "fs:" or "gs:", and
 * each item ends in .bag or .bagz. */
bool sb_spec_is_of_bags(const char *spec);

/*
 * Splits a spec of bags side by side at '+': "image.float32.bagz+label.npy@4.bagz". Only a '+'
 * after .bag or .bagz separates, unless a file exists whose name goes on after it. Without such a
 * '+', out has the whole spec.
 */
enum sb_code sb_spec_beside(struct sb_spec *out, const char *spec) SB_CHECKED;

/* The name of a set of shards to write, "PREFIX@16SUFFIX", or of a single file. */
struct sb_shard_pattern {
    const char *path; /* kept */
    size_t prefix_size;
    const char *suffix; /* points into path */
    bool is_set;
    uint32_t shards; /* 0: "@*", the number is known only at the end */
};

/* SB_INVALID: it has several items, or is not on a file system; "fs:" is skipped. */
enum sb_code sb_shard_pattern_parse(struct sb_shard_pattern *out, const char *path) SB_CHECKED;

/* Appends the name of a shard; for a single file, its path. */
enum sb_code sb_shard_pattern_name(const struct sb_shard_pattern *pattern, uint32_t shard,
                                   uint32_t shards, struct sb_buf *out) SB_CHECKED;

/* Appends DIR/limits.NAME for DIR/NAME. */
enum sb_code sb_limits_name(const char *path, struct sb_buf *out) SB_CHECKED;

#endif
