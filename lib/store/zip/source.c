#include "archive/database.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/context.h"
#include "core/number.h"
#include "store/kind.h"
#include "store/sinks.h"
#include "store/zip/impl.h"

#include <ctype.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/*
 * The files that a zip is split over, next to each other, as one.
 *
 * x.z01, x.z02, ... x.zip are split by their writer, as by zip -s (APPNOTE, section 8): offsets
 * count within each. x.zip.001, x.zip.002, ... were cut anywhere, as by 7z -v or split. Any of them
 * is the name of all.
 */

#define DIGITS_MOST 6

/* What names of the files have in common. */
struct series {
    const char *path;
    int stem;      /* bytes of the path, up to the point */
    int digits;    /* of .001; 0: of .z01 and .zip */
    unsigned last; /* of .z01: the number of the file .zip; 0: not known */
    unsigned number;
    bool upper; /* .Z01 and .ZIP */
};

struct paths {
    char **all;
    size_t count, capacity;
};

static bool parse(const char *path, struct series *out)
{
    int size = (int)strlen(path), digits = 0;

    *out = (struct series){.path = path};
    while (digits < size && isdigit((unsigned char)path[size - 1 - digits]))
        digits++;
    if (digits > DIGITS_MOST || size - digits < 3)
        return false;
    out->number = (unsigned)strtoul(path + size - digits, NULL, 10);
    out->stem = size - digits;
    if (digits >= 3 && path[out->stem - 1] == '.') {
        out->digits = digits;
        return out->number > 0;
    }
    out->stem = digits ? out->stem - 1 : size - 3;
    out->upper = path[out->stem] == 'Z';
    if (out->stem < 2 || path[out->stem - 1] != '.' || path[out->stem - 2] == '/')
        return false;
    return digits >= 2 ? tolower(path[out->stem]) == 'z' && out->number > 0
                       : digits == 0 && strcasecmp(path + out->stem, "zip") == 0;
}

/* The caller frees it. */
static enum sb_code name_of(const struct series *series, unsigned number, char **name)
{
    int size;

    if (series->digits > 0)
        size = asprintf(name, "%.*s%0*u", series->stem, series->path, series->digits, number);
    else if (number == series->last)
        size = asprintf(name, "%.*s%s", series->stem, series->path, series->upper ? "ZIP" : "zip");
    else
        size = asprintf(name, "%.*s%c%02u", series->stem, series->path, series->upper ? 'Z' : 'z',
                        number);
    if (size >= 0)
        return SB_OK;
    *name = NULL;
    return sb_fail_memory();
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->all[i]);
    free(paths->all);
}

static enum sb_code missing(const struct series *series, unsigned number)
{
    CLEANUP(sb_freep) char *name = NULL;

    TRY(name_of(series, number, &name));
    return sb_fail(SB_FORMAT, "%s: is one of the files of a split zip, and %s is missing",
                   series->path, name);
}

/* Those that there are, from the first on, up to number `most` or the first that is missing. */
static enum sb_code list(const struct series *series, unsigned most, struct paths *out)
{
    for (unsigned number = 1; number <= most; number++) {
        CLEANUP(sb_freep) char *name = NULL;

        TRY(name_of(series, number, &name));
        if (access(name, F_OK))
            break;
        TRY(sb_grow(&out->all, &out->capacity, out->count + 1, sizeof(*out->all)));
        out->all[out->count++] = TAKE(name);
    }
    return SB_OK;
}

/* Joins the files to *file, and finds the end of that. On failure *file is as before. */
static enum sb_code join(struct sb_file **file, const struct paths *paths, struct sb_zip_end *end)
{
    CLEANUP(sb_file_freep) struct sb_file *joined = sb_file_ref(*file);

    TRY(sb_file_join(&joined, paths->all, paths->count));
    TRY(sb_zip_find_end(joined, end));
    sb_file_free(*file);
    *file = TAKE(joined);
    return SB_OK;
}

/*
 * alone: what finding the end of the file alone came to. Where it is a zip of its own, it is the
 * first of several only if the zip that those are begins with it.
 */
static enum sb_code join_numbered(struct sb_file **file, const struct series *series,
                                  struct sb_zip_end *end, enum sb_code alone)
{
    CLEANUP(sb_file_freep) struct sb_file *whole = sb_file_ref(*file);
    CLEANUP(sb_zip_end_release) struct sb_zip_end found = {0};
    CLEANUP(free_paths) struct paths paths = {.count = 0};
    enum sb_code code = list(series, UINT32_MAX, &paths);

    if (code == SB_OK && paths.count >= series->number)
        code = join(&whole, &paths, &found);
    else if (code == SB_OK)
        code = missing(series, (unsigned)paths.count + 1);
    if ((code == SB_FORMAT || code == SB_DAMAGED) && found.volumes == 0)
        code = missing(series, (unsigned)paths.count + 1);
    if (code || (!alone && found.base != 0))
        return alone ? code : SB_OK;
    sb_file_free(*file);
    *file = TAKE(whole);
    sb_zip_end_release(end);
    *end = found;
    found.starts = NULL;
    return SB_OK;
}

/* How many files there are, as the last one says. 0: it is not the last one of several. */
static enum sb_code count_volumes(struct series *series, unsigned *out)
{
    CLEANUP(sb_freep) char *name = NULL;
    CLEANUP(sb_zip_end_release) struct sb_zip_end end = {0};
    CLEANUP(sb_file_freep) struct sb_file *last = NULL;

    *out = 0;
    TRY(name_of(series, series->last, &name));
    if (sb_file_open(&last, name, "file of a split zip"))
        return sb_error()->code == SB_NOENT ? missing(series, series->last) : sb_error()->code;
    (void)!IGNORED(sb_zip_find_end(last, &end));
    *out = end.volumes > 1 ? end.volumes : 0;
    return SB_OK;
}

static enum sb_code join_lettered(struct sb_file **file, struct series *series,
                                  struct sb_zip_end *end, enum sb_code code)
{
    CLEANUP(free_paths) struct paths paths = {.count = 0};
    struct sb_error failure;
    unsigned volumes = end->volumes;

    if (series->number > 0 && INTO(&failure, count_volumes(series, &volumes))) {
        *sb_error() = failure;
        return sb_error()->code;
    }
    if (code == SB_OK || volumes <= 1 || volumes > SB_ZIP_IN_64_SHORT)
        return code;
    series->last = volumes;
    sb_zip_end_release(end);
    TRY(list(series, volumes, &paths));
    if (paths.count < volumes)
        return missing(series, (unsigned)paths.count + 1);
    return join(file, &paths, end);
}

/*
 * As sb_zip_find_end, and where the path names a file of several, *file becomes all of them.
 * SB_FORMAT, too: one of them is missing, which the text names.
 */
static enum sb_code open_volumes(struct sb_file **file, const char *path, struct sb_zip_end *end)
{
    struct series series;
    enum sb_code code = sb_zip_find_end(*file, end);

    if ((code && code != SB_FORMAT && code != SB_DAMAGED) || !parse(path, &series) ||
        (code == SB_OK && series.number != 1))
        return code;
    return series.digits > 0 ? join_numbered(file, &series, end, code)
                             : join_lettered(file, &series, end, code);
}

/* Is it the name of a file of several that nothing in it shows to be one? */
static bool is_volume(const char *path)
{
    struct series series;
    CLEANUP(sb_freep) char *name = NULL;
    CLEANUP(sb_file_freep) struct sb_file *first = NULL;
    uint8_t magic[4] = {0};
    size_t got = 0;

    if (!parse(path, &series) || IGNORED(name_of(&series, 1, &name)) ||
        IGNORED(sb_file_open(&first, name, "file of a split zip")))
        return false;
    (void)!IGNORED(sb_file_read(first, magic, sizeof(magic), 0, &got));
    return sb_get_u32(magic) == SB_ZIP_LOCAL || sb_get_u32(magic) == SB_ZIP_DESCRIPTOR;
}

struct zip_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct sb_zip_file file;
    struct sb_zip_end end;
    struct sb_zip_walk walk;
    struct sb_zip_clock clock;
    struct sb_zip_naming naming;
    int64_t guessed; /* names whose charset nothing says */
    bool locate;
    int64_t last_end; /* of the member before, by the directory */
    bool out_of_order;
};

static void free_source(struct sb_source *base)
{
    struct zip_source *zip = (struct zip_source *)base;

    sb_zip_walk_end(&zip->walk);
    sb_zip_end_release(&zip->end);
    sb_charset_free(zip->naming.charset);
    sb_buf_release(&zip->naming.name);
    free(zip);
}

/* At the earliest: the name in the local header may be shorter than this one. */
static int64_t end_of(const struct sb_zip_record *record)
{
    return record->offset + SB_ZIP_LOCAL_SIZE + record->packed;
}

/* Holds all members of a directory that is not in their order against each other. */
static enum sb_code check_overlaps(const struct zip_source *zip)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *insert = NULL, *select = NULL;
    CLEANUP(sb_zip_walk_end) struct sb_zip_walk walk = {0};
    struct sb_zip_record record;
    enum sb_code code = SB_OK;

    TRY(SB_TABLES(&db, zip->base.name, "CREATE TABLE ranges (start INTEGER, stop INTEGER); BEGIN",
                  {&insert, "INSERT INTO ranges VALUES (?1, ?2)"},
                  {&select, "SELECT start, stop FROM ranges ORDER BY start, stop"}));
    TRY(sb_zip_walk_begin(&walk, zip->file.bytes, &zip->end));
    while (code == SB_OK) {
        code = sb_zip_walk_next(&walk, &record);
        if (!code && !record.defect)
            TRY(SB_RUN(insert, record.offset, end_of(&record)));
    }
    if (code != SB_END)
        return code;
    code = SB_OK;
    for (int64_t end = 0; sb_database_row(select, &code); end = sqlite3_column_int64(select, 1)) {
        if (sqlite3_column_int64(select, 0) < end)
            return sb_fail(SB_DAMAGED,
                           "%s: members lie over each other, as in a zip bomb; nothing more is "
                           "read of it",
                           zip->base.name);
    }
    return code;
}

/* Where the directory is in the order of the members, each is held against the one before. */
static enum sb_code check_place(struct zip_source *zip, const struct sb_zip_record *record)
{
    if (zip->out_of_order)
        return SB_OK;
    if (record->offset < zip->last_end) {
        zip->out_of_order = true;
        return check_overlaps(zip);
    }
    zip->last_end = end_of(record);
    return SB_OK;
}

static enum sb_code read_header(const struct sb_zip_file *file, const struct sb_member *member,
                                struct sb_zip_local *local)
{
    uint8_t header[SB_ZIP_LOCAL_SIZE];
    int64_t offset = sb_zip_place_of(member).offset;
    size_t got;

    TRY(sb_file_read(file->bytes, header, sizeof(header), offset, &got));
    if (got < sizeof(header))
        return sb_fail(SB_DAMAGED, "its local header ends early; left out");
    return sb_zip_read_local(header, file, member, local);
}

/* Owners that only the local header holds. Where it is damaged, that is reported with the bytes. */
static enum sb_code complete(const struct zip_source *zip, struct sb_member *member)
{
    CLEANUP(sb_freep) uint8_t *extra = NULL;
    struct sb_zip_local local;
    size_t got;
    enum sb_code code = read_header(&zip->file, member, &local);

    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    TRY(sb_alloc(&extra, local.extra_size + 1));
    TRY(sb_file_read(zip->file.bytes, extra, local.extra_size,
                     local.data - (int64_t)local.extra_size, &got));
    sb_zip_member_complete(member, extra, got);
    return SB_OK;
}

/* Finds the bytes of a stored member. SB_END: it is left out, which was reported. */
static enum sb_code locate(const struct zip_source *zip, struct sb_member *member)
{
    struct sb_zip_local local;
    enum sb_code code;

    if (!zip->locate || member->entry.type == SB_DIR || member->special ||
        sb_zip_place_of(member).method != SB_ZIP_STORED)
        return SB_OK;
    code = read_header(&zip->file, member, &local);
    if (code == SB_DAMAGED) {
        sb_report(zip->notify, SB_PROBLEM, "damaged", member->entry.path, "%s", sb_error()->text);
        return SB_END;
    }
    if (code)
        return code;
    member->located = true;
    member->at = local.data;
    return SB_OK;
}

/* SB_END: the record gives no member, which was reported. */
static enum sb_code make_member(struct zip_source *zip, const struct sb_zip_record *record,
                                struct sb_member *member)
{
    struct sb_entry *entry = &member->entry;

    TRY(sb_zip_member_fill(member, record, &zip->clock, &zip->naming));
    zip->guessed += zip->naming.guessed;
    if (zip->naming.failed)
        sb_report(zip->notify, SB_PROBLEM, "name", member->entry.path, SB_NOT_IN_CHARSET,
                  sb_context_now->charset);
    if (!(entry->has & SB_HAS_UID) && (entry->uid > SB_ID_MOST || entry->gid > SB_ID_MOST)) {
        sb_report(zip->notify, SB_LOSS, "owner", entry->path, SB_NO_OWNER, entry->uid, entry->gid);
        entry->uid = entry->gid = 0;
    }
    if (record->defect) {
        sb_report(zip->notify, SB_PROBLEM, "damaged", member->entry.path, "%s; left out",
                  record->defect);
        return SB_END;
    }
    if (record->two_sizes)
        sb_report(zip->notify, SB_PROBLEM, "damaged", member->entry.path,
                  "is stored, but said to have another size; all of its bytes are taken");
    TRY(check_place(zip, record));
    if (record->flags & (SB_ZIP_ENCRYPTED | SB_ZIP_HIDDEN)) {
        sb_report(zip->notify, SB_PROBLEM, "encrypted", member->entry.path,
                  "is encrypted; left out: unpack it with unzip or 7z, which ask for the password");
        return SB_END;
    }
    if (sb_zip_record_is_partial(record))
        TRY(complete(zip, member));
    return locate(zip, member);
}

/* What is known once all members have come. */
static void report_end(const struct zip_source *zip)
{
    const struct sb_zip_walk *walk = &zip->walk;

    if (!sb_zip_walk_is_complete(walk))
        sb_report(zip->notify, SB_PROBLEM, "damaged", NULL,
                  "%s: the central directory has %lld members, its end record says %lld",
                  zip->base.name, (long long)walk->seen, (long long)walk->end->count);
    if (zip->guessed > 0)
        sb_report(zip->notify, SB_WARNING, "charset", NULL,
                  "%s: has %lld name%s not UTF-8, and does not say in which charset; "
                  "--iconv=CHARSET does, such as CP932, GBK or CP437",
                  zip->base.name, (long long)zip->guessed,
                  zip->guessed == 1 ? " that is" : "s that are");
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member)
{
    struct zip_source *zip = (struct zip_source *)base;
    struct sb_zip_record record;
    enum sb_code code;

    do {
        code = sb_zip_walk_next(&zip->walk, &record);
        if (code == SB_END)
            report_end(zip);
        if (code)
            return code;
        sb_count_up(&base->done, record.packed);
        code = make_member(zip, &record, member);
    } while (code == SB_END);
    return code;
}

static enum sb_code open_loader(struct sb_source *base, struct sb_loader **out)
{
    struct zip_source *zip = (struct zip_source *)base;

    return sb_zip_loader_new(out, base, &zip->file);
}

static const struct sb_source_ops zip_ops = {
    .free = free_source,
    .next = next_member,
    .open_loader = open_loader,
    .free_loader = sb_zip_loader_free,
    .load = sb_zip_loader_load,
    .stream = sb_zip_loader_stream,
};

static enum sb_code begin(struct zip_source *zip, struct sb_input *input,
                          const struct sb_source_options *options)
{
    TRY(sb_charset_open(&zip->naming.charset, sb_context_now->charset));
    TRY(sb_input_spool(input, options->max_size));
    TRY(input->pipe ? sb_zip_find_end(input->file, &zip->end)
                    : open_volumes(&input->file, input->path, &zip->end));
    zip->file.bytes = input->file;
    zip->locate = options->locate && !input->file->parts; /* an index can point at one file only */
    zip->file.end = zip->end.start;
    zip->base.total = zip->end.start - zip->end.base;
    if (zip->end.junk > 0)
        sb_report(zip->notify, SB_LOSS, "junk", NULL, "%s: has %lld bytes after its end",
                  zip->base.name, (long long)zip->end.junk);
    if (zip->end.cut)
        sb_report(zip->notify, SB_LOSS, "comment", NULL,
                  "%s: its comment, which nothing follows, is cut short", zip->base.name);
    if (zip->end.comment > 0)
        sb_report(zip->notify, SB_NOTE, "comment", NULL,
                  "%s: has a comment of %zu bytes, which is not taken along", zip->base.name,
                  zip->end.comment);
    return sb_zip_walk_begin(&zip->walk, input->file, &zip->end);
}

enum sb_code sb_source_open_zip(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify)
{
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    struct zip_source *zip;

    *out = NULL;
    TRY(SB_NEW(&zip));
    source = &zip->base;
    *source = (struct sb_source){.ops = &zip_ops, .name = input->name, .loads = true};
    zip->notify = notify;
    zip->file.no_check = options->no_check;
    TRY(begin(zip, input, options));
    *out = TAKE(source);
    return SB_OK;
}

static enum sb_sure begins_as_zip(const struct sb_input *input)
{
    static const char *const magics[] = {"PK\3\4", "PK\5\6", "PK\7\10", "PK00PK\3\4"};

    for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
        if (sb_input_begins(input, magics[i], strlen(magics[i])))
            return SB_BY_MAGIC;
    }
    return SB_NO;
}

static bool has(const char *data, size_t size, const char *magic)
{
    return memmem(data, size, magic, strlen(magic)) != NULL;
}

/* A zip may have anything before it: a program that unpacks it. The end of a pipe is not seen. */
static bool has_signature(const struct sb_input *input)
{
    size_t most = input->pipe ? SB_AHEAD_BYTES : SB_ZIP_END_SIZE + SB_ZIP_COMMENT_MAX;
    CLEANUP(sb_freep) char *data = malloc(most);
    size_t got;

    if (!data)
        return false;
    got = input->pipe ? sb_input_ahead(input, data, most) : sb_input_tail(input, data, most);
    return got >= SB_ZIP_END_SIZE && (has(data, got - SB_ZIP_END_SIZE + 4, "PK\5\6") ||
                                      (input->pipe && has(data, got, "PK\3\4")));
}

static bool goes_on_as_zip(const struct sb_input *input)
{
    return has_signature(input) || (!input->pipe && is_volume(input->path));
}

static const char *unproved(const struct sb_input *input)
{
    (void)input;
    return "a zip has a CRC-32 of each member's bytes, but none of names, modes and times";
}

const struct sb_kind sb_zip_kind = {
    .word = "zip",
    .words =
        (const struct sb_kind_word[]){
            {"zip", 0, false}, {"whl", 0, false}, {"jar", 0, false}, {"npz", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_PLACES,
    .can_in_pieces = SB_CAN_PATHS,
    .has_checksums = true,
    .time_grain = 2 * INT64_C(1000000000),
    .by_content = begins_as_zip,
    .by_rest = goes_on_as_zip,
    .unproved = unproved,
    .takes = SB_TO_MEMBERS | SB_TO_PIPE | SB_TO_SUBTREES,
    .source = sb_source_open_zip,
    .sink = sb_sink_open_zip,
};
