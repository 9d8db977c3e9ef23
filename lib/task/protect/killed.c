#include "archive/parity/check.h"
#include "archive/parity/mend.h"
#include "core/io.h"
#include "task/protect/impl.h"

#include <string.h>

/*
 * Of SQLite's header, https://www.sqlite.org/fileformat2.html#the_database_header: whether a
 * journal or a WAL is used, and what every commit with a journal changes.
 */
#define VERSIONS          18
#define CHANGE_COUNTER    24
#define VERSION_VALID_FOR 92
#define HEADER_SIZE       100

struct header {
    unsigned char there[HEADER_SIZE];
    unsigned char protected[HEADER_SIZE];
};

static enum sb_code take_mended(void *context, const struct sb_parity_part *part, const void *bytes,
                                struct sb_error *err)
{
    struct header *header = context;

    (void)err;
    if (part->kind == SB_PARITY_DATA && part->number == 0)
        memcpy(header->protected, bytes, HEADER_SIZE);
    return SB_OK;
}

static enum sb_code take_lost(void *context, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    struct header *header = context;

    (void)err;
    if (part->kind == SB_PARITY_DATA && part->number == 0)
        memset(header->protected, 0, HEADER_SIZE);
    return SB_OK;
}

/* If the first piece is as it was, it does not come. */
static enum sb_code read_header(const struct sb_protected *work, struct header *header,
                                struct sb_error *err)
{
    static const struct sb_parity_check_options first = {.to = 1};
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = header};
    struct sb_parity_bad *bad;
    enum sb_code code = sb_file_read_exactly(work->file, header->there, HEADER_SIZE, 0, err);

    if (code)
        return code;
    memcpy(header->protected, header->there, HEADER_SIZE);
    code = sb_parity_check(&bad, work->parity, work->file, &first, err);
    if (!code)
        code = sb_parity_mend(work->parity, work->file, bad, &mender, err);
    sb_parity_bad_free(bad);
    return code;
}

static bool is_same(const struct header *header, size_t at, size_t size)
{
    return memcmp(header->there + at, header->protected + at, size) == 0;
}

enum sb_code sb_protect_was_only_repaired(const struct sb_protected *work, bool *only,
                                          struct sb_error *err)
{
    const struct sb_parity_super *super = &work->parity->super;
    struct header header;
    enum sb_code code;

    *only = false;
    if (sb_protect_noted_repair(super) != SB_REPAIRING ||
        work->file->st.st_size > super->shape.size || !sb_protect_is_index(work->path))
        return SB_OK;
    code = read_header(work, &header, err);
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    *only = header.there[VERSIONS] == 1 && is_same(&header, VERSIONS, 2) &&
            is_same(&header, CHANGE_COUNTER, 4) && is_same(&header, VERSION_VALID_FOR, 4);
    return SB_OK;
}
