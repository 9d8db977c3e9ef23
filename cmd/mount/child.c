#include "mount/child.h"

#include "core/context.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum sb_code child_make_directory(char **out, struct sb_error *err)
{
    const char *temporary = sb_context_now->temporary ? sb_context_now->temporary : "/tmp";

    if (asprintf(out, "%s/shardbox-mount-XXXXXX", temporary) < 0) {
        *out = NULL;
        return sb_fail_memory(err);
    }
    if (mkdtemp(*out))
        return SB_OK;
    sb_fail_errno(err, errno, "%s", temporary);
    free(*out);
    *out = NULL;
    return err->code;
}

enum sb_code child_start(pid_t *child, char **words, const char *dir, const sigset_t *mask,
                         struct sb_error *err)
{
    posix_spawnattr_t attributes;
    sigset_t usual;
    int failure;

    if (setenv("SHARDBOX_MOUNT", dir, 1) != 0)
        return sb_fail_memory(err);
    /* Those that this program ignores or handles; one ignored by nohup stays so. */
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failure = posix_spawnp(child, words[0], NULL, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    return failure ? sb_fail_errno(err, failure, "%s", words[0]) : SB_OK;
}

int child_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
