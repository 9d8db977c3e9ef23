#include "ui/wanted.h"
#include "ui/output.h"

#include "core/buf.h"
#include "core/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wanted_name {
    struct sb_buf text;
};

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    if (a_size != b_size)
        return a_size < b_size ? -1 : 1;
    return memcmp(a, b, a_size);
}

static int compare_names(const void *a, const void *b)
{
    const struct wanted_name *x = a, *y = b;

    return compare(x->text.data, x->text.size, y->text.data, y->text.size);
}

void wanted_begin(struct wanted *wanted, char *const *args, size_t count)
{
    bool stripped;

    wanted->count = count;
    wanted->names = calloc(count ? count : 1, sizeof(*wanted->names));
    if (!wanted->names) {
        output_check(ENOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (sb_name_normalize(args[i], &wanted->names[i].text, &stripped) ||
            sb_buf_reserve(&wanted->names[i].text, 0))
            output_check(ENOMEM);
    }
    qsort(wanted->names, count, sizeof(*wanted->names), compare_names);
}

void wanted_end(struct wanted *wanted)
{
    for (size_t i = 0; i < wanted->count; i++)
        sb_buf_release(&wanted->names[i].text);
    free(wanted->names);
    *wanted = (struct wanted){0};
}

bool wanted_has(void *context, const char *name, size_t size)
{
    const struct wanted *wanted = context;
    size_t low = 0, high = wanted->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sb_buf *text = &wanted->names[middle].text;
        int order = compare(name, size, text->data, text->size);

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
