#include "task/mount/device.h"

#include "core/buf.h"
#include "core/name.h"
#include "core/number.h"
#include "task/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST          "/proc/self/mountinfo"
#define DEVICE        "/dev/fuse"
#define DEVICE_NUMBER makedev(10, 229) /* as the kernel's devices.txt has it */
#define HELPER        "fusermount3"
#define TYPE          "fuse.shardbox"

/*
 * What is mounted where, as the system lists it in /proc. Nothing here waits for the server of a
 * mount, so that it works on those that have none.
 */

/* A line of the list. */
struct line {
    uint64_t id, parent, device;
    char *path, *type, *options; /* in the line */
};

/* The system's list of what is mounted. Once it is made, no descriptor and no memory is needed to
 * read it again, unless it has become twice as long. */
struct sb_mounted_list {
    FILE *file;
    char *text; /* of it as it was last read */
    size_t text_capacity;
    struct line *lines; /* parts of the text */
    size_t count, capacity;
};

/* A mount. The system may give both numbers to another one after this one has ended. The strings
 * live until the list is used next. */
struct mounted {
    uint64_t id;
    uint64_t device;  /* of its files */
    const char *path; /* where it is: its directory may be renamed meanwhile */
    const char *type;
    int64_t user;      /* who has mounted it, by FUSE; -1: nobody knows */
    const char *inner; /* the path of a mount in it, or over it; NULL: there is none */
    bool hidden;       /* by a mount over a directory above it, so that its path leads elsewhere */
};

/* The text of a file in /proc as it is now. False with errno. */
static bool read_all(FILE *file, char **text, size_t *capacity)
{
    __fpurge(file);
    rewind(file);
    errno = EIO;
    return getdelim(text, capacity, '\0', file) >= 0;
}

/* Spaces and the like are \040 in the list. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELDS] - TYPE SOURCE OPTIONS */
static bool parse(char *text, struct line *line)
{
    char *rest = strstr(text, " - ");
    unsigned major, minor;

    if (!rest)
        return false;
    rest += strlen(" - ");
    line->id = strtoull(text, &text, 10);
    line->parent = strtoull(text, &text, 10);
    major = (unsigned)strtoul(text, &text, 10);
    minor = (unsigned)strtoul(text + 1, &text, 10);
    line->device = makedev(major, minor);
    strsep(&text, " ");
    strsep(&text, " ");
    line->path = strsep(&text, " ");
    if (!line->path || line->path > rest)
        return false;
    unescape(line->path);
    line->type = strsep(&rest, " ");
    strsep(&rest, " ");
    line->options = rest;
    return true;
}

static int64_t user_of(const struct line *line)
{
    static const char key[] = ",user_id=";
    const char *at = line->options ? strstr(line->options, key) : NULL;

    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static enum sb_code read_list(struct sb_mounted_list *list)
{
    char *rest, *text;

    list->count = 0;
    if (!read_all(list->file, &list->text, &list->text_capacity))
        return sb_fail_errno(errno, LIST);
    rest = list->text;
    while ((text = strsep(&rest, "\n"))) {
        TRY(sb_grow(&list->lines, &list->capacity, list->count, sizeof(*list->lines)));
        if (parse(text, &list->lines[list->count]))
            list->count++;
    }
    return SB_OK;
}

/* Memory for as much again, so that it can be read when there is none. */
static enum sb_code make_space(struct sb_mounted_list *list)
{
    const size_t capacity = list->text_capacity * 2;
    char *text = realloc(list->text, capacity);

    if (!text)
        return sb_fail_memory();
    list->text = text;
    list->text_capacity = capacity;
    return sb_grow(&list->lines, &list->capacity, list->count * 2, sizeof(*list->lines));
}

static void free_list(struct sb_mounted_list *list)
{
    if (!list)
        return;
    if (list->file)
        fclose(list->file);
    free(list->lines);
    free(list->text);
    free(list);
}

FREEP(free_list, struct sb_mounted_list)

static enum sb_code make_list(struct sb_mounted_list **out)
{
    CLEANUP(free_listp) struct sb_mounted_list *list = NULL;

    *out = NULL;
    TRY(SB_NEW(&list));
    list->file = fopen(LIST, "re");
    TRY(list->file ? read_list(list)
                   : sb_fail_errno(errno, LIST ": what is mounted is not known without it"));
    TRY(make_space(list));
    *out = TAKE(list);
    return SB_OK;
}

static const struct line *line_of(const struct sb_mounted_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].id == id)
            return &list->lines[i];
    }
    return NULL;
}

/* Is there another mount on the same one, at a directory above it or at its own? */
static bool is_covered(const struct sb_mounted_list *list, const struct line *line)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct line *other = &list->lines[i];

        if (other->parent == line->parent && other->id != line->id && other->id != other->parent &&
            sb_name_within(line->path + 1, strlen(line->path + 1), other->path + 1,
                           strlen(other->path + 1)))
            return true;
    }
    return false;
}

/* It, or one that it is on. */
static bool is_hidden(const struct sb_mounted_list *list, const struct line *line)
{
    for (size_t depth = 0; line && depth < list->count; depth++) {
        if (is_covered(list, line))
            return true;
        line = line->parent == line->id ? NULL : line_of(list, line->parent);
    }
    return false;
}

static const struct line *inner_of(const struct sb_mounted_list *list, const struct line *line)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].parent == line->id && list->lines[i].id != line->id)
            return &list->lines[i];
    }
    return NULL;
}

/* The mount of these numbers as it is now; device: NULL: any. SB_NOENT: there is none, or it cannot
 * be reached. */
static enum sb_code find(struct mounted *out, struct sb_mounted_list *list, uint64_t id,
                         const uint64_t *device)
{
    const struct line *line, *inner;

    *out = (struct mounted){0};
    TRY(read_list(list));
    line = line_of(list, id);
    if (!line || (device && line->device != *device))
        return sb_fail(SB_NOENT, "mount %" PRIu64 ": is not in " LIST, id);
    inner = inner_of(list, line);
    *out = (struct mounted){
        .id = line->id,
        .device = line->device,
        .user = user_of(line),
        .hidden = is_hidden(list, line),
        .path = line->path,
        .type = line->type,
        .inner = inner ? inner->path : NULL,
    };
    return SB_OK;
}

/* The number of the mount that a descriptor is on. */
static enum sb_code find_id(int fd, uint64_t *id)
{
    static const char key[] = "mnt_id:";
    char path[64], *text = NULL, *at = NULL;
    size_t capacity = 0;
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    if (!info)
        return sb_fail_errno(errno, "%s", path);
    if (read_all(info, &text, &capacity))
        at = strstr(text, key);
    if (at)
        *id = strtoull(at + strlen(key), NULL, 10);
    free(text);
    fclose(info);
    return at ? SB_OK : sb_fail(SB_SYSTEM, "%s: has no mnt_id", path);
}

static enum sb_code find_real(int fd, char **real)
{
    char path[64], target[PATH_MAX];
    ssize_t size;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    size = readlink(path, target, sizeof(target) - 1);
    if (size < 0)
        return sb_fail_errno(errno, "%s", path);
    *real = strndup(target, (size_t)size);
    return *real ? SB_OK : sb_fail_memory();
}

/* The mount that has the directory or file at a path, which may be a link; *real (may be NULL) is
 * the path without links, which the caller frees. SB_NOENT, SB_SYSTEM. */
static enum sb_code find_at(struct mounted *out, struct sb_mounted_list *list, const char *path,
                            char **real)
{
    /* It keeps a mount in use, and so is closed before anything is done about that. */
    CLEANUP(sb_closep) int fd = open(path, O_PATH | O_CLOEXEC);
    uint64_t id = 0;

    *out = (struct mounted){0};
    if (real)
        *real = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(find_id(fd, &id));
    if (real)
        TRY(find_real(fd, real));
    return find(out, list, id, NULL);
}

int sb_device_given(const char *dir)
{
    static const char prefix[] = "/dev/fd/";
    int64_t fd;

    if (strncmp(dir, prefix, strlen(prefix)) != 0 ||
        !sb_parse_integer(dir + strlen(prefix), 0, INT_MAX, &fd))
        return -1;
    return (int)fd;
}

enum sb_code sb_device_take(struct sb_device *device, int fd)
{
    struct stat st;

    *device = (struct sb_device){.fd = fd};
    if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == DEVICE_NUMBER) {
        /* Who waits for a request must not go round and round. */
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return SB_OK;
    }
    return sb_fail(SB_INVALID,
                   "/dev/fd/%d: is no device of FUSE; one that another program has opened "
                   "goes with --foreground",
                   fd);
}

/* Why it could not be mounted: the call that failed first, and the helper after it. */
struct refusal {
    const char *call;
    int failure;
    bool helped;    /* the helper was run */
    char said[256]; /* its first line, without its name */
};

/* Until the helper has closed it. */
static void hear(int fd, char *said, size_t capacity)
{
    static const char name[] = HELPER ": ";
    char rest[256];
    size_t used = 0;
    ssize_t got;

    while ((got = read(fd, rest, sizeof(rest))) > 0 || (got < 0 && errno == EINTR)) {
        size_t size = got > 0 ? (size_t)got : 0;

        size = size < capacity - 1 - used ? size : capacity - 1 - used;
        memcpy(said + used, rest, size);
        used += size;
    }
    said[used] = '\0';
    said[strcspn(said, "\n")] = '\0';
    if (strncmp(said, name, strlen(name)) == 0)
        memmove(said, said + strlen(name), strlen(said + strlen(name)) + 1);
}

/*
 * Runs the helper, which gets one end of a pair of sockets as _FUSE_COMMFD, unless that is -1.
 * False where there is none; *status is its own.
 */
static bool run_helper(char *const *words, int socket, int *status, struct refusal *refusal)
{
    CLEANUP(sb_freep) char **environment = NULL;
    posix_spawn_file_actions_t actions;
    char variable[32];
    size_t count = 0;
    int ends[2], failure;
    pid_t child;

    while (environ[count])
        count++;
    environment = calloc(count + 2, sizeof(*environment));
    if (!environment || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    memcpy(environment, environ, count * sizeof(*environment));
    snprintf(variable, sizeof(variable), "_FUSE_COMMFD=%d", socket);
    if (socket >= 0)
        environment[count] = variable;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    failure = posix_spawnp(&child, words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!failure)
        hear(ends[0], refusal->said, sizeof(refusal->said));
    close(ends[0]);
    refusal->helped = !failure;
    if (failure)
        return false;
    while (waitpid(child, status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}

/* The descriptor that the helper has sent; -1: none. */
static int receive(int socket)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header;
    int fd = -1;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
        return -1;
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

static bool mount_by_helper(int *fd, const char *dir, bool allow_other, struct refusal *refusal)
{
    char *words[] = {(char *)HELPER,
                     (char *)"-o",
                     (char *)(allow_other ? "ro,nosuid,nodev,subtype=shardbox,fsname=shardbox,"
                                            "allow_other,default_permissions"
                                          : "ro,nosuid,nodev,subtype=shardbox,fsname=shardbox"),
                     (char *)"--",
                     (char *)dir,
                     NULL};
    int sockets[2], status;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return false;
    fcntl(sockets[0], F_SETFD, FD_CLOEXEC);
    *fd = -1;
    if (run_helper(words, sockets[1], &status, refusal) && status == 0)
        *fd = receive(sockets[0]);
    close(sockets[0]);
    close(sockets[1]);
    return *fd >= 0;
}

static bool mount_directly(int *fd, const char *dir, bool allow_other, struct refusal *refusal)
{
    char options[160];

    *refusal = (struct refusal){.call = "open " DEVICE};
    *fd = open(DEVICE, O_RDWR | O_CLOEXEC);
    if (*fd < 0) {
        refusal->failure = errno;
        return false;
    }
    snprintf(options, sizeof(options), "fd=%d,rootmode=%o,user_id=%u,group_id=%u%s", *fd, S_IFDIR,
             getuid(), getgid(), allow_other ? ",allow_other,default_permissions" : "");
    if (mount("shardbox", dir, TYPE, MS_NOSUID | MS_NODEV | MS_RDONLY, options) == 0)
        return true;
    refusal->call = "mount";
    refusal->failure = errno;
    close(*fd);
    *fd = -1;
    return false;
}

static bool is_refused(const struct refusal *refusal)
{
    return refusal->failure == EPERM || refusal->failure == EACCES;
}

/* What is not in use already. */
static const char *advice(const struct refusal *refusal)
{
    if (refusal->helped)
        return geteuid() == 0 ? "" : "; or run it in a user namespace, by 'unshare -rm'";
    if (geteuid() == 0)
        return "; give the container CAP_SYS_ADMIN and " DEVICE
               ", or run it in a user namespace, by 'unshare -rm'";
    return "; an administrator can install " HELPER
           " (package fuse3), or run it in a user namespace, by 'unshare -rm'";
}

static enum sb_code fail_mount(const char *dir, const struct refusal *refusal)
{
    char reason[128];

    if (access(DEVICE, F_OK) != 0)
        return sb_fail(SB_INVALID,
                       "%s: cannot be mounted: there is no " DEVICE " here; an administrator can "
                       "load the kernel's module fuse, or give that device to a container",
                       dir);
    sb_fail(SB_SYSTEM, "%s: cannot be mounted: %s: %s%s%s%s", dir, refusal->call,
            strerror_r(refusal->failure, reason, sizeof(reason)),
            refusal->helped ? "; " HELPER ": " : "",
            refusal->helped && !*refusal->said ? "has failed" : refusal->said,
            is_refused(refusal) ? advice(refusal) : "");
    sb_error()->sys_errno = refusal->failure;
    return SB_SYSTEM;
}

/* dir: without links. False with errno. */
static bool unmount(const char *dir, bool lazy)
{
    char *words[] = {(char *)HELPER, (char *)(lazy ? "-uz" : "-u"),
                     (char *)"-q",   (char *)"--",
                     (char *)dir,    NULL};
    struct refusal ignored = {0};
    int status, failure;

    if (umount2(dir, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
        return true;
    failure = errno;
    if (failure == EPERM && run_helper(words, -1, &status, &ignored) && status == 0)
        return true;
    errno = failure;
    return false;
}

/* Unmounting lazily would take along what is mounted in it. */
static enum sb_code refuse_inner(const char *dir, const struct mounted *mounted)
{
    if (!mounted->inner)
        return SB_OK;
    if (strcmp(mounted->inner, mounted->path) == 0)
        return sb_fail(SB_INVALID, "%s: something else is mounted over it: unmount that first",
                       dir);
    return sb_fail(SB_INVALID, "%s: something is mounted in it, at %s: unmount that first", dir,
                   mounted->inner);
}

/* Has it lost its server? The system answers from what it keeps, but never this. */
static bool is_dead(const char *dir)
{
    struct statfs st;

    return statfs(dir, &st) != 0 && errno == ENOTCONN;
}

/* Unmounts what is at the top there, if a server of ours that is gone has left it. */
static enum sb_code clear_top(struct sb_mounted_list *list, const char *dir, bool *cleared)
{
    CLEANUP(sb_freep) char *real = NULL;
    struct mounted mounted;

    *cleared = false;
    TRY(find_at(&mounted, list, dir, &real));
    if (strcmp(mounted.type, TYPE) != 0 || strcmp(mounted.path, real) != 0 || !is_dead(real))
        return SB_OK;
    TRY(refuse_inner(dir, &mounted));
    if (!unmount(real, true))
        return sb_fail_errno(errno, "%s: has lost its server, and cannot be unmounted", dir);
    *cleared = true;
    return SB_OK;
}

static enum sb_code clear(struct sb_mounted_list *list, const char *dir)
{
    struct stat st;
    bool cleared = true;

    for (int tries = 0; cleared && tries < 8; tries++)
        TRY(clear_top(list, dir, &cleared));
    if (stat(dir, &st) != 0)
        return sb_fail_errno(errno, "%s", dir);
    return S_ISDIR(st.st_mode) ? SB_OK : sb_fail_errno(ENOTDIR, "%s", dir);
}

/* Right after it was mounted. */
static enum sb_code identify(struct sb_device *device, const char *dir)
{
    struct mounted mounted;
    enum sb_code code = find_at(&mounted, device->list, dir, NULL);

    if (code)
        unmount(dir, true);
    else if (strcmp(mounted.type, TYPE) != 0)
        code = sb_fail(SB_SYSTEM, "%s: something else was mounted there meanwhile", dir);
    device->id = mounted.id;
    device->device = mounted.device;
    if (code)
        close(device->fd);
    return code;
}

enum sb_code sb_device_mount(struct sb_device *device, const char *dir, bool allow_other)
{
    struct refusal refusal;

    *device = (struct sb_device){.fd = -1};
    TRY(make_list(&device->list));
    TRY(clear(device->list, dir));
    if (mount_directly(&device->fd, dir, allow_other, &refusal) ||
        (is_refused(&refusal) && mount_by_helper(&device->fd, dir, allow_other, &refusal)))
        return identify(device, dir);
    return fail_mount(dir, &refusal);
}

static enum sb_code fail_unmount(const char *dir, int failure)
{
    if (failure == EINVAL)
        return sb_fail(SB_INVALID, "%s: nothing is mounted there", dir);
    if (failure == EBUSY)
        return sb_fail(
            SB_SYSTEM,
            "%s: is in use: a program has a file open there, or is in a directory of it; "
            "--lazy unmounts it all the same",
            dir);
    return sb_fail_errno(failure, "%s: cannot be unmounted", dir);
}

enum sb_code sb_device_end(const struct sb_device *device, bool lazy)
{
    struct pollfd state = {.fd = device->fd};
    struct mounted mounted;
    enum sb_code code = SB_NOENT;

    /* While others mount and unmount, a line may be missing in the list. */
    for (int tries = 0; code == SB_NOENT && tries < 3; tries++)
        code = find(&mounted, device->list, device->id, &device->device);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    /* Its numbers are its own while it has its connection, as is seen once they were found. */
    if (poll(&state, 1, 0) != 0)
        return SB_OK;
    TRY(refuse_inner(mounted.path, &mounted));
    if (mounted.hidden)
        return sb_fail(SB_INVALID, "%s: something else is mounted over a directory above",
                       mounted.path);
    return unmount(mounted.path, lazy) ? SB_OK : fail_unmount(mounted.path, errno);
}

void sb_device_release(struct sb_device *device)
{
    free_list(device->list);
    device->list = NULL;
}

enum sb_code sb_unmount(const char *dir, bool lazy)
{
    CLEANUP(free_listp) struct sb_mounted_list *list = NULL;
    struct mounted mounted = {0};
    CLEANUP(sb_freep) char *real = NULL;

    TRY(make_list(&list));
    TRY(find_at(&mounted, list, dir, &real));
    if (strcmp(mounted.path, real) != 0)
        return fail_unmount(dir, EINVAL);
    if (strcmp(mounted.type, TYPE) != 0)
        return sb_fail(SB_INVALID,
                       "%s: is a file system of type %s, which 'shardbox mount' has not mounted",
                       dir, mounted.type);
    TRY(refuse_inner(dir, &mounted));
    if (unmount(real, lazy))
        return SB_OK;
    /* The helper has said no more than that it could not. */
    return fail_unmount(dir, errno == EPERM && !lazy && mounted.user == getuid() ? EBUSY : errno);
}
