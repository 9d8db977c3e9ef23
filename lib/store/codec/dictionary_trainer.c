#include "store/codec/dictionary_trainer.h"

#include "store/out/out_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zdict.h>

/* Of a dictionary's size, as zstd recommends, but not less than is worth a look. */
#define SAMPLE_TIMES 100
#define SAMPLE_LEAST ((size_t)1 << 20)
#define SAMPLE_MOST  ((size_t)64 << 20)

/* Of a record. */
#define RECORD_MOST ((size_t)128 << 10)

/* Of their number, so that many tiny ones cost no more than the trainer's time. */
#define SAMPLES_MOST ((size_t)1 << 20)

struct sb_trainer {
    size_t dictionary_size;
    size_t bytes_most;

    /*
     * Every so many records one is taken. When there are too many, every second is dropped, and
     * from then on half as many are taken: so they are spread evenly, whatever comes.
     */
    int64_t every;
    int64_t seen;
    char *data;
    size_t used;
    size_t *sizes;
    size_t count;
    size_t capacity;
};

enum sb_code sb_trainer_new(struct sb_trainer **out, int64_t dictionary_size, struct sb_error *err)
{
    struct sb_trainer *trainer;

    *out = NULL;
    if (dictionary_size < SB_DICTIONARY_LEAST || dictionary_size > SB_DICTIONARY_MOST)
        return sb_fail(err, SB_INVALID,
                       "a dictionary has %d bytes to %" PRId64 " MiB; about 100 kB is usual",
                       SB_DICTIONARY_LEAST, SB_DICTIONARY_MOST >> 20);
    trainer = calloc(1, sizeof(*trainer));
    if (!trainer)
        return sb_fail_memory(err);
    trainer->dictionary_size = (size_t)dictionary_size;
    trainer->bytes_most = trainer->dictionary_size * SAMPLE_TIMES;
    if (trainer->bytes_most > SAMPLE_MOST)
        trainer->bytes_most = SAMPLE_MOST;
    if (trainer->bytes_most < SAMPLE_LEAST)
        trainer->bytes_most = SAMPLE_LEAST;
    trainer->every = 1;
    trainer->data = malloc(trainer->bytes_most);
    if (!trainer->data) {
        sb_trainer_free(trainer);
        return sb_fail_memory(err);
    }
    *out = trainer;
    return SB_OK;
}

void sb_trainer_free(struct sb_trainer *trainer)
{
    if (!trainer)
        return;
    free(trainer->data);
    free(trainer->sizes);
    free(trainer);
}

/* Drops every second sample. */
static void thin(struct sb_trainer *trainer)
{
    size_t from = 0, kept = 0, count = 0;

    for (size_t i = 0; i < trainer->count; i++) {
        size_t size = trainer->sizes[i];

        if (i % 2 == 0) {
            memmove(trainer->data + kept, trainer->data + from, size);
            trainer->sizes[count++] = size;
            kept += size;
        }
        from += size;
    }
    trainer->count = count;
    trainer->used = kept;
    trainer->every *= 2;
}

/* Is the next record to be taken? Then there is space for all that may be taken of it. */
static bool is_wanted(struct sb_trainer *trainer)
{
    int64_t number = trainer->seen++;

    while (trainer->bytes_most - trainer->used < RECORD_MOST || trainer->count == SAMPLES_MOST)
        thin(trainer);
    return number % trainer->every == 0;
}

static enum sb_code keep(struct sb_trainer *trainer, size_t size, struct sb_error *err)
{
    if (sb_grow(&trainer->sizes, &trainer->capacity, trainer->count, sizeof(*trainer->sizes), err))
        return err->code;
    trainer->sizes[trainer->count++] = size;
    trainer->used += size;
    return SB_OK;
}

/* The beginning of a record, as it comes. */
struct beginning {
    char *data;
    size_t size;
};

/* SB_LIMIT, without text: it is there, and no more is wanted. */
static enum sb_code add_to_beginning(void *context, const void *data, size_t size,
                                     struct sb_error *err)
{
    struct beginning *beginning = context;
    size_t space = RECORD_MOST - beginning->size;
    size_t part = size < space ? size : space;

    memcpy(beginning->data + beginning->size, data, part);
    beginning->size += part;
    if (beginning->size < RECORD_MOST)
        return SB_OK;
    err->code = SB_LIMIT;
    err->text[0] = '\0';
    return SB_LIMIT;
}

static enum sb_code read_in_sequence(struct sb_source *source, struct beginning *beginning,
                                     struct sb_error *err)
{
    const void *data;
    size_t size;
    enum sb_code code;

    while ((code = sb_source_block(source, &data, &size, err)) == SB_OK) {
        code = add_to_beginning(beginning, data, size, err);
        if (code)
            return code;
    }
    return code == SB_END ? SB_OK : code;
}

/* SB_END: it is damaged. */
static enum sb_code read_by_loader(struct sb_loader *loader, struct sb_member *member,
                                   struct beginning *beginning, struct sb_error *err)
{
    struct sb_events events = {0};
    enum sb_code code = sb_loader_stream(loader, member, add_to_beginning, beginning, &events, err);

    sb_events_release(&events);
    return code;
}

static enum sb_code take_member(struct sb_trainer *trainer, struct sb_source *source,
                                struct sb_loader *loader, struct sb_member *member,
                                struct sb_error *err)
{
    struct beginning beginning = {.data = trainer->data + trainer->used};
    enum sb_code code = loader ? read_by_loader(loader, member, &beginning, err)
                               : read_in_sequence(source, &beginning, err);

    if (code == SB_END)
        return SB_OK;
    if (code && code != SB_LIMIT)
        return code;
    return beginning.size > 0 ? keep(trainer, beginning.size, err) : SB_OK;
}

static bool has_bytes(const struct sb_member *member)
{
    return member->entry.type != SB_DIR && !member->hard_link && !member->special &&
           member->entry.size != 0;
}

enum sb_code sb_trainer_take(struct sb_trainer *trainer, struct sb_source *source,
                             struct sb_error *err)
{
    struct sb_loader *loader = NULL;
    struct sb_member member;
    enum sb_code code = source->loads ? sb_loader_open(source, &loader, err) : SB_OK;

    while (!code && (code = sb_source_next(source, &member, err)) == SB_OK) {
        if (has_bytes(&member) && is_wanted(trainer))
            code = take_member(trainer, source, loader, &member, err);
    }
    sb_loader_free(loader);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code train(struct sb_trainer *trainer, char *dictionary, size_t *size,
                          struct sb_error *err)
{
    *size = ZDICT_trainFromBuffer(dictionary, trainer->dictionary_size, trainer->data,
                                  trainer->sizes, (unsigned)trainer->count);
    if (!ZDICT_isError(*size))
        return SB_OK;
    return sb_fail(err, SB_INVALID,
                   "no dictionary of %zu bytes can be made of this sample, %zu records with %zu "
                   "bytes (%s); choose a smaller one, or write the bag without",
                   trainer->dictionary_size, trainer->count, trainer->used,
                   ZDICT_getErrorName(*size));
}

enum sb_code sb_trainer_write(struct sb_trainer *trainer, const char *path, bool force,
                              struct sb_error *err)
{
    struct sb_stream_sink_options options = {.path = path, .force = force};
    char *dictionary = malloc(trainer->dictionary_size);
    size_t size = 0;
    enum sb_code code = SB_OK;

    if (!dictionary)
        return sb_fail_memory(err);
    code = train(trainer, dictionary, &size, err);
    if (!code)
        code = sb_outfile_put(&options, dictionary, size, err);
    free(dictionary);
    return code;
}
