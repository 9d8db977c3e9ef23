#include "find/find.h"
#include "ui/output.h"

#include "core/glob.h"
#include "core/name.h"

#include <string.h>
#include <wctype.h>

bool find_true(const struct find_node *node, struct find_visit *visit)
{
    (void)node, (void)visit;
    return true;
}

bool find_false(const struct find_node *node, struct find_visit *visit)
{
    (void)node, (void)visit;
    return false;
}

bool find_prune(const struct find_node *node, struct find_visit *visit)
{
    (void)node;
    visit->pruned = true;
    return true;
}

bool find_quit(const struct find_node *node, struct find_visit *visit)
{
    (void)node;
    visit->quit = true;
    return true;
}

static bool compare(struct find_number wanted, int64_t value)
{
    if (wanted.sign == '=')
        return value == wanted.value;
    return wanted.sign == '+' ? value > wanted.value : value < wanted.value;
}

static bool type_passes(const struct find_node *node, struct find_visit *visit)
{
    return node->types & 1U << visit->entry->type;
}

void find_test_types(struct find_node *node, unsigned types)
{
    unsigned distinct = types & (1U << SB_FILE | 1U << SB_LINK);
    bool all_or_none = distinct == 0 || distinct == (1U << SB_FILE | 1U << SB_LINK);

    node->passes = type_passes;
    node->types = types;
    /* Names are known with what is a directory; what is a link is not. */
    node->needs = all_or_none ? 0 : FIND_MODES;
}

/* Characters as Unicode has them, each for itself; bytes that are none stay. */
static void fold(struct sb_buf *out, const char *text, size_t size)
{
    char lower[4];
    uint32_t character;

    sb_buf_clear(out);
    while (size > 0) {
        size_t length = sb_utf8_character(text, size, &character);

        if (length > 0)
            output_need(sb_buf_add(out, lower, sb_utf8_put(towlower(character), lower)));
        else
            output_need(sb_buf_add_char(out, *text));
        length += length == 0;
        text += length;
        size -= length;
    }
}

const char *find_fold_pattern(struct find_node *node, const char *pattern)
{
    fold(&node->text, pattern, strlen(pattern));
    node->glob.folds = true;
    return node->text.data ? node->text.data : "";
}

static bool glob_passes(const struct find_node *node, struct find_visit *visit, const char *name,
                        size_t size)
{
    size_t tail = node->glob.tail;

    if (node->glob.folds) {
        fold(&visit->folded, name, size);
        name = visit->folded.data;
        size = visit->folded.size;
    }
    if (tail > 0 && size >= tail && memcmp(name + size - tail, node->glob.pattern + 1, tail) == 0)
        return true;
    return (tail == 0 && node->glob.matches(node->glob.pattern, name, size)) ||
           (node->glob.at_top && node->glob.matches(node->glob.at_top, name, size));
}

static bool name_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t base = parent ? parent + 1 : 0;

    return glob_passes(node, visit, entry->path + base, entry->path_size - base);
}

static bool path_passes(const struct find_node *node, struct find_visit *visit)
{
    return glob_passes(node, visit, visit->entry->path, visit->entry->path_size);
}

void find_test_name(struct find_node *node, const char *pattern, find_matches *matches)
{
    node->passes = name_passes;
    node->glob.pattern = pattern;
    node->glob.matches = matches;
    node->glob.tail = 0;
    if (matches == sb_glob_match_flat && *pattern == '*' && !sb_is_glob(pattern + 1))
        node->glob.tail = strlen(pattern + 1);
}

void find_test_path(struct find_node *node, const char *pattern, find_matches *matches)
{
    find_test_name(node, pattern, matches);
    node->passes = path_passes;
}

static bool size_passes(const struct find_node *node, struct find_visit *visit)
{
    int64_t size = visit->entry->size, unit = node->size.unit;

    return visit->entry->type != SB_DIR &&
           compare(node->size.units, size / unit + (size % unit != 0));
}

void find_test_size(struct find_node *node, struct find_number units, int64_t unit)
{
    node->passes = size_passes;
    node->needs = FIND_ROWS;
    node->size.units = units;
    node->size.unit = unit;
}

bool find_empty(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    (void)node;
    if (entry->type == SB_DIR)
        return entry->num_files == 0 && entry->num_subdirs == 0;
    return entry->type == SB_FILE && entry->size == 0;
}

static bool time_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    return entry->has & SB_HAS_MTIME && entry->mtime_ns > node->time.after &&
           entry->mtime_ns < node->time.before;
}

void find_test_time(struct find_node *node, int64_t after, int64_t before)
{
    node->passes = time_passes;
    node->needs = FIND_ROWS;
    node->time.after = after;
    node->time.before = before;
}

static bool mode_passes(const struct find_node *node, struct find_visit *visit)
{
    uint32_t bits = node->mode.bits, mode = visit->entry->mode & 07777;

    if (!(visit->entry->has & SB_HAS_MODE))
        return false;
    if (node->mode.how == '/')
        return bits == 0 || (mode & bits);
    return (node->mode.how == '-' ? mode & bits : mode) == bits;
}

void find_test_mode(struct find_node *node, char how, uint32_t bits)
{
    node->passes = mode_passes;
    node->needs = FIND_MODES;
    node->mode.how = how;
    node->mode.bits = bits;
}

static bool uid_passes(const struct find_node *node, struct find_visit *visit)
{
    return visit->entry->has & SB_HAS_UID && compare(node->id, visit->entry->uid);
}

void find_test_uid(struct find_node *node, struct find_number id)
{
    node->passes = uid_passes;
    node->needs = FIND_ROWS;
    node->id = id;
}

static bool gid_passes(const struct find_node *node, struct find_visit *visit)
{
    return visit->entry->has & SB_HAS_GID && compare(node->id, visit->entry->gid);
}

void find_test_gid(struct find_node *node, struct find_number id)
{
    find_test_uid(node, id);
    node->passes = gid_passes;
}

static bool filter_passes(const struct find_node *node, struct find_visit *visit)
{
    const struct sb_entry *entry = visit->entry;

    return sb_filter_takes(node->filter, entry->path, entry->path_size, entry->type == SB_DIR);
}

void find_test_filter(struct find_node *node, const struct sb_filter *filter)
{
    node->passes = filter_passes;
    node->filter = filter;
}
