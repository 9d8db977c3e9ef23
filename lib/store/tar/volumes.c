#include "store/tar/volumes.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "store/feed/feed.h"
#include "store/tar/header.h"
#include "store/tar/raw.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW     ((size_t)64 << 10)
#define HEADER_MAX ((int64_t)16 << 20)

/* Where a block says that more of a map of holes follows, in the format of old GNU tars. */
#define MAP_GOES_ON      482
#define MORE_MAP_GOES_ON 504

struct volumes {
    struct sb_file *joined; /* those so far */
    const char *last;       /* the path of the last one; NULL: there is none yet */
    int64_t number;         /* of that, by its label; -1: not known */
    struct sb_buf seen;     /* the device and the inode of each file */

    struct sb_file *spool;
    int64_t spooled;
    int64_t max_size;

    /* Of the last member in them: */
    struct sb_buf header, name;
    int64_t data_at;
    int64_t stored;
    bool holes;
    int64_t next_at; /* where a header follows, or will follow */
    bool ended;      /* there is the end of the tar */

    char *window; /* of joined */
    int64_t window_at;
    size_t window_size;
};

static void release(struct volumes *volumes)
{
    sb_file_free(volumes->joined);
    sb_file_free(volumes->spool);
    sb_buf_release(&volumes->seen);
    sb_buf_release(&volumes->header);
    sb_buf_release(&volumes->name);
    free(volumes->window);
}

/* Members */

static enum sb_code read_block(struct volumes *volumes, int64_t at, const char **block)
{
    int64_t from = at - volumes->window_at;

    if (from < 0 || from + SB_TAR_BLOCK > (int64_t)volumes->window_size) {
        TRY(sb_file_read(volumes->joined, volumes->window, WINDOW, at, &volumes->window_size));
        volumes->window_at = at;
    }
    *block = volumes->window + (at - volumes->window_at);
    return volumes->window_size >= SB_TAR_BLOCK
               ? SB_OK
               : sb_fail(SB_CHANGED, "%s: was changed while it was read", volumes->last);
}

static enum sb_code fail_header(const struct volumes *volumes)
{
    return sb_fail(SB_FORMAT, "%s: damaged: what follows %s is no header of a member",
                   volumes->last, volumes->name.size > 0 ? volumes->name.data : "its label");
}

/* Adds blocks to the header; *whole: they are all there. */
static enum sb_code add_blocks(struct volumes *volumes, int64_t *at, int64_t size, bool *whole)
{
    const char *block;

    *whole = size <= volumes->joined->st.st_size - *at;
    for (; *whole && size > 0; size -= SB_TAR_BLOCK, *at += SB_TAR_BLOCK) {
        TRY(read_block(volumes, *at, &block));
        TRY(sb_buf_add(&volumes->header, block, SB_TAR_BLOCK));
    }
    return SB_OK;
}

/* The map of holes that follows a header. */
static enum sb_code pass_map(struct volumes *volumes, int64_t *at, bool *whole)
{
    const char *block = volumes->header.data + volumes->header.size - SB_TAR_BLOCK;
    bool more = block[SB_TAR_TYPE] == 'S' && block[MAP_GOES_ON];

    for (; more && *whole; *at += *whole ? SB_TAR_BLOCK : 0) {
        *whole = *at + SB_TAR_BLOCK <= volumes->joined->st.st_size;
        if (*whole)
            TRY(read_block(volumes, *at, &block));
        more = block[MORE_MAP_GOES_ON];
    }
    return SB_OK;
}

/* What a member needs before its bytes, at *at and on. */
static enum sb_code read_header(struct volumes *volumes, int64_t *at, bool *whole)
{
    bool extends = true;
    const char *block;
    int64_t body;

    sb_buf_clear(&volumes->header);
    while (extends) {
        if (*at + SB_TAR_BLOCK > volumes->joined->st.st_size) {
            *whole = false;
            return SB_OK;
        }
        TRY(read_block(volumes, *at, &block));
        if (!sb_tar_is_header(block))
            return fail_header(volumes);
        extends = block[SB_TAR_TYPE] && strchr(SB_TAR_EXTENSIONS, block[SB_TAR_TYPE]);
        body = extends ? sb_tar_octal(block + SB_TAR_SIZE, SB_TAR_SIZE_SIZE) : 0;
        if (body < 0 || body > HEADER_MAX - (int64_t)volumes->header.size)
            return fail_header(volumes);
        TRY(add_blocks(volumes, at, SB_TAR_BLOCK + body + (int64_t)sb_tar_padding(body), whole));
        if (!*whole)
            return SB_OK;
    }
    return pass_map(volumes, at, whole);
}

/* *whole: the header is all there, or the end of the tar. */
static enum sb_code take_member(struct volumes *volumes, bool *whole)
{
    int64_t at = volumes->next_at, stored;
    const char *block;
    char type;

    TRY(read_block(volumes, at, &block));
    if (sb_tar_all_zeros(block, SB_TAR_BLOCK)) {
        *whole = volumes->ended = volumes->joined->st.st_size - at >= 2 * SB_TAR_BLOCK;
        return SB_OK;
    }
    TRY(read_header(volumes, &at, whole));
    if (!*whole)
        return SB_OK;
    type = volumes->header.data[volumes->header.size - SB_TAR_BLOCK + SB_TAR_TYPE];
    stored = type >= '1' && type <= '6'
                 ? 0
                 : sb_tar_stored_size(volumes->header.data, volumes->header.size);
    if (stored < 0 || stored > INT64_MAX - at - SB_TAR_BLOCK)
        return fail_header(volumes);
    TRY(sb_tar_stored_name(volumes->header.data, volumes->header.size, &volumes->name));
    volumes->holes = sb_tar_size_is_other(volumes->header.data, volumes->header.size);
    volumes->data_at = at;
    volumes->stored = stored;
    volumes->next_at = at + stored + (int64_t)sb_tar_padding(stored);
    return SB_OK;
}

static enum sb_code pass_members(struct volumes *volumes)
{
    bool whole = true;

    while (whole && !volumes->ended && volumes->next_at < volumes->joined->st.st_size) {
        TRY(sb_heed_interrupt());
        TRY(take_member(volumes, &whole));
    }
    return SB_OK;
}

/* From one volume to the next */

/* Where the volumes so far end. */
static struct sb_tar_continued end_of(const struct volumes *volumes)
{
    int64_t size = volumes->joined->st.st_size;

    if (volumes->next_at <= size)
        return (struct sb_tar_continued){.left = 0};
    return (struct sb_tar_continued){
        .name = volumes->name.data,
        .name_size = volumes->name.size,
        .offset = size - volumes->data_at,
        .left = volumes->stored - (size - volumes->data_at),
    };
}

/* GNU tar cuts a name to what fits into the header. */
static bool has_name(const struct sb_tar_continued *end, const struct sb_tar_continued *next)
{
    bool cut = next->name_size == SB_TAR_NAME_SIZE && end->name_size > next->name_size;

    return (cut || end->name_size == next->name_size) &&
           memcmp(end->name, next->name, next->name_size) == 0;
}

static enum sb_code add_place(struct sb_buf *out, const struct sb_tar_continued *place)
{
    if (!place->name)
        return sb_buf_add_text(out, "between members");
    return sb_buf_add_format(out, "%" PRId64 " bytes into %.*s, with %" PRId64 " left",
                             place->offset, (int)place->name_size, place->name, place->left);
}

static enum sb_code fail_place(const struct volumes *volumes, const char *path,
                               const struct sb_tar_continued *end,
                               const struct sb_tar_continued *next)
{
    CLEANUP(sb_buf_release) struct sb_buf begins = {0}, ends = {0};

    TRY(add_place(&begins, next));
    TRY(add_place(&ends, end));
    return sb_fail(SB_FORMAT,
                   "%s: begins %s, and %s ends %s: a volume is missing, or is not in its place",
                   path, begins.data, volumes->last, ends.data);
}

/* Is the last member the one that is said to go on, with all of its bytes left? A map of holes may
 * not be counted. */
static bool is_member(const struct volumes *volumes, const struct sb_tar_continued *begun)
{
    const struct sb_tar_continued member = {volumes->name.data, volumes->name.size, 0, 0};

    return volumes->name.data && volumes->name.size > 0 && has_name(&member, begun) &&
           (volumes->stored == begun->left || (volumes->holes && volumes->stored > begun->left));
}

/*
 * A volume ends before the header of a member, and the next one begins as if that went on: so GNU
 * tar has it, whose record has the header and the first bytes. The header then follows there; or
 * it was that of the last member, which is complete.
 */
static enum sb_code find_begun(struct volumes *volumes, const char *path,
                               const struct sb_tar_continued *next)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_tar_continued begun = *next;
    enum sb_code code = sb_buf_set(&name, next->name, next->name_size);
    bool whole = true;

    begun.name = name.data;
    while (!code && whole && !volumes->ended) {
        if (is_member(volumes, &begun))
            return SB_OK;
        whole = volumes->next_at < volumes->joined->st.st_size;
        if (whole)
            code = take_member(volumes, &whole);
    }
    return code && code != SB_FORMAT
               ? code
               : fail_place(volumes, path, &(struct sb_tar_continued){0}, &begun);
}

/* The N of a label "... Volume N"; -1: there is none. */
static int64_t number_of(const char *data, size_t size)
{
    static const char word[] = " Volume ";
    const char *label = sb_tar_label(data, size, &size);
    size_t digits = 0;
    int64_t number = 0;

    while (label && digits < size && isdigit((unsigned char)label[size - 1 - digits]))
        digits++;
    if (digits == 0 || digits > 9 || size - digits < strlen(word))
        return -1;
    label += size - digits;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (label[i] - '0');
    return memcmp(label - strlen(word), word, strlen(word)) == 0 ? number : -1;
}

static enum sb_code check_seam(const struct volumes *volumes, const char *path, int64_t number,
                               const struct sb_tar_continued *next)
{
    struct sb_tar_continued end = end_of(volumes);

    if (!volumes->last && next->name)
        return sb_fail(SB_FORMAT, "%s: begins within %.*s: give the volume before it first", path,
                       (int)next->name_size, next->name);
    if (!volumes->last)
        return SB_OK;
    if (volumes->joined->st.st_size % SB_TAR_BLOCK != 0)
        return sb_fail(SB_FORMAT, "%s: is cut short: it ends within a block", volumes->last);
    if (volumes->ended)
        return sb_fail(SB_FORMAT, "%s: is given after %s, in which the tar ends", path,
                       volumes->last);
    if (number >= 0 && volumes->number >= 0 && number != volumes->number + 1)
        return sb_fail(SB_FORMAT,
                       "%s: is volume %" PRId64 " by its label, and %s before it volume %" PRId64
                       ": give all volumes in their order",
                       path, number, volumes->last, volumes->number);
    if (end.name && (!next->name || !has_name(&end, next) || end.left != next->left ||
                     (!volumes->holes && end.offset != next->offset)))
        return fail_place(volumes, path, &end, next);
    return SB_OK;
}

static enum sb_code refuse_again(struct volumes *volumes, const struct sb_file *file)
{
    const uint64_t id[2] = {file->st.st_dev, file->st.st_ino};

    for (size_t i = 0; i < volumes->seen.size; i += sizeof(id)) {
        if (memcmp(volumes->seen.data + i, id, sizeof(id)) == 0)
            return sb_fail(SB_FORMAT, "%s: is given twice", file->name);
    }
    return sb_buf_add(&volumes->seen, (const char *)id, sizeof(id)) ? sb_fail_memory() : SB_OK;
}

/* Decompresses a volume into the spool, or reads it from a pipe. */
static enum sb_code spool(struct volumes *volumes, const struct sb_input *input,
                          struct sb_file_part *part)
{
    struct sb_feed_watch watch = {.stop = false};
    CLEANUP(sb_feed_freep) struct sb_feed *feed = NULL;
    enum sb_code code = SB_OK;
    int fd;

    if (!volumes->spool) {
        TRY(sb_temp_file(&fd, ""));
        TRY(sb_file_take(&volumes->spool, fd, "temporary file (see TMPDIR)"));
    }
    TRY(sb_feed_open(&feed, input, &(struct sb_feed_options){0}, &watch));
    part->from = volumes->spooled;
    part->kept = volumes->spool;
    part->st = &volumes->spool->st;
    for (size_t got = 0; !code; got = 0) {
        TRY(sb_heed_interrupt());
        code = sb_feed_fill(feed, volumes->window, WINDOW, &got);
        if (code)
            continue;
        if (volumes->max_size > 0 && (int64_t)got > volumes->max_size - volumes->spooled)
            return sb_fail(SB_LIMIT,
                           "%s: has more than the %" PRId64 " bytes that --max-size allows",
                           input->name, volumes->max_size);
        TRY(sb_pwrite_full(volumes->spool->fd, volumes->window, got, volumes->spooled,
                           volumes->spool->name));
        volumes->spooled += (int64_t)got;
    }
    part->size = volumes->spooled - part->from;
    if (code == SB_END && atomic_load(&watch.tail))
        return sb_fail(SB_FORMAT, "%s: %s follows the compressed data", input->name,
                       atomic_load(&watch.tail));
    return code == SB_END ? SB_OK : code;
}

/* Adds what it has of members; `head` comes before that. */
static enum sb_code append(struct volumes *volumes, struct sb_file_part *part, size_t head)
{
    if (!volumes->last) {
        volumes->joined->st = *part->st;
        volumes->joined->st.st_size = 0;
        head = 0; /* the first label is the tar's */
    }
    part->from += (int64_t)head;
    part->size -= (int64_t)head;
    return sb_file_append(volumes->joined, part);
}

static enum sb_code add_volume(struct volumes *volumes, const char *path)
{
    CLEANUP(sb_input_close) struct sb_input input;
    struct sb_file_part part = {.path = path};
    struct sb_tar_continued next;
    int64_t number;
    bool between;
    size_t head;

    TRY(sb_input_open(&input, path, SB_TAR));
    if (!input.file && !input.pipe)
        return sb_fail_errno(input.why_not, "%s", path);
    if (input.file) {
        TRY(refuse_again(volumes, input.file));
        part.st = &input.file->st;
        part.size = input.file->st.st_size;
    }
    if (!input.file || input.type.filter != SB_FILTER_NONE)
        TRY(spool(volumes, &input, &part));
    TRY(sb_file_read(part.kept ? part.kept : input.file, volumes->window, WINDOW, part.from,
                     &volumes->window_size));
    head = sb_tar_volume_head(volumes->window, volumes->window_size, &next);
    number = number_of(volumes->window, head);
    if (head == 0)
        next.name = NULL; /* its header is larger than the window */
    TRY(check_seam(volumes, path, number, &next));
    between = !end_of(volumes).name;
    volumes->window_at = INT64_MAX; /* it has nothing of them */
    TRY(append(volumes, &part, head));
    if (between && next.name && next.left > 0)
        TRY(find_begun(volumes, path, &next));
    volumes->last = path;
    volumes->number = number;
    return SB_OK;
}

enum sb_sure sb_tar_names_volumes(const struct sb_input *input)
{
    bool named = sb_context_now->multi_volume && !input->there && strchr(input->path, ',');

    return named ? SB_BY_NAME : SB_NO;
}

enum sb_code sb_tar_join_volumes(struct sb_input *input, int64_t max_size)
{
    CLEANUP(release) struct volumes volumes = {.max_size = max_size};
    CLEANUP(sb_freep) char *list = NULL;
    const char *path;
    char *rest;

    if (input->file || input->pipe || input->section)
        return SB_OK;
    if (sb_tar_names_volumes(input) == SB_NO)
        return sb_fail_errno(input->why_not, "%s", input->path);
    TRY(sb_copy_text(&list, input->path));
    TRY(sb_alloc(&volumes.window, WINDOW));
    TRY(sb_file_join_none(&volumes.joined, input->name));
    rest = list;
    while ((path = strsep(&rest, ","))) {
        if (volumes.last)
            TRY(pass_members(&volumes));
        TRY(add_volume(&volumes, path));
    }
    input->file = TAKE(volumes.joined);
    input->st = input->file->st;
    return SB_OK;
}
