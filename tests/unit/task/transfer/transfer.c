/* lib/task/transfer/transfer.h, between a source and a sink of our own; also for the thread
 * sanitizer */
#include "task/transfer/transfer.h"
#include "check.h"
#include "core/choice.h"
#include "core/crc32c.h"
#include "core/glob.h"
#include "store/sink.h"
#include "store/source.h"

#include <stdlib.h>

#define MEMBERS_MAX 4000

struct given {
    const char *name;
    int64_t size;
    enum sb_type type;
    const char *hard_link;
    const char *special;
    int64_t declared; /* when it is not size */
};

/* Byte `at` of member number i: nothing of it may come out of place. */
static unsigned char byte_of(size_t i, int64_t at)
{
    return (unsigned char)(i * 31 + (size_t)at * 7 + (size_t)(at >> 12));
}

/* The source: in sequence, in blocks of an odd length, or with loaders. */

struct source {
    struct sb_source base;
    const struct given *given;
    size_t count;
    size_t at;
    int64_t done;
    char block[70001];
};

static struct source *source_of(struct sb_source *base)
{
    return (struct source *)base;
}

static enum sb_code next(struct sb_source *base, struct sb_member *member)
{
    struct source *source = source_of(base);
    const struct given *given = &source->given[source->at];

    if (source->at == source->count)
        return SB_END;
    *member = (struct sb_member){
        .entry.path = given->name,
        .entry.path_size = strlen(given->name),
        .entry.type = given->type,
        .entry.size = given->declared ? given->declared : given->size,
        .hard_link = given->hard_link,
        .special = given->special,
        .place[0] = source->at,
    };
    if (base->loads)
        member->entry.size = -1;
    source->at++;
    source->done = 0;
    return SB_OK;
}

static enum sb_code block(struct sb_source *base, const void **data, size_t *size)
{
    struct source *source = source_of(base);
    int64_t left = source->given[source->at - 1].size - source->done;

    if (left == 0)
        return SB_END;
    *size = left < (int64_t)sizeof(source->block) ? (size_t)left : sizeof(source->block);
    for (size_t i = 0; i < *size; i++)
        source->block[i] = (char)byte_of(source->at - 1, source->done + (int64_t)i);
    source->done += (int64_t)*size;
    *data = source->block;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t room, struct sb_events *events)
{
    const struct given *given = &source_of(loader->source)->given[member->place[0]];
    char *to = data;

    if (strcmp(given->name, "damaged") == 0)
        return sb_events_add(events, SB_PROBLEM, "damaged", given->name, "is damaged")
                   ? sb_error()->code
                   : SB_END;
    member->entry.size = given->size;
    if ((size_t)given->size > room)
        return SB_LIMIT;
    for (int64_t i = 0; i < given->size; i++)
        to[i] = (char)byte_of(member->place[0], i);
    return SB_OK;
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    const struct given *given = &source_of(loader->source)->given[member->place[0]];
    enum sb_code code = SB_OK;
    char bytes[4099];

    (void)events;
    for (int64_t at = 0; !code && at < given->size; at += (int64_t)sizeof(bytes)) {
        size_t size =
            given->size - at < (int64_t)sizeof(bytes) ? (size_t)(given->size - at) : sizeof(bytes);

        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)byte_of(member->place[0], at + (int64_t)i);
        code = each(context, bytes, size);
    }
    return code;
}

static void free_nothing(struct sb_source *source)
{
    (void)source;
}

static const struct sb_source_ops source_ops = {
    .free = free_nothing, .next = next, .block = block, .load = load, .stream = stream};

/* The sink keeps names in order, sizes and checksums. */

struct kept {
    char name[64];
    int64_t size;
    uint32_t crc;
    unsigned parts;
};

struct sink {
    struct sb_sink base;
    struct kept kept[MEMBERS_MAX];
    size_t count;
    const char *refuses;
    bool out_of_place; /* a part that does not follow the last one */
};

static enum sb_code accept(struct sb_sink *base, const struct sb_member *member,
                           struct sb_item *item)
{
    const struct sink *sink = (struct sink *)base;

    (void)item;
    return sink->refuses && strcmp(member->entry.path, sink->refuses) == 0 ? SB_END : SB_OK;
}

static enum sb_code add_block(void *context, const void *data, size_t size)
{
    uint32_t *crc = context;

    *crc = sb_crc32c(*crc, data, size);
    return SB_OK;
}

static enum sb_code store(struct sb_sink *base, struct sb_batch *batch, struct sb_pipeline *turns)
{
    (void)base;
    (void)turns;
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        item->member.entry.crc32c = 0;
        if (item->state == SB_ITEM_READ || item->state == SB_ITEM_PART)
            item->member.entry.crc32c = sb_crc32c(0, batch->data + item->data_at, item->data_size);
        else if (item->state == SB_ITEM_LARGE &&
                 sb_item_stream(batch, item, add_block, &item->member.entry.crc32c))
            return sb_error()->code;
    }
    return SB_OK;
}

static void keep(struct sink *sink, const struct sb_item *item, const struct sb_batch *batch)
{
    struct kept *kept = &sink->kept[sink->count];

    if (item->state == SB_ITEM_PART && item->part_offset > 0) {
        kept = &sink->kept[sink->count - 1];
        sink->out_of_place |= kept->size != item->part_offset;
    } else {
        *kept = (struct kept){0};
        snprintf(kept->name, sizeof(kept->name), "%s", item->member.entry.path);
        sink->count++;
    }
    kept->parts++;
    kept->size += item->state == SB_ITEM_LARGE ? item->member.entry.size : (int64_t)item->data_size;
    kept->crc = item->state == SB_ITEM_PART
                    ? sb_crc32c(kept->crc, batch->data + item->data_at, item->data_size)
                    : item->member.entry.crc32c;
}

static enum sb_code drain(struct sb_sink *base, struct sb_batch *batch)
{
    struct sink *sink = (struct sink *)base;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state != SB_ITEM_FAILED)
            keep(sink, &batch->items[i], batch);
    }
    return SB_OK;
}

static const struct sb_sink_ops sink_ops = {.accept = accept, .store = store, .drain = drain};

/* A run, and what it told. */

static struct sink sink;
static int64_t problems, members;
static char told[256];

static void tell(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context;
    (void)text;
    problems += level == SB_PROBLEM;
    snprintf(told, sizeof(told), "%s %s", kind, subject ? subject : "");
}

static const struct sb_notify notify = {.call = tell};

static enum sb_code transfer(const struct given *given, size_t count, bool loads,
                             struct sb_transfer_options options)
{
    struct source source = {
        .base = {.ops = &source_ops, .name = "source", .loads = loads},
        .given = given,
        .count = count,
    };

    sink = (struct sink){.base = {.ops = &sink_ops, .name = "sink"}, .refuses = sink.refuses};
    problems = members = 0;
    told[0] = '\0';
    options.notify = &notify;
    options.problems = &problems;
    return sb_transfer(&source.base, &sink.base, &options, &members);
}

static uint32_t crc_of(size_t i, int64_t size)
{
    uint32_t crc = 0;

    for (int64_t at = 0; at < size; at++) {
        unsigned char byte = byte_of(i, at);

        crc = sb_crc32c(crc, &byte, 1);
    }
    return crc;
}

static bool all_kept(const struct given *given, size_t count)
{
    if (sink.count != count || sink.out_of_place)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct kept *kept = &sink.kept[i];

        if (strcmp(kept->name, given[i].name) != 0 || kept->size != given[i].size ||
            kept->crc != crc_of(i, given[i].size))
            return false;
    }
    return true;
}

static const struct given sizes[] = {
    {.name = "empty"},
    {.name = "dir", .type = SB_DIR},
    {.name = "dir/small", .size = 5},
    {.name = "dir/just-too-large", .size = (int64_t)SB_BATCH_BYTES},
    {.name = "link", .type = SB_LINK, .size = 9},
    {.name = "large", .size = 3 * (int64_t)SB_BATCH_BYTES + 17},
    {.name = "large-again", .size = 2 * (int64_t)SB_BATCH_BYTES},
    {.name = "nearly-a-batch", .size = (int64_t)SB_BATCH_BYTES - 1},
    {.name = "last", .size = 1000},
};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static void bytes_arrive_whole_and_in_order(void)
{

    for (unsigned threads = 1; threads <= 4; threads += 3) {
        for (int loads = 0; loads <= 1; loads++) {
            CHECK(!transfer(sizes, SIZES, loads, (struct sb_transfer_options){.threads = threads}));
            CHECK(all_kept(sizes, SIZES));
            CHECK(members == (int64_t)SIZES);
        }
    }
}

static void only_what_a_pipe_has_too_much_of_comes_in_parts(void)
{

    CHECK(!transfer(sizes, SIZES, false, (struct sb_transfer_options){.threads = 2}));
    CHECK(sink.kept[3].parts == 1 && sink.kept[5].parts == 4 && sink.kept[6].parts == 2);
    CHECK(sink.kept[7].parts == 1);
}

static void many_members_keep_their_order(void)
{
    static char names[MEMBERS_MAX][16];
    static struct given given[MEMBERS_MAX];

    for (size_t i = 0; i < MEMBERS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "f%zu", i);
        given[i] = (struct given){.name = names[i], .size = (int64_t)(i * 7919 % 3000)};
    }
    for (int loads = 0; loads <= 1; loads++) {
        CHECK(!transfer(given, MEMBERS_MAX, loads, (struct sb_transfer_options){.threads = 3}));
        CHECK(all_kept(given, MEMBERS_MAX));
    }
}

static void names_become_stored_names(void)
{
    static const struct given given[] = {
        {.name = "./a//b/", .type = SB_DIR},
        {.name = "/x/../y"},
        {.name = "./a/b/./c", .hard_link = "./a/z"},
    };

    CHECK(!transfer(given, 3, false, (struct sb_transfer_options){.threads = 1}));
    CHECK(sink.count == 2 && problems == 1);
    CHECK_TEXT(sink.kept[0].name, "a/b");
    CHECK_TEXT(sink.kept[1].name, "a/b/c");
}

static void names_are_mapped_after_they_are_chosen(void)
{
    static const struct given given[] = {{.name = "a/b/c"}, {.name = "a"}, {.name = "d/e"}};
    char *arguments[] = {(char *)"a", (char *)"nothing"};
    struct sb_choice *choice;

    CHECK(!sb_choice_new(&choice, arguments, 2));
    CHECK(!transfer(
        given, 3, false,
        (struct sb_transfer_options){.threads = 1, .choice = choice, .strip = 1, .prefix = "new"}));
    CHECK(sink.count == 1);
    CHECK_TEXT(sink.kept[0].name, "new/b/c");
    CHECK(!sb_choice_unmatched(choice, 0) && sb_choice_unmatched(choice, 1));
    sb_choice_free(choice);
}

static void what_is_damaged_or_special_is_left_out(void)
{
    static const struct given given[] = {{.name = "pipe", .special = "FIFO"},
                                         {.name = "damaged", .size = 4},
                                         {.name = "refused"},
                                         {.name = "good", .size = 4}};

    sink.refuses = "refused";
    CHECK(!transfer(given, 4, true, (struct sb_transfer_options){.threads = 2}));
    sink.refuses = NULL;
    CHECK(sink.count == 1 && problems == 2);
    CHECK_TEXT(sink.kept[0].name, "good");
}

static void repeated_names(void)
{
    static const struct given given[] = {
        {.name = "a"}, {.name = "a", .type = SB_DIR}, {.name = "a"}, {.name = "b"}};
    struct sb_names *seen;

    CHECK(!transfer(given, 4, false,
                    (struct sb_transfer_options){.threads = 1, .duplicates = SB_DUPLICATE_LAST}));
    CHECK(sink.count == 4);
    CHECK(!sb_names_new(&seen, "."));
    CHECK(!transfer(given, 4, false,
                    (struct sb_transfer_options){
                        .threads = 1, .duplicates = SB_DUPLICATE_FIRST, .seen = seen}));
    CHECK(sink.count == 3 && problems == 0 && sink.base.counts.left == 1);
    CHECK(!transfer(given, 4, false,
                    (struct sb_transfer_options){
                        .threads = 1, .duplicates = SB_DUPLICATE_ERROR, .seen = seen}));
    CHECK(sink.count == 1 && problems == 3);
    CHECK_TEXT(told, "duplicate b");
    sb_names_free(seen);
}

static void strict_ends_at_the_first_problem(void)
{
    static const struct given given[] = {{.name = "a"}, {.name = "../b"}, {.name = "c"}};

    CHECK(transfer(given, 3, false, (struct sb_transfer_options){.threads = 1, .strict = true}) ==
          SB_INVALID);
    CHECK(problems == 1);
}

static void a_limit_of_bytes_ends_it(void)
{

    for (int loads = 0; loads <= 1; loads++) {
        CHECK(transfer(sizes, SIZES, loads,
                       (struct sb_transfer_options){.threads = 2, .max_size = 3000000}) ==
              SB_LIMIT);
    }
}

static void a_member_shorter_than_it_declares_ends_it(void)
{
    static const struct given given[] = {{.name = "a", .size = 10, .declared = 12}};
    static const struct given large[] = {{.name = "a", .size = 5000000, .declared = 5000001}};

    CHECK(transfer(given, 1, false, (struct sb_transfer_options){.threads = 1}) == SB_DAMAGED);
    CHECK(transfer(large, 1, false, (struct sb_transfer_options){.threads = 1}) == SB_DAMAGED);
}

static void a_dry_run_stores_nothing(void)
{

    CHECK(!transfer(sizes, SIZES, false,
                    (struct sb_transfer_options){.threads = 2, .dry_run = true}));
    CHECK(sink.count == 0 && members == (int64_t)SIZES);
    CHECK_TEXT(told, "would-store last");
}

int main(void)
{
    RUN(bytes_arrive_whole_and_in_order);
    RUN(only_what_a_pipe_has_too_much_of_comes_in_parts);
    RUN(many_members_keep_their_order);
    RUN(names_become_stored_names);
    RUN(names_are_mapped_after_they_are_chosen);
    RUN(what_is_damaged_or_special_is_left_out);
    RUN(repeated_names);
    RUN(strict_ends_at_the_first_problem);
    RUN(a_limit_of_bytes_ends_it);
    RUN(a_member_shorter_than_it_declares_ends_it);
    RUN(a_dry_run_stores_nothing);
    return check_end();
}
