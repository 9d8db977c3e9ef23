#include "find/walk.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/list.h"
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

static void consider_listed(struct finding *finding, const char *text, const struct sb_entry *entry)
{
    const struct find_settings *settings = finding->settings;

    if (settings->missing && !entry)
        output_line(text, strlen(text), settings->nul);
    else if (!entry)
        message_problem("%s: no such file or directory in the archive", text);
    else if (!settings->missing)
        find_consider(finding, entry);
}

static void consider_batch(struct finding *finding, const struct batch *batch)
{
    const struct item *item;

    for (item = batch->items; item < batch->items + batch->count && !finding->visit.quit; item++)
        consider_listed(finding, batch->text.data + item->given, item->there ? &item->entry : NULL);
}

/*
 * When members are considered no lock is held: what is printed may have to wait. A batch ends when
 * the next name would have to be waited for.
 */
static enum sb_code look_up_names(struct finding *finding, struct sb_list *list,
                                  struct sb_error *err)
{
    static struct batch batch;
    enum sb_code read = SB_OK, code = SB_OK;

    while (!read && !code && !finding->visit.quit) {
        read = read_names(&batch, list, err);
        if (read && read != SB_END)
            break;
        code = look_up(finding->archive, &batch, err);
        if (!code)
            consider_batch(finding, &batch);
    }
    sb_buf_release(&batch.text);
    sb_buf_release(&batch.name);
    if (!code && read != SB_END)
        code = read;
    return code;
}

enum sb_code find_listed(struct finding *finding, struct sb_error *err)
{
    const struct find_settings *settings = finding->settings;
    struct sb_list *list;
    enum sb_code code;

    code = sb_list_open(&list, settings->files_from, settings->nul ? '\0' : '\n', err);
    if (code)
        return code;
    code = look_up_names(finding, list, err);
    sb_list_free(list);
    return code;
}
