#include "core/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_mmap2
#define MMAP_CALL SYS_mmap2
#else
#define MMAP_CALL SYS_mmap
#endif

/* The handler's record of a mapping: [begin, end) in memory. */
struct slot {
    atomic_bool taken;
    _Atomic uintptr_t begin;
    _Atomic uintptr_t end; /* 0: none; set last, and reset first */
    atomic_bool lost;      /* some of it was no longer in the file */
};

struct held {
    struct sb_mapping mapping;
    struct slot *slot;      /* NULL where nothing is mapped */
    const void *last_value; /* the last nonzero byte of the last page; NULL: none */
};

static struct slot slots[SB_MAPPINGS_MOST];
static uintptr_t page_size;
static struct sigaction former;

/*
 * A mapping lives as long as it is read, so its slot does not change meanwhile. Other slots may
 * change from one mapping to the next: an end that is the same before and after reading its begin
 * belongs to that begin.
 */
static struct slot *slot_of(uintptr_t address)
{
    for (size_t i = 0; i < SB_MAPPINGS_MOST; i++) {
        uintptr_t end = atomic_load(&slots[i].end);
        uintptr_t begin = atomic_load(&slots[i].begin);

        if (address >= begin && address < end && atomic_load(&slots[i].end) == end)
            return &slots[i];
    }
    return NULL;
}

static void leave_to_former(int number, siginfo_t *info, void *machine)
{
    if (former.sa_flags & SA_SIGINFO) {
        former.sa_sigaction(number, info, machine);
    } else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        former.sa_handler(number);
    } else {
        /*
         * It is delivered when this handler has returned; the system would not let a fault be
         * ignored, either.
         */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

/*
 * Maps a page of zeros in place of the missing one; the access is then repeated, and succeeds. Uses
 * the bare system call, since sanitizers make mmap unsafe here.
 */
static void on_bus_error(int number, siginfo_t *info, void *machine)
{
    int saved_errno = errno;
    uintptr_t address = (uintptr_t)info->si_addr, page = address & ~(page_size - 1);
    struct slot *slot = info->si_code == BUS_ADRERR ? slot_of(address) : NULL;

    if (slot)
        atomic_store(&slot->lost, true);
    if (!slot || syscall(MMAP_CALL, page, page_size, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (long)page)
        leave_to_former(number, info, machine);
    errno = saved_errno;
}

static int install_error;

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)sigemptyset(&action.sa_mask);
    /* Set before the handler that reads it is installed. */
    if (sigaction(SIGBUS, NULL, &former) || sigaction(SIGBUS, &action, NULL))
        install_error = errno;
}

static struct slot *take_slot(void)
{
    for (size_t i = 0; i < SB_MAPPINGS_MOST; i++) {
        if (!atomic_load(&slots[i].taken) && !atomic_exchange(&slots[i].taken, true))
            return &slots[i];
    }
    return NULL;
}

/*
 * A file that is cut within its last page raises no signal: the rest of the page becomes zeros. So
 * the last nonzero byte there is checked again: if it still is nonzero, nothing before it is gone,
 * and after it were zeros anyway.
 */
static const void *find_last_value(const unsigned char *data, size_t size)
{
    size_t begin = (size - 1) & ~(size_t)(page_size - 1);

    while (size > begin && data[size - 1] == 0)
        size--;
    return size > begin ? data + size - 1 : NULL;
}

static enum sb_code map(struct held *held, int fd)
{
    size_t size = (size_t)held->mapping.size;
    void *data;

    held->slot = take_slot();
    if (!held->slot)
        return sb_fail(SB_LIMIT, "%s: more than %d files are mapped at a time", held->mapping.name,
                       SB_MAPPINGS_MOST);
    data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return sb_fail_errno(errno, "%s: cannot be mapped", held->mapping.name);
    held->mapping.data = data;
    atomic_store(&held->slot->lost, false);
    atomic_store(&held->slot->begin, (uintptr_t)data);
    atomic_store(&held->slot->end, (uintptr_t)data + size);
    held->last_value = find_last_value(data, size);
    return SB_OK;
}

enum sb_code sb_mapping_open(struct sb_mapping **out, int fd, const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    struct held *held;
    struct stat st;

    *out = NULL;
    (void)pthread_once(&once, install);
    if (install_error)
        return sb_fail_errno(install_error, "%s: SIGBUS cannot be handled", name);
    if (fstat(fd, &st))
        return sb_fail_errno(errno, "%s", name);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: is no regular file", name);
    if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        return sb_fail(SB_LIMIT, "%s: is too large to be mapped", name);
    TRY(SB_NEW(&held));
    mapping = &held->mapping;
    *mapping = (struct sb_mapping){.size = st.st_size, .name = name};
    if (st.st_size > 0)
        TRY(map(held, fd));
    *out = TAKE(mapping);
    return SB_OK;
}

void sb_mapping_free(struct sb_mapping *mapping)
{
    struct held *held = (struct held *)mapping;

    if (!held)
        return;
    if (mapping->data) {
        atomic_store(&held->slot->end, 0);
        munmap((void *)mapping->data, (size_t)mapping->size);
    }
    if (held->slot)
        atomic_store(&held->slot->taken, false);
    free(held);
}

enum sb_code sb_mapping_check(const struct sb_mapping *mapping)
{
    const struct held *held = (const struct held *)mapping;
    const volatile unsigned char *last_value = held->last_value;

    if (held->slot && ((last_value && !*last_value) || atomic_load(&held->slot->lost)))
        return sb_fail(SB_DAMAGED, "%s: has become shorter, or cannot be read", mapping->name);
    return SB_OK;
}
