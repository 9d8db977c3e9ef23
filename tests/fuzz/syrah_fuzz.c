/*
 * The bytes of a Syrah file. Whatever they say, opening and reading end, extents that are given out
 * lie within the data section and can be read, names are found again, and verify finds as many bad
 * extents as are refused.
 */
#include "core/file.h"
#include "core/io.h"
#include "store/syrah/syrah.h"
#include "task/verify/verify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ITEMS_MAX  200
#define ARRAYS_MAX 50
#define ROOM       65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char room[ROOM];
static int64_t refused;  /* extents */
static int64_t overlaps; /* that verify found, */
static int64_t others;   /* and defects of extents */

static void count_defect(void *context, const struct sb_defect *defect)
{
    (void)context;
    if (strcmp(defect->kind, "overlap") == 0)
        overlaps++;
    else if (strcmp(defect->kind, "bounds") == 0 || strcmp(defect->kind, "size") == 0)
        others++;
    else if (strcmp(defect->kind, "damaged") != 0)
        abort();
}

static struct sb_file *file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("syrah", MFD_CLOEXEC);
    struct sb_file *file;

    if (fd < 0 || sb_write_full(fd, data, size, "x") || sb_file_take(&file, fd, "x"))
        abort();
    return file;
}

static void read_extent(const struct sb_syrah *syrah, const struct sb_extent *extent)
{
    int64_t end = syrah->data_end;
    size_t size = extent->size < ROOM ? (size_t)extent->size : ROOM;

    if (extent->offset < SB_SYRAH_HEADER || extent->size < 0 || extent->offset > end ||
        extent->size > end - extent->offset || sb_syrah_read(syrah, extent->offset, room, size))
        abort();
}

static void read_array(const struct sb_syrah *syrah, uint32_t array)
{
    const struct sb_syrah_array *said = &syrah->arrays[array];
    struct sb_extent extent;

    if (said->dtype == SB_DTYPE_NONE ||
        sb_syrah_find(syrah, said->name, strlen(said->name)) != array)
        abort();
    for (int64_t item = 0; item < syrah->items; item++) {
        enum sb_code code = sb_syrah_extent(syrah, array, item, &extent);

        if (code && code != SB_DAMAGED)
            abort();
        refused += code != SB_OK;
        if (!code && item < ITEMS_MAX && array < ARRAYS_MAX)
            read_extent(syrah, &extent);
    }
}

static void verify(struct sb_file *file, bool opened)
{
    const struct sb_verify_options options = {.threads = 1};
    struct sb_verify_result result = SB_VERIFY_NOTHING;
    const struct sb_verify_events events = {.found = count_defect, .result = &result};
    enum sb_code code = sb_verify_syrah(file, &options, &events);

    if (opened && (code || others != refused || result.defects != others + overlaps))
        abort();
    if (!opened && !code && result.defects != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_syrah *syrah;
    struct sb_file *file = file_of(data, size);
    bool opened = !sb_syrah_open(&syrah, file);

    refused = others = overlaps = 0;
    for (uint32_t i = 0; opened && i < syrah->array_count; i++)
        read_array(syrah, i);
    sb_syrah_free(syrah);
    verify(file, opened);
    sb_file_free(file);
    return 0;
}
