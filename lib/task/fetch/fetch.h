/*
 * Fetches files from an archive by name, any number of them.
 *
 * Names are looked up in batches, each in one read transaction that ends before anything waits;
 * bytes are read ahead and checked on threads; the answers come in the order of the names. Before
 * it waits for more names, all names so far are answered.
 *
 * At most about 72 MB of file contents are held, and files larger than SB_FETCH_WHOLE_MAX are
 * streamed, so that memory depends neither on the number of names nor on sizes.
 */
#ifndef SB_TASK_FETCH_FETCH_H
#define SB_TASK_FETCH_FETCH_H

#include "core/error.h"
#include "core/share.h"
#include "store/frames/framing.h"
#include "store/record_choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_source;

/* Files up to this many bytes are read and checked before the first of their bytes is written. */
#define SB_FETCH_WHOLE_MAX ((int64_t)64 << 20)

/* by_address sorts this many names at a time, or fewer when they are longer than 128 bytes. */
#define SB_FETCH_SORTED_MAX 65536

/* The source of names; next is as sb_list_next, ready as sb_list_ready. */
struct sb_fetch_names {
    enum sb_code (*next)(void *context, const char **name, size_t *size);
    bool (*ready)(void *context);
    void *context;
};

/* The output of answers. A code other than SB_OK ends the run with that code. */
struct sb_fetch_output {
    enum sb_code (*write)(void *context, const void *data, size_t size);
    void *context;
};

/* Of a stream: samples (store/samples/samples.h), whose files are adjacent there. */
struct sb_fetch_samples {
    const struct sb_slice *slices; /* in ascending order */
    size_t slice_count;            /* 0: all */
    const char *const *columns;    /* the names of their files after the stem */
    size_t column_count;           /* 0: all */
};

struct sb_fetch_options {
    unsigned threads;

    /* Each batch of names in the order of addresses in the archive; what has none comes first. */
    bool by_address;

    bool no_check;
    int64_t max_size; /* zeros that holes of one file may expand to: as in sources */

    /*
     * Files named .gz, .bz2, .xz and .zst are decompressed; of several suffixes only the last
     * counts, unless decompress_all. Not with ranged, nor with a framing that needs sizes.
     */
    bool decompress;
    bool decompress_all;

    /* Only these bytes of each file, up to its end; they are not checked. */
    bool ranged;
    int64_t range_offset;
    int64_t range_size;

    /*
     * The frame around each answer (framing.h), with names as they were requested. In batch an
     * answer may also be NAME SP "missing" or "damaged", and frame_end ends its line. A framing
     * that needs sizes excludes decompress.
     */
    enum sb_framing framing;
    char frame_end;

    /* Of a stream: as many of the first names may be patterns (glob.h) as well. */
    size_t glob_count;

    /* Of a stream without names: only this share of its files, or of its samples. */
    const struct sb_share *share;
    const struct sb_fetch_samples *samples; /* NULL: files */
};

struct sb_fetch_counts {
    int64_t files;   /* written completely */
    int64_t bytes;   /* of those files */
    int64_t missing; /* no such file, or a directory */
    int64_t damaged;
};

/*
 * Files that cannot be written are reported as SB_PROBLEM, and the rest is done: "missing" (not in
 * batch, where the answer has it), "directory", "damaged". If a file larger than SB_FETCH_WHOLE_MAX
 * is found damaged after bytes of it were framed, the run ends with SB_DAMAGED. Before a file is
 * reported as damaged its name is looked up again; SB_CHANGED if the archive was replaced
 * meanwhile.
 */
enum sb_code sb_fetch(struct sb_archive *archive, const struct sb_fetch_options *options,
                      const struct sb_fetch_names *names, const struct sb_fetch_output *output,
                      const struct sb_notify *notify, struct sb_fetch_counts *counts) SB_CHECKED;

/*
 * The same from what can only be read in sequence: a compressed tar, a pipe. One pass, which keeps
 * nothing of a file: each is written when it is read, in the container's order; a member whose name
 * occurs twice is written twice, as by tar.
 *
 * All names are read first. NULL means every file; then directories and members without bytes are
 * not reported. Of the options, decompress and framing apply (not batch). Members that cannot be
 * written are reported as SB_PROBLEM: "directory", "special", "link" (a hard link, whose target was
 * before it), "damaged" (cannot be decompressed), and at the end, in the order of the names,
 * "missing"; for samples "late": a file that comes after another sample began, which is left out.
 * Errors are those of the source, the output, and of temporary files.
 */
enum sb_code sb_fetch_stream(struct sb_source *source, const struct sb_fetch_names *names,
                             const struct sb_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_fetch_counts *counts) SB_CHECKED;

#endif
