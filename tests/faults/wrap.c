/*
 * Linked into the program with --wrap, makes the allocations fail that fault.h chooses, below the
 * address sanitizer, which then sees what a failed allocation leaks or misuses. SQLite is part of
 * the program, so its allocations count too.
 */
#include "fault.h"

#include <stddef.h>

__attribute__((constructor)) static void begin(void)
{
    fault_begin();
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);
char *__wrap_strdup(const char *text);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __real_calloc(count, size);
}

void *__wrap_realloc(void *data, size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __real_realloc(data, size);
}

char *__wrap_strdup(const char *text)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __real_strdup(text);
}
