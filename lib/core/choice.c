#include "core/choice.h"

#include "core/buf.h"
#include "core/glob.h"

#include <stdlib.h>
#include <string.h>

struct argument {
    struct sb_buf name; /* normalized */
    bool nothing;       /* an empty argument */
    bool is_glob;
    bool only_dirs; /* a glob with a '/' at its end */
    bool matched;
    enum sb_form form; /* of those that follow the given ones, which they are only in this form */
    size_t given;
};

struct sb_choice {
    struct argument *arguments;
    size_t count, given;
};

enum sb_code sb_choice_new(struct sb_choice **out, char *const *args, size_t count)
{
    CLEANUP(sb_choice_freep) struct sb_choice *choice = NULL;
    bool stripped;

    *out = NULL;
    TRY(SB_NEW(&choice));
    TRY(SB_NEW_ARRAY(&choice->arguments, 3 * count + 1));
    choice->count = choice->given = count;
    for (size_t i = 0; i < count; i++) {
        struct argument *argument = &choice->arguments[i];

        TRY(sb_name_normalize(args[i], &argument->name, &stripped));
        TRY(sb_buf_reserve(&argument->name, 0));
        argument->nothing = args[i][0] == '\0';
        argument->is_glob = sb_is_glob(args[i]);
        argument->only_dirs = !argument->nothing && args[i][strlen(args[i]) - 1] == '/';
        for (enum sb_form form = SB_NFC; form <= SB_NFD; form++) {
            struct argument *formed = &choice->arguments[choice->count];

            if (!sb_name_form(argument->name.data, argument->name.size, form, &formed->name))
                continue;
            formed->is_glob = argument->is_glob;
            formed->only_dirs = argument->only_dirs;
            formed->form = form;
            formed->given = i;
            choice->count++;
        }
    }
    *out = TAKE(choice);
    return SB_OK;
}

void sb_choice_free(struct sb_choice *choice)
{
    if (!choice)
        return;
    for (size_t i = 0; i < choice->count; i++)
        sb_buf_release(&choice->arguments[i].name);
    free(choice->arguments);
    free(choice);
}

static bool takes(const struct argument *argument, const char *name, size_t size, bool is_dir)
{
    if (argument->nothing)
        return false;
    if (sb_name_within(name, size, argument->name.data, argument->name.size))
        return true;
    if (argument->only_dirs && !is_dir)
        size = sb_parent_size(name, size);
    /* The name or a directory above it matches. */
    for (; argument->is_glob && size > 0; size = sb_parent_size(name, size)) {
        if (sb_glob_match(argument->name.data, name, size))
            return true;
    }
    return false;
}

bool sb_choice_takes(struct sb_choice *choice, const char *name, size_t size, bool is_dir)
{
    bool taken = choice->given == 0;

    for (size_t i = 0; i < choice->count; i++) {
        struct argument *argument = &choice->arguments[i];

        if (!takes(argument, name, size, is_dir))
            continue;
        argument->matched = true;
        taken |= i < choice->given;
    }
    return taken;
}

bool sb_choice_unmatched(const struct sb_choice *choice, size_t i)
{
    return !choice->arguments[i].matched;
}

enum sb_form sb_choice_form(const struct sb_choice *choice, size_t i)
{
    size_t at = choice->given;

    while (at < choice->count &&
           (choice->arguments[at].given != i || !choice->arguments[at].matched))
        at++;
    return at < choice->count ? choice->arguments[at].form : SB_ANY_FORM;
}
