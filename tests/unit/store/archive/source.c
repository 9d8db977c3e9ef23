/* The archive source of lib/store/container.h: members while their bytes are moved about. */
#include "store/archive/source.h"
#include "archive/archive.h"
#include "archive/writer/writer.h"
#include "check.h"
#include "core/crc32c.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES     4
#define FILE_SIZE 60000 /* so that what is read ahead holds two, and ends within the shard */

static char top[] = "/tmp/source-archive-test-XXXXXX";
static char data[FILE_SIZE];

static void fill(size_t i)
{
    memset(data, 'a' + (int)i, sizeof(data));
}

static void add(struct sb_writer *writer, size_t i)
{
    char name[] = {(char)('a' + (int)i), '\0'};
    struct sb_entry entry = {
        .path = name,
        .path_size = 1,
        .has = SB_HAS_CRC | SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .size = FILE_SIZE,
        .mode = S_IFREG | 0640,
        .uid = 11,
        .gid = 12,
        .mtime_ns = 13,
    };

    fill(i);
    entry.crc32c = sb_crc32c(0, data, sizeof(data));
    CHECK(sb_writer_place(writer, FILE_SIZE, &entry.shard, &entry.offset) == SB_OK);
    CHECK(sb_writer_write(writer, entry.shard, entry.offset, data, sizeof(data)) == SB_OK);
    CHECK(sb_writer_add_file(writer, &entry) == SB_OK);
}

static void make(void)
{
    const struct sb_writer_options options = {.mode = SB_REPLACE};
    struct sb_writer *writer;

    if (!CHECK(sb_writer_open(&writer, "a", &options) == SB_OK))
        return;
    for (size_t i = 0; i < FILES; i++)
        add(writer, i);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
}

/* What is at the place of file i in the shard: its own bytes, or what another file had there. */
static void put(size_t i, bool own)
{
    int fd = open("a-shard-00000", O_WRONLY);

    fill(own ? i : i + 1);
    CHECK(pwrite(fd, data, sizeof(data), (off_t)i * FILE_SIZE) == FILE_SIZE);
    close(fd);
}

static void skip_directories(struct sb_source *source, struct sb_member *member)
{
    do
        CHECK(sb_source_next(source, member) == SB_OK);
    while (member->entry.type == SB_DIR);
}

static void check_member(const struct sb_member *member, size_t i)
{
    CHECK(member->entry.path[0] == 'a' + (int)i);
    CHECK(member->entry.mode == (S_IFREG | 0640));
    CHECK(member->entry.uid == 11 && member->entry.gid == 12);
    CHECK(member->entry.mtime_ns == 13);
    CHECK(member->entry.offset == (int64_t)i * FILE_SIZE);
    CHECK(data[0] == 'a' + (int)i && data[FILE_SIZE - 1] == 'a' + (int)i);
}

/* What was read ahead may be of the moment when another file's bytes lay there. */
static void bytes_that_are_back_when_they_are_read_again_keep_their_metadata(void)
{
    const struct sb_archive_source_options options = {0};
    struct sb_events events = {0};
    struct sb_archive *archive;
    struct sb_source *source;
    struct sb_loader *loader;
    struct sb_member member;

    make();
    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    CHECK(sb_source_open_archive(&source, archive, &options) == SB_OK);
    CHECK(sb_loader_open(source, &loader) == SB_OK);
    put(2, false);
    skip_directories(source, &member);
    for (size_t i = 0; i < FILES - 1; i++) {
        CHECK(sb_loader_load(loader, &member, data, sizeof(data), &events) == SB_OK);
        check_member(&member, i);
        if (i == 1)
            put(2, true);
        CHECK(sb_source_next(source, &member) == SB_OK);
    }
    sb_loader_free(loader);
    sb_source_free(source);
    sb_archive_free(archive);
    sb_events_release(&events);
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 1;
    RUN(bytes_that_are_back_when_they_are_read_again_keep_their_metadata);
    if (chdir("/") || !check_remove_tree(top))
        return 1;
    return check_end();
}
