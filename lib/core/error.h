/*
 * Errors and events of the whole library.
 *
 * The library never prints and never exits. A function that can fail returns an enum sb_code; its
 * words lie with the thread (sb_error) when the code is not SB_OK (and not SB_END), until the next
 * failure. The text is one line without a trailing full stop or newline; it names the object
 * and says what is wrong and, where there is something, what to do. Names in it are not escaped:
 * the printer of messages masks control characters.
 *
 * A thread that works for another one leaves its failure in a struct sb_error of both. A function
 * that succeeds may have changed the words: what calls one while a failure is pending keeps them.
 */
#ifndef SB_CORE_ERROR_H
#define SB_CORE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum sb_code {
    SB_OK = 0,
    SB_END,       /* no more items; not an error, no text */
    SB_NOMEM,     /* memory ran out */
    SB_SYSTEM,    /* a system call failed; sys_errno is set */
    SB_NOENT,     /* the named object does not exist */
    SB_EXISTS,    /* the named object exists already */
    SB_FORMAT,    /* not a container of that kind, or one that cannot be trusted */
    SB_DAMAGED,   /* stored data or its description is wrong (checksum, bounds, types) */
    SB_LOCKED,    /* another process holds a lock */
    SB_INVALID,   /* an argument, name or value that cannot be used */
    SB_LIMIT,     /* more than the format or an option allows */
    SB_CHANGED,   /* a source changed, vanished or was replaced while it was read */
    SB_INTERRUPT, /* cancelled, as by SIGINT; see core/interrupt.h */
};

struct sb_error {
    enum sb_code code;
    int sys_errno; /* for SB_SYSTEM, else 0 */
    char text[1024];
};

#define SB_CHECKED      __attribute__((warn_unused_result))
#define SB_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* The last failure of the calling thread; only valid after a call that failed. */
struct sb_error *sb_error(void);

/*
 * Where the calling thread's failures go from now on; NULL: to the thread's own. Returns where they
 * went before. For the macros below.
 */
struct sb_error *sb_error_into(struct sb_error *error);

static inline void sb_error_back(struct sb_error **before)
{
    sb_error_into(*before);
}

/*
 * INTO is the value of the call; the words of its failure go to *error, and the thread's stay.
 * IGNORED: its failure does not matter, and the words of an earlier one stay.
 */
#ifndef __cppcheck__
#define INTO(error, call)                                                                          \
    ({                                                                                             \
        __attribute__((cleanup(sb_error_back), unused)) struct sb_error *before_ =                 \
            sb_error_into(error);                                                                  \
        call;                                                                                      \
    })
#define IGNORED(call)                                                                              \
    ({                                                                                             \
        struct sb_error ignored_;                                                                  \
        INTO(&ignored_, call);                                                                     \
    })
#else /* it does not look into statement expressions */
#define INTO(error, call) (sb_error_into(error), call)
#define IGNORED(call)     (call)
#endif

/* Returns from the function if the call fails, with its code. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum sb_code tried_ = (call);                                                              \
        if (tried_)                                                                                \
            return tried_;                                                                         \
    } while (0)

/*
 * What a function releases on each way out of it. A local variable with CLEANUP must have a value
 * from its declaration on; those of a function are released in reverse order, after the value that
 * it returns is known. `release` is called with the address of the variable, and leaves the words
 * of a failure alone.
 */
#define CLEANUP(release) __attribute__((cleanup(release)))

/* Defines RELEASEp, which a pointer needs as it is released by its value, and may be NULL. */
#define FREEP(release, type)                                                                       \
    static inline void release##p(type **pointer)                                                  \
    {                                                                                              \
        if (*pointer)                                                                              \
            release(*pointer);                                                                     \
    }

/* The value of a pointer that from now on belongs to someone else. */
#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* The same of a descriptor, which becomes -1. */
#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int taken_ = (fd);                                                                         \
        (fd) = -1;                                                                                 \
        taken_;                                                                                    \
    })

/* free, of a pointer of any type. */
static inline void sb_freep(void *pointer)
{
    free(*(void **)pointer);
}

/* close, unless it is -1; whose failure does not matter. */
static inline void sb_closep(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Sets the words and returns code, so that a failing function can end in `return sb_fail(...)`. */
enum sb_code sb_fail(enum sb_code code, const char *format, ...) SB_PRINTF(2, 3);

/* As sb_fail with SB_SYSTEM (SB_NOMEM for ENOMEM, SB_NOENT for ENOENT); ": strerror" is added. */
enum sb_code sb_fail_errno(int error_number, const char *format, ...) SB_PRINTF(2, 3);

/* As sb_fail with SB_NOMEM. */
enum sb_code sb_fail_memory(void);

/*
 * Memory without which a step fails: *out, the caller's pointer, is NULL with SB_NOMEM. The bytes
 * of sb_alloc are not initialised; SB_NEW is for one, or several, of what *out points to, all zero.
 */
#define SB_NEW(out)              sb_alloc_zeroed((out), 1, sizeof(**(out)))
#define SB_NEW_ARRAY(out, count) sb_alloc_zeroed((out), (count), sizeof(**(out)))
enum sb_code sb_alloc(void *out, size_t size) SB_CHECKED;
enum sb_code sb_alloc_zeroed(void *out, size_t count, size_t size) SB_CHECKED;
enum sb_code sb_copy_text(char **out, const char *text) SB_CHECKED;

/*
 * SB_FORMAT: the list or stream `subject` is empty, as where the program that makes it failed, and
 * with --force it would replace something.
 */
enum sb_code sb_fail_empty(const char *subject);

/*
 * Does the error end the whole work (no memory, no space, a failing disk, not a container), or does
 * it concern only the current object?
 */
bool sb_ends_work(const struct sb_error *err);

#ifdef __clang_analyzer__
/* The analyzer sees one file at a time, and cannot know that none of these returns SB_OK. */
#define sb_fail(code, ...)       ((void)(sb_fail)(code, __VA_ARGS__), (enum sb_code)(code))
#define sb_fail_errno(code, ...) ((void)(sb_fail_errno)(code, __VA_ARGS__), (enum sb_code)SB_SYSTEM)
#define sb_fail_memory()         ((void)(sb_fail_memory)(), (enum sb_code)SB_NOMEM)
#define sb_fail_empty(subject)   ((void)(sb_fail_empty)(subject), (enum sb_code)SB_FORMAT)
#endif

/* Severity of an event that does not end the work. */
enum sb_level {
    SB_NOTE,    /* printed under -v only */
    SB_WARNING, /* printed; exit status unchanged */
    SB_LOSS,    /* the same, but something is not kept or not read: a problem under --strict */
    SB_PROBLEM, /* printed; exit status at least 1: damage, or something left out */
};

/*
 * A sink for events of a running task. kind is a stable word for machines ("missing", "special",
 * "checksum"); subject is the path or object it is about, NULL for the whole; text is what is
 * wrong and what to do, without the subject. The strings live only during the call. Tasks call it
 * from the thread that called the task, never from their workers.
 */
struct sb_notify {
    void (*call)(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text);
    void *context;
};

/* A notify that counts the problems it passes on. */
struct sb_problem_counter {
    struct sb_notify notify; /* whose context is the counter: it must stay where it is */
    const struct sb_notify *to;
    int64_t *problems;
};

/* The caller owns both, at least as long as the counter; `to` may be NULL. */
void sb_count_problems(struct sb_problem_counter *counter, const struct sb_notify *to,
                       int64_t *problems);

void sb_report(const struct sb_notify *notify, enum sb_level level, const char *kind,
               const char *subject, const char *format, ...) SB_PRINTF(5, 6);

#endif
