/*
 * The bytes of a zip's members: found by their local headers, inflated, checked.
 *
 * Deflate is zlib's, deflate64 our own; lzma, xz, bzip2, zstd and ppmd go through libarchive, which
 * is given each member as a zip of its own, so that reading one member reads no other. A loader
 * reads ahead when the members it reads follow each other.
 */
#ifndef SB_STORE_ZIP_LOADER_H
#define SB_STORE_ZIP_LOADER_H

#include "core/file.h"
#include "store/source.h"

/* The file that members lie in. */
struct sb_zip_file {
    const struct sb_file *bytes;
    int64_t end; /* of the members: where the central directory begins */
    bool no_check;
};

/* Keeps file. */
enum sb_code sb_zip_loader_new(struct sb_loader **out, struct sb_source *source,
                               const struct sb_zip_file *file) SB_CHECKED;
void sb_zip_loader_free(struct sb_loader *loader);

/* As the functions of source.h. */
enum sb_code sb_zip_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                                size_t capacity, struct sb_events *events) SB_CHECKED;
enum sb_code sb_zip_loader_stream(struct sb_loader *loader, struct sb_member *member,
                                  sb_each_block *each, void *context,
                                  struct sb_events *events) SB_CHECKED;

/* Of a member's local header: SB_DAMAGED when there is none, or it cannot be that member's. */
struct sb_zip_local {
    int64_t data; /* place of the bytes in the file */
    size_t name_size;
    size_t extra_size;
    const char *differs; /* NULL, or what it says other than the central directory */
};
enum sb_code sb_zip_read_local(const uint8_t *header, const struct sb_zip_file *file,
                               const struct sb_member *member, struct sb_zip_local *out) SB_CHECKED;

#endif
