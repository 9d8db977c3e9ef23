#include "store/own_files.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/own/own_names.h"
#include "archive/parity/note.h"
#include "archive/parity/parity.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"
#include "store/out/lock.h"
#include "store/part_name.h"
#include "store/shard_spec.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Directories above one, in which it may be looked for. */
#define ABOVE_MOST 1000

enum kind { ARCHIVE, ONE_FILE, DIRECTORY };

/* A path of an input or an output. */
struct place {
    enum kind kind;
    char *typed; /* for messages */
    char *path;  /* its directory resolved */
    const char *base;
    struct stat dir; /* which has it; of a directory, itself */
    const atomic_uint *shards;
    atomic_uint counted; /* if `shards` points to it */
    struct sb_share share;
};

struct identity {
    dev_t device;
    ino_t inode;
    bool is_linked; /* a shard that is a link leads to it */
    const struct place *place;
};

struct sb_own_files {
    struct place **places;
    size_t count, capacity;

    /* Looked up when the first file is not known by its name. */
    pthread_mutex_t mutex;
    bool looked_up;
    struct identity *identities; /* sorted */
    size_t identity_count, identity_capacity;
};

enum sb_code sb_own_files_new(struct sb_own_files **out)
{
    TRY(SB_NEW(out));
    pthread_mutex_init(&(*out)->mutex, NULL);
    return SB_OK;
}

void sb_own_files_free(struct sb_own_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        free(files->places[i]->typed);
        free(files->places[i]->path);
        free(files->places[i]);
    }
    free(files->places);
    free(files->identities);
    pthread_mutex_destroy(&files->mutex);
    free(files);
}

/* Which are added */

/* DIR/NAME with DIR resolved. NULL: there is no such directory, or no memory. */
static char *resolve_dir(const char *path)
{
    const char *name = sb_base_name(path);
    char *typed = name > path ? strndup(path, (size_t)(name - path)) : strdup("."), *dir, *whole;

    dir = typed ? realpath(typed, NULL) : NULL;
    if (!dir || asprintf(&whole, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name) < 0)
        whole = NULL;
    free(dir);
    free(typed);
    return whole;
}

/* `path`, which becomes the place's, is absolute. */
static enum sb_code add_place(struct sb_own_files *files, enum kind kind, const char *typed,
                              char *path, struct place **out)
{
    struct place *place = calloc(1, sizeof(*place));
    char *dir = strndup(path, (size_t)(sb_base_name(path) - path));
    bool found;

    if (!place || !dir || !(place->typed = strdup(typed)) ||
        sb_grow(&files->places, &files->capacity, files->count, sizeof(struct place *))) {
        if (place)
            free(place->typed);
        free(place);
        free(dir);
        free(path);
        return sb_fail_memory();
    }
    place->kind = kind;
    place->path = path;
    place->base = sb_base_name(path);
    place->shards = &place->counted;
    found = stat(kind == DIRECTORY ? path : dir, &place->dir) == 0;
    free(dir);
    if (!found)
        place->dir = (struct stat){0};
    files->places[files->count++] = place;
    if (out)
        *out = place;
    return SB_OK;
}

/* Under its own name and, if that is a link, the one that it leads to. */
static enum sb_code add_names(struct sb_own_files *files, enum kind kind, const char *typed,
                              struct place **first, struct place **second)
{
    char *given = resolve_dir(typed), *whole = realpath(typed, NULL);
    enum sb_code code = SB_OK;
    bool differ = whole && (!given || strcmp(given, whole) != 0);

    *first = *second = NULL;
    if (given)
        code = add_place(files, kind, typed, given, first);
    if (!code && differ)
        code = add_place(files, kind, typed, whole, second);
    else
        free(whole);
    return code;
}

static enum sb_code add_file(struct sb_own_files *files, const char *path)
{
    struct place *first, *second;
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};
    struct stat st;

    TRY(add_names(files, ONE_FILE, path, &first, &second));
    if (!sb_is_bag_name(path))
        return SB_OK;
    TRY(sb_limits_name(path, &limits));
    return stat(limits.data, &st) == 0 ? add_names(files, ONE_FILE, limits.data, &first, &second)
                                       : SB_OK;
}

static enum sb_code add_bags(struct sb_own_files *files, const char *spec)
{
    struct sb_spec beside = {0}, bags = {0};
    enum sb_code code = sb_spec_beside(&beside, spec);

    for (size_t i = 0; !code && i < beside.count; i++) {
        code = sb_spec_expand(&bags, beside.paths[i]);
        for (size_t k = 0; !code && k < bags.count; k++)
            code = add_file(files, bags.paths[k]);
        sb_spec_release(&bags);
    }
    sb_spec_release(&beside);
    /* Who reads the spec says what is wrong with it. */
    return code == SB_NOMEM ? code : SB_OK;
}

/* The shards that the archive counts, or which are there one after the other. */
static unsigned count_shards(const struct place *place, struct sb_archive *archive)
{
    uint32_t count = 0;
    struct stat st;
    bool there = true;

    if (archive && IGNORED(sb_archive_shard_count(archive, &count)))
        count = 0;
    while (there && count <= SB_SHARD_MAX) {
        char *name = IGNORED(sb_shard_name(place->path, count));

        there = name && lstat(name, &st) == 0;
        count += there;
        free(name);
    }
    return count;
}

static enum sb_code add_archive(struct sb_own_files *files, const char *path,
                                struct sb_archive *archive, const atomic_uint *shards,
                                struct sb_share share)
{
    struct place *places[2];

    TRY(add_names(files, ARCHIVE, path, &places[0], &places[1]));
    for (size_t i = 0; i < 2; i++) {
        struct place *place = places[i];

        if (!place)
            continue;
        place->path[sb_index_base_size(place->path)] = '\0';
        place->share = share;
        place->shards = shards ? shards : &place->counted;
        if (!shards)
            atomic_init(&place->counted, count_shards(place, archive));
    }
    return SB_OK;
}

/* What standard input is, by the name that it was opened with. */
static enum sb_code add_stdin(struct sb_own_files *files)
{
    char path[PATH_MAX];
    struct stat st, named;
    ssize_t size = readlink("/proc/self/fd/0", path, sizeof(path) - 1);

    if (size <= 0 || fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode))
        return SB_OK;
    path[size] = '\0';
    return stat(path, &named) == 0 && sb_is_same_file(&named, &st) ? add_file(files, path) : SB_OK;
}

enum sb_code sb_own_files_add(struct sb_own_files *files, const char *spec,
                              struct sb_archive *archive)
{
    struct place *first, *second;
    struct stat st;

    if (strcmp(spec, "-") == 0)
        return add_stdin(files);
    if (archive || sb_archive_looks_like(spec))
        return add_archive(files, spec, archive, NULL, (struct sb_share){0});
    if (stat(spec, &st))
        return add_bags(files, spec);
    if (S_ISDIR(st.st_mode))
        return add_names(files, DIRECTORY, spec, &first, &second);
    return add_file(files, spec);
}

enum sb_code sb_own_files_add_output(struct sb_own_files *files, const char *path,
                                     const atomic_uint *shards, struct sb_share share)
{
    return add_archive(files, path, NULL, shards, share);
}

/* By identity */

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;

    if (x->device != y->device)
        return COMPARE(x->device, y->device);
    if (x->inode != y->inode)
        return COMPARE(x->inode, y->inode);
    return x->is_linked - y->is_linked;
}

/* Without memory the names must do. */
static void add_identity(struct sb_own_files *files, const struct place *place,
                         const struct stat *st, bool is_linked)
{
    if (IGNORED(sb_grow(&files->identities, &files->identity_capacity, files->identity_count,
                        sizeof(*files->identities))))
        return;
    files->identities[files->identity_count++] = (struct identity){
        .device = st->st_dev, .inode = st->st_ino, .is_linked = is_linked, .place = place};
}

static void look_up_shards(struct sb_own_files *files, const struct place *place)
{
    struct stat st;

    for (uint32_t i = 0; i < *place->shards; i++) {
        char *name = IGNORED(sb_shard_name(place->path, i));
        bool there = name && lstat(name, &st) == 0;

        if (there)
            add_identity(files, place, &st, false);
        if (there && S_ISLNK(st.st_mode) && stat(name, &st) == 0)
            add_identity(files, place, &st, true);
        free(name);
    }
}

static void look_up(struct sb_own_files *files)
{
    struct stat st;

    for (size_t i = 0; i < files->count; i++) {
        const struct place *place = files->places[i];

        if (place->kind == ARCHIVE)
            look_up_shards(files, place);
        if ((place->kind == ARCHIVE || place->kind == ONE_FILE) && stat(place->path, &st) == 0)
            add_identity(files, place, &st, false);
    }
    if (files->identity_count > 0)
        qsort(files->identities, files->identity_count, sizeof(*files->identities),
              compare_identities);
}

/* `linked`: also what a shard that is a link leads to. */
static const struct place *find_identity(const struct sb_own_files *files, const struct stat *st,
                                         bool linked)
{
    const struct identity wanted = {.device = st->st_dev, .inode = st->st_ino};
    struct sb_own_files *own = (struct sb_own_files *)files;
    const struct identity *found;
    size_t at;

    pthread_mutex_lock(&own->mutex);
    if (!own->looked_up)
        look_up(own);
    own->looked_up = true;
    pthread_mutex_unlock(&own->mutex);
    at = FIRST_WHERE(i, files->identity_count,
                     compare_identities(&files->identities[i], &wanted) >= 0);
    if (at == files->identity_count)
        return NULL;
    found = &files->identities[at];
    return found->device == st->st_dev && found->inode == st->st_ino &&
                   (linked || !found->is_linked)
               ? found->place
               : NULL;
}

/* By name */

/* What is in front of the last component, to be opened below a descriptor. */
static bool stat_parent(int dir_fd, const char *component, struct stat *st)
{
    const char *last = sb_base_name(component);
    CLEANUP(sb_freep) char *dir = NULL;

    if (last == component)
        return fstatat(dir_fd, ".", st, 0) == 0;
    dir = strndup(component, (size_t)(last - component));
    return dir && fstatat(dir_fd, dir, st, 0) == 0;
}

/* The name that a file is made under, or locked by, until it is complete: .NAME.shardbox-out. */
static const char *unhide(const char *name, char *out, size_t capacity)
{
    static const char *const ends[] = {SB_OUT_SUFFIX, SB_OUT_LOCK_SUFFIX};
    size_t size = strlen(name);

    for (size_t i = 0; *name == '.' && i < ARRAY_SIZE(ends); i++) {
        size_t end = strlen(ends[i]);

        if (size > end + 1 && strcmp(name + size - end, ends[i]) == 0 && size - end <= capacity) {
            memcpy(out, name + 1, size - end - 1);
            out[size - end - 1] = '\0';
            return out;
        }
    }
    return name;
}

/* Is it a name of the place? counted: of shards only those that there are. */
static bool has_name(const struct place *place, const char *name, bool counted)
{
    size_t size = strlen(place->base);
    struct sb_own own;

    if (counted && place->share.count > 0)
        return sb_is_part_file(name, place->base, place->share);
    if (strncmp(name, place->base, size) != 0)
        return false;
    own = sb_own_of_rest(name + size);
    if (place->kind == ONE_FILE)
        return own.kind == SB_OWN_INDEX;
    if (counted && (own.kind == SB_OWN_SHARD || own.kind == SB_OWN_SHARD_PARITY))
        return own.shard < *place->shards;
    return counted ? own.kind == SB_OWN_INDEX || own.kind == SB_OWN_NEW : own.kind != SB_OWN_NONE;
}

/* Does a parity file say that it belongs to the file of this path? */
static bool is_parity_of(int dir_fd, const char *component, size_t size, const char *path)
{
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    return (dir_fd == AT_FDCWD || !sb_buf_add_format(&name, "/proc/self/fd/%d/", dir_fd)) &&
           !sb_buf_add_format(&name, "%.*s%s", (int)size, component, SB_PROTECT_SUFFIX) &&
           IGNORED(sb_parity_open(&parity, name.data)) == SB_OK &&
           sb_protect_has_note(&parity->super) && sb_protect_has_origin(&parity->super, path);
}

/* In another directory than the file: what a repair replaced goes with the parity of the index. */
static bool is_elsewhere(const struct place *place, int dir_fd, const char *component)
{
    const char *last = sb_base_name(component), *rest = last + strlen(place->base);
    size_t size = strlen(component), end = strlen(SB_PROTECT_SUFFIX);
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (!sb_own_may_be_elsewhere(rest))
        return false;
    if (strcmp(rest, SB_REPAIR_END) == 0)
        end = strlen(SB_REPAIR_END);
    return !sb_buf_add_format(&path, "%s%.*s", place->path, (int)(strlen(rest) - end), rest) &&
           is_parity_of(dir_fd, component, size - end, path.data);
}

/* Is it in the directory, or below? */
static bool is_below(const struct place *place, int dir_fd, const char *component)
{
    const char *last = sb_base_name(component);
    CLEANUP(sb_buf_release) struct sb_buf up = {0};
    struct stat st, before = {0};

    if (sb_buf_add(&up, component, (size_t)(last - component)) || sb_buf_add_char(&up, '.'))
        return false;
    for (int i = 0; i < ABOVE_MOST && fstatat(dir_fd, up.data, &st, 0) == 0; i++) {
        if (i > 0 && sb_is_same_file(&st, &before))
            return false;
        if (sb_is_same_file(&st, &place->dir))
            return true;
        before = st;
        if (sb_buf_add_text(&up, "/.."))
            return false;
    }
    return false;
}

static const struct place *find_name(const struct sb_own_files *files, int dir_fd,
                                     const char *component, bool reads)
{
    char hidden[NAME_MAX + 1];
    const char *last = sb_base_name(component), *name = unhide(last, hidden, sizeof(hidden));
    struct stat dir;

    for (size_t i = 0; i < files->count; i++) {
        const struct place *place = files->places[i];

        if (place->kind == DIRECTORY && !reads && is_below(place, dir_fd, component))
            return place;
        if (place->kind == DIRECTORY || !has_name(place, name, reads))
            continue;
        if (stat_parent(dir_fd, component, &dir) && sb_is_same_file(&dir, &place->dir))
            return place;
        if (name == last && is_elsewhere(place, dir_fd, component))
            return place;
    }
    return NULL;
}

bool sb_own_files_is_one(const struct sb_own_files *files, int dir_fd, const char *component,
                         const struct stat *st, bool follow)
{
    if (!files)
        return false;
    if ((st && sb_is_kept_open(st)) || find_name(files, dir_fd, component, true))
        return true;
    return st && (follow || st->st_nlink > 1) && find_identity(files, st, false);
}

const char *sb_own_files_spare(const struct sb_own_files *files, int dir_fd, const char *component,
                               const struct stat *st)
{
    const struct place *place = files ? find_name(files, dir_fd, component, false) : NULL;

    if (files && !place && st)
        place = find_identity(files, st, true);
    return place ? place->typed : NULL;
}
