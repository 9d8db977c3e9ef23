/*
 * A mount from its opening to its end.
 */
#include "archive/archive.h"
#include "archive/database.h"
#include "core/array.h"
#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/thread.h"
#include "core/time.h"
#include "store/shard_spec.h"
#include "task/mount/log.h"
#include "task/mount/reading.h"
#include "task/mount/roots.h"
#include "task/mount/serve.h"
#include "task/mount/workers.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOREVER (86400.0 * 365) /* seconds */

enum sb_code sb_mount_open(struct sb_mount **out, const struct sb_mount_options *options)
{
    CLEANUP(sb_mount_freep) struct sb_mount *mount = NULL;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&mount));
    pthread_mutex_init(&mount->lock, NULL);
    pthread_cond_init(&mount->more, NULL);
    mount->options = *options;
    mount->uid = getuid();
    mount->gid = getgid();
    mount->timeout = options->immutable ? FOREVER : 1.0;
    mount->signals = -1;
    mount->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mount->wake < 0)
        return sb_fail_errno(errno, "eventfd");
    TRY(sb_log_new(&mount->log, mount->wake));
    code = sb_roots_open(&mount->roots, &mount->options, mount->log);
    sb_log_drain(mount->log, options->notify);
    TRY(code);
    TRY(sb_reading_new(&mount->reading, options->check != SB_MOUNT_CHECK_NONE,
                       (size_t)options->readahead, mount->log));
    *out = TAKE(mount);
    return SB_OK;
}

/* False: it is in use, or something else keeps it: the last failure says what. */
static bool detach(struct sb_mount *mount, bool lazy)
{
    if (mount->mounted && sb_device_end(&mount->device, lazy))
        return false;
    mount->mounted = false;
    return true;
}

/* As most directories are that something is mounted at. */
static bool is_empty(const char *dir)
{
    CLEANUP(closedirp) DIR *list = opendir(dir);
    const struct dirent *entry;
    bool empty = list != NULL;

    while (empty && (entry = readdir(list)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

/* What is not there hides nothing: it is reported where it is used. */
static enum sb_code check_path(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *real = realpath(path, NULL);

    if (real && sb_name_within(real + 1, strlen(real + 1), dir + 1, strlen(dir + 1)))
        return sb_fail(SB_INVALID,
                       "%s: is inside of %s, and what is mounted there would hide it; mount it at "
                       "another directory",
                       path, dir);
    return SB_OK;
}

/* The links in a directory that are shards of an archive of this name. */
static enum sb_code check_shards(const char *folder, const char *name, const char *dir)
{
    static const char middle[] = "-shard-";
    const size_t size = sb_index_base_size(name);
    CLEANUP(closedirp) DIR *list = opendir(folder);
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    const struct dirent *entry;

    while (list && (entry = readdir(list))) {
        if ((entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) ||
            strncmp(entry->d_name, name, size) != 0 ||
            strncmp(entry->d_name + size, middle, strlen(middle)) != 0)
            continue;
        sb_buf_clear(&path);
        TRY(sb_buf_add_format(&path, "%s/%s", folder, entry->d_name));
        TRY(check_path(path.data, dir));
    }
    return SB_OK;
}

/* A file, the directory that has it, and its shards there. */
static enum sb_code check_file(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *copy = strdup(path);
    const char *folder;

    if (!copy)
        return sb_fail_memory();
    folder = dirname(copy);
    TRY(check_path(path, dir));
    TRY(check_path(folder, dir));
    return check_shards(folder, sb_base_name(path), dir);
}

/* By the name that was given, and, of an index, by its own. */
static enum sb_code check_names(const char *path, const char *index, const char *dir)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    TRY(check_file(path, dir));
    if (index)
        TRY(check_file(index, dir));
    if (!sb_is_bag_name(path))
        return SB_OK;
    return sb_limits_name(path, &limits) ? sb_fail_memory() : check_path(limits.data, dir);
}

static enum sb_code check_specs(const char *specs, const char *dir)
{
    CLEANUP(sb_spec_release) struct sb_spec beside = {0};

    TRY(sb_spec_beside(&beside, specs));
    for (size_t i = 0; i < beside.count; i++) {
        CLEANUP(sb_spec_release) struct sb_spec files = {0};

        TRY(sb_spec_expand(&files, beside.paths[i]));
        for (size_t k = 0; k < files.count; k++)
            TRY(check_names(files.paths[k], NULL, dir));
    }
    return SB_OK;
}

/* Where members are unpacked, which no archive has. */
static enum sb_code check_temporary(const char *path, const char *dir)
{
    const char *temporary = sb_context_now->temporary;
    enum sb_code code = check_path(temporary ? temporary : SB_MOUNT_TEMPORARY, dir);

    return code == SB_INVALID && sb_archive_looks_like(path) ? SB_OK : code;
}

/*
 * SB_INVALID: a file of the container at `path` is below `dir`, an absolute path without links, or
 * is a link to one: an index, a shard, a bag; or the directory of temporary files is. They would be
 * used through the mount itself.
 */
static enum sb_code refuse_hidden(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *index = NULL;

    TRY(check_temporary(path, dir));
    if (is_empty(dir))
        return SB_OK;
    index = IGNORED(sb_index_file(path));
    return index || access(path, F_OK) == 0 ? check_names(path, index, dir)
                                            : check_specs(path, dir);
}

static enum sb_code mount_at(struct sb_mount *mount, const char *dir)
{
    const struct sb_mount_options *options = &mount->options;

    for (size_t i = 0; i < options->count; i++)
        TRY(refuse_hidden(options->containers[i].path, dir));
    TRY(sb_device_mount(&mount->device, dir, options->allow_other));
    mount->mounted = true;
    return SB_OK;
}

enum sb_code sb_mount_attach(struct sb_mount *mount, const char *dir)
{
    const int given = sb_device_given(dir);

    if (given < 0 ? mount_at(mount, dir) : sb_device_take(&mount->device, given))
        return sb_error()->code;
    if (sb_serve_take(mount) == SB_OK)
        return SB_OK;
    IGNORED(detach(mount, true));
    close(mount->device.fd);
    return sb_error()->code;
}

/* A signal ends the mount, or is passed on to the child, unless the terminal has done that. */
static void take_signal(struct sb_mount *mount)
{
    struct signalfd_siginfo info;

    if (read(mount->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (mount->child == 0)
        mount->over = true;
    else if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
        kill(mount->child, (int)info.ssi_signo);
}

static void look_after_child(struct sb_mount *mount)
{
    if (mount->child == 0 || waitpid(mount->child, mount->status, WNOHANG) == 0)
        return;
    mount->child = 0;
    mount->over = true;
}

/* Milliseconds until it is idle for long enough; -1: never. */
static int idle_time(const struct sb_mount *mount)
{
    int64_t last = sb_workers_last_request(mount->workers), left;

    if (mount->options.idle <= 0 || !mount->mounted)
        return -1;
    if (last < mount->idle_from)
        last = mount->idle_from;
    left = mount->options.idle - (sb_clock_ns() - last) / SB_SECOND;
    if (left <= 0)
        return 0;
    return left > 3600 ? 3600 * 1000 : (int)left * 1000;
}

/* Files that are open but not read make no requests: the system knows of them. */
static void end_if_idle(struct sb_mount *mount)
{
    if (idle_time(mount) != 0)
        return;
    if (IGNORED(detach(mount, false)))
        mount->over = true;
    else
        mount->idle_from = sb_clock_ns();
}

/* False: the dropper is to end. */
static bool wait_for_damaged(struct sb_mount *mount)
{
    bool ending;

    pthread_mutex_lock(&mount->lock);
    while (!mount->any_damaged && !mount->ending)
        pthread_cond_wait(&mount->more, &mount->lock);
    mount->any_damaged = false;
    ending = mount->ending;
    pthread_mutex_unlock(&mount->lock);
    return !ending;
}

static void drop_kept(void *context, uint64_t number)
{
    /* A file that nothing is kept of is no error here. */
    fuse_lowlevel_notify_inval_inode(context, number, 0, 0);
}

static void *run_dropper(void *argument)
{
    struct sb_mount *mount = argument;

    while (wait_for_damaged(mount))
        sb_reading_drop_damaged(mount->reading, drop_kept, mount->session);
    return NULL;
}

static void signal_dropper(struct sb_mount *mount, bool *what)
{
    pthread_mutex_lock(&mount->lock);
    *what = true;
    pthread_cond_signal(&mount->more);
    pthread_mutex_unlock(&mount->lock);
}

/* While there are still threads that answer. */
static void end_dropper(struct sb_mount *mount)
{
    if (!mount->has_dropper)
        return;
    signal_dropper(mount, &mount->ending);
    pthread_join(mount->dropper, NULL);
    mount->has_dropper = false;
}

/* What other threads do, if there are any. Who answers requests may not drop: files that
 * were damaged stay so then. */
static void take_news(struct sb_mount *mount)
{
    uint64_t count;

    (void)!read(mount->wake, &count, sizeof(count));
    sb_log_drain(mount->log, mount->options.notify);
    if (mount->has_dropper)
        signal_dropper(mount, &mount->any_damaged);
    else if (sb_workers_device(mount->workers) < 0)
        sb_reading_drop_damaged(mount->reading, drop_kept, mount->session);
}

static void wait_once(struct sb_mount *mount)
{
    struct pollfd waits[] = {
        {.fd = mount->signals, .events = POLLIN},
        {.fd = mount->wake, .events = POLLIN},
        {.fd = sb_workers_device(mount->workers), .events = POLLIN},
    };

    if (poll(waits, 3, idle_time(mount)) < 0)
        return;
    if (waits[0].revents)
        take_signal(mount);
    if (waits[1].revents)
        take_news(mount);
    if (waits[2].revents)
        sb_workers_answer(mount->workers);
    look_after_child(mount);
    if (sb_workers_have_ended(mount->workers) && mount->child == 0)
        mount->over = true;
    end_if_idle(mount);
}

/* Unmounts, and ends the threads, also where something is still in use. */
static void finish(struct sb_mount *mount)
{
    int cancelled = atomic_load(&sb_context_now->cancelled);
    struct sb_error err;

    /* Reads that take long end. */
    atomic_store(&sb_context_now->cancelled, SIGTERM);
    if (!INTO(&err, detach(mount, false)) && !INTO(&err, detach(mount, true))) {
        sb_log_add(mount->log, SB_PROBLEM, "left", "left without a server", "%s", err.text);
        mount->mounted = false;
    }
    end_dropper(mount);
    sb_workers_stop(mount->workers);
    mount->workers = NULL;
    atomic_store(&sb_context_now->cancelled, cancelled);
    sb_log_end(mount->log);
}

static void list_signals(sigset_t *signals)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;

    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    /* A blocked signal comes also where it is ignored, as by nohup. */
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(signals, ending[i]);
    }
}

void sb_mount_block_signals(sigset_t *before)
{
    sigset_t signals;

    list_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, before);
}

enum sb_code sb_mount_start(struct sb_mount *mount)
{
    sigset_t signals;

    list_signals(&signals);
    mount->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (mount->signals < 0)
        return sb_fail_errno(errno, "signalfd");
    TRY(sb_workers_start(&mount->workers, mount->session, mount->options.threads, mount->wake));
    mount->has_dropper = sb_thread_start(&mount->dropper, run_dropper, mount);
    sb_log_start(mount->log, mount->options.notify);
    return SB_OK;
}

enum sb_code sb_mount_serve(struct sb_mount *mount, pid_t child, int *status)
{
    enum sb_code code = SB_OK;

    mount->child = child;
    mount->status = status;
    *status = 0;
    /* It may have ended already. */
    look_after_child(mount);
    mount->over |= sb_interrupted();
    while (!code && !mount->over) {
        wait_once(mount);
        code = sb_workers_failure(mount->workers);
    }
    /* Programs would see an empty directory if it were unmounted; so each of their calls fails. */
    if (code && child == 0)
        mount->mounted = false;
    finish(mount);
    if (mount->child > 0) {
        kill(mount->child, SIGKILL);
        waitpid(mount->child, status, 0);
    }
    return code;
}

void sb_mount_free(struct sb_mount *mount)
{
    if (!mount)
        return;
    IGNORED(detach(mount, true));
    sb_device_release(&mount->device);
    end_dropper(mount);
    sb_workers_stop(mount->workers);
    sb_serve_release(mount);
    sb_reading_free(mount->reading);
    sb_roots_free(mount->roots);
    sb_log_free(mount->log);
    if (mount->signals >= 0)
        close(mount->signals);
    if (mount->wake >= 0)
        close(mount->wake);
    pthread_cond_destroy(&mount->more);
    pthread_mutex_destroy(&mount->lock);
    free(mount);
}
