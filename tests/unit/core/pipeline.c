/* lib/core/pipeline.h; also meant for the thread sanitizer */
#include "core/pipeline.h"
#include "check.h"
#include "core/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER    (-1)
#define SLOTS    7
#define SLOT_SUM 1000003

struct slot {
    int number;
    long result;
    bool filled;
};

/* A run over the numbers from 0 on, with a fault where a test wants one. */
struct run {
    struct slot slots[SLOTS];
    int length;
    bool takes_turns;
    int skips_turn_every; /* 0: never */
    int fill_fails_at;
    int work_fails_at;
    int work_fails_too_at;
    bool fails_before_turn;
    int drain_fails_at;
    int interrupt_at;
    bool (*waits)(int filled);

    int filled;
    int drained;
    bool out_of_order;
    int next_turn; /* both changed within turns only, so the sanitizer sees any overlap */
    bool turns_out_of_order;
    atomic_int working;
    atomic_int most_working;
    atomic_int worked;
};

static struct run new_run(int length)
{
    return (struct run){
        .length = length,
        .fill_fails_at = NEVER,
        .work_fails_at = NEVER,
        .work_fails_too_at = NEVER,
        .drain_fails_at = NEVER,
        .interrupt_at = NEVER,
    };
}

static enum sb_code fill(void *context, void *slot_pointer)
{
    struct run *run = context;
    struct slot *slot = slot_pointer;

    if (run->filled == run->fill_fails_at)
        return sb_fail(SB_SYSTEM, "fill %d", run->filled);
    if (run->filled == run->length)
        return SB_END;
    run->out_of_order |= slot->filled;
    if (run->waits && run->waits(run->filled))
        run->out_of_order |= run->filled != run->drained;
    *slot = (struct slot){.number = run->filled++, .filled = true};
    return SB_OK;
}

static long calculate(int number)
{
    long value = number;

    for (int i = 0; i < 20 + number % 500; i++)
        value = value * 31 % SLOT_SUM + number;
    return value;
}

static bool takes_turn(const struct run *run, int number)
{
    return run->takes_turns && !(run->skips_turn_every && number % run->skips_turn_every == 0);
}

static enum sb_code work_in_turn(struct run *run, struct slot *slot, struct sb_pipeline *turns)
{
    enum sb_code code = sb_turn_begin(turns, slot);

    if (code)
        return code;
    run->turns_out_of_order |= run->next_turn > slot->number;
    run->next_turn = slot->number + 1;
    sb_turn_end(turns, slot);
    return SB_OK;
}

static void count_worker(struct run *run)
{
    int working = atomic_fetch_add(&run->working, 1) + 1;
    int most = atomic_load(&run->most_working);

    while (most < working && !atomic_compare_exchange_weak(&run->most_working, &most, working))
        ;
}

static enum sb_code work(void *context, void *slot_pointer, struct sb_pipeline *turns)
{
    struct run *run = context;
    struct slot *slot = slot_pointer;
    bool fails = slot->number == run->work_fails_at || slot->number == run->work_fails_too_at;
    enum sb_code code = SB_OK;

    count_worker(run);
    if (slot->number == run->interrupt_at)
        kill(getpid(), SIGTERM);
    if (fails && run->fails_before_turn)
        code = sb_fail(SB_DAMAGED, "work %d", slot->number);
    if (!code && takes_turn(run, slot->number))
        code = work_in_turn(run, slot, turns);
    if (!code) {
        slot->result = calculate(slot->number);
        if (fails)
            code = sb_fail(SB_DAMAGED, "work %d", slot->number);
    }
    atomic_fetch_add(&run->worked, 1);
    atomic_fetch_sub(&run->working, 1);
    return code;
}

static enum sb_code drain(void *context, void *slot_pointer)
{
    struct run *run = context;
    struct slot *slot = slot_pointer;

    run->out_of_order |= slot->number != run->drained || !slot->filled;
    run->out_of_order |= slot->result != calculate(slot->number);
    slot->filled = false;
    if (run->drained == run->drain_fails_at)
        return sb_fail(SB_LIMIT, "drain %d", run->drained);
    run->drained++;
    return SB_OK;
}

static int fill_would_wait(void *context)
{
    struct run *run = context;

    return run->waits(run->filled);
}

static enum sb_code execute(struct run *run, unsigned threads)
{
    const struct sb_pipeline_ops ops = {
        .fill = fill,
        .work = work,
        .drain = drain,
        .fill_would_wait = run->waits ? fill_would_wait : NULL,
    };

    *sb_error() = (struct sb_error){0};
    return sb_pipeline_run(&ops, run, run->slots, sizeof(run->slots[0]), SLOTS, threads);
}

static bool in_order(const struct run *run)
{
    return !run->out_of_order && !run->turns_out_of_order;
}

static void everything_is_drained_in_order(void)
{

    for (unsigned threads = 1; threads <= 9; threads++) {
        struct run run = new_run(2000);

        run.takes_turns = threads % 2;
        CHECK(execute(&run, threads) == SB_OK);
        CHECK(run.drained == 2000 && in_order(&run) && atomic_load(&run.worked) == 2000);
        CHECK(!run.takes_turns || run.next_turn == 2000);
        CHECK(atomic_load(&run.most_working) <= (int)threads);
    }
}

static void without_a_drain_everything_is_worked(void)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};

    for (unsigned threads = 1; threads <= 3; threads++) {
        struct run run = new_run(2000);

        CHECK(sb_pipeline_run(&ops, &run, run.slots, sizeof(run.slots[0]), SLOTS, threads) ==
              SB_OK);
        CHECK(atomic_load(&run.worked) == 2000);
    }
}

static void nothing_to_do_is_no_error(void)
{

    for (unsigned threads = 1; threads <= 3; threads++) {
        struct run empty = new_run(0), one = new_run(1);

        CHECK(execute(&empty, threads) == SB_OK && empty.drained == 0);
        CHECK(execute(&one, threads) == SB_OK && one.drained == 1);
    }
}

static void a_turn_not_taken_passes_on(void)
{

    for (unsigned threads = 1; threads <= 4; threads++) {
        struct run run = new_run(2000);

        run.takes_turns = true;
        run.skips_turn_every = 3;
        CHECK(execute(&run, threads) == SB_OK);
        CHECK(run.drained == 2000 && in_order(&run));
    }
}

/* Each error must come after what stands before it was drained, whatever the number of threads. */
static void check_failure(struct run run, enum sb_code code, const char *text, int drained)
{

    for (unsigned threads = 1; threads <= 5; threads++) {
        struct run again = run;

        CHECK(execute(&again, threads) == code);
        CHECK(sb_error()->code == code);
        CHECK_TEXT(sb_error()->text, text);
        CHECK(again.drained == drained && in_order(&again));
        CHECK(atomic_load(&again.working) == 0);
    }
}

static void errors_of_fill_come_after_what_was_filled(void)
{
    for (int at = 0; at < 20; at++) {
        struct run run = new_run(100);
        char text[32];

        run.fill_fails_at = at;
        run.takes_turns = at % 2;
        snprintf(text, sizeof(text), "fill %d", at);
        check_failure(run, SB_SYSTEM, text, at);
    }
}

static void errors_of_drain_end_the_run(void)
{
    for (int at = 0; at < 20; at++) {
        struct run run = new_run(100);
        char text[32];

        run.drain_fails_at = at;
        run.takes_turns = at % 2;
        snprintf(text, sizeof(text), "drain %d", at);
        check_failure(run, SB_LIMIT, text, at);
    }
}

static void errors_of_work_are_those_of_the_lowest_slot(void)
{
    for (int at = 0; at < 60; at++) {
        struct run run = new_run(100);
        char text[32];

        run.work_fails_at = at;
        run.work_fails_too_at = at + at % 5;
        run.takes_turns = at % 2;
        run.fails_before_turn = at % 3;
        snprintf(text, sizeof(text), "work %d", at);
        check_failure(run, SB_DAMAGED, text, at);
    }
}

static void an_earlier_error_of_work_wins_over_a_later_one_of_fill(void)
{
    struct run run = new_run(100);

    run.work_fails_at = 30;
    run.fill_fails_at = 33;
    check_failure(run, SB_DAMAGED, "work 30", 30);
}

static bool waits_always(int filled)
{
    (void)filled;
    return true;
}

static bool waits_sometimes(int filled)
{
    return filled % 3 == 0;
}

static void input_that_would_wait_lets_everything_be_drained_first(void)
{

    for (unsigned threads = 1; threads <= 3; threads++) {
        struct run always = new_run(300), sometimes = new_run(300);

        always.waits = waits_always;
        CHECK(execute(&always, threads) == SB_OK);
        CHECK(always.drained == 300 && in_order(&always));

        sometimes.waits = waits_sometimes;
        CHECK(execute(&sometimes, threads) == SB_OK);
        CHECK(sometimes.drained == 300 && in_order(&sometimes));
    }
}

struct meeting {
    pthread_barrier_t barrier;
    int filled;
    atomic_int taking_signals;
};

static enum sb_code fill_two(void *context, void *slot)
{
    struct meeting *meeting = context;

    (void)slot;
    return meeting->filled++ < 2 ? SB_OK : SB_END;
}

static enum sb_code meet(void *context, void *slot, struct sb_pipeline *turns)
{
    struct meeting *meeting = context;

    sigset_t blocked;

    (void)slot;
    (void)turns;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM))
        atomic_fetch_add(&meeting->taking_signals, 1);
    pthread_barrier_wait(&meeting->barrier);
    return SB_OK;
}

static enum sb_code drain_nothing(void *context, void *slot)
{
    (void)context;
    (void)slot;
    return SB_OK;
}

/*
 * Each of two workers waits for the other: this ends only when they are at work side by side. They
 * leave signals to the calling thread.
 */
static void work_is_done_side_by_side(void)
{
    const struct sb_pipeline_ops ops = {.fill = fill_two, .work = meet, .drain = drain_nothing};
    struct meeting meeting = {.filled = 0};
    sigset_t blocked;
    char slots[4];

    pthread_barrier_init(&meeting.barrier, NULL, 2);
    CHECK(sb_pipeline_run(&ops, &meeting, slots, 1, 4, 2) == SB_OK);
    CHECK(atomic_load(&meeting.taking_signals) == 0);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGTERM));
    pthread_barrier_destroy(&meeting.barrier);
}

struct backlog {
    atomic_int filled;
    atomic_int begun;
};

static enum sb_code fill_backlog(void *context, void *slot)
{
    struct backlog *backlog = context;

    *(char *)slot = atomic_load(&backlog->filled) == 0;
    atomic_fetch_add(&backlog->filled, 1);
    return SB_OK;
}

/* The first slot fails once all are filled; the other worker waits for a turn that never comes. */
static enum sb_code fail_before_backlog(void *context, void *slot, struct sb_pipeline *turns)
{
    struct backlog *backlog = context;

    atomic_fetch_add(&backlog->begun, 1);
    if (!*(char *)slot)
        return sb_turn_begin(turns, slot);
    while (atomic_load(&backlog->filled) < SLOTS || atomic_load(&backlog->begun) < 2)
        usleep(100);
    return sb_fail(SB_DAMAGED, "first");
}

static void nothing_is_begun_after_an_error(void)
{
    const struct sb_pipeline_ops ops = {fill_backlog, fail_before_backlog, drain_nothing, NULL};
    struct backlog backlog = {.filled = 0};
    char slots[SLOTS];

    CHECK(sb_pipeline_run(&ops, &backlog, slots, 1, SLOTS, 2) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "first");
    CHECK(atomic_load(&backlog.filled) == SLOTS && atomic_load(&backlog.begun) == 2);
}

/* An interrupt cannot be taken back, so each of these is a process of its own. */
static bool is_interrupted_cleanly(unsigned threads, bool takes_turns)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        struct run run = new_run(1000000000);
        enum sb_code code;

        signal(SIGTERM, SIG_DFL);
        alarm(60);
        sb_catch_interrupts(sb_context_now);
        run.takes_turns = takes_turns;
        run.interrupt_at = 50;
        code = execute(&run, threads);
        _exit(code == SB_INTERRUPT && sb_error()->code == SB_INTERRUPT && in_order(&run) &&
                      sb_interrupt_signal() == SIGTERM && run.drained < 100 &&
                      !strcmp(sb_error()->text, "interrupted")
                  ? 0
                  : 1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void interrupts_end_the_run(void)
{
    for (unsigned threads = 1; threads <= 4; threads++) {
        CHECK(is_interrupted_cleanly(threads, false));
        CHECK(is_interrupted_cleanly(threads, true));
    }
}

int main(void)
{
    RUN(interrupts_end_the_run);
    RUN(everything_is_drained_in_order);
    RUN(without_a_drain_everything_is_worked);
    RUN(nothing_to_do_is_no_error);
    RUN(a_turn_not_taken_passes_on);
    RUN(errors_of_fill_come_after_what_was_filled);
    RUN(errors_of_drain_end_the_run);
    RUN(errors_of_work_are_those_of_the_lowest_slot);
    RUN(an_earlier_error_of_work_wins_over_a_later_one_of_fill);
    RUN(input_that_would_wait_lets_everything_be_drained_first);
    RUN(work_is_done_side_by_side);
    RUN(nothing_is_begun_after_an_error);
    return check_end();
}
