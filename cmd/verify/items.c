#include "verify/items.h"

#include "store/syrah/set.h"
#include "task/verify/syrah.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"
#include "verify/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* One object behind the defects: what was looked at, and what that does not say. */
static void print_summary(const struct verify_run *run, const struct sb_verify_syrah_result *counts)
{
    struct json line = {0};

    json_begin(&line);
    json_text(&line, "kind", "summary");
    json_text(&line, "container", "Syrah file");
    json_number(&line, "defects", run->result.defects);
    json_number(&line, "items", counts->items);
    json_number(&line, "arrays", counts->arrays);
    json_number(&line, "bytes_read", run->result.bytes_read);
    json_number(&line, "unchecked", run->result.unchecked);
    json_text(&line, "unproved", counts->unproved);
    json_print(&line);
    json_release(&line);
}

static void add_result(struct sb_verify_result *sum, const struct sb_verify_result *one)
{
    sum->defects += one->defects;
    sum->remedies |= one->remedies;
    sum->files += one->files;
    sum->bytes += one->bytes;
    sum->files_read += one->files_read;
    sum->bytes_read += one->bytes_read;
    sum->unchecked += one->unchecked;
}

/* fd is taken. */
static enum sb_code verify_file(struct verify_run *run, int fd, const char *name,
                                const struct sb_verify_options *options,
                                struct sb_verify_syrah_result *sum, struct sb_error *err)
{
    struct sb_verify_syrah_result counts;
    struct sb_verify_result result;
    enum sb_code code = sb_verify_syrah(fd, name, options, &run->events, &result, &counts, err);
    add_result(&run->result, &result);
    sum->items += counts.items;
    sum->arrays = counts.arrays;
    sum->unproved = counts.unproved;
    return code;
}

/* Each of the files that a spec names, which first have to be one sequence. */
static enum sb_code verify_files(struct verify_run *run, struct sb_store *whole,
                                 const struct sb_verify_options *options,
                                 struct sb_verify_syrah_result *sum, struct sb_error *err)
{
    struct sb_syrah_set *set;
    enum sb_code code = sb_store_syrah(whole, &set, err);

    for (uint32_t i = 0; !code && i < sb_syrah_set_file_count(set); i++) {
        const char *path = sb_syrah_name(sb_syrah_set_file(set, i));
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        code = fd < 0 ? sb_fail_errno(err, errno, "%s", path)
                      : verify_file(run, fd, path, options, sum, err);
    }
    sb_syrah_set_free(set);
    return code;
}

enum sb_code verify_items(struct verify_run *run, struct sb_store *store,
                          const struct sb_verify_options *options, struct sb_error *err)
{
    struct sb_verify_syrah_result counts = {0};
    int fd;
    enum sb_code code;

    if (run->name_count > 0)
        return sb_fail(err, SB_INVALID, "%s: has items, not names, and is verified as a whole",
                       run->name);
    code = sb_store_descriptor(store, &fd, err);
    if (code)
        return code;
    run->result = (struct sb_verify_result){0};
    message_progress_counts("arrays");
    code = fd < 0 ? verify_files(run, store, options, &counts, err)
                  : verify_file(run, fd, sb_store_name(store), options, &counts, err);
    message_progress_end();
    run->unproved = counts.unproved;
    if (!code && run->settings->json)
        print_summary(run, &counts);
    verify_run_flush();
    if (!code)
        verify_summarize_container(run);
    return code;
}
