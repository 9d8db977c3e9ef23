#include "core/interrupt.h"
#include "core/mapping.h"
#include "store/pickle_index.h"
#include "task/verify_cache_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "index.pkl"

struct index_check {
    struct sb_cache_check *check;
    unsigned char *found; /* a bit for each row that the index leads to */
    int64_t right;        /* entries that lead to where their key counts */
    int64_t wrong;
    struct sb_buf first; /* of those: its key, as far as it is shown */
    int64_t entries;
};

static enum sb_code report(struct sb_cache_check *check, const char *text, struct sb_error *err)
{
    enum sb_code code = sb_cache_is_same(check, err);

    if (code)
        return code;
    check->stale = true;
    check->counts->repairable++;
    sb_cache_defect(check, SB_REMEDY_INDEX, "stale", NAME, strlen(NAME), "%s", text);
    return SB_OK;
}

/* The place of a segment by the number in its name; the last one where there are several. */
static bool find_segment(const struct sb_cache_check *check, int64_t number, uint32_t *segment)
{
    uint32_t low = 0, high = check->segments;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (check->numbers[middle] <= number)
            low = middle + 1;
        else
            high = middle;
    }
    *segment = low - 1;
    return low > 0 && check->numbers[low - 1] == number;
}

/* *row: among all rows. False: the entry leads nowhere, or to a row that does not count. */
static bool find_row(const struct sb_cache_check *check, const struct sb_pickle_entry *entry,
                     struct sb_cache_place *place, int64_t *row)
{
    if (!find_segment(check, entry->segment, &place->segment) || entry->row < 0 ||
        entry->row >= check->first_rows[place->segment + 1] - check->first_rows[place->segment])
        return false;
    place->row = entry->row;
    *row = check->first_rows[place->segment] + entry->row;
    return check->live_row[*row / 8] >> *row % 8 & 1;
}

static enum sb_code judge(struct index_check *index, const struct sb_pickle_entry *entry,
                          bool *right, struct sb_error *err)
{
    struct sb_cache_place place;
    struct sb_cache_key key;
    int64_t row;
    enum sb_code code;

    *right = false;
    if (!find_row(index->check, entry, &place, &row))
        return SB_OK;
    code = sb_cache_key_at(index->check->reader, place, &key, err);
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    *right = key.size == entry->key_size &&
             (key.size == 0 || memcmp(key.text, entry->key, key.size) == 0);
    if (*right && !(index->found[row / 8] >> row % 8 & 1)) {
        index->found[row / 8] |= (unsigned char)(1 << row % 8);
        index->right++;
    }
    return SB_OK;
}

static enum sb_code take_entry(void *context, const struct sb_pickle_entry *entry,
                               struct sb_error *err)
{
    struct index_check *index = context;
    bool right;
    enum sb_code code;

    if (++index->entries % 4096 == 0 && sb_interrupted())
        return sb_fail(err, SB_INTERRUPT, "interrupted");
    code = judge(index, entry, &right, err);
    if (code || right)
        return code;
    if (index->wrong++ == 0 && sb_buf_set(&index->first, entry->key, entry->key_size))
        return sb_fail_memory(err);
    return SB_OK;
}

/* Of SB_FORMAT err says why. */
static enum sb_code read_index(struct index_check *index, struct sb_error *err)
{
    struct sb_mapping *mapping = NULL;
    struct sb_buf path = {0};
    enum sb_code code;
    int fd;

    if (sb_buf_add_format(&path, "%s/" NAME, index->check->dir))
        return sb_fail_memory(err);
    fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    code = fd < 0 ? sb_fail_errno(err, errno, "%s", path.data)
                  : sb_mapping_open(&mapping, fd, path.data, err);
    if (fd >= 0)
        close(fd);
    if (!code)
        code = sb_pickle_index_read(mapping->data, (size_t)mapping->size, take_entry, index, err);
    if (mapping && (!code || code == SB_FORMAT) && sb_mapping_check(mapping, err))
        code = sb_fail(err, SB_FORMAT, "shrank while it was read");
    sb_mapping_free(mapping);
    sb_buf_release(&path);
    return code;
}

static enum sb_code judge_all(struct index_check *index, struct sb_error *err)
{
    struct sb_cache_check *check = index->check;
    int64_t missing = check->counts->keys - index->right;
    struct sb_buf text = {0};
    enum sb_code code = SB_OK;

    if (index->wrong > 0)
        code = sb_buf_add_format(
            &text, "%" PRId64 " of its %" PRId64 " keys %s not where it says, the first one '%s'",
            index->wrong, index->entries, index->wrong == 1 ? "is" : "are",
            index->first.data ? index->first.data : "");
    if (!code && missing > 0)
        code = sb_buf_add_format(&text,
                                 "%s%" PRId64 " of %" PRId64 " keys of the segments %s not "
                                 "in it, or not where they count",
                                 index->wrong > 0 ? "; " : "", missing, check->counts->keys,
                                 missing == 1 ? "is" : "are");
    if (code)
        code = sb_fail_memory(err);
    else if (text.size > 0)
        code = report(check, text.data, err);
    sb_buf_release(&text);
    return code;
}

static enum sb_code report_unreadable(struct sb_cache_check *check, struct sb_error *err)
{
    struct sb_error found = *err;

    return report(check, found.text, err);
}

enum sb_code sb_cache_check_index(struct sb_cache_check *check, struct sb_error *err)
{
    int64_t rows = check->first_rows[check->segments];
    struct index_check index = {.check = check};
    enum sb_code code;

    index.found = calloc((size_t)rows / 8 + 1, 1);
    if (!index.found)
        return sb_fail_memory(err);
    code = read_index(&index, err);
    check->has_index = code != SB_NOENT;
    if (!code)
        code = judge_all(&index, err);
    else if (code == SB_FORMAT)
        code = report_unreadable(check, err);
    sb_buf_release(&index.first);
    free(index.found);
    return code == SB_NOENT ? SB_OK : code;
}
