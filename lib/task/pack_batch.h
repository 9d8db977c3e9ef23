/*
 * A batch of things to pack on its way through the threads: read, placed in order, written.
 *
 * Used by pack.c only. A batch belongs to one thread at a time, as the pipeline hands it on.
 */
#ifndef SB_TASK_PACK_BATCH_H
#define SB_TASK_PACK_BATCH_H

#include "archive/writer.h"
#include "core/buf.h"
#include "core/pipeline.h"
#include "task/pack_source.h"

#include <sys/stat.h>

#define SB_PACK_BATCH_ITEMS 128
#define SB_PACK_BATCH_BYTES ((size_t)2 << 20)

enum sb_pack_state {
    SB_ITEM_NEW,
    SB_ITEM_READ,   /* its bytes are in the batch */
    SB_ITEM_LARGE,  /* to be streamed once it has a place */
    SB_ITEM_STORED, /* its bytes are in a shard */
    SB_ITEM_FAILED, /* left out; kind and text say why */
};

struct sb_packed {
    enum sb_pack_state state;
    enum sb_node node;
    bool implied;
    size_t name_at; /* offsets into texts, of NUL-terminated strings */
    size_t name_size;
    size_t component_at;
    size_t disk_path_at;
    int dir_fd;
    struct sb_tree_dir *dir; /* a reference, or NULL */

    bool replaces; /* a file of this name and old_size is in the archive */
    int64_t old_size;

    struct stat stat; /* of what was opened; of directories as the walk found it */
    size_t data_at;
    int64_t size;
    uint32_t crc32c;
    uint32_t shard;
    int64_t offset;

    const char *kind; /* NULL, or a problem to tell (the item may be stored all the same) */
    char text[96];
};

struct sb_pack_batch {
    struct sb_packed items[SB_PACK_BATCH_ITEMS];
    size_t count;
    size_t dirs; /* runs of items in one directory: each keeps a descriptor open */
    struct sb_buf texts;
    char *data; /* SB_PACK_BATCH_BYTES, made at first use */
    size_t data_size;
};

/* Which files are the archive's own, so that an archive inside the packed tree does not take itself
 * in. */
struct sb_own_files {
    const char *dir;  /* of the archive, as a path */
    const char *base; /* its name in there */
};

void sb_pack_batch_clear(struct sb_pack_batch *batch);
void sb_pack_batch_release(struct sb_pack_batch *batch);

/* Copies the item, and takes a reference of its directory. The caller sees to it that few are in
 * one batch. */
enum sb_code sb_pack_batch_add(struct sb_pack_batch *batch, const struct sb_pack_item *item,
                               struct sb_packed **added, struct sb_error *err) SB_CHECKED;

/* The worker's part: reads, takes its turn to place, writes. Errors are the archive's; the sources'
 * are in the items. */
enum sb_code sb_pack_batch_store(struct sb_pack_batch *batch, struct sb_writer *writer,
                                 bool dereference, const struct sb_own_files *own,
                                 struct sb_pipeline *turns, struct sb_error *err) SB_CHECKED;

#endif
