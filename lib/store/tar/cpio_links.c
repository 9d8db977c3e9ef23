#include "store/tar/cpio_links.h"

#include <string.h>

#define HELD_MAX ((size_t)32 << 20)

struct item {
    struct sb_member member; /* without its strings */
    struct sb_cpio_inode inode;
    size_t name_at;
    bool given;
};

static struct item *item_at(const struct sb_cpio_links *links, size_t i)
{
    return (struct item *)(void *)links->items.data + i;
}

static size_t item_count(const struct sb_cpio_links *links)
{
    return links->items.size / sizeof(struct item);
}

static bool is_live(const struct item *item, struct sb_cpio_inode inode)
{
    return !item->given && item->inode.number == inode.number && item->inode.device == inode.device;
}

void sb_cpio_links_release(struct sb_cpio_links *links)
{
    sb_buf_release(&links->items);
    sb_buf_release(&links->names);
    sb_buf_release(&links->first);
}

enum sb_code sb_cpio_links_hold(struct sb_cpio_links *links, const struct sb_member *member,
                                struct sb_cpio_inode inode)
{
    struct item item = {.member = *member, .inode = inode};

    if (links->live == 0) {
        sb_buf_clear(&links->items);
        sb_buf_clear(&links->names);
    }
    if (links->items.size + links->names.size > HELD_MAX)
        return sb_fail(SB_LIMIT,
                       "%s: too many hard links come before their bytes; unpack it with cpio",
                       member->entry.path);
    item.name_at = links->names.size;
    TRY(sb_buf_add(&links->names, member->entry.path, member->entry.path_size + 1));
    TRY(sb_buf_add(&links->items, &item, sizeof(item)));
    links->live++;
    return SB_OK;
}

bool sb_cpio_links_know(const struct sb_cpio_links *links, struct sb_cpio_inode inode)
{
    for (size_t i = 0; links->live > 0 && i < item_count(links); i++) {
        if (is_live(item_at(links, i), inode))
            return true;
    }
    return false;
}

enum sb_code sb_cpio_links_begin(struct sb_cpio_links *links, struct sb_cpio_inode inode,
                                 const char *name)
{
    if (!sb_cpio_links_know(links, inode))
        return SB_OK;
    links->inode = inode;
    links->giving = true;
    return sb_buf_set(&links->first, name, strlen(name));
}

void sb_cpio_links_begin_all(struct sb_cpio_links *links)
{
    links->all = true;
}

/* NULL: of the inode that is given nothing is left. */
static struct item *next_item(const struct sb_cpio_links *links)
{
    for (size_t i = 0; links->live > 0 && i < item_count(links); i++) {
        struct item *item = item_at(links, i);

        if (links->giving ? is_live(item, links->inode) : links->all && !item->given)
            return item;
    }
    return NULL;
}

enum sb_code sb_cpio_links_give(struct sb_cpio_links *links, struct sb_member *member)
{
    struct item *item = links->giving ? next_item(links) : NULL;

    links->giving = item != NULL;
    if (!item)
        item = next_item(links);
    if (!item)
        return SB_END;
    *member = item->member;
    member->entry.path = links->names.data + item->name_at;
    item->given = true;
    links->live--;
    if (links->giving) {
        member->hard_link = links->first.data;
        member->has |= SB_KEEPS_HARD_LINKS;
        return SB_OK;
    }
    links->giving = true;
    links->inode = item->inode;
    TRY(sb_buf_set(&links->first, member->entry.path, member->entry.path_size));
    return SB_OK;
}
