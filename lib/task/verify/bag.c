#include "task/verify/bag.h"

#include "task/convert/convert.h"
#include "task/verify/bag_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNPROVED "a bag has no checksums, and frames need not: bytes that changed may go unnoticed"

struct sb_defect sb_verify_bag_file(const struct bag_check *check, int64_t file)
{
    const char *shown = check->options->shown_as;
    const char *path = shown ? shown : check->spec.paths[file];
    struct sb_defect place = sb_defect_of(path, strlen(path));

    place.shard = file;
    return place;
}

/* The repaired bag is compressed as the damaged one. */
static enum sb_code writer_options(const struct bag_check *check,
                                   struct sb_bag_writer_options *options)
{
    enum sb_compression wanted;

    *options = *check->options->repair_to;
    options->append = false;
    options->compression = check->options->bag.compression;
    options->total = -1;
    wanted = sb_compression_of(options->compression, options->path);
    for (uint32_t i = 0; i < check->file_count; i++) {
        const struct bag_file *file = &check->files[i];

        if (file->usable && file->zstd != (wanted == SB_COMPRESSION_ZSTD))
            return sb_fail(SB_INVALID,
                           "%s: would%s be compressed, and %s is%s; records are repaired as they "
                           "are stored: call it *%s",
                           options->path, file->zstd ? " not" : "", file->path,
                           file->zstd ? "" : " not", file->zstd ? ".bagz" : ".bag");
        if (check->options->keep_numbers && (!file->usable || file->walked) &&
            check->options->bag.layout == SB_LAYOUT_CONCATENATED)
            return sb_fail(SB_INVALID,
                           "%s: how many records it had is not known, so that numbers cannot be "
                           "kept",
                           file->path);
    }
    return SB_OK;
}

static enum sb_code open_writer(struct bag_check *check)
{
    const struct sb_bag_writer_options *wanted = check->options->repair_to;
    struct sb_bag_writer_options options;

    if (!wanted)
        return SB_OK;
    /* The repaired bag must not replace the damaged one, which may hold more than could be saved.
     */
    for (size_t i = 0; i < check->spec.count; i++) {
        if (sb_convert_replaces(wanted->path, check->spec.paths[i]))
            return sb_fail(SB_INVALID,
                           "%s: is what is to be repaired, or a part of it; choose another output",
                           wanted->path);
    }
    TRY(writer_options(check, &options));
    return sb_bag_writer_open(&check->writer, &options);
}

static enum sb_code check_records(struct bag_check *check)
{
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;

    if (check->options->records && !check->whole) {
        check->result->incomplete = true;
        return SB_OK;
    }
    check->result->selected = check->options->records || check->options->choice;
    if (check->options->records)
        TRY(sb_record_choice_new(&choice, check->options->records, check->places));
    return sb_verify_bag_records(check, choice);
}

static enum sb_code run(struct bag_check *check)
{
    TRY(sb_verify_bag_files(check));
    if (!check->options->choice || check->options->choice->share.index == 0)
        TRY(sb_verify_bag_sets(check));
    TRY(open_writer(check));
    if (check->file_count > 0)
        TRY(check_records(check));
    if (check->writer)
        TRY(sb_bag_writer_commit(check->writer));
    return SB_OK;
}

static enum sb_code check_bag(struct bag_check *check, const char *spec)
{
    enum sb_code code;

    TRY(sb_spec_expand(&check->spec, spec));
    check->bytes = 0;
    check->file_count = (uint32_t)check->spec.count;
    check->files = calloc(check->spec.count + 1, sizeof(*check->files));
    sb_open_files_begin(&check->open_files, sb_open_files_many());
    code = check->files ? run(check) : sb_fail_memory();
    sb_open_files_end(&check->open_files);
    sb_bag_writer_free(check->writer);
    sb_file_free(TAKE(check->walked_limits));
    free(check->files);
    sb_spec_release(&check->spec);
    return code;
}

/* Bags side by side have the same number of records. *first: the first bag whose number is known;
 * NULL: none yet. */
static void compare_counts(struct bag_check *check, const char *bag, const char **first,
                           int64_t *records)
{
    if (!check->whole)
        return;
    if (*first && check->places != *records)
        sb_verify_defect(check->events, SB_REMEDY_SHARDS, "layout", sb_defect_of(bag, strlen(bag)),
                         "has %lld records, and %s %lld", (long long)check->places, *first,
                         (long long)*records);
    if (!*first)
        *records = check->places;
    *first = *first ? *first : bag;
}

enum sb_code sb_verify_bag(const char *spec, const struct sb_verify_bag_options *options,
                           const struct sb_verify_events *events)
{
    struct sb_verify_result *result = events->result;
    struct bag_check check = {
        .options = options,
        .events = events,
        .notify = events->notify,
        .result = result,
    };
    const char *first = NULL;
    CLEANUP(sb_spec_release) struct sb_spec bags = {0};
    int64_t records = 0;

    result->unproved = UNPROVED;
    if (options->repair_to && (options->quick || options->records || options->choice))
        return sb_fail(SB_INVALID, "%s: what is repaired is read, and all of it",
                       options->repair_to->path);
    TRY(sb_spec_beside(&bags, spec));
    if (options->repair_to && bags.count > 1)
        return sb_fail(SB_INVALID, "%s: bags side by side are repaired one by one",
                       options->repair_to->path);
    for (size_t i = 0; i < bags.count; i++) {
        TRY(check_bag(&check, bags.paths[i]));
        compare_counts(&check, bags.paths[i], &first, &records);
    }
    if (options->strict && result->unchecked > 0)
        sb_verify_defect(events, SB_REMEDY_SUMS, "unchecked", SB_NOWHERE,
                         "%lld of %lld records have no checksum", (long long)result->unchecked,
                         (long long)result->files);
    return SB_OK;
}
