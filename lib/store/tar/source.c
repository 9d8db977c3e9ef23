#include "store/feed/feed.h"
#include "store/kind.h"
#include "store/sinks.h"
#include "store/tar/scan.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/time.h"
#include "store/charset.h"
#include "store/feed/la_open.h"
#include "store/tar/cpio_links.h"
#include "store/tar/header.h"
#include "store/tar/nested.h"
#include "store/tar/raw.h"
#include "store/tar/volumes.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TAP_MAX    ((size_t)4 << 20)   /* of a header, what is looked at beside libarchive */
#define HEADER_MAX ((int64_t)16 << 20) /* libarchive holds all of it */

#define DUMP_MAX ((size_t)64 << 20) /* of the list of one directory */

#define NAME_SHOWN 512 /* bytes of a name that is only reported */

/* Of a last member, in which the header of another volume is looked for */
#define ZEROS_SEARCHED ((int64_t)1 << 20)

#define MAP_MOST ((int64_t)16 << 20) /* of holes */

#define SMALL_INPUT ((int64_t)1 << 20) /* where nobody minds how many threads decompress it */

/* What global pax headers say of all members that say nothing else themselves. */
enum global { GLOBAL_MTIME, GLOBAL_UID, GLOBAL_GID, GLOBAL_USER, GLOBAL_GROUP, GLOBALS };

static const char *const global_keys[GLOBALS] = {"mtime", "uid", "gid", "uname", "gname"};

struct tar_source {
    struct sb_source base;
    struct sb_input *input;
    const struct sb_notify *notify;
    struct sb_flow *flow;
    struct archive *archive;
    struct archive_entry *entry; /* NULL before the first */

    /*
     * For all calls of libarchive. It makes names what the locale has them to be; in this one it
     * cannot, and hands out the bytes that there are.
     */
    locale_t locale;

    /* What libarchive has of the flow */
    enum sb_code in_code; /* why the next block did not come; SB_OK: it did */
    struct sb_error in_err;
    const char *block;
    size_t block_size;
    int64_t block_at;
    bool again; /* it is given again, to the reader of the next tar */

    int64_t tar_at;     /* where the tar begins: after others, with ignore_zeros */
    struct sb_buf rest; /* a block of two of the flow, where something follows the end */

    /* The header that is read: what of it lies in earlier blocks. */
    bool tapping;
    int64_t header_at;
    struct sb_buf tap;

    bool ended;
    enum sb_code broken; /* why nothing more can be read; SB_OK: it can */
    struct sb_error broken_err;
    int64_t strayed; /* blocks since the last header that are no header */

    /* The header of the last member, in a file, that has bytes; size 0: none. */
    int64_t last_at, last_size;

    struct sb_buf globals[GLOBALS]; /* of this tar, so far; empty: none */

    bool dumps;                 /* members have the lists of an incremental dump ... */
    struct sb_buf dump;         /* ... as this one does */
    bool said_dump;             /* that it is incremental */
    struct sb_cpio_links links; /* only of a cpio */

    struct sb_charset *charset; /* of names; NULL: they stay as they are */
    struct sb_buf name, target; /* of the member, in UTF-8 */

    /* The member */
    int64_t data_at;
    const char *link; /* what block gives of it; NULL when given, and of others */
    int64_t size;     /* bytes that block gives in all */
    int64_t given;
    const char *data; /* what libarchive gave of it, and block has not given yet */
    size_t data_size;
    int64_t data_offset;
    bool summed; /* a cpio has the sum of its bytes */
    uint32_t wanted_sum;
    uint32_t sum;
};

static const char zeros[SB_HOLE_LEAST];

static struct tar_source *to_tar(struct sb_source *source)
{
    return (struct tar_source *)source;
}

/* Bytes of the tar that libarchive is done with. */
static int64_t position(const struct tar_source *source)
{
    return source->tar_at + archive_filter_bytes(source->archive, 0);
}

/* Do its bytes lie in a file as they are? */
static bool in_file(const struct tar_source *source)
{
    const struct sb_input *input = source->input;

    return !input->pipe && !(input->section && input->section->from) &&
           !sb_flow_filters(source->flow);
}

static bool is_cpio(const struct tar_source *source)
{
    return (archive_format(source->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_CPIO;
}

/* libarchive's callbacks */

static enum sb_code refuse_header(const struct tar_source *source)
{
    return sb_fail(SB_DAMAGED,
                   "%s: damaged at byte %" PRId64 ": a header of %" PRId64 " MiB or more",
                   source->base.name, source->header_at, HEADER_MAX >> 20);
}

/* Keeps what the present block has of the header, before the next one takes its place. */
static enum sb_code next_block(struct tar_source *source, const void **block, size_t *size)
{
    int64_t end = source->block_at + (int64_t)source->block_size;
    int64_t from = source->header_at > source->block_at ? source->header_at : source->block_at;

    if (source->tapping && from < end && source->tap.size <= TAP_MAX &&
        sb_buf_add(&source->tap, source->block + (from - source->block_at), (size_t)(end - from)))
        return sb_fail_memory();
    if (source->tapping && source->block_at - source->header_at > HEADER_MAX)
        return refuse_header(source);
    return sb_flow_next(source->flow, block, size);
}

static la_ssize_t read_block(struct archive *archive, void *context, const void **data)
{
    struct tar_source *source = context;
    size_t tapped = source->tap.size, size = 0;
    const void *block = NULL;

    if (source->again) {
        source->again = false;
        *data = source->block;
        return (la_ssize_t)source->block_size;
    }
    source->in_code = INTO(&source->in_err, next_block(source, &block, &size));
    if (source->in_code == SB_END) {
        /* The last block stays, and what was kept of it is there twice. */
        sb_buf_cut(&source->tap, tapped);
        source->in_code = SB_OK;
        return 0;
    }
    if (source->in_code) {
        archive_set_error(archive, EIO, "cannot be read");
        return -1;
    }
    source->block_at += (int64_t)source->block_size;
    source->block = block;
    source->block_size = size;
    *data = block;
    return (la_ssize_t)size;
}

static la_int64_t skip_bytes(struct archive *archive, void *context, la_int64_t request)
{
    struct tar_source *source = context;
    int64_t skipped = source->tapping ? 0 : sb_flow_skip(source->flow, request);

    (void)archive;
    source->block_at += (int64_t)source->block_size + skipped;
    source->block_size = 0;
    return skipped;
}

/* What is wrong */

static const char *present_name(const struct tar_source *source)
{
    const char *name = source->entry ? archive_entry_pathname(source->entry) : NULL;

    return name ? name : "";
}

/* Nothing more can be read; every further call of next returns the same error. */
static enum sb_code break_off(struct tar_source *source)
{
    source->broken = sb_error()->code;
    source->broken_err = *sb_error();
    return sb_error()->code;
}

static enum sb_code refuse(struct tar_source *source)
{
    const char *text = archive_error_string(source->archive);
    const char *name = present_name(source);

    if (source->in_code)
        *sb_error() = source->in_err;
    else if (archive_errno(source->archive) == ENOMEM)
        sb_fail_memory();
    else
        sb_fail(SB_DAMAGED, "%s: damaged or cut short at byte %" PRId64 "%s%s: %s",
                source->base.name, position(source), name[0] ? ", at " : "", name,
                text ? text : "it ends within a header or a member");
    return break_off(source);
}

/* The header of the next volume is among the bytes of the member. */
static enum sb_code refuse_joined(struct tar_source *source, const char *name)
{
    sb_fail(SB_DAMAGED,
            "%s: %s goes on in another volume, whose header is among its bytes, as cat joins them; "
            "give the volumes themselves: --multi-volume FIRST,SECOND",
            source->base.name, name);
    return break_off(source);
}

static void warn(struct tar_source *source)
{
    const char *text = archive_error_string(source->archive);

    /* That it could not convert names is what we want. */
    if (!text || (!strstr(text, "can't be converted from") && !strstr(text, "SCHILY.acl")))
        sb_report(source->notify, SB_PROBLEM, "damaged", present_name(source),
                  "its header is damaged: %s", text ? text : "a part of it cannot be understood");
}

static void report_strayed(struct tar_source *source)
{
    if (source->strayed == 0)
        return;
    sb_report(source->notify, SB_PROBLEM, "damaged", NULL,
              "%s: damaged: %" PRId64 " bytes before byte %" PRId64
              " are no header of a member, and were passed over",
              source->base.name, source->strayed * SB_TAR_BLOCK, source->header_at);
    source->strayed = 0;
}

/* The header as it lies in the tar */

/* Bytes [from, to) of what libarchive was given last; NULL where they are not at hand. */
static const char *raw_bytes(struct tar_source *source, int64_t from, int64_t to)
{
    int64_t tap_at = source->block_at - (int64_t)source->tap.size;
    int64_t here = to - source->block_at;

    if (to > source->block_at + (int64_t)source->block_size)
        return NULL;
    if (from >= source->block_at)
        return source->block + (from - source->block_at);
    if (from < tap_at || source->tap.size > TAP_MAX)
        return NULL;
    if (here > 0 && sb_buf_reserve(&source->tap, (size_t)here) == SB_OK)
        memcpy(source->tap.data + source->tap.size, source->block, (size_t)here);
    else if (here > 0)
        return NULL;
    return source->tap.data + (from - tap_at);
}

/* The end */

static const char *foreign(const struct tar_source *source)
{
    return sb_flow_filters(source->flow) ? "what is compressed is neither a tar nor a cpio"
                                         : "is neither a tar nor a cpio";
}

/* What follows the end of a tar or cpio. */
struct rest {
    const char *word; /* of sb_tail_word; NULL: zeros, or nothing */
    int64_t at;       /* the first byte that is no zero, and of a tar its header */
    bool junk;        /* something else came before the tar */
};

static void pass_rest(struct tar_source *source, size_t size)
{
    source->block += size;
    source->block_at += (int64_t)size;
    source->block_size -= size;
}

/* libarchive is done: block becomes what it has not taken, which then is not in the tap. */
static enum sb_code begin_rest(struct tar_source *source)
{
    int64_t at = position(source), end = source->block_at + (int64_t)source->block_size;
    const char *data = at < end ? raw_bytes(source, at, end) : NULL;
    bool tapped = data && at < source->block_at;

    if (tapped && sb_buf_set(&source->rest, data, (size_t)(end - at)))
        return sb_fail_memory();
    source->block = tapped ? source->rest.data : data;
    source->block_size = data ? (size_t)(end - at) : 0;
    source->block_at = data ? at : end;
    return SB_OK;
}

/* Makes block_size a block of a tar at least; SB_END where there is not as much. */
static enum sb_code more_of_rest(struct tar_source *source)
{
    while (source->block_size < SB_TAR_BLOCK) {
        char left[SB_TAR_BLOCK];
        size_t left_size = source->block_size, size;
        const void *data;

        TRY(sb_heed_interrupt());
        if (left_size > 0)
            memcpy(left, source->block, left_size);
        TRY(sb_flow_next(source->flow, &data, &size));
        source->block = data;
        source->block_size = left_size + size;
        if (left_size == 0)
            continue;
        TRY(sb_buf_set(&source->rest, left, left_size));
        TRY(sb_buf_add(&source->rest, data, size));
        source->block = source->rest.data;
    }
    return SB_OK;
}

/*
 * False: pass the block. After junk only headers with a magic count, and only where blocks of the
 * tar would begin.
 */
static bool look_at_block(struct tar_source *source, struct rest *rest)
{
    size_t size = source->block_size < SB_TAR_BLOCK ? source->block_size : SB_TAR_BLOCK, past = 0;
    const char *block = source->block;

    if (sb_tar_all_zeros(block, size))
        return false;
    rest->junk = rest->word != NULL;
    if (rest->junk && (size < SB_TAR_BLOCK || !sb_tar_has_magic(block) || !sb_tar_is_header(block)))
        return false;
    while (block[past] == '\0')
        past++;
    rest->word = sb_tail_word(block + past, source->block_size - past);
    rest->at = source->block_at + (int64_t)past;
    if (rest->word != sb_tail_junk)
        pass_rest(source, past);
    return rest->word != sb_tail_junk;
}

/* Looks through it to the first that is neither zeros nor junk, where block is then. */
static enum sb_code look_at_rest(struct tar_source *source, struct rest *rest)
{
    enum sb_code code = SB_OK;

    *rest = (struct rest){0};
    TRY(begin_rest(source));
    while (!code) {
        code = more_of_rest(source);
        if (code && code != SB_END)
            return code;
        if (source->block_size > 0 && look_at_block(source, rest))
            return SB_OK;
        if (!code)
            pass_rest(source,
                      source->block_size < SB_TAR_BLOCK ? source->block_size : SB_TAR_BLOCK);
    }
    return code == SB_END ? SB_OK : code;
}

static void check_end_blocks(struct tar_source *source, size_t zero_blocks, bool more)
{
    bool whole = !more && sb_flow_is_whole(source->flow);

    if (is_cpio(source) || zero_blocks >= 2)
        return;
    sb_report(source->notify, whole ? SB_WARNING : SB_PROBLEM, more ? "damaged" : "truncated", NULL,
              "%s: %s%s", source->base.name,
              zero_blocks == 1 ? "only half of the mark at its end is there"
                               : "there is no mark at its end",
              whole  ? "; its compression shows that nothing else is missing"
              : more ? ""
                     : "; it may be cut short");
}

static void report_rest(struct tar_source *source, const struct rest *rest)
{
    const char *name = source->base.name;

    if (rest->word == sb_tail_junk)
        sb_report(source->notify, SB_LOSS, "trailing", NULL,
                  "%s: junk follows its end, at byte %" PRId64 ", and is ignored", name, rest->at);
    else if (rest->word == sb_tail_tar && !is_cpio(source))
        sb_report(source->notify, SB_PROBLEM, "trailing", NULL,
                  "%s: another tar follows its end, at byte %" PRId64
                  ", and is not read; --ignore-zeros reads it, too",
                  name, rest->at);
    else if (rest->word)
        sb_report(source->notify, SB_PROBLEM, "trailing", NULL,
                  "%s: %s follows its end, at byte %" PRId64
                  ", and is not read; give each in an input of its own",
                  name, rest->word, rest->at);
    sb_flow_report_tail(source->flow, name, source->notify);
}

static enum sb_code open_reader(struct tar_source *source);

/* A tar follows, at the beginning of block. */
static enum sb_code go_on(struct tar_source *source, const struct rest *rest)
{
    struct archive *last = source->archive;
    enum sb_code code;

    if (rest->junk)
        sb_report(source->notify, SB_LOSS, "trailing", NULL,
                  "%s: junk comes before the tar at byte %" PRId64 ", and is ignored",
                  source->base.name, rest->at);
    archive_entry_free(source->entry);
    source->entry = NULL;
    for (int i = 0; i < GLOBALS; i++)
        sb_buf_clear(&source->globals[i]);
    source->tar_at = source->block_at;
    source->again = true;
    code = open_reader(source);
    if (source->archive)
        archive_read_free(last);
    else
        source->archive = last;
    return code;
}

/* SB_END when the end is sound, or what is wrong was reported; SB_OK when another tar follows. */
static enum sb_code finish(struct tar_source *source)
{
    int64_t end = position(source);
    const char *tail = raw_bytes(source, source->header_at, end);
    size_t zero_blocks = 0, size;
    enum sb_code code = SB_OK;
    const void *data;
    struct rest rest;

    if (tail)
        zero_blocks = sb_tar_zero_blocks(tail, (size_t)(end - source->header_at));
    report_strayed(source);
    TRY(look_at_rest(source, &rest));
    if (rest.word == sb_tail_tar && !is_cpio(source) && sb_context_now->ignore_zeros)
        return go_on(source, &rest);
    source->ended = true;
    /* Whoever writes a pipe can end, and compressed data is checked. */
    while (!code && !in_file(source))
        code = sb_flow_next(source->flow, &data, &size);
    if (code && code != SB_END)
        return code;
    if (rest.word == sb_tail_junk && end == (int64_t)zero_blocks * SB_TAR_BLOCK)
        return sb_fail(SB_FORMAT, "%s: %s", source->base.name, foreign(source));
    check_end_blocks(source, zero_blocks, rest.word != NULL);
    report_rest(source, &rest);
    return SB_END;
}

/* Is what libarchive finds no block of the beginning of a mark at the end? */
static bool ends_in_zeros(struct tar_source *source)
{
    int64_t at = position(source), end = source->block_at + (int64_t)source->block_size;
    const char *data = raw_bytes(source, at, end);

    return !is_cpio(source) && data && at > 0 && !source->in_code && end - at < SB_TAR_BLOCK &&
           at == source->header_at && sb_tar_all_zeros(data, (size_t)(end - at));
}

/* Members */

/* Of a member of a tar, the blocks before its bytes; NULL where they are not at hand. */
static const char *header_of(struct tar_source *source, size_t *size)
{
    *size = (size_t)(source->data_at - source->header_at);
    return is_cpio(source) ? NULL : raw_bytes(source, source->header_at, source->data_at);
}

/* Global headers and volume labels, which libarchive passes over. */
static enum sb_code take_globals(struct tar_source *source)
{
    size_t size, text_size;
    const char *header = header_of(source, &size), *text;

    if (!header || size == SB_TAR_BLOCK)
        return SB_OK;
    for (int i = 0; i < GLOBALS; i++) {
        text = sb_tar_global(header, size, global_keys[i], &text_size);
        if (text && sb_buf_set(&source->globals[i], text, text_size))
            return sb_fail_memory();
    }
    text = sb_tar_label(header, size, &text_size);
    if (text)
        sb_report(source->notify, SB_LOSS, "label", NULL,
                  "%s: its volume label '%.*s' is not taken along", source->base.name,
                  (int)text_size, text);
    return SB_OK;
}

/* NULL: the member has it from its own header. */
static const char *global(struct tar_source *source, enum global which)
{
    const char *header;
    size_t size;

    if (source->globals[which].size == 0)
        return NULL;
    header = header_of(source, &size);
    return header && sb_tar_pax_own(header, size, global_keys[which]) ? NULL
                                                                      : source->globals[which].data;
}

static void fill_time(struct tar_source *source, struct sb_member *member)
{
    struct archive_entry *entry = source->entry;
    struct timespec time = {.tv_sec = archive_entry_mtime(entry),
                            .tv_nsec = archive_entry_mtime_nsec(entry)};
    const char *text = global(source, GLOBAL_MTIME), *header;
    bool everywhere;
    size_t size;
    int64_t ns;

    everywhere = text && sb_tar_pax_time(text, strlen(text), &ns);
    if (everywhere)
        time = sb_time_split(ns);

    if (!archive_entry_mtime_is_set(entry) && !everywhere)
        return;
    member->entry.has |= SB_HAS_MTIME;
    if (!sb_time_join(time, &member->entry.mtime_ns))
        member->has |= SB_KEEPS_FAR_TIME;
    if (time.tv_nsec == 0 && time.tv_sec >= 0 && time.tv_sec <= UINT32_MAX)
        return;
    member->has |= SB_KEEPS_NANOSECONDS;

    /* libarchive takes -1.5 for -1 + 0.5, and -0.5 for 0.5 */
    if (time.tv_sec > 0 || time.tv_nsec == 0 || everywhere)
        return;
    header = header_of(source, &size);
    if (header)
        (void)sb_tar_pax_mtime(header, size, &member->entry.mtime_ns);
}

static bool is_id(int64_t id)
{
    return id >= 0 && id <= SB_ID_MOST;
}

/* No system has owners beyond 32 bits, but a header can hold them. */
static void fill_owner(struct tar_source *source, struct sb_member *member)
{
    struct archive_entry *entry = source->entry;
    const char *uid_text = global(source, GLOBAL_UID), *gid_text = global(source, GLOBAL_GID);
    int64_t uid = uid_text ? strtoll(uid_text, NULL, 10) : archive_entry_uid(entry);
    int64_t gid = gid_text ? strtoll(gid_text, NULL, 10) : archive_entry_gid(entry);
    const char *user = global(source, GLOBAL_USER), *group = global(source, GLOBAL_GROUP);

    if (!is_id(uid) || !is_id(gid))
        sb_report(source->notify, SB_LOSS, "owner", present_name(source), SB_NO_OWNER, uid, gid);
    if (is_id(uid))
        member->entry.has |= SB_HAS_UID;
    if (is_id(gid))
        member->entry.has |= SB_HAS_GID;
    member->entry.uid = is_id(uid) ? uid : 0;
    member->entry.gid = is_id(gid) ? gid : 0;
    member->user = user ? user : archive_entry_uname(entry);
    member->group = group ? group : archive_entry_gname(entry);
    member->has |= SB_KEEPS_OWNER;
    if ((member->user && member->user[0]) || (member->group && member->group[0]))
        member->has |= SB_KEEPS_OWNER_NAME;
}

static void fill_extras(struct archive_entry *entry, struct sb_member *member)
{
    unsigned long set, clear;

    archive_entry_fflags(entry, &set, &clear);
    if (set || clear || archive_entry_fflags_text(entry))
        member->has |= SB_KEEPS_FLAGS;
    if (archive_entry_xattr_count(entry) > 0)
        member->has |= SB_KEEPS_XATTRS;
    if (archive_entry_acl_types(entry))
        member->has |= SB_KEEPS_ACLS;
    if (archive_entry_sparse_count(entry) > 0)
        member->has |= SB_KEEPS_SPARSE;
}

static void fill_type(struct archive_entry *entry, struct sb_member *member)
{
    mode_t type = archive_entry_filetype(entry);
    const char *hard_link = archive_entry_hardlink(entry);
    int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;

    member->entry.type = SB_FILE;
    member->special = sb_special_word(type);
    if (type == S_IFDIR) {
        member->entry.type = SB_DIR;
    } else if (type == S_IFLNK) {
        const char *target = archive_entry_symlink(entry);

        member->entry.type = SB_LINK;
        member->entry.size = target ? (int64_t)strlen(target) : 0;
    } else if (member->special) {
        member->has |= SB_KEEPS_SPECIAL;
        member->special_mode = type;
        member->device_major = (uint32_t)archive_entry_rdevmajor(entry);
        member->device_minor = (uint32_t)archive_entry_rdevminor(entry);
    } else if (hard_link && size == 0) {
        member->hard_link = hard_link;
        member->has |= SB_KEEPS_HARD_LINKS;
    } else {
        member->entry.size = size;
    }
    member->entry.has |= SB_HAS_MODE;
    /* A header's field can hold more bits than there are. */
    member->entry.mode = archive_entry_perm(entry) & 07777;
    member->entry.mode |= type ? type : S_IFREG;
}

static void fill_name(struct archive_entry *entry, struct sb_member *member)
{
    const char *name = archive_entry_pathname(entry);

    /* A name of nothing but "." and "/" is the root's. */
    if (member->entry.type == SB_DIR && name[0] && !name[strspn(name, "./")] && !strstr(name, ".."))
        name = "";
    member->entry.path = name;
    member->entry.path_size = strlen(name);
}

/* A tar's last block has a field for it; it may also be in an extension, or a cpio's body. */
static const char *find_target(const char *header, size_t size, const char *target, size_t length)
{
    if (size >= SB_TAR_BLOCK && length <= SB_TAR_LINK_SIZE) {
        const char *field = header + size - SB_TAR_BLOCK + SB_TAR_LINK;

        if (memcmp(field, target, length) == 0)
            return field;
    }
    return memmem(header, size, target, length);
}

/* Where its bytes lie in the file, if they lie there as they are. */
static void locate(struct tar_source *source, struct sb_member *member)
{
    size_t size = (size_t)(source->data_at - source->header_at);
    int64_t first = source->input->section ? source->input->section->at : 0;
    const char *header, *found;

    if (!in_file(source) || member->hard_link || member->special || member->entry.type == SB_DIR ||
        (member->has & SB_KEEPS_SPARSE))
        return;
    header = raw_bytes(source, source->header_at, source->data_at);
    if (!header)
        return;
    if (member->entry.type == SB_FILE) {
        /* Whoever reads past the source does not see that a sum is wrong. */
        member->located =
            !source->summed && (is_cpio(source) || !sb_tar_size_is_other(header, size));
        member->at = first + source->data_at;
        return;
    }
    found =
        source->link ? find_target(header, size, source->link, (size_t)member->entry.size) : NULL;
    member->located = found != NULL;
    if (found)
        member->at = first + source->header_at + (found - header);
}

static bool says_utf8(struct tar_source *source, const char *key, const char *sparse_key)
{
    size_t size;
    const char *header = header_of(source, &size);

    return header &&
           (sb_tar_pax_has(header, size, key) || sb_tar_pax_has(header, size, sparse_key));
}

/* Makes a text of a header UTF-8, which then is in `out`. */
static enum sb_code decode(struct tar_source *source, const char **text, struct sb_buf *out)
{
    enum sb_code code = sb_charset_decode(source->charset, *text, strlen(*text), out);

    if (code == SB_NOMEM)
        return sb_fail_memory();
    if (code)
        sb_report(source->notify, SB_PROBLEM, "name", *text, SB_NOT_IN_CHARSET,
                  sb_context_now->charset);
    *text = out->data;
    return SB_OK;
}

/* Of headers that are not pax, which is UTF-8. A link whose target changes is not located. */
static enum sb_code decode_names(struct tar_source *source, struct sb_member *member)
{
    const char **target = source->link ? &source->link : &member->hard_link;

    if (!source->charset)
        return SB_OK;
    if (member->entry.path_size > 0 && !says_utf8(source, "path", "GNU.sparse.name"))
        TRY(decode(source, &member->entry.path, &source->name));
    member->entry.path_size = strlen(member->entry.path);
    if (!*target || says_utf8(source, "linkpath", "linkpath"))
        return SB_OK;
    TRY(decode(source, target, &source->target));
    if (source->link) {
        member->located = member->located && (int64_t)source->target.size == source->size &&
                          strcmp(source->link, archive_entry_symlink(source->entry)) == 0;
        member->entry.size = source->size = (int64_t)source->target.size;
    }
    return SB_OK;
}

static void fill_member(struct tar_source *source, struct sb_member *member)
{
    struct archive_entry *entry = source->entry;
    const char *header;

    *member = (struct sb_member){.dir_fd = -1};
    fill_type(entry, member);
    fill_name(entry, member);
    fill_owner(source, member);
    fill_extras(entry, member);
    fill_time(source, member);
    source->link = member->entry.type == SB_LINK ? archive_entry_symlink(entry) : NULL;
    source->size = member->entry.size;
    source->given = 0;
    source->data_size = 0;
    source->data_offset = 0;
    header = raw_bytes(source, source->header_at, source->data_at);
    source->sum = 0;
    source->summed =
        header && is_cpio(source) &&
        sb_cpio_sum(header, (size_t)(source->data_at - source->header_at), &source->wanted_sum);
    locate(source, member);
}

/* Links of a cpio */

static enum sb_code give_link(struct tar_source *source, struct sb_member *member)
{
    TRY(sb_cpio_links_give(&source->links, member));
    source->size = source->given = 0;
    source->summed = false;
    return SB_OK;
}

/*
 * What has to come later is held back, and *held is true. Its hard link then is what libarchive
 * took for the file with the bytes, for it came first.
 */
static enum sb_code sort_links(struct tar_source *source, struct sb_member *member, bool *held)
{
    struct archive_entry *entry = source->entry;
    struct sb_cpio_inode inode = {(uint64_t)archive_entry_dev(entry),
                                  (uint64_t)archive_entry_ino64(entry)};
    int format = archive_format(source->archive);

    *held = false;
    if ((format != ARCHIVE_FORMAT_CPIO_SVR4_NOCRC && format != ARCHIVE_FORMAT_CPIO_SVR4_CRC) ||
        member->entry.type != SB_FILE || member->special || archive_entry_nlink(entry) < 2)
        return SB_OK;
    if (member->entry.size > 0)
        return sb_cpio_links_begin(&source->links, inode, member->entry.path);
    if (member->hard_link && !sb_cpio_links_know(&source->links, inode))
        return SB_OK;
    *held = true;
    member->located = false;
    member->hard_link = NULL;
    member->has &= ~(unsigned)SB_KEEPS_HARD_LINKS;
    return sb_cpio_links_hold(&source->links, member, inode);
}

/* Another volume has the beginning of its bytes. Reports it, by its own name. */
static bool is_continued(struct tar_source *source)
{
    size_t size;
    const char *header = header_of(source, &size), *name = present_name(source);
    struct sb_tar_continued begun;
    char text[NAME_SHOWN];

    if (!header)
        return false;
    sb_tar_volume_head(header, size, &begun);
    /* Joined by cat, the label of a volume may have become the name of what goes on in it. */
    if (!begun.name && header[size - SB_TAR_BLOCK + SB_TAR_TYPE] != 'M')
        return false;
    if (begun.name)
        snprintf(text, sizeof(text), "%.*s", (int)begun.name_size, begun.name);
    sb_report(source->notify, SB_PROBLEM, "damaged", begun.name ? text : name,
              "is only a part of a file that began in another volume; left out; "
              "--multi-volume reads all volumes: FIRST,%s",
              source->input->path);
    return true;
}

/* Of a member whose header that is: how far after it its bytes begin, and how many there are. */
static int64_t stored_bytes(const char *header, size_t size, int64_t *at)
{
    /* Not after a map of holes at their beginning, which libarchive takes for itself. */
    size_t length = sb_tar_header_size(header, size);

    *at = (int64_t)size;
    if (length > 0 && header[length - SB_TAR_BLOCK + SB_TAR_TYPE] != 'S')
        *at = (int64_t)length;
    return sb_tar_stored_size(header, size);
}

/*
 * Does its file end before the member that was read last does, and where a volume does: after whole
 * records, unless it is volumes that are already joined?
 */
static bool ends_within(struct tar_source *source)
{
    const struct sb_input *input = source->input;
    int64_t end = in_file(source) ? input->file->st.st_size : 0, at, stored;
    const char *header;
    size_t size;

    /* A map of holes comes on top of the size that libarchive says. */
    if (input->section || end == 0 || (!input->file->parts && end % SB_TAR_RECORD != 0) ||
        archive_entry_size(source->entry) <= 0 ||
        archive_entry_size(source->entry) < end - source->data_at - MAP_MOST)
        return false;
    header = header_of(source, &size);
    stored = header ? stored_bytes(header, size, &at) : 0;
    return stored > 0 && stored > end - source->header_at - at;
}

/* Do these bytes of a member have the header of the next volume among them? */
static enum sb_code find_volume(const struct tar_source *source, int64_t at, int64_t size,
                                bool *found)
{
    CLEANUP(sb_freep) char *data = NULL;
    struct sb_tar_continued next;
    size_t got = SB_FLOW_BLOCK;

    *found = false;
    TRY(sb_alloc(&data, SB_FLOW_BLOCK));
    for (int64_t done = 0; !*found && done < size && got == SB_FLOW_BLOCK;
         done += (int64_t)SB_FLOW_BLOCK) {
        TRY(sb_heed_interrupt());
        TRY(sb_file_read(source->input->file, data, SB_FLOW_BLOCK, at + done, &got));
        for (size_t i = 0; !*found && i < got && (int64_t)i < size - done; i += SB_TAR_BLOCK) {
            sb_tar_volume_head(data + i, got - i, &next);
            *found = next.name && next.left == size - done - (int64_t)i;
        }
    }
    return SB_OK;
}

/*
 * Volumes that cat joined have a header in the middle of a member. Where its bytes are not read in
 * sequence it shows by what follows them, which then is no header; but zeros may be of the member.
 */
static enum sb_code check_joined(struct tar_source *source, bool ends)
{
    int64_t first = source->input->section ? source->input->section->at : 0, at, stored;
    size_t size = (size_t)source->last_size, got;
    CLEANUP(sb_buf_release) struct sb_buf header = {0}, name = {0};
    bool found = false;

    if (size == 0)
        return SB_OK;
    source->last_size = 0;
    first += source->last_at;
    TRY(sb_buf_reserve(&header, size));
    TRY(sb_file_read(source->input->file, header.data, size, first, &got));
    stored = stored_bytes(header.data, got, &at);
    if (stored > 0 && stored <= source->input->file->st.st_size - first - at &&
        !(ends && stored > ZEROS_SEARCHED))
        TRY(find_volume(source, first + at, stored, &found));
    if (!found)
        return SB_OK;
    TRY(sb_tar_stored_name(header.data, got, &name));
    return refuse_joined(source, name.data);
}

/* Directory lists of tar -g say what was deleted since the dump before. */
static void heed_dump(struct tar_source *source)
{
    size_t size;
    const char *header = header_of(source, &size);

    if (source->dumps || source->said_dump || !header || !sb_tar_is_dump(header, size))
        return;
    source->said_dump = true;
    sb_report(source->notify, SB_LOSS, "incremental", NULL,
              "%s: is of an incremental dump, whose lists of directories are not applied: files "
              "that were deleted before it stay; 'unpack --incremental' applies them",
              source->base.name);
}

/* The list of a directory; an empty one, which none is, where it is not at hand. */
static enum sb_code take_dump(struct tar_source *source, struct sb_member *member)
{
    size_t size, list_size = 0, got = 0;
    const char *header = header_of(source, &size), *list = NULL;
    const void *data;
    la_int64_t offset;
    int result = ARCHIVE_OK;

    if (is_cpio(source) || member->entry.type != SB_DIR ||
        (header && !sb_tar_is_dump(header, size)))
        return SB_OK;
    if (header)
        list = sb_tar_dump(header, size, &list_size);
    TRY(sb_buf_set(&source->dump, list ? list : "", list_size));
    while (header && !list && result == ARCHIVE_OK && source->dump.size <= DUMP_MAX) {
        result = archive_read_data_block(source->archive, &data, &got, &offset);
        if (result == ARCHIVE_OK && sb_buf_add(&source->dump, data, got))
            return sb_fail_memory();
    }
    if (result != ARCHIVE_OK && result != ARCHIVE_EOF)
        return refuse(source);
    member->dump = source->dump.data;
    member->dump_size = result == ARCHIVE_EOF || list ? source->dump.size : 0;
    return SB_OK;
}

/* Is it something that can be returned? Reports what is wrong with it. */
static bool is_usable(struct tar_source *source)
{
    const char *name = archive_entry_pathname(source->entry);

    if (!name || !name[0]) {
        sb_report(source->notify, SB_PROBLEM, "name", NULL,
                  "%s: a member at byte %" PRId64 " has no name, and is left out",
                  source->base.name, source->header_at);
        return false;
    }
    if (archive_entry_size(source->entry) < 0) {
        sb_report(source->notify, SB_PROBLEM, "damaged", name,
                  "its size is negative; it is left out");
        return false;
    }
    heed_dump(source);
    return !is_continued(source);
}

/* A tar in a tar: is there less of it than the member has? Those after it can still be read. */
static bool is_cut_short(const struct tar_source *source, const struct sb_member *member)
{
    const struct sb_section *section = source->input->section;

    return section && !sb_flow_filters(source->flow) && !(member->has & SB_KEEPS_SPARSE) &&
           member->entry.type == SB_FILE && member->entry.size > section->size - source->data_at;
}

/* libarchive allocates a name before it reads it, and a cpio may promise 4 GiB. */
static bool name_is_too_long(struct tar_source *source)
{
    int64_t at = source->header_at;
    const char *header = raw_bytes(source, at, at + SB_CPIO_HEADER);

    return header && sb_cpio_name_size(header) > HEADER_MAX;
}

/* Passes over what is left of the last member, and reads one header; libarchive's result. */
static int read_header(struct tar_source *source)
{
    int result;

    result = source->entry && source->strayed == 0 ? archive_read_data_skip(source->archive)
                                                   : ARCHIVE_OK;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
        return ARCHIVE_FATAL;
    source->header_at = position(source);
    sb_buf_clear(&source->tap);
    if (name_is_too_long(source)) {
        source->in_code = INTO(&source->in_err, refuse_header(source));
        return ARCHIVE_FATAL;
    }
    source->tapping = true;
    result = sb_la_next(source->archive, &source->entry);
    source->tapping = false;
    source->data_at = position(source);
    return result;
}

/* SB_OK with *found false: not a member that can be handed on, there may be more. */
static enum sb_code step(struct tar_source *source, struct sb_member *member, bool *found)
{
    int result = read_header(source);
    enum sb_code code;
    bool held, usable;

    if (result == ARCHIVE_FATAL && ends_in_zeros(source))
        result = ARCHIVE_EOF;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
        TRY(check_joined(source, result == ARCHIVE_EOF));
    source->last_size = 0;
    switch (result) {
    case ARCHIVE_EOF:
        code = finish(source);
        if (!code)
            return SB_OK;
        if (code != SB_END)
            return break_off(source);
        sb_cpio_links_begin_all(&source->links);
        return SB_OK;
    case ARCHIVE_RETRY:
        source->strayed++;
        return SB_OK;
    case ARCHIVE_OK:
    case ARCHIVE_WARN:
        break;
    default:
        return refuse(source);
    }
    report_strayed(source);
    if (result == ARCHIVE_WARN)
        warn(source);
    TRY(take_globals(source));
    usable = is_usable(source);
    source->ended = ends_within(source);
    if (source->ended && usable)
        sb_report(source->notify, SB_PROBLEM, "damaged", present_name(source),
                  "goes on after the end of %s; left out; if it goes on in another volume, "
                  "--multi-volume reads both: %s,NEXT",
                  source->base.name, source->input->path);
    if (!usable || source->ended)
        return SB_OK;
    if (in_file(source) && !is_cpio(source) && archive_entry_size(source->entry) > 0) {
        source->last_at = source->header_at;
        source->last_size = source->data_at - source->header_at;
    }
    fill_member(source, member);
    if (is_cut_short(source, member)) {
        archive_clear_error(source->archive);
        return refuse(source);
    }
    TRY(decode_names(source, member));
    TRY(sort_links(source, member, &held));
    if (source->dumps)
        TRY(take_dump(source, member));
    *found = !held;
    return SB_OK;
}

static enum sb_code find_next(struct tar_source *source, struct sb_member *member)
{
    bool found = false;
    enum sb_code code;

    if (source->broken) {
        *sb_error() = source->broken_err;
        return source->broken;
    }
    while (!found) {
        code = give_link(source, member);
        if (code != SB_END)
            return code;
        if (source->ended)
            return SB_END;
        TRY(sb_heed_interrupt());
        TRY(step(source, member, &found));
    }
    return SB_OK;
}

static enum sb_code next_in_tar(struct sb_source *base, struct sb_member *member)
{
    struct tar_source *source = to_tar(base);
    locale_t old = uselocale(source->locale);
    enum sb_code code = find_next(source, member);

    if (is_cpio(source))
        source->input->type.kind = SB_CPIO;
    base->done = sb_flow_taken(source->flow);
    uselocale(old);
    return code;
}

/* Bytes */

/* Volumes that were joined: the header of the next one is among the member's bytes. */
static bool meets_volume(const struct tar_source *source)
{
    size_t at = (size_t)(-source->data_offset & (SB_TAR_BLOCK - 1));
    struct sb_tar_continued next;

    if (is_cpio(source) || source->data_offset != source->given)
        return false;
    for (; at < source->data_size; at += SB_TAR_BLOCK) {
        sb_tar_volume_head(source->data + at, source->data_size - at, &next);
        if (next.name && next.offset == source->data_offset + (int64_t)at)
            return true;
    }
    return false;
}

/* Makes data what comes next of the member; it is empty, and data_offset the size, at the end. */
static enum sb_code read_data(struct tar_source *source)
{
    while (source->data_size == 0) {
        const void *data = NULL;
        size_t size = 0;
        la_int64_t offset = 0;
        int result = archive_read_data_block(source->archive, &data, &size, &offset);

        if (result == ARCHIVE_EOF) {
            source->data_offset = source->size;
            return SB_OK;
        }
        if (result != ARCHIVE_OK)
            return refuse(source);
        source->data = data;
        source->data_size = size;
        source->data_offset = offset;
        if (meets_volume(source))
            return refuse_joined(source, present_name(source));
    }
    if (source->data_offset < source->given ||
        (int64_t)source->data_size > source->size - source->data_offset)
        return sb_fail(SB_DAMAGED, "%s: the map of holes of %s is damaged", source->base.name,
                       present_name(source));
    return SB_OK;
}

static enum sb_code check_sum(struct tar_source *source, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; bytes && i < size; i++)
        source->sum += bytes[i];
    if (source->given < source->size || source->sum == source->wanted_sum)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: the bytes of %s are damaged: their sum is not that of "
                   "its header",
                   source->base.name, present_name(source));
}

static void give(struct tar_source *source, const void **data, size_t *size)
{
    int64_t hole = source->data_offset - source->given;

    if (hole > 0) {
        *data = hole < SB_HOLE_LEAST ? zeros : NULL;
        *size = (size_t)hole;
    } else {
        *data = source->data;
        *size = source->data_size;
        source->data_size = 0;
    }
    source->given += (int64_t)*size;
}

static enum sb_code block_of_tar(struct sb_source *base, const void **data, size_t *size)
{
    struct tar_source *source = to_tar(base);
    enum sb_code code = SB_OK;
    locale_t old;

    if (source->given == source->size)
        return SB_END;
    if (source->link) {
        *data = source->link;
        *size = (size_t)source->size;
        source->given = source->size;
        return SB_OK;
    }
    old = uselocale(source->locale);
    if (source->data_size == 0 && source->data_offset <= source->given)
        code = read_data(source);
    if (!code)
        give(source, data, size);
    if (!code && source->summed)
        code = check_sum(source, *data, *size);
    uselocale(old);
    return code;
}

static void free_tar(struct sb_source *base)
{
    struct tar_source *source = to_tar(base);
    locale_t old = source->locale ? uselocale(source->locale) : (locale_t)0;

    archive_read_free(source->archive);
    archive_entry_free(source->entry);
    if (old)
        uselocale(old);
    if (source->locale)
        freelocale(source->locale);
    sb_flow_free(source->flow);
    sb_charset_free(source->charset);
    sb_buf_release(&source->name);
    sb_buf_release(&source->target);
    sb_buf_release(&source->tap);
    sb_buf_release(&source->dump);
    sb_buf_release(&source->rest);
    for (int i = 0; i < GLOBALS; i++)
        sb_buf_release(&source->globals[i]);
    sb_cpio_links_release(&source->links);
    free(source);
}

static enum sb_code open_reader(struct tar_source *source)
{
    struct archive *archive = archive_read_new();
    locale_t old;
    int result;

    source->archive = archive;
    if (!archive || archive_read_support_format_tar(archive) != ARCHIVE_OK ||
        archive_read_support_format_cpio(archive) != ARCHIVE_OK)
        return sb_fail_memory();
    old = uselocale(source->locale);
    result = sb_la_open(archive, source, read_block, skip_bytes);
    uselocale(old);
    if (result == ARCHIVE_OK)
        return SB_OK;
    if (source->in_code) {
        *sb_error() = source->in_err;
        return source->in_code;
    }
    return sb_fail(SB_FORMAT, "%s: %s", source->base.name, foreign(source));
}

enum sb_code sb_source_open_tar(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {
        .free = free_tar, .next = next_in_tar, .block = block_of_tar};
    const struct sb_feed_options how = {.max_size = options->max_size, .threads = options->threads};
    struct tar_source *source;
    CLEANUP(sb_source_freep) struct sb_source *base = NULL;

    *out = NULL;
    TRY(SB_NEW(&source));
    base = &source->base;
    *base = (struct sb_source){.ops = &ops, .name = input->name};
    source->input = input;
    source->notify = notify;
    source->dumps = options->dumps;
    source->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    TRY(sb_tar_join_volumes(input, options->max_size));
    base->total = input->section ? input->section->size : input->pipe ? 0 : input->file->st.st_size;
    if (!source->locale)
        return sb_fail_memory();
    TRY(sb_charset_open(&source->charset, sb_context_now->charset));
    TRY(sb_flow_open(&source->flow, input, &how));
    if (sb_flow_in_one(source->flow) && (input->pipe || base->total >= SMALL_INPUT))
        sb_report(notify, SB_NOTE, "one-piece", NULL,
                  "%s: is compressed in one piece, which one thread decompresses", base->name);
    TRY(open_reader(source));
    *out = TAKE(base);
    return sb_context_now->nested ? sb_tar_nest(out, input, options, notify) : SB_OK;
}

static bool begins_with_zeros(const struct sb_input *input)
{
    return input->first_size == SB_TAR_BLOCK && memcmp(input->first, zeros, SB_TAR_BLOCK) == 0;
}

/* Does a header follow the zeros? */
static bool goes_on_as_tar(const struct sb_input *input)
{
    CLEANUP(sb_freep)
    unsigned char *head = begins_with_zeros(input) ? malloc(SB_AHEAD_BYTES) : NULL;
    size_t got = head ? sb_input_ahead(input, head, SB_AHEAD_BYTES) : 0, at = SB_TAR_BLOCK;

    while (at + SB_TAR_BLOCK <= got && memcmp(head + at, zeros, SB_TAR_BLOCK) == 0)
        at += SB_TAR_BLOCK;
    return at + SB_TAR_BLOCK <= got && sb_tar_is_header(head + at);
}

/* A tar begins with a name, and that may be like anything: its header is surer than a few bytes. */
static enum sb_sure begins_as_tar(const struct sb_input *input)
{
    if (input->first_size == SB_TAR_BLOCK && sb_tar_is_header(input->first))
        return SB_BY_HEADER;
    if (begins_with_zeros(input))
        return SB_BY_ZEROS;
    return sb_filter_by_content(input->first, input->first_size) != SB_FILTER_NONE ? SB_BY_FILTER
                                                                                   : SB_NO;
}

static enum sb_sure begins_as_cpio(const struct sb_input *input)
{
    return sb_cpio_begins(input->first, input->first_size) ? SB_BY_MAGIC : SB_NO;
}

static const char *unproved(const struct sb_input *input)
{
    switch (input->type.filter) {
    case SB_FILTER_GZIP:
    case SB_FILTER_BZIP2:
    case SB_FILTER_XZ:
        return "members have no checksums of their own; those of the compression cover them all";
    case SB_FILTER_ZSTD:
    case SB_FILTER_LZ4:
        return "members have no checksums of their own; those of the compression cover them all, "
               "if it was written with any";
    default:
        return input->type.kind == SB_CPIO
                   ? "a cpio has no checksums of contents: bytes that changed go unnoticed"
                   : "a tar has no checksums of contents: bytes that changed go unnoticed";
    }
}

static const struct sb_kind_word tar_words[] = {
    {"tar", SB_FILTER_NONE, false},
    {"tar.gz", SB_FILTER_GZIP, false},
    {"tgz", SB_FILTER_GZIP, false},
    {"tar.bz2", SB_FILTER_BZIP2, false},
    {"tbz2", SB_FILTER_BZIP2, false},
    {"tbz", SB_FILTER_BZIP2, false},
    {"tar.xz", SB_FILTER_XZ, false},
    {"txz", SB_FILTER_XZ, false},
    {"tar.lzma", SB_FILTER_LZMA, false},
    {"tlz", SB_FILTER_LZMA, false},
    {"tar.zst", SB_FILTER_ZSTD, false},
    {"tzst", SB_FILTER_ZSTD, false},
    {"tar.lz4", SB_FILTER_LZ4, false},
    {"tar.Z", SB_FILTER_COMPRESS, false},
    {"taz", SB_FILTER_COMPRESS, false},
    {"tar.lz", SB_FILTER_LZIP, false},
    {0},
};

static const struct sb_kind_word cpio_words[] = {
    {"cpio", SB_FILTER_NONE, false},
    {"cpio.gz", SB_FILTER_GZIP, false},
    {"cpio.zst", SB_FILTER_ZSTD, false},
    {"cpio.xz", SB_FILTER_XZ, false},
    {0},
};

const struct sb_kind sb_tar_kind = {
    .word = "tar",
    .words = tar_words,
    .can = SB_CAN_PATHS | SB_CAN_PLACES | SB_CAN_REPEAT,
    .can_in_pieces = SB_CAN_REPEAT,
    .can_as_several = SB_CAN_PATHS | SB_CAN_REPEAT,
    .time_grain = SB_SECOND,
    .by_name = sb_tar_names_volumes,
    .by_content = begins_as_tar,
    .by_rest = goes_on_as_tar,
    .unproved = unproved,
    .takes = SB_TO_PIPE | SB_TO_SUBTREES | SB_TO_SPARSE,
    .source = sb_source_open_tar,
    .sink = sb_sink_open_tar,
    .scan = sb_source_open_tar_scan,
};

const struct sb_kind sb_cpio_kind = {
    .word = "cpio",
    .words = cpio_words,
    .can = SB_CAN_PATHS | SB_CAN_PLACES | SB_CAN_REPEAT,
    .can_in_pieces = SB_CAN_REPEAT,
    .time_grain = SB_SECOND,
    .by_content = begins_as_cpio,
    .unproved = unproved,
    .source = sb_source_open_tar,
};
