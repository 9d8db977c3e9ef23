#include "ui/mode_text.h"

#include <string.h>
#include <sys/stat.h>

char type_letter(const struct sb_entry *entry)
{
    return "fdl"[entry->type];
}

/* The x of a triple, which a set-id or sticky bit may replace. */
static char execute_letter(uint32_t mode, uint32_t execute, uint32_t special, char letter)
{
    if (!(mode & special))
        return mode & execute ? 'x' : '-';
    return mode & execute ? letter : (char)(letter - 'a' + 'A');
}

void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE])
{
    static const char letters[] = "rwxrwxrwx";
    uint32_t mode = entry->mode;
    int i;

    out[0] = "-dl"[entry->type];
    out[MODE_TEXT_SIZE - 1] = '\0';
    if (!(entry->has & SB_HAS_MODE)) {
        memset(out + 1, '?', 9);
        return;
    }
    for (i = 0; i < 9; i++)
        out[1 + i] = mode & (0400U >> i) ? letters[i] : '-';
    out[3] = execute_letter(mode, S_IXUSR, S_ISUID, 's');
    out[6] = execute_letter(mode, S_IXGRP, S_ISGID, 's');
    out[9] = execute_letter(mode, S_IXOTH, S_ISVTX, 't');
}
