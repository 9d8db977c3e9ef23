/* lib/store/tar/source.c, and what it stands on: feed.h, flow.h, cpio_links.h, tar/raw.h */
#include "check.h"
#include "core/buf.h"
#include "store/feed/feed.h"
#include "store/kind.h"
#include "store/tar/header.h"
#include "store/tar/raw.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512
#define USTAR "ustar\0000"
#define GNU   "ustar  "
#define V7    "\0\0\0\0\0\0\0"

static struct sb_buf made;   /* the container */
static struct sb_buf listed; /* what came out of it */
static char said[1024];      /* the text of the error that ended it */

/* Making a tar */

struct header {
    const char *name;
    const char *magic; /* USTAR when NULL */
    const char *link;
    const char *mtime; /* octal */
    char type;         /* '0' when 0 */
    unsigned mode;
    unsigned uid;
    int64_t size;
};

static void set_sum(char *block)
{
    unsigned sum = 0;

    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

static void add(const void *data, size_t size)
{
    CHECK(sb_buf_add(&made, data, size) == SB_OK);
}

static void add_zeros(size_t size)
{
    static const char zeros[BLOCK];

    for (; size > 0; size -= size < BLOCK ? size : BLOCK)
        add(zeros, size < BLOCK ? size : BLOCK);
}

static void pad(size_t unit)
{
    add_zeros((unit - made.size % unit) % unit);
}

/* The block's offset; the sum is to be set again by who changes it. */
static size_t add_header(const struct header *header)
{
    char block[BLOCK] = {0};

    memcpy(block, header->name, strnlen(header->name, 100));
    snprintf(block + 100, 8, "%07o", header->mode ? header->mode & 07777 : 0644);
    snprintf(block + 108, 8, "%07o", header->uid & 07777777);
    snprintf(block + 116, 8, "%07o", header->uid & 07777777);
    snprintf(block + 124, 12, "%011" PRIo64, (uint64_t)header->size);
    memcpy(block + 136, header->mtime ? header->mtime : "00000000000", 12);
    block[156] = header->type ? header->type : '0';
    if (header->link)
        memcpy(block + 157, header->link, strnlen(header->link, 100));
    memcpy(block + 257, header->magic ? header->magic : USTAR, 8);
    set_sum(block);
    add(block, sizeof(block));
    return made.size - BLOCK;
}

static void add_file(const char *name, const char *bytes)
{
    add_header(&(struct header){.name = name, .size = (int64_t)strlen(bytes)});
    add(bytes, strlen(bytes));
    pad(BLOCK);
}

static void add_extension(char type, const char *magic, const char *body, size_t size)
{
    add_header(
        &(struct header){.name = "extension", .magic = magic, .type = type, .size = (int64_t)size});
    add(body, size);
    pad(BLOCK);
}

/* Up to four "key=value" of one pax header. */
static void add_pax(const char *a, const char *b, const char *c, const char *d)
{
    const char *records[] = {a, b, c, d};
    struct sb_buf body = {0};

    for (int i = 0; i < 4 && records[i]; i++) {
        size_t rest = strlen(records[i]) + 2, size = rest + 1;

        while (snprintf(NULL, 0, "%zu", size) + (int)rest != (int)size)
            size = rest + (size_t)snprintf(NULL, 0, "%zu", size);
        CHECK(sb_buf_add_format(&body, "%zu %s\n", size, records[i]) == SB_OK);
    }
    add_extension('x', USTAR, body.data, body.size);
    sb_buf_release(&body);
}

static void end_tar(void)
{
    add_zeros((size_t)2 * BLOCK);
}

static void begin(void)
{
    sb_buf_clear(&made);
}

/* Making a cpio */

struct cpio {
    const char *name;
    const char *body;
    unsigned inode, links, mode, sum;
};

static void add_newc(const char *magic, const struct cpio *member)
{
    char header[128];
    size_t size = strlen(member->body);

    snprintf(header, sizeof(header), "%s%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x",
             magic, member->inode, member->mode ? member->mode : S_IFREG | 0644, 7, 8,
             member->links ? member->links : 1, 1000, size, 0, 1, 0, 0, strlen(member->name) + 1,
             member->sum);
    add(header, strlen(header));
    add(member->name, strlen(member->name) + 1);
    pad(4);
    add(member->body, size);
    pad(4);
}

static void add_odc(const char *name, const char *body)
{
    char header[128];

    snprintf(header, sizeof(header), "070707%06o%06o%06o%06o%06o%06o%06o%011o%06zo%011zo", 1U, 1U,
             S_IFREG | 0644U, 0U, 0U, 1U, 0U, 1000U, strlen(name) + 1, strlen(body));
    add(header, strlen(header));
    add(name, strlen(name) + 1);
    add(body, strlen(body));
}

static void add_bin(const char *name, const char *body)
{
    uint16_t words[13] = {070707, 1, 1, S_IFREG | 0644, 0, 0, 1, 0, 0, 1000};

    words[10] = (uint16_t)(strlen(name) + 1);
    words[12] = (uint16_t)strlen(body);
    add(words, sizeof(words));
    add(name, strlen(name) + 1);
    pad(2);
    add(body, strlen(body));
    pad(2);
}

/* Compressing what was made */

static la_ssize_t collect(struct archive *archive, void *context, const void *data, size_t size)
{
    (void)archive;
    return sb_buf_add(context, data, size) ? -1 : (la_ssize_t)size;
}

static void compress_as(int filter)
{
    struct sb_buf out = {0};
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_filetype(entry, AE_IFREG);
    CHECK(archive_write_set_format_raw(archive) == ARCHIVE_OK);
    CHECK(archive_write_add_filter(archive, filter) == ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(archive, 1);
    CHECK(archive_write_open(archive, &out, NULL, collect, NULL) == ARCHIVE_OK);
    CHECK(archive_write_header(archive, entry) == ARCHIVE_OK);
    CHECK(archive_write_data(archive, made.data, made.size) == (la_ssize_t)made.size);
    CHECK(archive_write_close(archive) == ARCHIVE_OK);
    archive_write_free(archive);
    archive_entry_free(entry);
    sb_buf_release(&made);
    made = out;
}

/* Reading: a line of what came, and how it ended */

static void note(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context, (void)subject, (void)text;
    CHECK(sb_buf_add_format(&listed, "%c%s ", level == SB_PROBLEM ? '!' : '?', kind) == SB_OK);
}

static const struct sb_notify notify = {.call = note};

static void list_bytes(struct sb_source *source, const struct sb_member *member)
{
    const void *data;
    int64_t total = 0;
    enum sb_code code;
    size_t size;

    while (!(code = sb_source_block(source, &data, &size))) {
        CHECK(size > 0);
        total += (int64_t)size;
        if (member->entry.size <= 40)
            CHECK(sb_buf_add(&listed, data, size) == SB_OK);
    }
    if (code != SB_END)
        CHECK(sb_buf_add_text(&listed, "...") == SB_OK);
    else
        CHECK(total == member->entry.size);
    if (member->entry.size > 40)
        CHECK(sb_buf_add_format(&listed, "%" PRId64, total) == SB_OK);
}

static void list_member(struct sb_source *source, const struct sb_member *member, bool bytes)
{
    char letter = "fdl"[member->entry.type];

    CHECK(member->entry.path_size == strlen(member->entry.path));
    if (member->special)
        letter = 's';
    if (member->hard_link)
        letter = 'h';
    CHECK(sb_buf_add_format(&listed, "%c:%s", letter, member->entry.path) == SB_OK);
    if (member->hard_link)
        CHECK(sb_buf_add_format(&listed, ">%s", member->hard_link) == SB_OK);
    else if (letter == 'f' || letter == 'l')
        CHECK(sb_buf_add_char(&listed, letter == 'f' ? '=' : '>') == SB_OK);
    if (bytes)
        list_bytes(source, member);
    CHECK(sb_buf_add_char(&listed, ' ') == SB_OK);
}

struct reading {
    struct sb_input input;
    struct sb_source *source;
    enum sb_code code;
};

static void put_in_file(struct reading *reading)
{
    int fd = memfd_create("tar", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, made.data, made.size) == (ssize_t)made.size);
    CHECK(INTO(&(struct sb_error){0}, sb_file_take(&reading->input.file, fd, "x")) == SB_OK);
}

static void put_in_pipe(struct reading *reading)
{
    int ends[2];
    size_t head = made.size < BLOCK ? made.size : BLOCK;

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
    CHECK(sb_buf_add(&reading->input.head, made.data, head) == SB_OK);
    CHECK(write(ends[1], made.data + head, made.size - head) == (ssize_t)(made.size - head));
    close(ends[1]);
    CHECK(INTO(&(struct sb_error){0}, sb_file_take(&reading->input.pipe, ends[0], "x")) == SB_OK);
}

static void open_made(struct reading *reading, bool pipe)
{
    *reading = (struct reading){.input = {.path = "x", .name = "x", .type.kind = SB_TAR}};
    sb_buf_clear(&listed);
    if (pipe)
        put_in_pipe(reading);
    else
        put_in_file(reading);
}

static void start(struct reading *reading, int64_t max_size)
{
    struct sb_source_options source_options = {.max_size = max_size};

    said[0] = 0;
    reading->code = sb_source_open_tar(&reading->source, &reading->input, &source_options, &notify);
    if (reading->code)
        memcpy(said, sb_error()->text, sizeof(said));
}

static void stop(struct reading *reading)
{
    sb_source_free(reading->source);
    sb_input_close(&reading->input);
}

static const char *end_word(enum sb_code code)
{
    switch (code) {
    case SB_END:
        return "END";
    case SB_DAMAGED:
        return "DAMAGED";
    case SB_FORMAT:
        return "FORMAT";
    case SB_LIMIT:
        return "LIMIT";
    default:
        return "OTHER";
    }
}

static const char *list_with(bool pipe, bool bytes, int64_t max_size)
{
    struct reading reading;
    struct sb_member member;

    open_made(&reading, pipe);
    start(&reading, max_size);
    while (!reading.code) {
        reading.code = sb_source_next(reading.source, &member);
        if (!reading.code)
            list_member(reading.source, &member, bytes);
        else if (reading.code != SB_END)
            memcpy(said, sb_error()->text, sizeof(said));
    }
    CHECK(sb_buf_add_text(&listed, end_word(reading.code)) == SB_OK);
    stop(&reading);
    return listed.data;
}

static const char *list(void)
{
    return list_with(false, true, 0);
}

static const char *list_names(void)
{
    return list_with(false, false, 0);
}

/* The first member, until stop. */
static void first(struct reading *reading, struct sb_member *member)
{

    *member = (struct sb_member){0};
    open_made(reading, false);
    start(reading, 0);
    CHECK(reading->code == SB_OK && sb_source_next(reading->source, member) == SB_OK);
}

/* Tests */

static void every_kind_of_member_comes(void)
{
    static const char all[] = "d: d:./d/ f:./d/f=bytes l:./d/l>../f h:./d/h>./d/f s:c s:b s:p "
                              "f:7=contiguous END";

    begin();
    add_header(&(struct header){.name = "./", .type = '5'});
    add_header(&(struct header){.name = "./d/", .type = '5'});
    add_file("./d/f", "bytes");
    add_header(&(struct header){.name = "./d/l", .type = '2', .link = "../f"});
    add_header(&(struct header){.name = "./d/h", .type = '1', .link = "./d/f"});
    add_header(&(struct header){.name = "c", .type = '3'});
    add_header(&(struct header){.name = "b", .type = '4'});
    add_header(&(struct header){.name = "p", .type = '6'});
    add_header(&(struct header){.name = "7", .type = '7', .size = 10});
    add("contiguous", 10);
    pad(BLOCK);
    end_tar();
    CHECK_TEXT(list(), all);
    CHECK_TEXT(list_with(true, true, 0), all);
    CHECK_TEXT(list_names(), "d: d:./d/ f:./d/f= l:./d/l> h:./d/h>./d/f s:c s:b s:p f:7= END");
}

static void the_oldest_format_is_read(void)
{
    begin();
    add_header(&(struct header){.name = "dir/", .magic = V7, .type = '0'});
    add_header(&(struct header){.name = "f", .magic = V7, .size = 1});
    add("x", 1);
    pad(BLOCK);
    end_tar();
    CHECK_TEXT(list(), "d:dir/ f:f=x END");
}

static void names_are_bytes(void)
{
    static const char *const names[] = {"e\xcc\x81", "\xc3\xa9", "\xd6\xd0\xce\xc4", "a\xff\x80"};
    char wanted[64], path[64], target[64];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(wanted, sizeof(wanted), "l:%s>%s END", names[i], names[i]);
        snprintf(path, sizeof(path), "path=%s", names[i]);
        snprintf(target, sizeof(target), "linkpath=%s", names[i]);
        begin();
        add_header(&(struct header){.name = names[i], .type = '2', .link = names[i]});
        end_tar();
        CHECK_TEXT(list(), wanted);
        begin();
        add_pax(path, target, "uname=\xff", NULL);
        add_header(&(struct header){.name = "q", .type = '2', .link = "q"});
        end_tar();
        CHECK_TEXT(list(), wanted);
        begin();
        add_pax("hdrcharset=BINARY", path, target, NULL);
        add_header(&(struct header){.name = "q", .type = '2', .link = "q"});
        end_tar();
        CHECK_TEXT(list(), wanted);
        begin();
        add_extension('L', GNU, names[i], strlen(names[i]) + 1);
        add_extension('K', GNU, names[i], strlen(names[i]) + 1);
        add_header(&(struct header){.name = "q", .magic = GNU, .type = '2', .link = "q"});
        end_tar();
        CHECK_TEXT(list(), wanted);
        begin();
        add_newc("070701",
                 &(struct cpio){.name = names[i], .body = names[i], .mode = S_IFLNK | 0777});
        add_newc("070701", &(struct cpio){.name = "TRAILER!!!", .body = ""});
        CHECK_TEXT(list(), wanted);
    }
}

static void names_may_be_long(void)
{
    char name[301], record[320], wanted[700];

    memset(name, 'n', 300);
    name[150] = '/';
    name[300] = 0;
    snprintf(wanted, sizeof(wanted), "h:%s>%s END", name, name);
    begin();
    add_extension('L', GNU, name, sizeof(name));
    add_extension('K', GNU, name, sizeof(name));
    add_header(&(struct header){.name = "q", .magic = GNU, .type = '1', .link = "q"});
    end_tar();
    CHECK_TEXT(list(), wanted);
    snprintf(record, sizeof(record), "path=%s", name);
    snprintf(wanted, sizeof(wanted), "f:%s= END", name);
    begin();
    add_pax(record, NULL, NULL, NULL);
    add_header(&(struct header){.name = "q"});
    end_tar();
    CHECK_TEXT(list(), wanted);
}

static void a_member_without_a_name_is_left_out(void)
{
    begin();
    add_file("", "x");
    add_file("f", "y");
    end_tar();
    CHECK_TEXT(list(), "!name f:f=y END");
}

static struct sb_member with_time(const char *record)
{
    struct sb_member member;
    struct reading reading;

    begin();
    add_pax(record, NULL, NULL, NULL);
    add_header(&(struct header){.name = "f"});
    end_tar();
    first(&reading, &member);
    CHECK(member.entry.has & SB_HAS_MTIME);
    stop(&reading);
    return member;
}

static int64_t time_of(const char *record)
{
    return with_time(record).entry.mtime_ns;
}

static void times_have_nanoseconds_and_a_sign(void)
{
    CHECK(time_of("mtime=1700000000.123456789") == INT64_C(1700000000123456789));
    CHECK(time_of("mtime=0.5") == 500000000);
    CHECK(time_of("mtime=-0.5") == -500000000);
    CHECK(time_of("mtime=-1.5") == -1500000000);
    CHECK(time_of("mtime=-2") == -2000000000);
    CHECK(!(with_time("mtime=-2").has & SB_KEEPS_FAR_TIME));
    CHECK(time_of("mtime=99999999999") > INT64_C(9000000000000000000));
    CHECK(with_time("mtime=99999999999").has & SB_KEEPS_FAR_TIME);
}

static void what_a_member_has_is_told(void)
{
    struct sb_member member;
    struct reading reading;

    begin();
    add_pax("uname=anna", "SCHILY.xattr.user.x=1",
            "SCHILY.acl.access=user::rwx,user:bob:r--,group::r-x,other::--x",
            "SCHILY.fflags=nodump");
    add_header(&(struct header){.name = "f", .mode = 06751, .uid = 1234});
    end_tar();
    first(&reading, &member);
    CHECK((member.entry.has & SB_HAS_MODE) && member.entry.mode == (S_IFREG | 06751));
    CHECK((member.entry.has & SB_HAS_UID) && member.entry.uid == 1234);
    CHECK_TEXT(member.user, "anna");
    CHECK(member.has == (SB_KEEPS_OWNER | SB_KEEPS_OWNER_NAME | SB_KEEPS_XATTRS | SB_KEEPS_ACLS |
                         SB_KEEPS_FLAGS));
    stop(&reading);
}

static void devices_have_numbers(void)
{
    struct sb_member member;
    struct reading reading;
    char *block;

    begin();
    block = made.data + add_header(&(struct header){.name = "c", .type = '3'});
    memcpy(block + 329, "0000010", 8);
    memcpy(block + 337, "0000003", 8);
    set_sum(block);
    end_tar();
    first(&reading, &member);
    CHECK_TEXT(member.special, "character device");
    CHECK(member.special_mode == S_IFCHR && member.device_major == 8 && member.device_minor == 3);
    CHECK(member.has & SB_KEEPS_SPECIAL);
    stop(&reading);
}

/* The same file: 4 bytes "ab" at 3, "cd" at 8, in a file of 12. */
static const char holes[] = "f:sparse=";
static const char holes_bytes[] = "\0\0\0ab\0\0\0cd\0\0";

static void check_holes(void)
{
    size_t size = strlen(holes);

    list();
    CHECK(listed.size == size + 12 + 4);
    CHECK(memcmp(listed.data, holes, size) == 0);
    CHECK(memcmp(listed.data + size, holes_bytes, 12) == 0);
    CHECK_TEXT(listed.data + size + 12, " END");
}

static void holes_of_every_format_are_zeros(void)
{
    static const char map[] = "2\n3\n2\n8\n2\n";
    char *block;

    begin();
    block = made.data +
            add_header(&(struct header){.name = "sparse", .magic = GNU, .type = 'S', .size = 4});
    snprintf(block + 386, 12, "%011o", 3);
    snprintf(block + 398, 12, "%011o", 2);
    snprintf(block + 410, 12, "%011o", 8);
    snprintf(block + 422, 12, "%011o", 2);
    snprintf(block + 483, 12, "%011o", 12);
    set_sum(block);
    add("abcd", 4);
    pad(BLOCK);
    end_tar();
    check_holes();

    begin();
    add_pax("GNU.sparse.size=12", "GNU.sparse.map=3,2,8,2", "GNU.sparse.name=sparse", NULL);
    add_file("q", "abcd");
    end_tar();
    check_holes();

    begin();
    add_pax("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=sparse",
            "GNU.sparse.realsize=12");
    add_header(&(struct header){.name = "q", .size = BLOCK + 4});
    add(map, strlen(map));
    pad(BLOCK);
    add("abcd", 4);
    pad(BLOCK);
    end_tar();
    check_holes();
}

static void a_hole_may_be_of_9_gib(void)
{
    begin();
    add_pax("GNU.sparse.size=9663676416", "GNU.sparse.map=9663676412,4", "GNU.sparse.name=big",
            NULL);
    add_file("q", "abcd");
    end_tar();
    CHECK_TEXT(list(), "f:big=9663676416 END");
}

static void a_map_of_holes_must_fit(void)
{
    begin();
    add_pax("GNU.sparse.size=50", "GNU.sparse.map=8,2,3,2", NULL, NULL);
    add_file("sparse", "abcd");
    end_tar();
    CHECK_TEXT(list(), "f:sparse=...10 END");
    begin();
    add_pax("GNU.sparse.size=41", "GNU.sparse.map=3,2,40,2", NULL, NULL);
    add_file("sparse", "abcd");
    end_tar();
    CHECK_TEXT(list(), "f:sparse=...5 END");
}

static void a_hard_link_with_bytes_is_a_file(void)
{
    begin();
    add_file("a", "x");
    add_pax("comment=pax", NULL, NULL, NULL);
    add_header(&(struct header){.name = "b", .type = '1', .link = "a", .size = 1});
    add("x", 1);
    pad(BLOCK);
    end_tar();
    CHECK_TEXT(list(), "f:a=x f:b=x END");
}

static void check_place(const struct sb_member *member, const char *bytes)
{
    CHECK(member->located);
    CHECK(member->at > 0 && (size_t)member->at + strlen(bytes) <= made.size);
    CHECK(memcmp(made.data + member->at, bytes, strlen(bytes)) == 0);
}

static void what_lies_in_the_file_has_a_place(void)
{
    struct sb_member member;
    struct reading reading;

    begin();
    add_file("f", "bytes");
    add_header(&(struct header){.name = "l", .type = '2', .link = "target"});
    add_pax("linkpath=elsewhere", NULL, NULL, NULL);
    add_header(&(struct header){.name = "m", .type = '2', .link = "q"});
    add_header(&(struct header){.name = "h", .type = '1', .link = "f"});
    add_pax("GNU.sparse.size=12", "GNU.sparse.map=3,2,8,2", NULL, NULL);
    add_file("sparse", "abcd");
    add_pax("GNU.sparse.realsize=12", NULL, NULL, NULL);
    add_file("longer", "abcd");
    end_tar();
    first(&reading, &member);
    check_place(&member, "bytes");
    CHECK(sb_source_next(reading.source, &member) == SB_OK);
    check_place(&member, "target");
    CHECK(sb_source_next(reading.source, &member) == SB_OK);
    check_place(&member, "elsewhere");
    for (int i = 0; i < 3; i++)
        CHECK(sb_source_next(reading.source, &member) == SB_OK && !member.located);
    stop(&reading);
    compress_as(ARCHIVE_FILTER_GZIP);
    first(&reading, &member);
    CHECK(!member.located);
    stop(&reading);
}

static void a_tar_may_be_cut_anywhere(void)
{
    size_t ends[3], size;

    begin();
    add_file("a", "some bytes");
    ends[0] = made.size;
    add_pax("path=b", NULL, NULL, NULL);
    add_file("q", "");
    ends[1] = made.size;
    add_header(&(struct header){.name = "l", .type = '2', .link = "a"});
    ends[2] = made.size;
    end_tar();
    size = made.size;
    for (made.size = 1; made.size < size; made.size++) {
        bool at_end = made.size == ends[0] || made.size == ends[1] || made.size >= ends[2];
        bool has_mark = made.size >= ends[2] + (size_t)2 * BLOCK;
        const char *wanted = has_mark            ? "l:l>a END"
                             : at_end            ? "!truncated END"
                             : made.size < BLOCK ? "FORMAT"
                                                 : "DAMAGED";

        if (!CHECK(strstr(list(), wanted) &&
                   (has_mark || strstr(list_with(true, false, 0), wanted))))
            printf("#   cut to %zu: %s\n", made.size, listed.data);
    }
    CHECK_TEXT(list(), "f:a=some bytes f:b= l:l>a END");
}

static void nothing_is_not_a_tar(void)
{
    begin();
    CHECK_TEXT(list(), "FORMAT");
    CHECK_TEXT(list_with(true, true, 0), "FORMAT");
    end_tar();
    CHECK_TEXT(list(), "END");
    compress_as(ARCHIVE_FILTER_XZ);
    CHECK_TEXT(list(), "END");
    begin();
    add_zeros(32768);
    add("\1CD001", 6);
    CHECK_TEXT(list(), "FORMAT");
}

static void what_follows_the_end_is_ignored(void)
{
    begin();
    add_file("a", "x");
    end_tar();
    add_zeros(100);
    CHECK_TEXT(list(), "f:a=x END");
    add_file("b", "y");
    end_tar();
    CHECK_TEXT(list(), "f:a=x !trailing END");
    CHECK_TEXT(list_with(true, true, 0), "f:a=x !trailing END");
    begin();
    add_file("a", "x");
    add_zeros(BLOCK);
    add_file("b", "y");
    end_tar();
    CHECK_TEXT(list(), "f:a=x !damaged !trailing END");
    CHECK_TEXT(list_with(true, true, 0), "f:a=x !damaged !trailing END");
    begin();
    add_file("a", "x");
    end_tar();
    add("junk", 4);
    CHECK_TEXT(list(), "f:a=x ?trailing END");
}

static void damaged_headers_are_passed_over_and_told(void)
{
    begin();
    add_file("a", "x");
    for (int i = 0; i < 100 * BLOCK; i++)
        add("j", 1);
    add_file("b", "y");
    end_tar();
    CHECK_TEXT(list(), "f:a=x !damaged f:b=y END");
    CHECK_TEXT(list_names(), "f:a= !damaged f:b= END");
}

static const int filters[] = {
    ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,       ARCHIVE_FILTER_LZMA,
    ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_LZ4,   ARCHIVE_FILTER_COMPRESS,
};

#define FILTERS (sizeof(filters) / sizeof(*filters))

static void make_some(void)
{
    begin();
    add_file("a", "some bytes");
    for (int i = 0; i < 3000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "f%d", i * 7919);
        add_file(name, name);
    }
    end_tar();
}

static void every_compression_is_undone(void)
{
    struct sb_buf plain = {0};

    make_some();
    CHECK(sb_buf_add_text(&plain, list()) == SB_OK);
    for (size_t i = 0; i < FILTERS; i++) {
        make_some();
        compress_as(filters[i]);
        CHECK(strcmp(list(), plain.data) == 0);
        CHECK(strcmp(list_with(true, true, 0), plain.data) == 0);
        compress_as(filters[(i + 3) % FILTERS]);
        CHECK(strcmp(list(), plain.data) == 0);
        compress_as(filters[i]);
        CHECK_TEXT(list(), "FORMAT");
    }
    sb_buf_release(&plain);
}

static void compressed_data_may_be_cut_anywhere(void)
{
    for (size_t i = 0; i < FILTERS; i++) {
        size_t size;

        begin();
        add_file("a", "some bytes");
        end_tar();
        compress_as(filters[i]);
        size = made.size;
        for (made.size = 16; made.size < size; made.size++) {
            /* That of compress has no end of its own. */
            if (!CHECK(!strstr(list(), "END") || (filters[i] == ARCHIVE_FILTER_COMPRESS &&
                                                  strstr(listed.data, "!truncated END"))))
                printf("#   filter %d cut to %zu of %zu: %s\n", filters[i], made.size, size,
                       listed.data);
        }
    }
}

static void a_checksum_of_gzip_is_looked_at(void)
{
    begin();
    add_file("a", "some bytes");
    end_tar();
    compress_as(ARCHIVE_FILTER_GZIP);
    made.data[made.size - 5] ^= 1;
    CHECK(strstr(list(), "DAMAGED") != NULL);
    CHECK(strstr(said, "incorrect data check") != NULL);
}

/* Both halves of a tar, each compressed. */
static void compressed_data_may_be_concatenated(void)
{
    static const int such[] = {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                               ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_LZ4};

    for (size_t i = 0; i < sizeof(such) / sizeof(*such); i++) {
        struct sb_buf half = {0};

        begin();
        add_file("a", "x");
        compress_as(such[i]);
        CHECK(sb_buf_add(&half, made.data, made.size) == SB_OK);
        begin();
        add_file("b", "y");
        end_tar();
        compress_as(such[i]);
        CHECK(sb_buf_add(&half, made.data, made.size) == SB_OK);
        CHECK(sb_buf_set(&made, half.data, half.size) == SB_OK);
        sb_buf_release(&half);
        CHECK_TEXT(list(), "f:a=x f:b=y END");
    }
}

static void junk_behind_compressed_data_is_told(void)
{
    static const int such[] = {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                               ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_LZ4,   ARCHIVE_FILTER_LZMA,
                               ARCHIVE_FILTER_LZIP};

    for (size_t i = 0; i < sizeof(such) / sizeof(*such); i++) {
        begin();
        add_file("a", "x");
        end_tar();
        compress_as(such[i]);
        add_zeros(1000);
        CHECK_TEXT(list(), "f:a=x END");
        add("junk", 4);
        CHECK_TEXT(list(), "f:a=x ?trailing END");
    }
}

static void a_bomb_stops_at_the_limit(void)
{
    begin();
    add_header(&(struct header){.name = "zeros", .size = 8 << 20});
    add_zeros(8 << 20);
    end_tar();
    compress_as(ARCHIVE_FILTER_GZIP);
    CHECK_TEXT(list(), "f:zeros=8388608 END");
    CHECK(strstr(list_with(false, true, 1 << 20), "... LIMIT") != NULL ||
          strstr(listed.data, "... END") == NULL);
    CHECK(strstr(said, "--max-size") != NULL);
    compress_as(ARCHIVE_FILTER_ZSTD);
    CHECK(strstr(list_with(false, false, 1 << 20), "LIMIT") != NULL);
}

static void a_source_may_be_freed_at_any_time(void)
{
    make_some();
    compress_as(ARCHIVE_FILTER_GZIP);
    for (int members = 0; members < 50; members += 7) {
        struct sb_member member;
        struct reading reading;

        first(&reading, &member);
        for (int i = 0; i < members; i++)
            CHECK(sb_source_next(reading.source, &member) == SB_OK);
        stop(&reading);
    }
}

static void every_kind_of_cpio_is_read(void)
{
    begin();
    add_newc("070701", &(struct cpio){.name = "d", .body = "", .mode = S_IFDIR | 0755});
    add_newc("070701", &(struct cpio){.name = "f", .body = "bytes"});
    add_newc("070701", &(struct cpio){.name = "l", .body = "f", .mode = S_IFLNK | 0777});
    add_newc("070701", &(struct cpio){.name = "TRAILER!!!", .body = ""});
    CHECK_TEXT(list(), "d:d f:f=bytes l:l>f END");
    add_newc("070701", &(struct cpio){.name = "g", .body = ""});
    CHECK_TEXT(list(), "d:d f:f=bytes l:l>f !trailing END");
    begin();
    add_odc("f", "bytes");
    add_odc("TRAILER!!!", "");
    CHECK_TEXT(list(), "f:f=bytes END");
    begin();
    add_bin("f", "bytes");
    add_bin("TRAILER!!!", "");
    CHECK_TEXT(list(), "f:f=bytes END");
    compress_as(ARCHIVE_FILTER_XZ);
    CHECK_TEXT(list(), "f:f=bytes END");
}

static void a_cpio_must_have_its_trailer(void)
{
    size_t size;

    begin();
    add_newc("070701", &(struct cpio){.name = "f", .body = "bytes"});
    add_newc("070701", &(struct cpio){.name = "g", .body = ""});
    size = made.size;
    add_newc("070701", &(struct cpio){.name = "TRAILER!!!", .body = ""});
    for (made.size = 6; made.size <= size; made.size++)
        CHECK(strstr(list(), "DAMAGED") != NULL);
}

static void the_sum_of_a_cpio_is_looked_at(void)
{
    begin();
    add_newc("070702", &(struct cpio){.name = "f", .body = "ab", .sum = 'a' + 'b'});
    add_newc("070702", &(struct cpio){.name = "g", .body = "ab", .sum = 'a' + 'c'});
    add_newc("070702", &(struct cpio){.name = "TRAILER!!!", .body = ""});
    CHECK_TEXT(list(), "f:f=ab f:g=... END");
}

static void a_name_of_4_gib_takes_no_memory(void)
{
    begin();
    add_newc("070701", &(struct cpio){.name = "f", .body = "ab"});
    memcpy(made.data + 94, "fffffff0", 8);
    CHECK_TEXT(list(), "DAMAGED");
    CHECK(strstr(said, "a header of 16 MiB or more") != NULL);
    add_zeros(40 << 20);
    compress_as(ARCHIVE_FILTER_ZSTD);
    CHECK_TEXT(list(), "DAMAGED");
}

static void links_of_a_cpio_come_after_their_bytes(void)
{
    begin();
    add_newc("070701", &(struct cpio){.name = "a", .body = "", .inode = 5, .links = 3});
    add_newc("070701", &(struct cpio){.name = "other", .body = "o", .inode = 6});
    add_newc("070701", &(struct cpio){.name = "b", .body = "", .inode = 5, .links = 3});
    add_newc("070701", &(struct cpio){.name = "c", .body = "bytes", .inode = 5, .links = 3});
    add_newc("070701", &(struct cpio){.name = "empty", .body = "", .inode = 7, .links = 2});
    add_newc("070701", &(struct cpio){.name = "first", .body = "x", .inode = 8, .links = 2});
    add_newc("070701", &(struct cpio){.name = "second", .body = "", .inode = 8, .links = 2});
    add_newc("070701", &(struct cpio){.name = "too", .body = "", .inode = 7, .links = 2});
    add_newc("070701", &(struct cpio){.name = "TRAILER!!!", .body = ""});
    CHECK_TEXT(list(), "f:other=o f:c=bytes h:a>c h:b>c f:first=x h:second>first f:empty= "
                       "h:too>empty END");
}

static void a_name_that_looks_compressed_is_a_name(void)
{
    begin();
    add_file("BZh91AY&SYx", "x");
    end_tar();
    CHECK(sb_filter_by_content(made.data, made.size) == SB_FILTER_BZIP2);
    begin();
    add_file("BZhang", "x");
    add_file("]", "y");
    end_tar();
    CHECK_TEXT(list(), "f:BZhang=x f:]=y END");
}

/* The number that says where it goes on has 12 digits at most, whatever comes after them. */
static void the_beginning_of_a_volume(void)
{
    char *block = calloc(1, SB_TAR_BLOCK);
    unsigned sum = 8 * ' ';
    struct sb_tar_continued next;

    memset(block + 369, '7', SB_TAR_BLOCK - 369);
    block[156] = 'M';
    memcpy(block + 369, "00000041000", 12);
    for (size_t i = 0; i < SB_TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    CHECK(sb_tar_volume_head(block, SB_TAR_BLOCK, &next) == SB_TAR_BLOCK);
    CHECK(next.name && next.offset == 16896);
    CHECK(sb_tar_volume_head(block, SB_TAR_BLOCK - 1, &next) == 0);
    CHECK(!next.name);
    block[369 + 11] = '7';
    snprintf(block + 148, 8, "%06o", sum + '7');
    CHECK(sb_tar_volume_head(block, SB_TAR_BLOCK, &next) == SB_TAR_BLOCK);
    CHECK(next.offset != 16896);
    free(block);
}

/* As a volume that is cut short may end. */
static void the_header_of_a_volume_is_there_with_its_padding(void)
{
    static const char label[] = "22 GNU.volume.label=x\n";
    char *blocks = calloc(2, SB_TAR_BLOCK);
    unsigned sum = 8 * ' ';
    struct sb_tar_continued next;

    memcpy(blocks, "GlobalHead", 10);
    memcpy(blocks + SB_TAR_SIZE, "00000000026", 11);
    blocks[SB_TAR_TYPE] = 'g';
    for (size_t i = 0; i < SB_TAR_BLOCK; i++)
        sum += (unsigned char)blocks[i];
    snprintf(blocks + 148, 8, "%06o", sum);
    memcpy(blocks + SB_TAR_BLOCK, label, strlen(label));
    CHECK(sb_tar_volume_head(blocks, 2 * SB_TAR_BLOCK, &next) == 2 * SB_TAR_BLOCK);
    CHECK(sb_tar_volume_head(blocks, SB_TAR_BLOCK + strlen(label), &next) == 0);
    free(blocks);
}

int main(void)
{
    RUN(every_kind_of_member_comes);
    RUN(the_oldest_format_is_read);
    RUN(names_are_bytes);
    RUN(names_may_be_long);
    RUN(a_member_without_a_name_is_left_out);
    RUN(times_have_nanoseconds_and_a_sign);
    RUN(what_a_member_has_is_told);
    RUN(devices_have_numbers);
    RUN(holes_of_every_format_are_zeros);
    RUN(a_hole_may_be_of_9_gib);
    RUN(a_map_of_holes_must_fit);
    RUN(a_hard_link_with_bytes_is_a_file);
    RUN(what_lies_in_the_file_has_a_place);
    RUN(a_tar_may_be_cut_anywhere);
    RUN(nothing_is_not_a_tar);
    RUN(what_follows_the_end_is_ignored);
    RUN(damaged_headers_are_passed_over_and_told);
    RUN(every_compression_is_undone);
    RUN(compressed_data_may_be_cut_anywhere);
    RUN(a_checksum_of_gzip_is_looked_at);
    RUN(compressed_data_may_be_concatenated);
    RUN(junk_behind_compressed_data_is_told);
    RUN(a_bomb_stops_at_the_limit);
    RUN(a_source_may_be_freed_at_any_time);
    RUN(every_kind_of_cpio_is_read);
    RUN(a_cpio_must_have_its_trailer);
    RUN(the_sum_of_a_cpio_is_looked_at);
    RUN(a_name_of_4_gib_takes_no_memory);
    RUN(links_of_a_cpio_come_after_their_bytes);
    RUN(a_name_that_looks_compressed_is_a_name);
    RUN(the_beginning_of_a_volume);
    RUN(the_header_of_a_volume_is_there_with_its_padding);
    sb_buf_release(&made);
    sb_buf_release(&listed);
    return check_end();
}
