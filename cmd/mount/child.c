#include "mount/child.h"

#include "core/context.h"
#include "ui/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum sb_code child_make_directory(char **out)
{
    const char *temporary = sb_context_now->temporary ? sb_context_now->temporary : "/tmp";

    if (asprintf(out, "%s/shardbox-mount-XXXXXX", temporary) < 0) {
        *out = NULL;
        return sb_fail_memory();
    }
    if (mkdtemp(*out))
        return SB_OK;
    sb_fail_errno(errno, "%s", temporary);
    free(*out);
    *out = NULL;
    return sb_error()->code;
}

/* Signals that this program ignores or handles are as usual; one ignored by nohup stays so. */
_Noreturn static void become(char **words, const sigset_t *mask)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    execvp(words[0], words);
    message_error("%s: %s", words[0], strerror(errno));
    _exit(STATUS_ERROR);
}

/* posix_spawn would wait until the program is found and read, which may lie in what is mounted:
 * where there are no threads it is this one that then answers. */
enum sb_code child_start(pid_t *child, char **words, const char *dir, const sigset_t *mask)
{
    if (setenv("SHARDBOX_MOUNT", dir, 1) != 0)
        return sb_fail_memory();
    *child = fork();
    if (*child == 0)
        become(words, mask);
    return *child < 0 ? sb_fail_errno(errno, "%s", words[0]) : SB_OK;
}

int child_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
