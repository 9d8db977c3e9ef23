#include "ls/ls.h"

#include "open/opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include "archive/descent.h"
#include "core/glob.h"
#include "store/unmatched.h"
#include "task/fetch/entry_sort.h"

#include <inttypes.h>
#include <string.h>

/* What a run of the command holds besides its settings. */
struct list {
    const struct ls_settings *settings;
    struct sb_archive *archive; /* of the store */
    struct sb_content *content; /* for targets of links; NULL where none are shown */
    struct sb_entry_sort *sort; /* NULL: entries come as they are to be shown */
    struct listing_style style;
    struct left_out left_out;
    bool headers;  /* a line with its name before each directory */
    bool anything; /* was written: an empty line goes before the next header */
};

/* Two columns, "├── " or "└── " for the last, drawn from the levels above. */
static void draw_branch(const struct sb_descent *descent, const struct sb_step *step)
{
    size_t depth;

    for (depth = 0; depth < step->depth; depth++)
        output_text(sb_descent_was_last(descent, depth) ? "    " : "│   ");
    output_text(step->last ? "└── " : "├── ");
}

static void count_drawn(int64_t dirs, int64_t files, bool only_dirs)
{
    output_format("\n%" PRId64 " director%s", dirs, dirs == 1 ? "y" : "ies");
    if (!only_dirs)
        output_format(", %" PRId64 " file%s", files, files == 1 ? "" : "s");
    output_char('\n');
}

/* The tree below path, size bytes of it, which ends in NUL; and how much that was. */
static enum sb_code draw_tree(struct list *list, const char *path, size_t size)
{
    const struct ls_settings *settings = list->settings;
    struct sb_descent_options below = {
        .files = !settings->directory,
        .max_depth = settings->max_depth ? (size_t)settings->max_depth - 1 : SIZE_MAX};
    CLEANUP(sb_descent_freep) struct sb_descent *descent = NULL;
    struct sb_step step;
    int64_t files = 0, dirs = 0;
    size_t skip;
    enum sb_code code = sb_descent_open(&descent, list->archive, path, &below);

    output_name(size ? path : ".", size ? size : 1);
    output_char('\n');
    while (!code && !(code = sb_descent_next(descent, &step))) {
        if (step.visit == SB_VISIT_LEAVE)
            continue;
        if (step.entry.defect)
            leave_out(&list->left_out, &step.entry);
        files += step.entry.type != SB_DIR;
        dirs += step.entry.type == SB_DIR;
        draw_branch(descent, &step);
        skip = sb_parent_size(step.entry.path, step.entry.path_size);
        listing_begin(&list->style);
        listing_add(&step.entry, skip ? skip + 1 : 0);
        listing_end();
    }
    if (code != SB_END)
        return code;
    count_drawn(dirs, files, settings->directory);
    return SB_OK;
}

static enum sb_code add_sorted(struct list *list, const struct sb_entry *entry)
{
    int64_t key = 0, second_key = 0;

    /* ~ turns the order round, without overflow: the largest and the newest come first. */
    switch (list->settings->sort) {
    case LS_BY_SIZE:
        key = ~(entry->type == SB_DIR ? entry->size_tree : entry->size);
        break;
    case LS_BY_TIME:
        key = entry->has & SB_HAS_MTIME ? ~entry->mtime_ns : INT64_MAX;
        break;
    case LS_BY_ADDRESS:
        key = entry->type == SB_DIR ? -1 : (int64_t)entry->shard;
        second_key = entry->offset;
        break;
    }
    return sb_entry_sort_add(list->sort, key, second_key, entry);
}

/* Where the entry goes first: to be shown, to be sorted, or to those left out. */
static enum sb_code take(struct list *list, const struct sb_entry *entry, size_t skip)
{
    if (entry->defect) {
        leave_out(&list->left_out, entry);
        return SB_OK;
    }
    if (list->sort)
        return add_sorted(list, entry);
    listing_add(entry, skip);
    list->anything = true;
    return SB_OK;
}

static enum sb_code end_block(struct list *list, size_t skip)
{
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    while (list->sort && !(code = sb_entry_sort_next(list->sort, &entry))) {
        listing_add(&entry, skip);
        list->anything = true;
    }
    listing_end();
    return code == SB_END ? SB_OK : code;
}

static void write_header(struct list *list, const char *path, size_t size)
{
    char end = list->settings->style.nul ? '\0' : '\n';

    if (!list->headers || list->settings->style.json)
        return;
    if (list->anything)
        output_char(end);
    if (list->settings->style.nul)
        output_bytes(size ? path : ".", size ? size : 1);
    else
        output_name(size ? path : ".", size ? size : 1);
    output_char(':');
    output_char(end);
    list->anything = true;
}

/* What one directory holds, and whether there are directories among it. */
static enum sb_code list_directory(struct list *list, const char *path, size_t size,
                                   bool *has_directories)
{
    struct sb_query query = {
        .order = SB_BY_PATH, .files = true, .dirs = true, .shallow = true, .under = path};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    size_t skip = size ? size + 1 : 0;
    enum sb_code code;

    *has_directories = false;
    /* Where names are shown, and in their order, little else is fetched. */
    if (list->style.form == LISTING_LINES && !list->sort)
        query.columns = list->settings->classify || list->settings->colour != COLOUR_NEVER
                            ? SB_NAMES_AND_MODES
                            : SB_NAMES;
    write_header(list, path, size);
    if (list->sort)
        TRY(sb_entry_sort_begin(list->sort));
    TRY(sb_cursor_open(&cursor, list->archive, &query));
    listing_begin(&list->style);
    while (!(code = sb_cursor_next(cursor, &entry))) {
        *has_directories |= entry.type == SB_DIR;
        TRY(take(list, &entry, skip));
    }
    return code == SB_END ? end_block(list, skip) : code;
}

/* A directory and, with -R, all below it, in order of name. */
static enum sb_code list_tree(struct list *list, const char *path, size_t size)
{
    int64_t levels = list->settings->max_depth;
    /* The first level was listed, and directories of the second are at depth 0. */
    struct sb_descent_options below = {.max_depth = levels ? (size_t)levels - 2 : SIZE_MAX};
    CLEANUP(sb_descent_freep) struct sb_descent *descent = NULL;
    struct sb_step step;
    bool has_directories;
    enum sb_code code;

    TRY(list_directory(list, path, size, &has_directories));
    if (!list->settings->recursive || !has_directories || levels == 1)
        return SB_OK;
    TRY(sb_descent_open(&descent, list->archive, path, &below));
    while (!(code = sb_descent_next(descent, &step))) {
        if (step.visit == SB_VISIT_ENTER) {
            TRY(list_directory(list, step.entry.path, step.entry.path_size, &has_directories));
            if (!has_directories)
                sb_descent_skip(descent);
        } else if (step.visit == SB_VISIT_ENTRY) {
            message_problem("%s: too deep to be listed", step.entry.path);
        }
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code show_directory(struct list *list, const char *path, size_t size)
{
    if (list->settings->tree)
        return draw_tree(list, path, size);
    return list_tree(list, path, size);
}

/* -d, which with --tree chooses what is drawn. */
static bool shows_directories_themselves(const struct list *list)
{
    return list->settings->directory && !list->settings->tree;
}

static bool is_shown_first(const struct list *list, const struct sb_entry *entry)
{
    return shows_directories_themselves(list) || entry->type != SB_DIR;
}

/* The root has no name; -d shows it as GNU ls shows the current directory. */
static enum sb_code list_root_itself(struct list *list)
{
    struct sb_entry entry;

    TRY(sb_archive_lookup(list->archive, "", 0, &entry));
    entry.path = ".";
    entry.path_size = 1;
    return take(list, &entry, 0);
}

/* One pass over what the arguments name: entries themselves, or the contents of directories. */
static enum sb_code pass(struct list *list, char **args, size_t count, bool entries_themselves)
{
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_select_new(&select, list->archive, args, count, SB_REACH_ITSELF));
    if (sb_select_everything(select)) {
        if (!entries_themselves)
            TRY(show_directory(list, "", 0));
        else if (shows_directories_themselves(list))
            TRY(list_root_itself(list));
    }
    while (!(code = sb_select_next(select, &entry))) {
        if (entries_themselves && is_shown_first(list, &entry))
            TRY(take(list, &entry, 0));
        else if (!entries_themselves && !is_shown_first(list, &entry))
            TRY(show_directory(list, entry.path, entry.path_size));
    }
    if (code != SB_END)
        return code;
    for (size_t i = 0; entries_themselves && i < count; i++) {
        if (sb_select_unmatched(select, i))
            message_problem("cannot access '%s': no such file or directory in the archive%s",
                            args[i], sb_unmatched_in(list->archive, args[i]));
    }
    return SB_OK;
}

static enum sb_code list_arguments(struct list *list, char **args, size_t count)
{
    static char dot[] = ".", *root[] = {dot};

    if (count == 0) {
        args = root;
        count = 1;
    }
    list->headers = list->settings->recursive || count > 1 || sb_is_glob(args[0]);
    if (list->sort)
        TRY(sb_entry_sort_begin(list->sort));
    listing_begin(&list->style);
    TRY(pass(list, args, count, true));
    TRY(end_block(list, 0));
    if (!shows_directories_themselves(list))
        TRY(pass(list, args, count, false));
    return SB_OK;
}

static enum listing_form choose_form(const struct ls_settings *settings)
{
    if (settings->style.json)
        return LISTING_JSON;
    if (settings->details)
        return LISTING_LONG;
    if (settings->one || settings->tree || settings->style.nul || !output_is_terminal())
        return LISTING_LINES;
    return LISTING_COLUMNS;
}

static bool owns(const struct sb_entry *entry, const struct place *place)
{
    /* The end of a file cannot overflow, but that of the place can. */
    return entry->size > 0 && entry->offset + entry->size > place->offset &&
           (entry->offset <= place->offset || entry->offset - place->offset < place->length);
}

/* The files that own any of the bytes, in order of address. */
static enum sb_code show_owners(struct list *list)
{
    const struct place *place = &list->settings->place;
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .shard_first = place->shard,
                             .shard_last = place->shard};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, list->archive, &query));
    listing_begin(&list->style);
    while (!(code = sb_cursor_next(cursor, &entry))) {
        if (entry.defect || owns(&entry, place))
            TRY(take(list, &entry, 0));
        else if (entry.offset > place->offset && entry.size > 0)
            break;
    }
    listing_end();
    if (code && code != SB_END)
        return code;
    if (!list->anything)
        message_problem("%" PRIu32 ":%" PRId64 ": no file has these bytes", place->shard,
                        place->offset);
    return SB_OK;
}

static enum sb_code show(struct list *list, char **args, size_t count)
{
    const struct ls_settings *settings = list->settings;

    if (settings->shards || settings->rsync_list) {
        TRY(need_shards(list->archive, "shards"));
        return ls_shards(settings, list->archive, &list->left_out);
    }
    if (settings->at)
        return show_owners(list);
    if (settings->sort != LS_BY_NAME || settings->reverse)
        TRY(sb_entry_sort_new(&list->sort, settings->reverse));
    return list_arguments(list, args, count);
}

static void release(struct list *list)
{
    complain_of_left_out(&list->left_out);
    sb_entry_sort_free(list->sort);
    sb_content_free(list->content);
}

enum sb_code ls_entries(const struct ls_settings *settings, struct sb_store *store, char **paths,
                        size_t count)
{
    CLEANUP(release)
    struct list list = {
        .settings = settings, .style = settings->style, .headers = settings->recursive};

    list.style.form = choose_form(settings);
    list.style.marks = settings->classify ? LISTING_CLASSES
                       : settings->slash  ? LISTING_SLASHES
                                          : LISTING_NO_MARKS;
    TRY(catalog_whole(store, &list.archive, &settings->opening));
    colour_begin(settings->style.nul ? COLOUR_NEVER : settings->colour);
    if (settings->details || settings->style.json)
        TRY(sb_content_open(&list.content, list.archive, NULL));
    list.style.content = list.content;
    return show(&list, paths, count);
}
