/* lib/store/tar/header.h */
#include "store/tar/header.h"
#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct sb_buf out;

static struct sb_member file(const char *name)
{
    return (struct sb_member){.entry = {.path = name,
                                        .path_size = strlen(name),
                                        .type = SB_FILE,
                                        .has = SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
                                        .mode = S_IFREG | 0640,
                                        .uid = 1000,
                                        .gid = 100,
                                        .mtime_ns = INT64_C(1500000000) * 1000000000,
                                        .size = 5}};
}

/* The header that is in out then; its last block is the ustar header of the member. */
static const char *header(const struct sb_member *member, const char *target)
{

    sb_buf_clear(&out);
    CHECK(sb_tar_add_header(&out, member, target, target ? strlen(target) : 0) == SB_OK);
    CHECK(out.size >= SB_TAR_BLOCK && out.size % SB_TAR_BLOCK == 0);
    return out.data + out.size - SB_TAR_BLOCK;
}

static bool sum_is_right(const char *block)
{
    unsigned sum = 0;

    for (int i = 0; i < SB_TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    return strtoul(block + 148, NULL, 8) == sum && block[154] == '\0' && block[155] == ' ';
}

/* The records of the extended header, each checked for its length; "" when there is none. */
static const char *records(void)
{
    static char text[8192];
    size_t size, at = 0;

    if (out.size == SB_TAR_BLOCK)
        return "";
    CHECK(out.data[156] == 'x' && sum_is_right(out.data));
    CHECK(memcmp(out.data, "PaxHeaders/", 11) == 0);
    size = strtoul(out.data + 124, NULL, 8);
    CHECK(size < sizeof(text) &&
          out.size == 2 * SB_TAR_BLOCK + size + sb_tar_padding((int64_t)size));
    memcpy(text, out.data + SB_TAR_BLOCK, size);
    text[size] = '\0';
    while (at < size) {
        size_t length = strtoul(text + at, NULL, 10);

        if (!CHECK(length > 4 && at + length <= size && text[at + length - 1] == '\n'))
            break;
        at += length;
    }
    return text;
}

static void a_common_file_takes_one_block(void)
{
    struct sb_member member = file("dir/name");
    const char *block = header(&member, NULL);

    CHECK(out.size == SB_TAR_BLOCK && sum_is_right(block));
    CHECK_TEXT(block, "dir/name");
    CHECK_TEXT(block + 100, "0000640");
    CHECK_TEXT(block + 108, "0001750");
    CHECK_TEXT(block + 116, "0000144");
    CHECK_TEXT(block + 124, "00000000005");
    CHECK_TEXT(block + 136, "13132027400");
    CHECK(block[156] == '0' && memcmp(block + 257,
                                      "ustar\0"
                                      "00",
                                      8) == 0);
    CHECK(block[265] == '\0' && block[297] == '\0');
    CHECK_TEXT(block + 329, "0000000");
    CHECK(sb_tar_body(&member) == 5 && sb_tar_padding(5) == 507);
    CHECK(sb_tar_padding(0) == 0 && sb_tar_padding(512) == 0 && sb_tar_padding(513) == 511);
}

static void every_type(void)
{
    struct sb_member dir = file("d"), link = file("l"), hard = file("h"), fifo = file("f"),
                     device = file("c");
    const char *block;

    dir.entry.type = SB_DIR;
    block = header(&dir, NULL);
    CHECK(block[156] == '5');
    CHECK_TEXT(block, "d/");
    CHECK_TEXT(block + 124, "00000000000");

    link.entry.type = SB_LINK;
    block = header(&link, "the/target");
    CHECK(block[156] == '2');
    CHECK_TEXT(block + 157, "the/target");
    CHECK_TEXT(block + 124, "00000000000");

    hard.hard_link = "dir/first";
    hard.user = "someone";
    hard.group = "some";
    block = header(&hard, NULL);
    CHECK(block[156] == '1');
    CHECK_TEXT(block + 157, "dir/first");
    CHECK_TEXT(block + 124, "00000000000");
    CHECK_TEXT(block + 265, "someone");
    CHECK_TEXT(block + 297, "some");

    fifo.special = "FIFO";
    fifo.special_mode = S_IFIFO;
    CHECK(header(&fifo, NULL)[156] == '6' && sb_tar_body(&fifo) == 0);

    device.special = "character device";
    device.special_mode = S_IFCHR;
    device.device_major = 8;
    device.device_minor = 1048575;
    block = header(&device, NULL);
    CHECK(block[156] == '3');
    CHECK_TEXT(block + 329, "0000010");
    CHECK_TEXT(block + 337, "3777777");
    device.special_mode = S_IFBLK;
    CHECK(header(&device, NULL)[156] == '4');
}

static void what_is_not_known(void)
{
    struct sb_member member = file("a");
    const char *block;

    member.entry.has = 0;
    block = header(&member, NULL);
    CHECK(out.size == SB_TAR_BLOCK);
    CHECK_TEXT(block + 100, "0000644");
    CHECK_TEXT(block + 108, "0000000");
    CHECK_TEXT(block + 136, "00000000000");
    member.entry.type = SB_DIR;
    CHECK_TEXT(header(&member, NULL) + 100, "0000755");
}

static void what_a_tar_cannot_hold(void)
{
    struct sb_member member = file("a");

    member.entry.type = SB_LINK;
    CHECK(sb_tar_add_header(&out, &member, "", 0) == SB_INVALID);
    CHECK(sb_tar_add_header(&out, &member, "a\0b", 3) == SB_INVALID);
    member = file("a");
    member.entry.size = -1;
    CHECK(sb_tar_add_header(&out, &member, NULL, 0) == SB_INVALID);
    member.special = "socket";
    member.special_mode = S_IFSOCK;
    CHECK(sb_tar_add_header(&out, &member, NULL, 0) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "a tar cannot hold a socket");
    member.special_mode = S_IFBLK;
    member.device_major = UINT32_MAX;
    CHECK(sb_tar_add_header(&out, &member, NULL, 0) == SB_INVALID);
}

/* `count` bytes of x, with a '/' in place of the one at slash (none for 0). */
static const char *long_name(size_t count, size_t slash)
{
    static char name[5000];

    memset(name, 'x', count);
    name[count] = '\0';
    if (slash)
        name[slash] = '/';
    return name;
}

static void names_of_every_length(void)
{
    static const struct {
        size_t size, slash;
        bool fits;
    } all[] = {{100, 0, true},   {101, 0, false},   {101, 1, true},    {101, 100, true},
               {256, 155, true}, {257, 156, false}, {256, 154, false}, {256, 156, false},
               {200, 100, true}, {200, 98, false},  {255, 154, true},  {4000, 2000, false}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *name = long_name(all[i].size, all[i].slash);
        struct sb_member member = file(name);
        const char *block = header(&member, NULL);
        char joined[5000];

        CHECK((out.size == SB_TAR_BLOCK) == all[i].fits);
        CHECK(sum_is_right(block));
        if (all[i].fits) {
            snprintf(joined, sizeof(joined), "%.155s%s%.100s", block + 345, block[345] ? "/" : "",
                     block);
            CHECK_TEXT(joined, name);
        } else {
            snprintf(joined, sizeof(joined), " path=%s\n", name);
            CHECK(strstr(records(), joined) != NULL);
        }
    }
}

static void directories_of_every_length(void)
{
    struct sb_member member = file(long_name(99, 0));

    member.entry.type = SB_DIR;
    CHECK(header(&member, NULL)[99] == '/' && out.size == SB_TAR_BLOCK);
    member = file(long_name(100, 0));
    member.entry.type = SB_DIR;
    header(&member, NULL);
    CHECK(strstr(records(), "path=") != NULL);
    member = file(long_name(255, 155));
    member.entry.type = SB_DIR;
    CHECK(header(&member, NULL)[99] == '/' && out.size == SB_TAR_BLOCK);
}

static void names_that_are_not_utf8(void)
{
    struct sb_member member = file("caf\xe9");

    CHECK_TEXT(header(&member, NULL), "caf\xe9");
    CHECK(out.size == SB_TAR_BLOCK);
    member = file(long_name(120, 0));
    member.entry.type = SB_LINK;
    header(&member, "\xff");
    CHECK(strstr(records(), "hdrcharset") == NULL);
    member.entry.type = SB_FILE;
    member.hard_link = "\xff"
                       "0123456789012345678901234567890123456789012345678901234567890123456789"
                       "0123456789012345678901234567890123456789";
    header(&member, NULL);
    CHECK(strncmp(records(), "21 hdrcharset=BINARY\n", 21) == 0);
    CHECK(strstr(records(), " linkpath=\xff"
                            "0123") != NULL);
}

static void large_numbers(void)
{
    struct sb_member member = file("a");
    const char *block;

    member.entry.size = INT64_C(077777777777);
    member.entry.uid = 2097151;
    member.entry.gid = 2097151;
    header(&member, NULL);
    CHECK(out.size == SB_TAR_BLOCK);
    member.entry.size++;
    member.entry.uid++;
    member.entry.gid = UINT32_MAX;
    block = header(&member, NULL);
    CHECK_TEXT(records(), "19 size=8589934592\n15 uid=2097152\n18 gid=4294967295\n");
    CHECK_TEXT(block + 108, "7777777");
    member.entry.size = INT64_MAX;
    member.entry.uid = -5;
    header(&member, NULL);
    CHECK_TEXT(records(), "28 size=9223372036854775807\n18 gid=4294967295\n");
}

static void times(void)
{
    static const struct {
        int64_t ns;
        const char *record, *field;
    } all[] = {
        {0, "", "00000000000"},
        {INT64_C(1500000000123456789), "30 mtime=1500000000.123456789\n", "13132027400"},
        {INT64_C(1500000000500000000), "22 mtime=1500000000.5\n", "13132027400"},
        {1, "21 mtime=0.000000001\n", "00000000000"},
        {-1, "22 mtime=-0.000000001\n", "00000000000"},
        {-500000000, "14 mtime=-0.5\n", "00000000000"},
        {-1000000000, "12 mtime=-1\n", "00000000000"},
        {-1250000000, "15 mtime=-1.25\n", "00000000000"},
        {INT64_MAX, "30 mtime=9223372036.854775807\n", "77777777777"},
        {INT64_MIN, "31 mtime=-9223372036.854775808\n", "00000000000"},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct sb_member member = file("a");
        const char *block;

        member.entry.mtime_ns = all[i].ns;
        block = header(&member, NULL);
        CHECK_TEXT(records(), all[i].record);
        CHECK_TEXT(block + 136, all[i].field);
    }
}

/* The length of a record counts its own digits. */
static void lengths_that_need_another_digit(void)
{
    struct sb_member member = file("a");

    for (size_t size = 32; size < 1100; size++) {
        member.user = long_name(size, 0);
        header(&member, NULL);
        CHECK(strstr(records(), " uname=x") != NULL);
    }
    member.user = long_name(31, 0);
    CHECK_TEXT(header(&member, NULL) + 265, member.user);
    CHECK(out.size == SB_TAR_BLOCK);
}

int main(void)
{
    RUN(a_common_file_takes_one_block);
    RUN(every_type);
    RUN(what_is_not_known);
    RUN(what_a_tar_cannot_hold);
    RUN(names_of_every_length);
    RUN(directories_of_every_length);
    RUN(names_that_are_not_utf8);
    RUN(large_numbers);
    RUN(times);
    RUN(lengths_that_need_another_digit);
    sb_buf_release(&out);
    return check_end();
}
