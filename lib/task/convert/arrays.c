#include "core/number.h"
#include "store/array/array.h"
#include "store/part_name.h"
#include "store/shard_spec.h"
#include "store/table.h"
#include "task/convert/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arrays {
    const struct sb_convert_options *options;
    struct sb_convert_result *result;
    struct sb_store *store;
    struct sb_table *first; /* of the first input; all inputs have the same arrays */
    uint32_t all;           /* how many */
    uint32_t *wanted;       /* numbers of the selected ones */
    const char **names;     /* and their names */
    size_t count;
    struct sb_buf whole; /* path of the current bag */
    struct sb_buf path;  /* and of the share's part of it */
};

/* Items of arrays without shapes, whose values can be records. */
static bool has_only_arrays(const struct sb_convert_options *options, const char *path)
{
    return sb_convert_abilities(options, path) & SB_CAN_ITEMS;
}

bool sb_convert_is_of_arrays(const struct sb_convert_options *options)
{
    if (!(sb_convert_takes(options) & SB_TO_RECORDS) || options->array_count == 1 ||
        options->archive || options->records.framed_output)
        return false;
    for (size_t i = 0; i < options->input_count; i++) {
        if (has_only_arrays(options, options->inputs[i]))
            return true;
    }
    return false;
}

static enum sb_code open_table(struct sb_store **store, struct sb_table **table, uint32_t *columns,
                               const struct sb_convert_options *options, const char *path)
{
    *store = NULL;
    *table = NULL;
    if (!has_only_arrays(options, path))
        return sb_fail(
            SB_INVALID,
            "%s: is no Syrah file, and each array of one becomes a bag; convert it alone", path);
    TRY(sb_convert_open_input(store, options, path));
    TRY(sb_store_table(*store, table));
    return sb_table_columns(*table, 0, columns);
}

static enum sb_code compare_with_first(const struct arrays *arrays, const char *path)
{
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    CLEANUP(sb_table_freep) struct sb_table *other = NULL;
    uint32_t count;
    bool same;

    TRY(open_table(&store, &other, &count, arrays->options, path));
    same = arrays->all == count;
    for (uint32_t i = 0; same && i < count; i++) {
        struct sb_column column = sb_table_column(arrays->first, i);
        int64_t found = other->ops->find(other, column.name, strlen(column.name));

        same = found >= 0 && sb_table_column(other, (uint32_t)found).dtype == column.dtype;
    }
    if (same)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: has other arrays than %s, or of other types", other->name,
                   arrays->first->name);
}

static enum sb_code choose(struct arrays *arrays)
{
    const struct sb_convert_options *options = arrays->options;
    uint32_t count = arrays->all;

    for (size_t i = 0; i < options->array_count; i++) {
        const char *name = options->arrays[i];

        if (arrays->first->ops->find(arrays->first, name, strlen(name)) < 0)
            return sb_fail(SB_INVALID, "%s: has no array '%s'; ls shows which it has",
                           arrays->first->name, name);
    }
    TRY(SB_NEW_ARRAY(&arrays->wanted, (size_t)count + 1));
    TRY(SB_NEW_ARRAY(&arrays->names, (size_t)count + 1));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = sb_table_column(arrays->first, i).name;

        if (!sb_array_is_among(name, options->arrays, options->array_count))
            continue;
        arrays->wanted[arrays->count] = i;
        arrays->names[arrays->count++] = name;
    }
    return SB_OK;
}

static enum sb_code name_bag(struct arrays *arrays, uint32_t number)
{
    const struct sb_convert_options *options = arrays->options;
    struct sb_column array = sb_table_column(arrays->first, number);
    const char *type = array.dtype != SB_DTYPE_NONE ? sb_dtype_word(array.dtype) : "npy";

    /* It must be the name of a single file, not of a set of shards. */
    if (!*array.name || *array.name == '.' || strpbrk(array.name, "/@,"))
        return sb_fail(SB_INVALID,
                       "%s: array '%s': a bag cannot be called so; choose it with --array=NAME, "
                       "then OUTPUT is the bag itself",
                       arrays->first->name, array.name);
    sb_buf_clear(&arrays->whole);
    TRY(sb_buf_add_format(&arrays->whole, "%s/%s%s%s.%s", options->output, array.name,
                          array.form == SB_FORM_BYTES ? "" : ".",
                          array.form == SB_FORM_BYTES ? "" : type,
                          options->to.filter == SB_FILTER_ZSTD ? "bagz" : "bag"));
    TRY(sb_part_name(arrays->whole.data, options->share, true, &arrays->path));
    if (!options->force && !options->append && access(arrays->path.data, F_OK) == 0)
        return sb_fail(SB_EXISTS, "%s: is there already; --force replaces it", arrays->path.data);
    return SB_OK;
}

static enum sb_code convert_array(struct arrays *arrays, uint32_t number)
{
    const char *name = sb_table_column(arrays->first, number).name;
    struct sb_convert_options one = *arrays->options;
    struct sb_convert_result result = {0}, *sum = arrays->result;
    enum sb_code code;

    TRY(name_bag(arrays, number));
    one.output = arrays->path.data;
    one.arrays = &name;
    one.array_count = 1;
    one.item_arrays = arrays->names;
    one.item_array_count = arrays->count;
    code = sb_convert(&one, &result);
    sum->counts.files += result.counts.files;
    sb_count_up(&sum->counts.bytes, result.counts.bytes);
    sum->counts.unchecked += result.counts.unchecked;
    sum->members += result.members;
    sum->problems += result.problems;
    return code;
}

static enum sb_code check_output(const struct sb_convert_options *options)
{
    const struct sb_convert_records *records = &options->records;
    struct stat st;
    bool there = stat(options->output, &st) == 0;

    if (records->keys)
        return sb_fail(SB_INVALID,
                       "%s: each array becomes a bag of its own, and --keys is for one; choose "
                       "it with --array=NAME",
                       options->inputs[0]);
    if (there ? S_ISDIR(st.st_mode)
              : !sb_is_bag_name(options->output) && strcmp(options->output, "-") != 0)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: each array becomes a bag of its own: give a directory for them and "
                   "--to=bagz, or choose one with --array=NAME",
                   options->inputs[0]);
}

static enum sb_code convert_each(struct arrays *arrays)
{
    const struct sb_convert_options *options = arrays->options;
    bool made = false;
    enum sb_code code = SB_OK;

    TRY(check_output(options));
    for (size_t i = 0; i < arrays->count; i++)
        TRY(name_bag(arrays, arrays->wanted[i]));
    if (!options->transfer.dry_run) {
        made = mkdir(options->output, 0777) == 0;
        if (!made && errno != EEXIST)
            return sb_fail_errno(errno, "%s", options->output);
    }
    for (size_t i = 0; !code && i < arrays->count; i++)
        code = convert_array(arrays, arrays->wanted[i]);
    if (code && made)
        rmdir(options->output);
    return code;
}

/* A single array may be converted to the output itself, if that has the name of a bag. */
static enum sb_code convert_only(struct arrays *arrays)
{
    struct sb_convert_options one = *arrays->options;
    const char *name = sb_table_column(arrays->first, 0).name;

    TRY(sb_part_name(one.output, one.share, true, &arrays->path));
    one.output = arrays->path.data;
    one.arrays = &name;
    one.array_count = 1;
    return sb_convert(&one, arrays->result);
}

static void release(struct arrays *arrays)
{
    sb_table_free(arrays->first);
    sb_store_free(arrays->store);
    free(arrays->wanted);
    free(arrays->names);
    sb_buf_release(&arrays->whole);
    sb_buf_release(&arrays->path);
}

enum sb_code sb_convert_arrays(const struct sb_convert_options *options,
                               struct sb_convert_result *result)
{
    CLEANUP(release) struct arrays arrays = {.options = options, .result = result};
    struct stat st;

    TRY(open_table(&arrays.store, &arrays.first, &arrays.all, options, options->inputs[0]));
    for (size_t i = 1; i < options->input_count; i++)
        TRY(compare_with_first(&arrays, options->inputs[i]));
    TRY(choose(&arrays));
    if (arrays.all == 1 && sb_is_bag_name(options->output) &&
        !(stat(options->output, &st) == 0 && S_ISDIR(st.st_mode)))
        return convert_only(&arrays);
    return convert_each(&arrays);
}
