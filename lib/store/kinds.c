#include "store/kind.h"
#include "store/sinks.h"

#include <string.h>
#include <strings.h>

/* In the order in which they are tried; among equally sure kinds the first wins. */
static const struct sb_kind *const kinds[] = {
    [SB_ARCHIVE] = &sb_archive_kind,
    [SB_DIRECTORY] = &sb_directory_kind,
    [SB_TAR] = &sb_tar_kind,
    [SB_CPIO] = &sb_cpio_kind,
    [SB_ZIP] = &sb_zip_kind,
    [SB_BESIDE] = &sb_beside_kind,
    [SB_BAG] = &sb_bag_kind,
    [SB_FRAMES] = &sb_frames_kind,
    [SB_SYRAH] = &sb_syrah_kind,
    [SB_CACHE] = &sb_cache_kind,
#ifdef SB_FURTHER_KINDS
    SB_FURTHER_KINDS,
#endif
    NULL,
};

static const struct sb_container_type unknown;

const struct sb_kind *sb_kind_of(enum sb_container_kind kind)
{
    return kinds[kind];
}

struct sb_container_type sb_container_named(const char *word)
{
    for (enum sb_container_kind i = SB_UNKNOWN + 1; sb_kind_of(i); i++) {
        for (const struct sb_kind_word *w = sb_kind_of(i)->words; w->text; w++) {
            if (strcmp(w->text, word) == 0)
                return (struct sb_container_type){i, w->filter};
        }
    }
    return unknown;
}

static bool ends_in(const char *path, size_t size, const char *word)
{
    size_t length = strlen(word);

    return size > length + 1 && path[size - length - 1] == '.' && path[size - length - 2] != '/' &&
           strcasecmp(path + size - length, word) == 0;
}

/* Finds the longest word that is a suffix of the path; returns its size, or 0. */
static size_t find_suffix(const char *path, struct sb_container_type *type)
{
    size_t size = strlen(path), longest = 0;

    *type = unknown;
    for (enum sb_container_kind i = SB_UNKNOWN + 1; sb_kind_of(i); i++) {
        for (const struct sb_kind_word *w = sb_kind_of(i)->words; w->text; w++) {
            if (w->only_word || strlen(w->text) <= longest || !ends_in(path, size, w->text))
                continue;
            longest = strlen(w->text);
            *type = (struct sb_container_type){i, w->filter};
        }
    }
    return longest;
}

struct sb_container_type sb_container_by_suffix(const char *path)
{
    struct sb_container_type type;

    find_suffix(path, &type);
    return type;
}

size_t sb_container_base_size(const char *path)
{
    struct sb_container_type ignored;
    size_t suffix = find_suffix(path, &ignored);

    return strlen(path) - (suffix ? suffix + 1 : 0);
}

unsigned sb_container_takes(enum sb_container_kind kind)
{
    const struct sb_kind *found = sb_kind_of(kind);

    return found ? found->takes : 0;
}

unsigned sb_container_can(enum sb_container_kind kind)
{
    const struct sb_kind *found = sb_kind_of(kind);

    return found ? found->can : 0;
}

enum sb_code sb_sink_open_stream(struct sb_sink **out, enum sb_container_kind kind,
                                 const struct sb_stream_sink_options *options)
{
    const struct sb_kind *found = sb_kind_of(kind);

    if (found && found->sink)
        return found->sink(out, options);
    return sb_fail(SB_INVALID, "%s: a %s can only be read", options->path, sb_container_word(kind));
}

const char *sb_container_word(enum sb_container_kind kind)
{
    const struct sb_kind *found = sb_kind_of(kind);

    return found ? found->word : "unknown file";
}
