/* Holes, of lib/store/source.h: a length for those who ask, zeros for the others. */
#include "store/source.h"
#include "check.h"

#include <stdlib.h>

/* Of one member: bytes of each kind, by their numbers; below 0: a hole. */
struct script {
    struct sb_source source;
    const int64_t *runs;
    size_t at;
};

static char bytes[64];

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    (void)source;
    *member = (struct sb_member){.entry.path = "member", .entry.path_size = 6};
    return SB_OK;
}

static enum sb_code block(struct sb_source *source, const void **data, size_t *size)
{
    struct script *script = (struct script *)source;
    int64_t run = script->runs[script->at];

    if (run == 0)
        return SB_END;
    script->at++;
    *data = run < 0 ? NULL : bytes;
    *size = (size_t)(run < 0 ? -run : run);
    return SB_OK;
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    const void *data;
    enum sb_code code = SB_OK;
    size_t size;

    (void)member, (void)events;
    while (!code && !(code = block(loader->source, &data, &size)))
        code = each(context, data, size);
    return code == SB_END ? SB_OK : code;
}

static const struct sb_source_ops ops = {.next = next, .block = block, .stream = stream};

struct taken {
    int64_t bytes, zeros, holes;
};

static enum sb_code take(void *context, const void *data, size_t size)
{
    struct taken *taken = context;

    if (!data)
        taken->holes += (int64_t)size;
    else if (((const char *)data)[0] == 0 && ((const char *)data)[size - 1] == 0)
        taken->zeros += (int64_t)size;
    else
        taken->bytes += (int64_t)size;
    return SB_OK;
}

/* In sequence, or by a loader; what came is in `taken`. */
static enum sb_code run(const int64_t *runs, int64_t most, bool loads, bool sparse,
                        struct taken *taken)
{
    struct script script = {.source = {.ops = &ops, .name = "input", .zeros_most = most},
                            .runs = runs};
    struct sb_source *source = &script.source;
    struct sb_loader loader = {.source = source};
    struct sb_events events = {0};
    struct sb_member member;
    const void *data = NULL;
    enum sb_code code = sb_source_next(source, &member);
    size_t size = 0;

    *taken = (struct taken){0};
    if (loads)
        return (sparse ? sb_loader_stream_sparse : sb_loader_stream)(&loader, &member, take, taken,
                                                                     &events);
    while (!code &&
           !(code = (sparse ? sb_source_block_sparse : sb_source_block)(source, &data, &size)))
        code = take(taken, data, size);
    return code == SB_END ? SB_OK : code;
}

static void holes_are_lengths_or_zeros(void)
{
    static const int64_t runs[] = {-5000, 7, -1000000, 3, 4, -1, 0};
    struct taken taken;

    memset(bytes, 'x', sizeof(bytes));
    for (int loads = 0; loads < 2; loads++) {
        CHECK(run(runs, 0, loads, true, &taken) == SB_OK);
        CHECK(taken.holes == 1005001 && taken.bytes == 14 && taken.zeros == 0);
        CHECK(run(runs, 0, loads, false, &taken) == SB_OK);
        CHECK(taken.holes == 0 && taken.bytes == 14 && taken.zeros == 1005001);
    }
}

static void zeros_end_where_they_are_too_many(void)
{
    static const int64_t runs[] = {-600, 7, -500, 0}, huge[] = {7, -INT64_MAX, 0};
    struct taken taken;

    memset(bytes, 'x', sizeof(bytes));
    for (int loads = 0; loads < 2; loads++) {
        CHECK(run(runs, 1100, loads, false, &taken) == SB_OK && taken.zeros == 1100);
        CHECK(run(runs, 1099, loads, false, &taken) == SB_LIMIT && taken.zeros == 600);
        CHECK_TEXT(sb_error()->text,
                   "input: member: its holes would become more than 1099 bytes of zeros; "
                   "see --max-size");
        CHECK(run(huge, 0, loads, false, &taken) == SB_LIMIT && taken.zeros == 0);
        CHECK(run(huge, 0, loads, true, &taken) == SB_OK && taken.holes == INT64_MAX);
    }
}

int main(void)
{
    RUN(holes_are_lengths_or_zeros);
    RUN(zeros_end_where_they_are_too_many);
    return check_end();
}
