#include "ui/version.h"

#include "ui/json.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/schema.h"
#include "store/container.h"

#include <archive.h>
#include <bson/bson.h>
#include <bzlib.h>
#include <gnu/libc-version.h>
#include <lz4.h>
#include <lzma.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include <zlib.h>
#include <zstd.h>

#ifdef STATIC_LIBC
#define LIBC_IS_STATIC true
#else
#define LIBC_IS_STATIC false
#endif

void version_print(void)
{
    output_format("shardbox %s\n", VERSION);
    output_format("SQLite %s\n", sqlite3_libversion());
    output_format("%s\n", archive_version_string()); /* "libarchive 3.6.2" */
    output_format("zlib %s\n", zlibVersion());
    output_format("zstd %s\n", ZSTD_versionString());
}

static void add_libraries(struct json *line)
{
    char bzip2[16];

    json_open(line, "libraries", '{');
    json_text(line, "sqlite", sqlite3_libversion());
    json_text(line, "libarchive", archive_version_string() + strlen("libarchive "));
    json_text(line, "libbson", bson_get_version());
    json_text(line, "zlib", zlibVersion());
    json_text(line, "zstd", ZSTD_versionString());
    json_text(line, "liblzma", lzma_version_string());
    json_text(line, "lz4", LZ4_versionString());
    snprintf(bzip2, sizeof(bzip2), "%.*s", (int)strcspn(BZ2_bzlibVersion(), ","),
             BZ2_bzlibVersion()); /* "1.0.8, 13-Jul-2019" */
    json_text(line, "bzip2", bzip2);
    json_text(line, "utf8proc", utf8proc_version());
    json_close(line, '}');
}

/* Those of --to=tar.CODEC. */
static void add_codecs(struct json *line)
{
    json_open(line, "codecs", '[');
    for (const char *const *word = to_words; *word; word++) {
        if (strncmp(*word, "tar.", 4) == 0)
            json_text(line, NULL, *word + 4);
    }
    json_close(line, ']');
}

static void add_formats(struct json *line)
{
    static const char *const words[] = {"archive", "dir",  "tar",   "cpio",  "zip",
                                        "bag",     "bagz", "syrah", "cache", NULL};

    json_open(line, "formats", '[');
    for (const char *const *word = words; *word; word++) {
        enum sb_container_kind kind = sb_container_named(*word).kind;

        json_open(line, NULL, '{');
        json_text(line, "name", *word);
        json_flag(line, "reads", sb_container_can(kind) != 0);
        json_flag(line, "writes", sb_container_takes(kind) != 0);
        json_close(line, '}');
    }
    json_close(line, ']');
}

void version_print_json(void)
{
    struct json line = {0};

    json_begin(&line);
    json_text(&line, "version", VERSION);
    json_open(&line, "schema", '[');
    json_number(&line, NULL, SB_SCHEMA_MAJOR);
    json_number(&line, NULL, SB_SCHEMA_MINOR);
    json_close(&line, ']');
    json_open(&line, "libc", '{');
    json_text(&line, "glibc", gnu_get_libc_version());
    json_flag(&line, "static", LIBC_IS_STATIC);
    json_close(&line, '}');
    add_libraries(&line);
    add_codecs(&line);
    add_formats(&line);
    json_print(&line);
    json_release(&line);
}
