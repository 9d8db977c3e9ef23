#include "task/pack/dirs.h"

#include "core/name.h"

#include <stdlib.h>
#include <string.h>

void sb_pack_dirs_release(struct sb_pack_dirs *dirs)
{
    free(dirs->held);
    sb_buf_release(&dirs->name);
    sb_buf_release(&dirs->disk);
    sb_buf_release(&dirs->text);
    *dirs = (struct sb_pack_dirs){0};
}

void sb_pack_dirs_leave(struct sb_pack_dirs *dirs, const char *name, size_t size)
{
    while (dirs->count > 0 &&
           !sb_name_within(name, size, dirs->name.data, dirs->held[dirs->count - 1].name_size))
        dirs->count--;
    if (dirs->given > dirs->count)
        dirs->given = dirs->count;
}

enum sb_code sb_pack_dirs_hold(struct sb_pack_dirs *dirs, const struct sb_pack_item *item,
                               struct sb_error *err)
{
    size_t room = dirs->room ? dirs->room * 2 : 16, disk_size = strlen(item->disk_path);

    if (dirs->count == dirs->room) {
        struct sb_pack_dir *held = reallocarray(dirs->held, room, sizeof(*held));

        if (!held)
            return sb_fail_memory(err);
        dirs->held = held;
        dirs->room = room;
    }
    if (sb_buf_set(&dirs->name, item->name, item->name_size) ||
        sb_buf_set(&dirs->disk, item->disk_path, disk_size))
        return sb_fail_memory(err);
    dirs->held[dirs->count++] = (struct sb_pack_dir){
        .name_size = item->name_size, .disk_size = disk_size, .stat = item->stat};
    return SB_OK;
}

enum sb_code sb_pack_dirs_give(struct sb_pack_dirs *dirs, struct sb_pack_item *item,
                               struct sb_error *err)
{
    const struct sb_pack_dir *dir;

    if (dirs->given == dirs->count)
        return SB_END;
    dir = &dirs->held[dirs->given];
    /* Both end in a NUL within the text. */
    if (sb_buf_set(&dirs->text, dirs->name.data, dir->name_size) ||
        sb_buf_add_char(&dirs->text, '\0') ||
        sb_buf_add(&dirs->text, dirs->disk.data, dir->disk_size))
        return sb_fail_memory(err);
    dirs->given++;
    *item = (struct sb_pack_item){
        .name = dirs->text.data,
        .name_size = dir->name_size,
        .node = SB_NODE_DIR,
        .of_share = true,
        .dir_fd = -1,
        .component = "",
        .disk_path = dirs->text.data + dir->name_size + 1,
        .stat = dir->stat,
    };
    return SB_OK;
}
