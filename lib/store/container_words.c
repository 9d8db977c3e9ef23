#include "store/container.h"

#include <string.h>
#include <strings.h>

struct word {
    const char *text;
    struct sb_container_type type;
};

/* Words of --from and --to; with a dot before them, suffixes (but of a cache). The longer come
 * first. */
static const struct word words[] = {
    {"tar.gz", {SB_TAR, SB_FILTER_GZIP}},      {"tar.bz2", {SB_TAR, SB_FILTER_BZIP2}},
    {"tar.xz", {SB_TAR, SB_FILTER_XZ}},        {"tar.lzma", {SB_TAR, SB_FILTER_LZMA}},
    {"tar.zst", {SB_TAR, SB_FILTER_ZSTD}},     {"tar.lz4", {SB_TAR, SB_FILTER_LZ4}},
    {"tar.Z", {SB_TAR, SB_FILTER_COMPRESS}},   {"tgz", {SB_TAR, SB_FILTER_GZIP}},
    {"tbz2", {SB_TAR, SB_FILTER_BZIP2}},       {"tbz", {SB_TAR, SB_FILTER_BZIP2}},
    {"txz", {SB_TAR, SB_FILTER_XZ}},           {"tlz", {SB_TAR, SB_FILTER_LZMA}},
    {"tzst", {SB_TAR, SB_FILTER_ZSTD}},        {"taz", {SB_TAR, SB_FILTER_COMPRESS}},
    {"tar", {SB_TAR, SB_FILTER_NONE}},         {"cpio.gz", {SB_CPIO, SB_FILTER_GZIP}},
    {"cpio.zst", {SB_CPIO, SB_FILTER_ZSTD}},   {"cpio.xz", {SB_CPIO, SB_FILTER_XZ}},
    {"cpio", {SB_CPIO, SB_FILTER_NONE}},       {"zip", {SB_ZIP, SB_FILTER_NONE}},
    {"bagz", {SB_BAG, SB_FILTER_ZSTD}},        {"bag", {SB_BAG, SB_FILTER_NONE}},
    {"whl", {SB_ZIP, SB_FILTER_NONE}},         {"jar", {SB_ZIP, SB_FILTER_NONE}},
    {"npz", {SB_ZIP, SB_FILTER_NONE}},         {"barecat", {SB_ARCHIVE, SB_FILTER_NONE}},
    {"archive", {SB_ARCHIVE, SB_FILTER_NONE}}, {"dir", {SB_DIRECTORY, SB_FILTER_NONE}},
    {"syrah", {SB_SYRAH, SB_FILTER_NONE}},     {"syr", {SB_SYRAH, SB_FILTER_NONE}},
    {"cache", {SB_CACHE, SB_FILTER_NONE}},     {"torchcachex", {SB_CACHE, SB_FILTER_NONE}},
};

static const struct sb_container_type unknown;

struct sb_container_type sb_container_named(const char *word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].text, word) == 0)
            return words[i].type;
    }
    return unknown;
}

/* The word that is the path's suffix; NULL where none is. */
static const struct word *find_suffix(const char *path)
{
    size_t size = strlen(path);

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t length = strlen(words[i].text);

        if (words[i].type.kind != SB_CACHE && size > length + 1 && path[size - length - 1] == '.' &&
            path[size - length - 2] != '/' && strcasecmp(path + size - length, words[i].text) == 0)
            return &words[i];
    }
    return NULL;
}

struct sb_container_type sb_container_by_suffix(const char *path)
{
    const struct word *suffix = find_suffix(path);

    return suffix ? suffix->type : unknown;
}

size_t sb_container_base_size(const char *path)
{
    const struct word *suffix = find_suffix(path);

    return strlen(path) - (suffix ? strlen(suffix->text) + 1 : 0);
}

const char *sb_container_word(enum sb_container_kind kind)
{
    static const char *const names[] = {
        [SB_UNKNOWN] = "unknown file",
        [SB_ARCHIVE] = "archive",
        [SB_DIRECTORY] = "directory",
        [SB_TAR] = "tar",
        [SB_CPIO] = "cpio",
        [SB_ZIP] = "zip",
        [SB_BAG] = "bag",
        [SB_FRAMES] = "stream of records",
        [SB_SYRAH] = "Syrah file",
        [SB_CACHE] = "cache",
    };

    return names[kind];
}
