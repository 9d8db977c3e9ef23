#include "core/interrupt.h"

#include "core/array.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP};

#define SIGNAL_COUNT ARRAY_SIZE(caught_signals)

static struct sb_context *_Atomic caught_for; /* the context that signals cancel */

/*
 * A signal that comes again at once is the same: timeout(1) signals its child, and then its group.
 */
static void note_signal(int number)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&caught_for->cancelled, &none, number))
        alarm(1);
}

/*
 * Runs each second after the first signal, so that a read returns too that began between the check
 * for a signal and its arrival. After the first second another signal kills.
 */
static void wake(int number)
{
    struct sigaction action, fallback = {.sa_handler = SIG_DFL};

    (void)number;
    if (!atomic_load(&caught_for->cancelled))
        return;
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (sigaction(caught_signals[i], NULL, &action) == 0 && action.sa_handler == note_signal)
            sigaction(caught_signals[i], &fallback, NULL);
    }
    alarm(1);
}

void sb_catch_interrupts(struct sb_context *context)
{
    /* Without SA_RESTART, so that a read that waits for input returns. */
    struct sigaction action, ours = {.sa_handler = note_signal};

    caught_for = context;
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(&ours.sa_mask, caught_signals[i]);

    /* Signals that nohup, or a shell for a background job, has set to be ignored remain ignored. */
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (sigaction(caught_signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaction(caught_signals[i], &ours, NULL);
    }
    action = (struct sigaction){.sa_handler = wake};
    sigaction(SIGALRM, &action, NULL);
    action = (struct sigaction){.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &action, NULL);
}
