#include "archive/name_order.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t common_size(size_t count, sb_name_at *name, const void *context)
{
    size_t common, size;
    const char *first = name(context, 0, &common);

    for (size_t i = 1; i < count && common > 0; i++) {
        const char *text = name(context, i, &size);
        size_t same = 0;

        while (same < common && same < size && text[same] == first[same])
            same++;
        common = same;
    }
    return common;
}

static int compare(const void *a, const void *b)
{
    const struct sb_name_place *x = a, *y = b;

    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void sb_name_order(struct sb_name_place *order, size_t count, sb_name_at *name, const void *context)
{
    size_t common, size;
    bool sorted = true;

    if (count == 0)
        return;
    common = common_size(count, name, context);
    for (size_t i = 0; i < count; i++) {
        const char *text = name(context, i, &size);
        uint64_t words[2] = {0};

        size -= common;
        memcpy(words, text + common, size < sizeof(words) ? size : sizeof(words));
        order[i] =
            (struct sb_name_place){.high = be64toh(words[0]), .low = be64toh(words[1]), .place = i};
        sorted = sorted && (i == 0 || compare(&order[i - 1], &order[i]) < 0);
    }
    if (!sorted)
        qsort(order, count, sizeof(*order), compare);
}
