#include "archive/database.h"
#include "archive/parity/check.h"
#include "archive/parity/mend.h"
#include "task/protect/impl.h"

#include <string.h>

/* What may be spoiled of a database without SQLite finding it. */
#define SPOILED_PIECES 9
#define SPOILED_BYTES  64

void sb_protect_find_evidence(struct sb_protected *work, int64_t bad)
{
    work->evidence =
        (struct sb_protect_evidence){.numbers = {(uint64_t)work->file->st.st_ino, (uint64_t)bad}};
}

/* The time of the inode's last change cannot be set: an index that was put back has another. */
void sb_protect_find_index_evidence(struct sb_protect_evidence *evidence,
                                    const struct sb_protect_index *index)
{
    struct stat st;

    *evidence = (struct sb_protect_evidence){0};
    if (stat(index->path, &st))
        return;
    *evidence = (struct sb_protect_evidence){
        .numbers = {(uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec, (uint64_t)st.st_ino,
                    UINT64_C(1) << 32 | index->commits}};
}

enum sb_protect_age sb_protect_age_of_index(const struct sb_protect_options *options,
                                            const struct sb_protect_index *index)
{
    struct sb_protected work = {.path = index->path, .options = options, .lock = {.fd = -1}};
    enum sb_protect_age age = SB_PROTECT_NEWER;
    struct sb_error ignored;

    if (sb_protected_begin(&work, &ignored) == SB_OK &&
        sb_protected_open_parity(&work, SB_PARITY_READ, &ignored) == SB_OK) {
        const struct sb_parity_super *super = &work.parity->super;

        if (sb_protect_noted_old(super))
            age = SB_PROTECT_REMADE;
        else if (sb_protect_noted_commits(super) >= index->commits)
            age = SB_PROTECT_NO_NEWER;
    }
    sb_protected_end(&work);
    return age;
}

bool sb_protect_trusts(const struct sb_parity_super *super, const struct sb_protect_index *index)
{
    struct sb_protect_evidence noted, now;

    if (!index)
        return false;
    sb_protect_noted_evidence(super, &noted);
    sb_protect_find_index_evidence(&now, index);
    return now.numbers[3] != 0 && memcmp(&noted, &now, sizeof(now)) == 0;
}

static enum sb_code count_bad(const struct sb_protected *work, int64_t *count, struct sb_error *err)
{
    const struct sb_parity_check_options data_alone = {0};
    struct sb_parity_bad *bad;
    enum sb_code code = sb_parity_check(&bad, work->parity, work->file, &data_alone, err);

    *count = code ? 0 : sb_parity_bad_count(bad, SB_PARITY_DATA);
    sb_parity_bad_free(bad);
    return code;
}

enum sb_code sb_protect_was_only_repaired(const struct sb_protected *work, bool *only,
                                          struct sb_error *err)
{
    const struct sb_parity_super *super = &work->parity->super;
    struct sb_protect_evidence before;
    unsigned char head[SB_PROTECT_HEAD];
    int64_t bad;

    *only = false;
    sb_protect_noted_evidence(super, &before);
    if (sb_protect_noted_repair(super) != SB_REPAIRING ||
        work->file->st.st_size > super->shape.size || !sb_protect_is_index(work->path) ||
        before.numbers[0] != (uint64_t)work->file->st.st_ino)
        return SB_OK;
    if (sb_protect_read_head(work, head, err) || count_bad(work, &bad, err))
        return err->code;
    *only = sb_protect_has_head(super, head) && (uint64_t)bad <= before.numbers[1];
    return SB_OK;
}

/* A commit writes its number twice, here and at 92; damage hardly does. */
static bool has_other_commits(const struct sb_parity_super *super, const unsigned char *head)
{
    return sb_protect_commits(head) != 0 &&
           sb_protect_commits(head) != sb_protect_noted_commits(super) &&
           memcmp(head + 24, head + 92, 4) == 0;
}

/* Bytes of a file that are not as they were protected. */
struct difference {
    const struct sb_protected *work;
    int64_t bytes;
};

static enum sb_code take_mended(void *context, const struct sb_parity_part *part, const void *bytes,
                                struct sb_error *err)
{
    struct difference *difference = context;
    unsigned char there[SB_PARITY_PIECE_MOST];
    size_t got = 0;

    if (part->kind != SB_PARITY_DATA)
        return SB_OK;
    if (sb_file_read(difference->work->file, there, (size_t)part->size, part->offset, &got, err))
        return err->code;
    for (size_t i = 0; i < got; i++)
        difference->bytes += there[i] != ((const unsigned char *)bytes)[i];
    return SB_OK;
}

static enum sb_code take_lost(void *context, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    (void)err;
    if (part->kind == SB_PARITY_DATA)
        ((struct difference *)context)->bytes += part->size;
    return SB_OK;
}

/* A stretch may be spoiled where SQLite keeps nothing, and bytes here and there that it does not
 * check. */
static enum sb_code is_spoiled(const struct sb_protected *work, struct sb_parity_bad *bad,
                               int64_t pieces, bool *spoiled, struct sb_error *err)
{
    struct difference difference = {.work = work};
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = &difference};

    *spoiled = pieces <= SPOILED_PIECES;
    if (*spoiled)
        return SB_OK;
    if (sb_parity_mend(work->parity, work->file, bad, &mender, err))
        return err->code;
    *spoiled = difference.bytes <= SPOILED_BYTES;
    return SB_OK;
}

enum sb_code sb_protect_is_another(const struct sb_protected *work, struct sb_parity_bad *bad,
                                   bool *another, struct sb_error *err)
{
    const struct sb_parity_super *super = &work->parity->super;
    int64_t there = work->file->st.st_size / super->shape.piece;
    /* What is cut off is no sign of anything. */
    int64_t pieces =
        sb_parity_bad_count(bad, SB_PARITY_DATA) - (sb_parity_pieces(&super->shape) - there);
    unsigned char head[SB_PROTECT_HEAD];
    bool spoiled;

    *another = false;
    if (!sb_protect_is_index(work->path) || !sb_database_is_sound(work->path))
        return SB_OK;
    if (sb_protect_read_head(work, head, err) || is_spoiled(work, bad, pieces, &spoiled, err))
        return err->code;
    *another = has_other_commits(super, head) || !spoiled;
    return SB_OK;
}
