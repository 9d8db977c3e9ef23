#include "ui/name_list.h"

#include "core/buf.h"
#include "core/name.h"

#include <string.h>

#define NAMES_MOST 1024
#define BYTES_MOST (256 * 1024)

struct item {
    size_t given, name; /* places in `text`: as the list has it, and as a stored name */
    struct sb_entry entry;
    bool there;
};

struct batch {
    struct sb_buf text;
    struct sb_buf name; /* the last one */
    struct item items[NAMES_MOST];
    size_t count;
};

static enum sb_code add_name(struct batch *batch, const char *given, struct sb_error *err)
{
    struct item *item = &batch->items[batch->count];
    bool stripped;

    *item = (struct item){.given = batch->text.size};
    if (sb_name_normalize(given, &batch->name, &stripped) ||
        sb_buf_add(&batch->text, given, strlen(given) + 1))
        return sb_fail_memory(err);
    item->name = batch->text.size;
    if (sb_buf_add(&batch->text, batch->name.data, batch->name.size + 1))
        return sb_fail_memory(err);
    batch->count++;
    return SB_OK;
}

/* SB_END when the list has ended; names may have been added all the same. */
static enum sb_code read_names(struct batch *batch, struct sb_list *list, struct sb_error *err)
{
    const char *given;
    size_t size;
    enum sb_code code;

    batch->count = 0;
    sb_buf_clear(&batch->text);
    do {
        code = sb_list_next(list, &given, &size, err);
        if (!code)
            code = add_name(batch, given, err);
    } while (!code && batch->count < NAMES_MOST && batch->text.size < BYTES_MOST &&
             sb_list_ready(list));
    return code;
}

static enum sb_code look_up(struct sb_archive *archive, struct batch *batch, struct sb_error *err)
{
    enum sb_code code = sb_archive_begin(archive, err);
    const char *name;
    size_t i;

    if (code)
        return code;
    for (i = 0; i < batch->count && !code; i++) {
        name = batch->text.data + batch->items[i].name;
        code = sb_archive_lookup(archive, name, strlen(name), &batch->items[i].entry, err);
        batch->items[i].there = !code;
        batch->items[i].entry.path = name;
        if (code == SB_NOENT)
            code = SB_OK;
    }
    return sb_archive_end(archive, code, err);
}

enum sb_code look_up_names(struct sb_archive *archive, struct sb_list *list,
                           void (*each)(void *context, const char *text,
                                        const struct sb_entry *entry),
                           void *context, struct sb_error *err)
{
    static struct batch batch;
    enum sb_code read = SB_OK, code = SB_OK;
    const struct item *item;

    while (!read && !code) {
        read = read_names(&batch, list, err);
        if (read && read != SB_END)
            break;
        code = look_up(archive, &batch, err);
        for (item = batch.items; !code && item < batch.items + batch.count; item++)
            each(context, batch.text.data + item->given, item->there ? &item->entry : NULL);
    }
    sb_buf_release(&batch.text);
    sb_buf_release(&batch.name);
    if (!code && read != SB_END)
        code = read;
    return code;
}
