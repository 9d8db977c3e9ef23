/*
 * Listings, and extended attributes.
 *
 * An open directory has a listing that goes on from request to request. Its entries are filled into
 * a block as the system wants them; one that did not fit is the first of the next block. While a
 * program looks at a full block of names, the next one is filled.
 */
#include "archive/content.h"
#include "archive/shards.h"
#include "core/array.h"
#include "task/mount/roots.h"
#include "task/mount/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELF   1 /* places of "." and ".." */
#define PARENT 2

/* A block that is filled. */
struct block {
    char *data;
    size_t size;
    size_t used;
    bool plus;
};

/* After an entry, or the beginning. */
struct point {
    uint64_t place;     /* 0: the beginning */
    struct sb_buf name; /* the entry may be removed meanwhile; empty: not known */
};

struct open_dir {
    pthread_mutex_t lock;         /* of all below */
    struct sb_roots_dir *listing; /* NULL: not begun */
    bool plus;                    /* the listing has whole rows */
    struct point at;              /* that it goes on from */
    bool waits;                   /* `item` is the next */
    struct sb_roots_item item;

    struct block ahead;      /* the block after the last one; data NULL: none */
    struct point ahead_from; /* that it goes on from */
};

static struct open_dir *dir_of(const struct fuse_file_info *info)
{
    return (struct open_dir *)(uintptr_t)info->fh;
}

void sb_serve_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    const struct sb_mount *mount = fuse_req_userdata(request);
    struct open_dir *dir = calloc(1, sizeof(*dir));

    (void)number;
    if (!dir) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    pthread_mutex_init(&dir->lock, NULL);
    info->fh = (uintptr_t)dir;
    info->cache_readdir = mount->options.immutable;
    info->keep_cache = mount->options.immutable;
    fuse_reply_open(request, info);
}

void sb_serve_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    struct open_dir *dir = dir_of(info);

    (void)number;
    /* The next block may still be filled. */
    pthread_mutex_lock(&dir->lock);
    pthread_mutex_unlock(&dir->lock);
    free(dir->ahead.data);
    sb_roots_dir_free(dir->listing);
    sb_buf_release(&dir->at.name);
    sb_buf_release(&dir->ahead_from.name);
    pthread_mutex_destroy(&dir->lock);
    free(dir);
    fuse_reply_err(request, 0);
}

/* False: it is full. libfuse makes no use of a request here. */
static bool put(struct block *block, const char *name, const struct fuse_entry_param *param,
                uint64_t place)
{
    char *to = block->data + block->used;
    const size_t left = block->size - block->used;
    size_t size;

    if (block->plus)
        size = fuse_add_direntry_plus(NULL, to, left, name, param, (off_t)place);
    else
        size = fuse_add_direntry(NULL, to, left, name, &param->attr, (off_t)place);
    if (size > left)
        return false;
    block->used += size;
    return true;
}

static bool put_item(const struct sb_mount *mount, struct block *block,
                     const struct sb_roots_item *item)
{
    struct fuse_entry_param param;

    if (!block->plus) {
        param.attr.st_ino = item->place;
        param.attr.st_mode = sb_serve_mode(item->entry);
        return put(block, item->name, &param, item->place);
    }
    sb_serve_fill_entry(mount, item->tree, item->entry, &item->inode, &param);
    /* Of what cannot be used only the name is listed: its look-up fails. */
    if (item->entry->defect)
        param.ino = 0;
    return put(block, item->name, &param, item->place);
}

/* "." and "..", which the system does not look at but for their type. */
static bool put_dots(struct block *block, fuse_ino_t number, off_t offset)
{
    struct fuse_entry_param param = {
        .attr = {.st_mode = S_IFDIR, .st_ino = sb_serve_shown_number(number)}};

    if (offset < SELF && !put(block, ".", &param, SELF))
        return false;
    param.attr.st_ino = SB_INODE_TOP;
    return offset >= PARENT || put(block, "..", &param, PARENT);
}

/* Makes the listing go on after that place, also if the entry there was just removed: where the
 * next block begins, or the one that was filled ahead, its name is known. */
static enum sb_code seek(struct sb_mount *mount, struct open_dir *dir, fuse_ino_t number,
                         uint64_t place, bool plus)
{
    const bool stays = dir->at.place == place, back = dir->ahead_from.place == place;
    struct sb_roots_from from = {.place = place};

    if (dir->listing && stays && dir->plus == plus)
        return SB_OK;
    dir->at.place = place;
    if (!stays || place == 0)
        sb_buf_clear(&dir->at.name);
    if (!stays && back && place > 0 &&
        sb_buf_set(&dir->at.name, dir->ahead_from.name.data, dir->ahead_from.name.size))
        return sb_fail_memory();
    if (dir->at.name.size > 0)
        from.name = dir->at.name.data;
    sb_roots_dir_free(dir->listing);
    dir->listing = NULL;
    dir->waits = false;
    dir->plus = plus;
    return sb_roots_dir_open(&dir->listing, mount->roots, number, &from, !plus);
}

static enum sb_code fill(const struct sb_mount *mount, struct open_dir *dir, struct block *block)
{
    enum sb_code code = SB_OK;

    while (!code) {
        if (!dir->waits)
            code = sb_roots_dir_next(dir->listing, &dir->item);
        dir->waits = !code;
        if (code || !put_item(mount, block, &dir->item))
            break;
        TRY(sb_buf_set(&dir->at.name, dir->item.name, strlen(dir->item.name)));
        dir->waits = false;
        dir->at.place = dir->item.place;
    }
    return code == SB_END ? SB_OK : code;
}

/* Takes the block that was filled ahead, if it is the one that is requested. */
static bool take_ahead(struct open_dir *dir, struct block *block, off_t offset)
{
    const bool fits = dir->ahead.data && !block->plus && dir->ahead.size == block->size &&
                      dir->ahead_from.place == (uint64_t)offset;

    if (fits)
        *block = dir->ahead;
    else
        free(dir->ahead.data);
    dir->ahead.data = NULL;
    return fits;
}

/* What goes wrong here is found again by the request for the block. */
static void fill_ahead(const struct sb_mount *mount, struct open_dir *dir, size_t size)
{
    struct block block = {.data = malloc(size), .size = size};
    bool filled = false;

    dir->ahead_from.place = 0;
    if (block.data && !sb_buf_set(&dir->ahead_from.name, dir->at.name.data, dir->at.name.size)) {
        dir->ahead_from.place = dir->at.place;
        filled = !IGNORED(fill(mount, dir, &block));
    }
    if (filled)
        dir->ahead = block;
    else
        free(block.data);
}

static enum sb_code fill_block(struct sb_mount *mount, struct open_dir *dir, struct block *block,
                               fuse_ino_t number, off_t offset)
{
    TRY(sb_alloc(&block->data, block->size));
    if (!put_dots(block, number, offset))
        return SB_OK;
    TRY(seek(mount, dir, number, offset > PARENT ? (uint64_t)offset : 0, block->plus));
    return fill(mount, dir, block);
}

static void list(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, bool plus,
                 struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    struct open_dir *dir = dir_of(info);
    struct block block = {.size = size, .plus = plus};
    enum sb_code code = SB_OK;

    pthread_mutex_lock(&dir->lock);
    if (!take_ahead(dir, &block, offset))
        code = fill_block(mount, dir, &block, number, offset);
    if (code && block.used == 0)
        fuse_reply_err(request, sb_serve_errno(mount, "a directory", code));
    else
        fuse_reply_buf(request, block.data, block.used);
    if (!code && !plus && dir->waits)
        fill_ahead(mount, dir, size);
    pthread_mutex_unlock(&dir->lock);
    free(block.data);
}

void sb_serve_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    list(request, number, size, offset, false, info);
}

void sb_serve_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                          struct fuse_file_info *info)
{
    list(request, number, size, offset, true, info);
}

/* The value of an extended attribute as text; false: the file has none of that name. */
static bool attribute(const struct sb_node *node, const char *name, char text[32])
{
    const struct sb_entry *entry = &node->entry;
    bool placed;

    if (!node->tree || entry->type != SB_FILE)
        return false;
    placed = sb_shards_hold(sb_content_shards(sb_tree_content(node->tree)), entry->shard);
    if (strcmp(name, "user.crc32c") == 0 && (entry->has & SB_HAS_CRC))
        return snprintf(text, 32, "%08" PRIx32, entry->crc32c) > 0;
    if (strcmp(name, "user.shard") == 0 && placed)
        return snprintf(text, 32, "%" PRIu32, entry->shard) > 0;
    if (strcmp(name, "user.offset") == 0 && placed)
        return snprintf(text, 32, "%" PRId64, entry->offset) > 0;
    return false;
}

static void reply_text(fuse_req_t request, const char *text, size_t length, size_t size)
{
    if (size == 0)
        fuse_reply_xattr(request, length);
    else if (size < length)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, text, length);
}

void sb_serve_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    char text[32];
    enum sb_code code;

    /* ls requests others of every file. */
    if (strncmp(name, "user.", 5) != 0) {
        fuse_reply_err(request, ENODATA);
        return;
    }
    code = sb_roots_node(mount->roots, number, &node);
    if (code)
        fuse_reply_err(request, sb_serve_errno(mount, name, code));
    else if (!attribute(&node, name, text))
        fuse_reply_err(request, ENODATA);
    else
        reply_text(request, text, strlen(text), size);
}

void sb_serve_listxattr(fuse_req_t request, fuse_ino_t number, size_t size)
{
    static const char *const names[] = {"user.crc32c", "user.shard", "user.offset"};
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    char list_of_names[64], text[32];
    size_t length = 0;
    enum sb_code code = sb_roots_node(mount->roots, number, &node);

    for (size_t i = 0; !code && i < ARRAY_SIZE(names); i++) {
        if (!attribute(&node, names[i], text))
            continue;
        memcpy(list_of_names + length, names[i], strlen(names[i]) + 1);
        length += strlen(names[i]) + 1;
    }
    if (code)
        fuse_reply_err(request, sb_serve_errno(mount, "listxattr", code));
    else
        reply_text(request, list_of_names, length, size);
}
