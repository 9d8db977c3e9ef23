#include "core/share.h"

#include "core/array.h"
#include "core/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two environment variables that together determine a share. */
struct pair {
    const char *index, *count;
    int64_t base; /* the index of the first share */
};

static const struct pair parallel = {"PARALLEL_SEQ", "SHARDBOX_PARTS", 1};
static const struct pair launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
    {"PMI_RANK", "PMI_SIZE", 0},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 0},
};

/* SB_END: it is not set. */
static enum sb_code read_number(const char *name, int64_t *out)
{
    const char *text = getenv(name);

    if (!text)
        return SB_END;
    if (sb_parse_integer(text, 0, INT64_MAX, out))
        return SB_OK;
    return sb_fail(SB_INVALID, "%s is '%.32s' in the environment, and no number", name, text);
}

static enum sb_code missing(const char *name, const char *beside)
{
    return sb_fail(SB_INVALID, "%s is not set in the environment, although %s is", name, beside);
}

static enum sb_code check(struct sb_share share, const char *index, const char *count)
{
    if (share.count < 1 || share.count > SB_SHARES_MAX)
        return sb_fail(SB_INVALID, "%s makes %" PRId64 " parts, and there may be 1 to %d of them",
                       count, share.count, SB_SHARES_MAX);
    if (share.index < 0 || share.index >= share.count)
        return sb_fail(SB_INVALID, "%s is beyond the %" PRId64 " parts of %s", index, share.count,
                       count);
    return SB_OK;
}

static bool is_set(const char *name)
{
    return getenv(name) != NULL;
}

/* SB_END: the pair is not set. */
static enum sb_code read_pair(struct sb_share *out, const struct pair *pair)
{
    int64_t index, count;

    if (!is_set(pair->index) && !is_set(pair->count))
        return SB_END;
    if (!is_set(pair->index))
        return missing(pair->index, pair->count);
    if (!is_set(pair->count))
        return missing(pair->count, pair->index);
    TRY(read_number(pair->index, &index));
    TRY(read_number(pair->count, &count));
    *out = (struct sb_share){index - pair->base, count};
    return check(*out, pair->index, pair->count);
}

/* SHARDBOX_PARTS alone is not half of a pair: it is the expected total. */
static enum sb_code read_parallel(struct sb_share *out)
{
    if (!is_set(parallel.index))
        return SB_END;
    if (!is_set(parallel.count))
        return sb_fail(SB_INVALID,
                       "PARALLEL_SEQ is set, but GNU parallel does not set the number of jobs: "
                       "export SHARDBOX_PARTS=N too");
    return read_pair(out, &parallel);
}

static enum sb_code read_launcher(struct sb_share *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
        const struct pair *pair = &launchers[i];
        bool in_batch_script = strcmp(pair->index, "SLURM_PROCID") == 0 && !is_set(pair->count);
        enum sb_code code = in_batch_script ? SB_END : read_pair(out, pair);

        if (code != SB_END)
            return code;
    }
    return SB_END;
}

static enum sb_code read_array(struct sb_share *out)
{
    static const char *const names[] = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
                                        "SLURM_ARRAY_TASK_COUNT"};
    int64_t values[5];
    int64_t first, last, step, count;

    if (!is_set(names[0]))
        return SB_END;
    for (int i = 0; i < 5; i++) {
        enum sb_code code = read_number(names[i], &values[i]);

        if (code)
            return code == SB_END ? missing(names[i], names[0]) : code;
    }
    first = values[1];
    last = values[2];
    step = values[3] > 0 ? values[3] : 1;
    count = values[4];
    if (last < first || (last - first) / step != count - 1 || values[0] < first ||
        (values[0] - first) % step != 0)
        return sb_fail(SB_INVALID,
                       "the array of jobs has gaps: give it as a range, such as --array=1-%" PRId64,
                       count);
    *out = (struct sb_share){(values[0] - first) / step, count};
    return check(*out, names[0], names[4]);
}

/* The ranks or the array, whichever divides the work. */
static enum sb_code read_scheduler(struct sb_share *out)
{
    struct sb_share ranks = {0}, jobs = {0};
    enum sb_code of_ranks = read_launcher(&ranks), of_jobs;

    if (of_ranks && of_ranks != SB_END)
        return of_ranks;
    of_jobs = read_array(&jobs);
    if (of_jobs && of_jobs != SB_END)
        return of_jobs;
    if (ranks.count > 1 && jobs.count > 1)
        return sb_fail(SB_INVALID,
                       "this is one of %" PRId64 " ranks in one of %" PRId64
                       " jobs of an array, and either may cut: say which, as I/N",
                       ranks.count, jobs.count);
    *out = ranks.count > 1 || of_jobs == SB_END ? ranks : jobs;
    return out->count > 0 ? SB_OK : SB_END;
}

/* For a job of an array that was started again alone, the array consists of that job. */
static enum sb_code check_total(struct sb_share share)
{
    int64_t wanted;
    enum sb_code code = read_number(parallel.count, &wanted);

    if (code == SB_END || (code == SB_OK && wanted == share.count))
        return SB_OK;
    TRY(code);
    return sb_fail(SB_INVALID,
                   "SHARDBOX_PARTS says %" PRId64 " parts, but the scheduler %" PRId64
                   ": say which part this is, as I/N",
                   wanted, share.count);
}

static enum sb_code read_environment(struct sb_share *out)
{
    enum sb_code code = read_parallel(out);

    if (code == SB_END)
        code = read_scheduler(out);
    if (code == SB_OK)
        code = check_total(*out);
    if (code == SB_END && is_set("SLURM_PROCID"))
        return sb_fail(SB_INVALID,
                       "a batch script is one process: start this by srun, or in an array of jobs");
    if (code == SB_END)
        return sb_fail(SB_INVALID,
                       "nothing in the environment says which part this is: neither srun nor "
                       "mpirun, an array of jobs or GNU parallel has started it; say it as I/N");
    return code;
}

enum sb_code sb_share_parse(struct sb_share *out, const char *text)
{
    size_t size = strcspn(text, "/");
    struct sb_share share = {0};
    char first[24];

    *out = share;
    if (strcmp(text, "auto") == 0) {
        TRY(read_environment(&share));
        *out = share;
        return SB_OK;
    }
    snprintf(first, sizeof(first), "%.*s", (int)size, text);
    if (!text[size] || size >= sizeof(first) ||
        !sb_parse_integer(text + size + 1, 1, SB_SHARES_MAX, &share.count) ||
        !sb_parse_integer(first, 1, share.count, &share.index))
        return sb_fail(SB_INVALID,
                       "'%.64s' is not I/N with I from 1 to N, such as 2/4, and not 'auto'", text);
    *out = (struct sb_share){share.index - 1, share.count};
    return SB_OK;
}

void sb_share_run(struct sb_share share, int64_t total, int64_t *first, int64_t *count)
{
    int64_t shares = share.count > 0 ? share.count : 1;
    int64_t all = total > 0 ? total : 0, longer = all % shares;

    *first = share.index * (all / shares) + (share.index < longer ? share.index : longer);
    *count = all / shares + (share.index < longer);
}

bool sb_share_has(struct sb_share share, int64_t number)
{
    return share.count == 0 || number % share.count == share.index;
}

bool sb_share_has_name(struct sb_share share, const char *name, size_t size)
{
    return share.count == 0 ||
           (int64_t)(sb_name_fraction(0, name, size) * (double)share.count) == share.index;
}

/* FNV-1a over the seed and the name, then the finalizer of MurmurHash3, which FNV-1a needs: its
 * upper bits hardly depend on the last characters. */
double sb_name_fraction(int64_t seed, const char *name, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < 8; i++)
        h = (h ^ ((uint64_t)seed >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (double)((h ^ h >> 33) >> 11) / (double)(UINT64_C(1) << 53);
}
