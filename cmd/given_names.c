#include "given_names.h"

#include <string.h>

static enum sb_code next(void *context, const char **name, size_t *size, struct sb_error *err)
{
    struct given_names *given = context;

    if (given->operands < given->end) {
        *name = *given->operands++;
        *size = strlen(*name);
        return SB_OK;
    }
    return given->list ? sb_list_next(given->list, name, size, err) : SB_END;
}

static bool ready(void *context)
{
    struct given_names *given = context;

    return given->operands < given->end || !given->list || sb_list_ready(given->list);
}

struct sb_fetch_names given_names_of(struct given_names *given)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = given};
}
