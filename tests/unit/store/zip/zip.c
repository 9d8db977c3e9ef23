/*
 * Zip files that say what is not so: each is made here, byte by byte, from one that is sound.
 */
#include "check.h"

#include "core/buf.h"
#include "core/context.h"
#include "store/kind.h"
#include "store/zip/format.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#define ROOM 65536

/* A zip under construction; made by make_two or add. */
struct zip {
    struct sb_buf bytes;   /* local headers and data */
    struct sb_buf central; /* records */
    unsigned count;
    size_t start;     /* of the central directory, once finished */
    size_t locals[4]; /* places of the first local headers */
    size_t records[4];
};

struct part {
    const char *name;
    const char *local_name; /* NULL: the same */
    const char *data;
    unsigned method;
    unsigned flags;
    unsigned version;
    unsigned host;
    uint32_t attributes;
    const char *extra;
    size_t extra_size;
};

static void append(struct sb_buf *buf, const void *data, size_t size)
{
    if (sb_buf_add(buf, data, size))
        abort();
}

static size_t deflated(const char *data, size_t size, uint8_t *out, size_t room)
{
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)size};

    z.next_out = out;
    z.avail_out = (uInt)room;
    if (deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&z);
    return z.total_out;
}

static void add(struct zip *zip, const struct part *part)
{
    const char *local_name = part->local_name ? part->local_name : part->name;
    size_t size = strlen(part->data), packed = size, name_size = strlen(part->name);
    uint8_t data[512], local[SB_ZIP_LOCAL_SIZE] = {0}, central[SB_ZIP_CENTRAL_SIZE] = {0};
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)part->data, (uInt)size);

    memcpy(data, part->data, size);
    if (part->method == SB_ZIP_DEFLATED)
        packed = deflated(part->data, size, data, sizeof(data));
    zip->locals[zip->count] = zip->bytes.size;
    zip->records[zip->count++] = zip->central.size;

    sb_put_u32(local, SB_ZIP_LOCAL);
    sb_put_u16(local + 4, 20);
    sb_put_u16(local + 6, part->flags);
    sb_put_u16(local + 8, part->method);
    sb_put_u32(local + 14, crc);
    sb_put_u32(local + 18, (uint32_t)packed);
    sb_put_u32(local + 22, (uint32_t)size);
    sb_put_u16(local + 26, (unsigned)strlen(local_name));

    sb_put_u32(central, SB_ZIP_CENTRAL);
    central[4] = (uint8_t)part->version;
    central[5] = (uint8_t)part->host;
    memcpy(central + 6, local + 4, 26);
    sb_put_u16(central + 28, (unsigned)name_size);
    sb_put_u16(central + 30, (unsigned)part->extra_size);
    sb_put_u32(central + 38, part->attributes);
    sb_put_u32(central + 42, (uint32_t)zip->bytes.size);

    append(&zip->bytes, local, sizeof(local));
    append(&zip->bytes, local_name, strlen(local_name));
    append(&zip->bytes, data, packed);
    append(&zip->central, central, sizeof(central));
    append(&zip->central, part->name, name_size);
    append(&zip->central, part->extra, part->extra_size);
}

/* Puts the directory and the end record behind the members. */
static void finish(struct zip *zip)
{
    uint8_t end[SB_ZIP_END_SIZE] = {0};

    zip->start = zip->bytes.size;
    sb_put_u32(end, SB_ZIP_END);
    sb_put_u16(end + 8, zip->count);
    sb_put_u16(end + 10, zip->count);
    sb_put_u32(end + 12, (uint32_t)zip->central.size);
    sb_put_u32(end + 16, (uint32_t)zip->start);
    append(&zip->bytes, zip->central.data, zip->central.size);
    append(&zip->bytes, end, sizeof(end));
}

static const char long_text[] = "long long long long long long long long long long long text";

/* "stored" and "packed", which is deflated, in this order. */
static struct zip make_two(void)
{
    struct zip zip = {.count = 0};

    add(&zip, &(struct part){.name = "stored", .data = "text"});
    add(&zip, &(struct part){.name = "packed", .data = long_text, .method = SB_ZIP_DEFLATED});
    finish(&zip);
    return zip;
}

static void release(struct zip *zip)
{
    sb_buf_release(&zip->bytes);
    sb_buf_release(&zip->central);
}

static uint8_t *local(struct zip *zip, size_t index)
{
    return (uint8_t *)zip->bytes.data + zip->locals[index];
}

static uint8_t *record(struct zip *zip, size_t index)
{
    return (uint8_t *)zip->bytes.data + zip->start + zip->records[index];
}

static uint8_t *end_of(struct zip *zip)
{
    return (uint8_t *)zip->bytes.data + zip->bytes.size - SB_ZIP_END_SIZE;
}

/* What reading a zip came to, as lines: "NAME=TEXT", "KIND: NAME" for an event, the end's code. */
struct reading {
    struct sb_buf text;
    struct sb_buf all;
};

static void note(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct reading *reading = context;

    (void)text;
    if (level != SB_NOTE &&
        sb_buf_add_format(&reading->text, "%s: %s\n", kind, subject ? subject : "-"))
        abort();
}

static enum sb_code collect(void *context, const void *data, size_t size)
{
    struct reading *reading = context;

    return sb_buf_add(&reading->all, data, size) ? sb_fail_memory() : SB_OK;
}

static void read_member(struct reading *reading, struct sb_loader *loader, struct sb_member *member,
                        bool stream, const struct sb_notify *notify)
{
    struct sb_events events = {.text = {0}};
    char data[ROOM];
    enum sb_code code;

    sb_buf_clear(&reading->all);
    if (member->entry.type == SB_DIR) {
        if (sb_buf_add_format(&reading->text, "%s\n", member->entry.path))
            abort();
        return;
    }
    if (stream)
        code = sb_loader_stream(loader, member, collect, reading, &events);
    else
        code = sb_loader_load(loader, member, data, sizeof(data), &events);
    if (code == SB_OK && !stream)
        append(&reading->all, data, (size_t)member->entry.size);
    sb_events_report(&events, notify);
    sb_events_release(&events);
    if (code == SB_OK && sb_buf_add_format(&reading->text, "%s=%.*s\n", member->entry.path,
                                           (int)reading->all.size, reading->all.data))
        abort();
    CHECK(code == SB_OK || code == SB_END);
}

struct how {
    bool stream, no_check, pipe, locate;
    int64_t max_size;
};

static enum sb_code read_source(struct reading *reading, struct sb_source *source,
                                const struct how *how, const struct sb_notify *notify)
{
    struct sb_loader *loader;
    struct sb_member member;
    enum sb_code code;

    if (sb_loader_open(source, &loader))
        abort();
    while ((code = sb_source_next(source, &member)) == SB_OK) {
        if (member.located && sb_buf_add_format(&reading->text, "at %lld: ", (long long)member.at))
            abort();
        read_member(reading, loader, &member, how->stream, notify);
    }
    sb_loader_free(loader);
    return code;
}

static int give(const char *data, size_t size, bool pipe_wanted)
{
    int fds[2];

    if (!pipe_wanted) {
        fds[0] = memfd_create("zip", 0);
        if (write(fds[0], data, size) != (ssize_t)size)
            abort();
        return fds[0];
    }
    if (pipe(fds) || write(fds[1], data, size) != (ssize_t)size)
        abort();
    close(fds[1]);
    return fds[0];
}

/* Everything that comes out of these bytes; the caller frees the text. */
static char *read_bytes(const char *data, size_t size, const struct how *how)
{
    struct reading reading = {.text = {0}};
    const struct sb_notify notify = {note, &reading};
    const struct sb_source_options source_options = {
        .max_size = how->max_size, .no_check = how->no_check, .locate = how->locate};
    struct sb_input input = {.path = "zip", .name = "zip"};
    struct sb_source *source;
    enum sb_code code;

    CHECK(sb_file_take(how->pipe ? &input.pipe : &input.file, give(data, size, how->pipe), "zip") ==
          SB_OK);
    code = sb_source_open_zip(&source, &input, &source_options, &notify);
    if (code == SB_OK)
        code = read_source(&reading, source, how, &notify);
    sb_source_free(source);
    sb_input_close(&input);
    if (code != SB_END && sb_buf_add_format(&reading.text, "%s\n",
                                            code == SB_DAMAGED  ? "DAMAGED"
                                            : code == SB_FORMAT ? "FORMAT"
                                            : code == SB_LIMIT  ? "LIMIT"
                                                                : "OTHER"))
        abort();
    sb_buf_release(&reading.all);
    return reading.text.data;
}

#define CHECK_READS(zip, wanted, ...)                                                              \
    do {                                                                                           \
        char *text_ =                                                                              \
            read_bytes((zip)->bytes.data, (zip)->bytes.size, &(struct how){__VA_ARGS__});          \
        CHECK_TEXT(text_, wanted);                                                                 \
        free(text_);                                                                               \
    } while (0)

#define SOUND "stored=text\npacked=" LONG "\n"
#define LONG  "long long long long long long long long long long long text"

static void sound_ones(void)
{
    struct zip zip = make_two(), empty = {.count = 0};

    CHECK_READS(&zip, SOUND, .stream = false);
    CHECK_READS(&zip, SOUND, .stream = true);
    CHECK_READS(&zip, SOUND, .pipe = true);
    CHECK_READS(&zip, "at 36: " SOUND, .locate = true);
    release(&zip);
    finish(&empty);
    CHECK(empty.bytes.size == SB_ZIP_END_SIZE);
    free(read_bytes(empty.bytes.data, empty.bytes.size, &(struct how){.stream = false}));
    release(&empty);
}

static void bytes_around(void)
{
    struct zip zip = make_two();
    struct sb_buf around = {.size = 0};

    append(&around, "#!/bin/sh\n", 10);
    append(&around, zip.bytes.data, zip.bytes.size);
    CHECK_READS(&((struct zip){.bytes = around}), "at 46: " SOUND, .locate = true);
    append(&around, "\0\0\0", 3);
    CHECK_READS(&((struct zip){.bytes = around}), SOUND, .stream = false);
    append(&around, "junk", 4);
    CHECK_READS(&((struct zip){.bytes = around}), "junk: -\n" SOUND, .stream = false);
    sb_buf_release(&around);

    sb_put_u16(end_of(&zip) + 20, 4);
    append(&zip.bytes, "note", 4);
    CHECK_READS(&zip, SOUND, .stream = false);
    sb_buf_cut(&zip.bytes, zip.bytes.size - 1);
    CHECK_READS(&zip, "comment: -\n" SOUND, .stream = false);
    release(&zip);
}

/* Padding before the directory, which its offset counts or not, and before the end record. */
static void bytes_between(void)
{
    struct zip zip = make_two();
    size_t end = zip.bytes.size - SB_ZIP_END_SIZE;
    struct sb_buf padded = {.size = 0};

    append(&padded, zip.bytes.data, zip.start);
    append(&padded, "padding", 7);
    append(&padded, zip.bytes.data + zip.start, zip.bytes.size - zip.start);
    CHECK_READS(&((struct zip){.bytes = padded}), SOUND, .stream = false);
    sb_put_u32((uint8_t *)padded.data + end + 7 + 16, (uint32_t)zip.start + 7);
    CHECK_READS(&((struct zip){.bytes = padded}), SOUND, .stream = false);

    sb_buf_clear(&padded);
    append(&padded, zip.bytes.data, end);
    append(&padded, "padding", 7);
    append(&padded, zip.bytes.data + end, SB_ZIP_END_SIZE);
    CHECK_READS(&((struct zip){.bytes = padded}), SOUND, .stream = false);
    sb_buf_release(&padded);
    release(&zip);
}

static void cut_short(void)
{
    struct zip zip = make_two();

    for (size_t size = 0; size < zip.bytes.size; size++) {
        char *text = read_bytes(zip.bytes.data, size, &(struct how){.stream = false});

        CHECK_TEXT(text, size < 4 ? "FORMAT\n" : "DAMAGED\n");
        free(text);
    }
    for (size_t from = 1; from < zip.start; from++) {
        char *text = read_bytes(zip.bytes.data + from, zip.bytes.size - from,
                                &(struct how){.stream = false});

        CHECK_TEXT(text, "DAMAGED\n");
        free(text);
    }
    release(&zip);
}

static void too_large_for_a_pipe(void)
{
    struct zip zip = make_two();

    CHECK_READS(&zip, "LIMIT\n", .pipe = true, .max_size = 100);
    CHECK_READS(&zip, SOUND, .pipe = true, .max_size = (int64_t)zip.bytes.size);
    release(&zip);
}

static void damaged_bytes(void)
{
    struct zip zip = make_two();

    local(&zip, 0)[36] ^= 1;
    CHECK_READS(&zip, "checksum: stored\npacked=" LONG "\n", .stream = false);
    CHECK_READS(&zip, "checksum: stored\npacked=" LONG "\n", .stream = true);
    CHECK_READS(&zip, "stored=uext\npacked=" LONG "\n", .no_check = true);
    local(&zip, 0)[36] ^= 1;
    local(&zip, 1)[36] ^= 0xff;
    CHECK_READS(&zip, "stored=text\ndamaged: packed\n", .stream = false);
    release(&zip);
}

/* What a directory says of a deflated member's size is held against what comes out. */
static void sizes_that_lie(void)
{
    struct zip zip = make_two();
    uint32_t size = sizeof(long_text) - 1;

    sb_put_u32(record(&zip, 1) + 24, size - 1);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\ndamaged: packed\n", .stream = false);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\ndamaged: packed\n", .stream = true);
    sb_put_u32(record(&zip, 1) + 24, size + 1);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\ndamaged: packed\n", .stream = false);
    sb_put_u32(record(&zip, 1) + 24, size);
    sb_put_u32(record(&zip, 0) + 24, 3);
    CHECK_READS(&zip, "damaged: stored\n" SOUND, .stream = false);
    release(&zip);
}

static void headers_that_disagree(void)
{
    struct zip zip = make_two();

    local(&zip, 0)[30] = 'S';
    CHECK_READS(&zip, "name: stored\n" SOUND, .stream = false);
    local(&zip, 0)[30] = 's';
    sb_put_u16(local(&zip, 0) + 8, SB_ZIP_DEFLATED);
    CHECK_READS(&zip, "damaged: stored\npacked=" LONG "\n", .stream = false);
    CHECK_READS(&zip, "damaged: stored\npacked=" LONG "\n", .locate = true);
    sb_put_u16(local(&zip, 0) + 8, SB_ZIP_STORED);
    sb_put_u32(local(&zip, 0) + 18, 5);
    CHECK_READS(&zip, "damaged: stored\n" SOUND, .stream = false);
    sb_put_u16(local(&zip, 0) + 6, SB_ZIP_SIZES_AFTER);
    CHECK_READS(&zip, SOUND, .stream = false);
    sb_put_u32(local(&zip, 0), 0);
    CHECK_READS(&zip, "damaged: stored\npacked=" LONG "\n", .stream = false);
    release(&zip);
}

/* The local header has its name by itself: shorter, longer, in another charset. */
static void local_names(void)
{
    static const struct {
        const char *central, *local;
        unsigned flags; /* of the local header */
        const char *reads;
    } cases[] = {
        {"name", "", 0, "name: name\nname=text\n"},
        {"name", "another name", 0, "name: name\nname=text\n"},
        {"\x81", "\xc3\xbc", SB_ZIP_UTF8, "\xc3\xbc=text\n"},
        {"\xc3\xbc", "\x81", 0, "\xc3\xbc=text\n"},
        {"\xc3\xbc", "\x81", SB_ZIP_UTF8, "name: \xc3\xbc\n\xc3\xbc=text\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct zip zip = {.count = 0};
        char all[256];

        add(&zip,
            &(struct part){.name = cases[i].central, .local_name = cases[i].local, .data = "text"});
        sb_put_u16(local(&zip, 0) + 6, cases[i].flags);
        add(&zip, &(struct part){.name = "next", .data = "more"});
        finish(&zip);
        snprintf(all, sizeof(all), "%snext=more\n%s", cases[i].reads,
                 (uint8_t)*cases[i].central == 0x81 ? "charset: -\n" : "");
        CHECK_READS(&zip, all, .stream = false);
        release(&zip);
    }
}

/* The bomb: many members over the same bytes. */
static void members_over_each_other(void)
{
    struct zip zip = make_two();

    sb_put_u32(record(&zip, 1) + 42, (uint32_t)zip.locals[0]);
    CHECK_READS(&zip, "stored=text\nDAMAGED\n", .stream = false);
    sb_put_u32(record(&zip, 1) + 42, (uint32_t)zip.locals[1]);
    sb_put_u32(record(&zip, 0) + 42, (uint32_t)zip.locals[1] + 1);
    CHECK_READS(&zip, "damaged: stored\nDAMAGED\n", .stream = false);
    release(&zip);
}

static void members_in_another_order(void)
{
    struct zip zip = make_two();
    size_t first = zip.records[1];
    char *central = zip.bytes.data + zip.start;

    memcpy(central, zip.central.data + first, zip.central.size - first);
    memcpy(central + zip.central.size - first, zip.central.data, first);
    CHECK_READS(&zip, "packed=" LONG "\nstored=text\n", .stream = false);
    release(&zip);
}

static void places_outside(void)
{
    struct zip zip = make_two();

    sb_put_u32(record(&zip, 1) + 42, (uint32_t)zip.start);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\n", .stream = false);
    sb_put_u32(record(&zip, 1) + 42, 0x7fffffff);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\n", .stream = false);
    sb_put_u32(record(&zip, 1) + 42, (uint32_t)zip.locals[1]);
    sb_put_u32(record(&zip, 1) + 20, (uint32_t)zip.start);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\n", .stream = false);
    release(&zip);
}

static void wrong_ends(void)
{
    struct zip zip = make_two();

    sb_put_u16(end_of(&zip) + 10, 1);
    CHECK_READS(&zip, SOUND "damaged: -\n", .stream = false);
    sb_put_u16(end_of(&zip) + 10, 3);
    CHECK_READS(&zip, SOUND "damaged: -\n", .stream = false);
    sb_put_u16(end_of(&zip) + 10, 2);
    record(&zip, 1)[0] = 'Q';
    CHECK_READS(&zip, "stored=text\nDAMAGED\n", .stream = false);
    release(&zip);
}

/* Over two volumes, which were joined; the second one begins with the second member. */
static void split(void)
{
    struct zip zip = make_two();

    sb_put_u16(end_of(&zip) + 4, 1);
    CHECK_READS(&zip, SOUND, .stream = false);
    sb_put_u16(record(&zip, 1) + 34, 1);
    sb_put_u32(record(&zip, 1) + 42, 0);
    CHECK_READS(&zip, SOUND, .stream = false);
    CHECK_READS(&zip, SOUND, .pipe = true);
    sb_put_u32(record(&zip, 1) + 42, 0x7fffffff);
    CHECK_READS(&zip, "FORMAT\n", .stream = false);
    sb_put_u16(record(&zip, 1) + 34, 2);
    CHECK_READS(&zip, "stored=text\ndamaged: packed\n", .stream = false);
    sb_put_u16(record(&zip, 0) + 34, 1);
    CHECK_READS(&zip, "FORMAT\n", .stream = false);
    sb_put_u16(record(&zip, 0) + 34, 0);
    local(&zip, 0)[0] = 'Q';
    CHECK_READS(&zip, "FORMAT\n", .stream = false);
    local(&zip, 0)[0] = 'P';
    record(&zip, 0)[0] = 'Q';
    CHECK_READS(&zip, "FORMAT\n", .stream = false);
    record(&zip, 0)[0] = 'P';
    sb_put_u32(end_of(&zip) + 12, 0x7fffffff);
    CHECK_READS(&zip, "FORMAT\n", .stream = false);
    release(&zip);
}

static void encrypted(void)
{
    struct zip zip = {.count = 0};

    add(&zip, &(struct part){.name = "secret", .data = "s", .flags = SB_ZIP_ENCRYPTED});
    add(&zip, &(struct part){.name = "open", .data = "o"});
    finish(&zip);
    CHECK_READS(&zip, "encrypted: secret\nopen=o\n", .stream = false);
    release(&zip);
}

static void unknown_method(void)
{
    struct zip zip = {.count = 0};

    add(&zip, &(struct part){.name = "shrunk", .data = "x", .method = 1});
    finish(&zip);
    CHECK_READS(&zip, "method: shrunk\n", .stream = false);
    release(&zip);
}

/* The header of lzma has a window of 1 GiB, of which a decoder takes what comes out. */
static void greedy_lzma(void)
{
    struct zip zip = {.count = 0};

    add(&zip, &(struct part){.name = "lzma", .data = "0123456789", .method = SB_ZIP_LZMA});
    add(&zip, &(struct part){.name = "next", .data = "text"});
    memcpy(local(&zip, 0) + SB_ZIP_LOCAL_SIZE + 4, "\x09\x04\x05\0\x5d\0\0\0\x40\0", 10);
    finish(&zip);
    CHECK_READS(&zip, "damaged: lzma\nnext=text\n", .stream = false);
    release(&zip);
}

/* The first member of a zip that has only this one. */
static struct sb_member first_member(const struct part *part, struct sb_source **source)
{
    static struct sb_input input = {.path = "zip", .name = "zip"};
    const struct sb_source_options source_options = {.max_size = 0};
    struct zip zip = {.count = 0};
    struct sb_member member;

    add(&zip, part);
    finish(&zip);
    sb_file_free(input.file);
    CHECK(sb_file_take(&input.file, give(zip.bytes.data, zip.bytes.size, false), "zip") == SB_OK);
    if (sb_source_open_zip(source, &input, &source_options, NULL) ||
        sb_source_next(*source, &member))
        abort();
    release(&zip);
    return member;
}

static void modes(void)
{
    static const struct {
        struct part part;
        enum sb_type type;
        bool known;
        uint32_t mode;
    } cases[] = {
        {{.name = "f", .data = "", .host = 3, .attributes = 0100640U << 16},
         SB_FILE,
         true,
         0100640},
        {{.name = "f", .data = "", .host = 3, .attributes = 0600U << 16}, SB_FILE, true, 0100600},
        {{.name = "l", .data = "t", .host = 3, .attributes = 0120777U << 16},
         SB_LINK,
         true,
         0120777},
        {{.name = "d/", .data = "", .host = 3, .attributes = 040750U << 16}, SB_DIR, true, 040750},
        {{.name = "d", .data = "", .host = 3, .attributes = 040750U << 16}, SB_DIR, true, 040750},
        {{.name = "d/", .data = "", .host = 0, .attributes = 16}, SB_DIR, false, 0},
        {{.name = "f", .data = "", .host = 0, .attributes = 1}, SB_FILE, true, 0100444},
        {{.name = "f", .data = "", .host = 0}, SB_FILE, false, 0},
        {{.name = "f", .data = "", .host = 10, .attributes = 0100640U << 16}, SB_FILE, false, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sb_source *source;
        struct sb_member member = first_member(&cases[i].part, &source);

        CHECK(member.entry.type == cases[i].type);
        CHECK(!(member.entry.has & SB_HAS_MODE) == !cases[i].known);
        CHECK(member.entry.mode == cases[i].mode);
        sb_source_free(source);
    }
}

#define EXTRA(bytes) .extra = (bytes), .extra_size = sizeof(bytes) - 1

static void extra_fields(void)
{
    struct sb_source *source;
    struct sb_member member;

    member = first_member(
        &(struct part){.name = "f", .data = "", EXTRA("UT\5\0\1\xff\xff\xff\xff")}, &source);
    CHECK(member.entry.mtime_ns == -1000000000LL);
    sb_source_free(source);

    member = first_member(
        &(struct part){.name = "f",
                       .data = "",
                       EXTRA("\x0a\0\x20\0\0\0\0\0\1\0\x18\0\x01\x80\x3e\xd5\xde\xb1\x9d\x01"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
        &source);
    CHECK(member.entry.mtime_ns == 100);
    CHECK(member.has & SB_KEEPS_NANOSECONDS);
    sb_source_free(source);

    member = first_member(
        &(struct part){.name = "f", .data = "", EXTRA("ux\x0b\0\1\4\1\0\1\0\4\2\0\0\0")}, &source);
    CHECK(member.entry.uid == 0x10001 && member.entry.gid == 2);
    CHECK(member.has & SB_KEEPS_OWNER);
    sb_source_free(source);

    /* The name beside it belongs to another one. */
    member =
        first_member(&(struct part){.name = "f", .data = "", EXTRA("up\6\0\1\0\0\0\0g")}, &source);
    CHECK_TEXT(member.entry.path, "f");
    sb_source_free(source);
    member = first_member(
        &(struct part){.name = "f", .data = "", EXTRA("up\7\0\1\xe0\x2b\xd3\x76\xc3\xa9")},
        &source);
    CHECK_TEXT(member.entry.path, "\xc3\xa9");
    sb_source_free(source);

    /* Cut short: nothing is taken from it. */
    member = first_member(&(struct part){.name = "f", .data = "", EXTRA("UT\5\0\1\xff")}, &source);
    CHECK(!(member.entry.has & SB_HAS_MTIME));
    sb_source_free(source);
}

static void check_name(const struct part *part, const char *wanted)
{
    struct sb_source *source;
    struct sb_member member = first_member(part, &source);

    CHECK_TEXT(member.entry.path, wanted);
    sb_source_free(source);
}

static void charsets(void)
{
    struct sb_context context, *former;

    check_name(&(struct part){.name = "\x81", .data = ""}, "\xc3\xbc");
    check_name(&(struct part){.name = "\xc3\xbc", .data = ""}, "\xc3\xbc");
    check_name(&(struct part){.name = "\x81", .data = "", .flags = SB_ZIP_UTF8}, "\x81");
    check_name(&(struct part){.name = "\x81", .data = "", .host = 3}, "\x81");
    check_name(&(struct part){.name = "\x81", .data = "", .host = 6}, "\xc3\xbc");
    check_name(&(struct part){.name = "\x81", .data = "", .host = 10}, "\x81");
    check_name(&(struct part){.name = "\x81", .data = "", .host = 11}, "\x81");
    check_name(&(struct part){.name = "\x81", .data = "", .host = 11, .version = 50}, "\xc3\xbc");

    sb_context_init(&context);
    context.charset = "437";
    former = sb_context_enter(&context);
    check_name(&(struct part){.name = "\x81", .data = "", .host = 3}, "\xc3\xbc");
    check_name(&(struct part){.name = "\xc3\xbc", .data = ""}, "\xe2\x94\x9c\xe2\x95\x9d");
    check_name(&(struct part){.name = "\xc3\xbc", .data = "", .flags = SB_ZIP_UTF8}, "\xc3\xbc");
    sb_context_enter(former);
}

static void dos_names(void)
{
    struct sb_source *source;
    struct sb_member member = first_member(&(struct part){.name = "a\\b", .data = ""}, &source);

    CHECK_TEXT(member.entry.path, "a/b");
    sb_source_free(source);
    member = first_member(&(struct part){.name = "a\\b", .data = "", .host = 3}, &source);
    CHECK_TEXT(member.entry.path, "a\\b");
    sb_source_free(source);
}

int main(void)
{
    RUN(sound_ones);
    RUN(bytes_around);
    RUN(bytes_between);
    RUN(cut_short);
    RUN(too_large_for_a_pipe);
    RUN(damaged_bytes);
    RUN(sizes_that_lie);
    RUN(headers_that_disagree);
    RUN(local_names);
    RUN(members_over_each_other);
    RUN(members_in_another_order);
    RUN(places_outside);
    RUN(wrong_ends);
    RUN(split);
    RUN(encrypted);
    RUN(unknown_method);
    RUN(greedy_lzma);
    RUN(modes);
    RUN(extra_fields);
    RUN(dos_names);
    RUN(charsets);
    return check_end();
}
