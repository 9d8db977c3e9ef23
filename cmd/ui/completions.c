#include "ui/completions.h"

#include "core/array.h"

#include <string.h>

struct completion_kinds completion_kinds(enum operand_kind kind)
{
    static const struct completion_kinds kinds[] = {
        [OPERAND_ANY] = {"any", "any"},
        [OPERAND_FILE] = {"file", "file"},
        [OPERAND_DIRECTORY] = {"directory", "directory"},
        [OPERAND_NONE] = {"none", "none"},
        [OPERAND_ARCHIVE] = {"archive", "none"},
        [OPERAND_ARCHIVE_PATHS] = {"archive", "path"},
        [OPERAND_ARCHIVE_ROWS] = {"archive", "row"},
        [OPERAND_ARRAY] = {"array", "array"},
        [OPERAND_ARCHIVE_FILES] = {"archive", "file"},
    };

    return kinds[kind];
}

const char *completions_passed(size_t number)
{
    for (const struct option *option = complete_command.options; option->kind; option++) {
        if (option->kind != OPTION_KIND_GROUP && number-- == 0)
            return option->name;
    }
    return NULL;
}

bool completions_print(const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } scripts[] = {
        {"bash", completions_bash},
        {"zsh", completions_zsh},
        {"fish", completions_fish},
    };

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        if (strcmp(scripts[i].shell, shell) == 0) {
            scripts[i].print();
            return true;
        }
    }
    return false;
}
