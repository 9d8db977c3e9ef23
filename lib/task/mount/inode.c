#include "task/mount/tree.h"

/* From the lowest bit: row, kind, container, tail, epoch. */
enum { KIND_AT = 34, CONTAINER_AT = 36, TAIL_AT = 46, EPOCH_AT = 61 };

#define DEPTHS 64

uint64_t sb_inode_pack(const struct sb_inode *inode)
{
    return ((uint64_t)inode->row & SB_INODE_ROWS) | (uint64_t)inode->kind << KIND_AT |
           (uint64_t)(inode->container & SB_INODE_CONTAINERS) << CONTAINER_AT |
           (uint64_t)(inode->tail % SB_INODE_TAILS) << TAIL_AT |
           (uint64_t)(inode->epoch % SB_INODE_EPOCHS) << EPOCH_AT;
}

struct sb_inode sb_inode_unpack(uint64_t number)
{
    return (struct sb_inode){
        .row = (int64_t)(number & SB_INODE_ROWS),
        .kind = (enum sb_inode_kind)(number >> KIND_AT & 3),
        .container = (unsigned)(number >> CONTAINER_AT) & SB_INODE_CONTAINERS,
        .tail = (unsigned)(number >> TAIL_AT) % SB_INODE_TAILS,
        .epoch = (unsigned)(number >> EPOCH_AT),
    };
}

bool sb_inode_has_row(const struct sb_inode *inode)
{
    return inode->kind == SB_INODE_FILE || inode->kind == SB_INODE_DIR;
}

uint64_t sb_inode_place(const struct sb_inode *inode)
{
    struct sb_inode place = *inode;

    place.epoch = 0;
    if (sb_inode_has_row(inode))
        place.tail = 0;
    return sb_inode_pack(&place);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_path(uint64_t hash, const char *path, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = mix(hash, (unsigned char)path[i]);
    return hash;
}

/* Of a file, what does not change when it is moved or renamed; of a directory, its path. */
static uint64_t hash_entry(const struct sb_entry *entry)
{
    uint64_t hash = mix(1, (uint64_t)entry->type);

    if (entry->type == SB_DIR) {
        hash = mix_path(hash, entry->path, entry->path_size);
    } else {
        hash = mix(hash, (uint64_t)entry->size);
        hash = mix(hash, entry->has & SB_HAS_CRC ? entry->crc32c : UINT64_MAX);
        hash = mix(hash, entry->has & SB_HAS_MTIME ? (uint64_t)entry->mtime_ns : UINT64_MAX);
    }
    return hash;
}

unsigned sb_inode_tail(const struct sb_entry *entry, unsigned epoch)
{
    return (unsigned)(mix(hash_entry(entry), epoch) >> 40) % SB_INODE_TAILS;
}

/* By the depth, directories above one row are distinguished. */
unsigned sb_inode_tail_above(const char *path, size_t size, size_t depth, unsigned epoch)
{
    const unsigned hash = (unsigned)(mix_path(mix(1, epoch), path, size) >> 40);

    return ((unsigned)depth % DEPTHS + hash * DEPTHS) % SB_INODE_TAILS;
}

uint32_t sb_inode_generation(const struct sb_entry *entry, unsigned epoch)
{
    return (uint32_t)mix(hash_entry(entry), epoch);
}
