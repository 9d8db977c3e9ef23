#include "task/verify/bag_impl.h"

#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"
#include "store/out/lock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* PREFIX-00012-of-00016SUFFIX */
struct shard_name {
    const char *prefix; /* without its directory */
    size_t prefix_size;
    const char *suffix;
    unsigned number, shards;
};

#define NUMBER_SIZE 5

static bool five_digits(const char *text, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < NUMBER_SIZE; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        *out = *out * 10 + (unsigned)(text[i] - '0');
    }
    return true;
}

/* Parses by the last "-of-" of the name; false: it is no shard of a set. */
static bool parse_shard_name(const char *name, struct shard_name *out)
{
    static const char of[] = "-of-";
    const char *at = NULL, *next = name;

    while ((next = strstr(next, of)))
        at = next++;
    if (!at || at - name < NUMBER_SIZE + 1 || at[-NUMBER_SIZE - 1] != '-')
        return false;
    *out = (struct shard_name){
        .prefix = name,
        .prefix_size = (size_t)(at - name) - NUMBER_SIZE - 1,
        .suffix = at + sizeof(of) - 1 + NUMBER_SIZE,
    };
    return five_digits(at - NUMBER_SIZE, &out->number) &&
           five_digits(at + sizeof(of) - 1, &out->shards) && out->number < out->shards;
}

/* Are these shards of one set, or of sets that differ only in their number of shards? */
static bool same_series(const struct shard_name *one, const struct shard_name *other)
{
    return one->prefix_size == other->prefix_size &&
           memcmp(one->prefix, other->prefix, one->prefix_size) == 0 &&
           strcmp(one->suffix, other->suffix) == 0;
}

static bool same_directory(const char *path, const char *other)
{
    size_t size = (size_t)(sb_base_name(path) - path);

    return size == (size_t)(sb_base_name(other) - other) && memcmp(path, other, size) == 0;
}

/* Paths of one set, one after the other in the spec. */
struct stretch {
    uint32_t first, end;
    struct shard_name name; /* of the first */
};

static struct stretch stretch_at(const struct bag_check *check, uint32_t first)
{
    char *const *paths = check->spec.paths;
    struct stretch stretch = {.first = first, .end = first + 1};
    struct shard_name next;

    if (!parse_shard_name(sb_base_name(paths[first]), &stretch.name)) {
        stretch.name.shards = 0;
        return stretch;
    }
    while (stretch.end < check->file_count &&
           parse_shard_name(sb_base_name(paths[stretch.end]), &next) &&
           next.shards == stretch.name.shards && same_series(&next, &stretch.name) &&
           same_directory(paths[first], paths[stretch.end]))
        stretch.end++;
    return stretch;
}

/* A glob yields only existing files, and so does not show what is missing; a single shard is no
 * set.
 */
static enum sb_code report_missing(struct bag_check *check, const struct stretch *stretch)
{
    const char *path = check->spec.paths[stretch->first];
    uint32_t at = stretch->first;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct shard_name here;

    if (stretch->end - stretch->first < 2 || stretch->end - stretch->first >= stretch->name.shards)
        return SB_OK;
    for (unsigned i = 0; i < stretch->name.shards; i++) {
        if (at < stretch->end && parse_shard_name(sb_base_name(check->spec.paths[at]), &here) &&
            here.number == i) {
            at++;
            continue;
        }
        sb_buf_clear(&name);
        TRY(sb_buf_add_format(&name, "%.*s-%05u-of-%05u%s",
                              (int)(stretch->name.prefix + stretch->name.prefix_size - path), path,
                              i, stretch->name.shards, stretch->name.suffix));
        if (access(name.data, F_OK))
            sb_verify_defect(check->events, SB_REMEDY_FETCH, "shard",
                             sb_defect_of(name.data, name.size),
                             "is not there, while others of its set are");
    }
    return SB_OK;
}

/* Files in the directory of a set that are not part of it. */
struct beside {
    unsigned shards; /* of the smallest other set; 0: there is none */
    unsigned count;  /* how much of it is there */
    int64_t temporary;
    struct sb_buf first; /* the first of the temporary files */
};

static enum sb_code note_name(const struct sb_shard_pattern *set, const char *name,
                              struct beside *beside)
{
    struct sb_bag_found found = sb_bag_recognize(set, name);

    if (found.what == SB_FOUND_TEMPORARY) {
        if (beside->temporary++ == 0 && sb_buf_add_text(&beside->first, name))
            return sb_fail_memory();
    } else if (found.what == SB_FOUND_SHARD && found.shards != set->shards &&
               found.shard < found.shards) {
        if (beside->shards == 0 || found.shards < beside->shards) {
            beside->shards = found.shards;
            beside->count = 0;
        }
        beside->count += found.shards == beside->shards;
    }
    return SB_OK;
}

static enum sb_code look_beside(const struct sb_shard_pattern *set, struct beside *beside)
{
    const char *path = set->path;
    size_t directory_size = (size_t)(sb_base_name(path) - path);
    CLEANUP(sb_buf_release) struct sb_buf directory = {0};
    const struct dirent *entry;
    CLEANUP(closedirp) DIR *dir = NULL;

    TRY(sb_buf_set(&directory, directory_size ? path : "./", directory_size ? directory_size : 2));
    dir = opendir(directory.data);
    while (dir && (entry = readdir(dir)))
        TRY(note_name(set, entry->d_name, beside));
    return SB_OK;
}

/* Two complete sets may be intended; a part of a set was left by a killed run. */
static void report_others(struct bag_check *check, const struct stretch *stretch,
                          const struct beside *beside)
{
    const char *path = check->spec.paths[stretch->first];

    if (beside->shards > 0 && beside->count < beside->shards)
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_defect_of(path, strlen(path)),
                         "is of a set of %u shards, and %u shards of a set of %u, which is not "
                         "whole, are beside it: remove those that are not wanted",
                         stretch->name.shards, beside->count, beside->shards);
    else if (beside->shards > 0)
        sb_report(check->notify, SB_WARNING, "mixed", path,
                  "is of a set of %u shards, and another of %u is beside it; \"@*\" takes the "
                  "last by name",
                  stretch->name.shards, beside->shards);
}

enum lock { NO_LOCK, LEFT, HELD };

static enum lock look_at_lock(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool held;

    if (fd < 0)
        return NO_LOCK;
    held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held ? HELD : LEFT;
}

enum sb_code sb_verify_bag_is_written(const char *path, bool *written)
{
    CLEANUP(sb_buf_release) struct sb_buf lock = {0};

    *written = false;
    TRY(sb_out_hide(path, SB_OUT_LOCK_SUFFIX, &lock));
    *written = look_at_lock(lock.data) == HELD;
    return SB_OK;
}

/* written: the path that its writers lock. */
static enum sb_code report_writer(struct bag_check *check, const char *path, const char *written,
                                  int64_t temporary, const char *first)
{
    CLEANUP(sb_buf_release) struct sb_buf lock_path = {0};
    enum lock lock;

    TRY(sb_out_hide(written, SB_OUT_LOCK_SUFFIX, &lock_path));
    lock = look_at_lock(lock_path.data);
    if (lock == HELD)
        sb_report(check->notify, SB_WARNING, "written", path, "is being written just now");
    else if (temporary > 0)
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_defect_of(path, strlen(path)),
                         "beside it %s of a writer that was killed (%s%s); the next writer of this "
                         "name removes %s",
                         temporary == 1 ? "is a temporary file" : "are temporary files", first,
                         temporary == 1 ? "" : ", ...", temporary == 1 ? "it" : "them");
    else if (lock == LEFT)
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_defect_of(path, strlen(path)),
                         "a writer of it was killed, and left %s; the next one undoes what it "
                         "began",
                         sb_base_name(lock_path.data));
    return SB_OK;
}

static void release_beside(struct beside *beside)
{
    sb_buf_release(&beside->first);
}

static enum sb_code look_at_set(struct bag_check *check, const struct stretch *stretch)
{
    const char *path = check->spec.paths[stretch->first];
    struct sb_shard_pattern set = {
        .path = path,
        .prefix_size = (size_t)(stretch->name.prefix + stretch->name.prefix_size - path),
        .suffix = stretch->name.suffix,
        .shards = stretch->name.shards};
    CLEANUP(release_beside) struct beside beside = {0};
    CLEANUP(sb_buf_release) struct sb_buf spec = {0};

    TRY(look_beside(&set, &beside));
    TRY(sb_buf_add_format(&spec, "%.*s@%s", (int)set.prefix_size, path, set.suffix));
    report_others(check, stretch, &beside);
    return report_writer(check, path, spec.data, beside.temporary, beside.first.data);
}

enum sb_code sb_verify_bag_sets(struct bag_check *check)
{
    struct stretch stretch;

    for (uint32_t i = 0; i < check->file_count; i = stretch.end) {
        stretch = stretch_at(check, i);
        TRY(report_missing(check, &stretch));
        if (stretch.name.shards > 0)
            TRY(look_at_set(check, &stretch));
        /* Leftovers of writers of each file. */
        for (uint32_t k = stretch.first; k < stretch.end; k++) {
            const char *path = check->spec.paths[k];
            CLEANUP(sb_buf_release) struct sb_buf temporary = {0};

            TRY(sb_out_hide(path, SB_BAG_NEW_SUFFIX, &temporary));
            TRY(report_writer(check, path, path, access(temporary.data, F_OK) == 0,
                              sb_base_name(temporary.data)));
        }
    }
    return SB_OK;
}
