/*
 * Which call of a process is to fail, or to wait for another process, as the environment says:
 *
 *   FAULT_CALLS   kinds to count, of fault_names below, separated by commas
 *   FAULT_AT      the number of the call that fails, counted from 1 over all those kinds
 *   FAULT_HOW     what happens to it, see below
 *   FAULT_ONWARD  set: all later calls of these kinds fail too
 *   FAULT_FROM    nothing is counted before a name that contains this text is opened
 *   FAULT_FILES   set: only reads and writes of files are counted, none of pipes and devices
 *   FAULT_ALONE   set: programs that this one starts have no faults
 *   FAULT_MARK    a file that is made when the fault happens, so that a run without it is known
 *
 *   EIO, ENOSPC, ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EMFILE, EAGAIN, ENOMEM, EPERM, EDQUOT, EFBIG,
 *   ESTALE        it fails so
 *   short         half of the bytes, once
 *   kill          SIGKILL before the call
 *   torn          half of the bytes, then SIGKILL
 *   run           the command FAULT_RUN runs to its end before the call (pause.h)
 *
 * Nothing is counted before fault_begin, which a constructor calls. Writes to the first three
 * descriptors, and their close, are not counted. Thread-safe.
 */
#ifndef TESTS_FAULTS_FAULT_H
#define TESTS_FAULTS_FAULT_H

#include "pause.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault_kind {
    FAULT_WRITE,
    FAULT_READ,
    FAULT_SYNC,
    FAULT_RENAME,
    FAULT_CLOSE,
    FAULT_TRUNCATE,
    FAULT_CREATE,
    FAULT_UNLINK,
    FAULT_MALLOC,
    FAULT_LOCK,
    FAULT_STAT,
    FAULT_OPEN, /* of a file that is there; to make one is FAULT_CREATE */
    FAULT_MAP,
    FAULT_MOUNT,
    FAULT_DETACH, /* what is mounted */
    FAULT_START,  /* a thread */
    FAULT_KINDS
};

static const char *const fault_names[FAULT_KINDS] = {
    "write",  "read", "sync", "rename", "close", "truncate", "create", "unlink",
    "malloc", "lock", "stat", "open",   "map",   "mount",    "detach", "start",
};

enum fault_action {
    FAULT_NONE,
    FAULT_FAIL, /* with fault_errno */
    FAULT_HALF, /* half of the bytes; fault_after_half says what then */
};

static bool fault_counted[FAULT_KINDS];
static long fault_at; /* 0: nothing fails */
static int fault_errno;
static bool fault_short, fault_torn, fault_kill, fault_run, fault_onward, fault_files;
static const char *fault_mark;
static const char *fault_from;
static atomic_bool fault_waits; /* for FAULT_FROM */
static atomic_long fault_calls;

static inline int fault_error_named(const char *how)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {{"ENOSPC", ENOSPC}, {"ENOLCK", ENOLCK}, {"EOPNOTSUPP", EOPNOTSUPP},
                  {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL}, {"EMFILE", EMFILE},
                  {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EPERM", EPERM},
                  {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},   {"ESTALE", ESTALE}};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        if (strcmp(how, errors[i].name) == 0)
            return errors[i].number;
    }
    return EIO;
}

static inline void fault_begin(void)
{
    const char *calls = getenv("FAULT_CALLS");
    const char *at = getenv("FAULT_AT");
    const char *how = getenv("FAULT_HOW");
    if (!calls || !at || !how)
        return;
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        fault_counted[kind] = strstr(calls, fault_names[kind]) != NULL;
    fault_errno = fault_error_named(how);
    fault_short = strcmp(how, "short") == 0;
    fault_torn = strcmp(how, "torn") == 0;
    fault_kill = strcmp(how, "kill") == 0;
    fault_run = strcmp(how, "run") == 0;
    fault_onward = !fault_run && getenv("FAULT_ONWARD") != NULL;
    fault_files = getenv("FAULT_FILES") != NULL;
    fault_from = getenv("FAULT_FROM");
    fault_waits = fault_from != NULL;
    fault_mark = getenv("FAULT_MARK");
    if (fault_run)
        pause_begin();
    if (getenv("FAULT_ALONE"))
        unsetenv("LD_PRELOAD");
    fault_at = strtol(at, NULL, 10);
}

/* A name is opened: perhaps the one from which on calls count. */
static inline void fault_name(const char *name)
{
    if (fault_waits && strstr(name, fault_from))
        fault_waits = false;
}

static inline void fault_die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Raw system calls: the functions themselves are intercepted. */
static inline void fault_make_mark(void)
{
    if (!fault_mark)
        return;
    long fd = syscall(SYS_openat, AT_FDCWD, fault_mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        syscall(SYS_close, fd);
}

/* What is to happen to this call; kills when that is due. `bytes`: it moves bytes. */
static inline enum fault_action fault_due(enum fault_kind kind, bool bytes)
{
    if (fault_at == 0 || !fault_counted[kind] || fault_waits)
        return FAULT_NONE;
    long number = atomic_fetch_add(&fault_calls, 1) + 1;
    if (number < fault_at || (number > fault_at && !fault_onward))
        return FAULT_NONE;
    if (number == fault_at)
        fault_make_mark();
    if (fault_run) {
        pause_for_command();
        return FAULT_NONE;
    }
    if (fault_kill || (fault_torn && !bytes))
        fault_die();
    if (fault_short)
        return bytes ? FAULT_HALF : FAULT_NONE;
    return fault_torn ? FAULT_HALF : FAULT_FAIL;
}

/* Are bytes that are moved to or from it counted? */
static inline bool fault_counts(int fd)
{
    struct stat st;

    if (fd <= STDERR_FILENO)
        return false;
    return !fault_files || (syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode));
}

static inline void fault_after_half(void)
{
    if (fault_torn)
        fault_die();
}

#endif
