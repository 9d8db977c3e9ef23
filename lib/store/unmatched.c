#include "store/unmatched.h"

#include "archive/select.h"
#include "store/container.h"

#include <string.h>
#include <sys/stat.h>

const char *sb_unmatched_hint(const char *name, enum sb_form form)
{
    struct stat st;

    if (form)
        return form == SB_NFC
                   ? "; it is there in Unicode form NFC: copy the name from 'shardbox find'"
                   : "; it is there in Unicode form NFD, as macOS writes names: copy the name from "
                     "'shardbox find'";
    if (sb_container_by_suffix(name).kind != SB_UNKNOWN && stat(name, &st) == 0 &&
        S_ISREG(st.st_mode))
        return "; it is a container of its own: name one at a time";
    if (strchr(name, '*') && !strstr(name, "**"))
        return "; '*' stays within a directory, '**/' means any below";
    return "";
}

static enum sb_code find(struct sb_archive *archive, char *name)
{
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    struct sb_entry entry;

    TRY(sb_select_new(&select, archive, &name, 1, SB_REACH_ITSELF));
    return sb_select_next(select, &entry);
}

enum sb_form sb_unmatched_form(struct sb_archive *archive, const char *name)
{
    CLEANUP(sb_buf_release) struct sb_buf formed = {0};
    enum sb_form form = SB_NFD;

    while (form && (!sb_name_form(name, strlen(name), form, &formed) ||
                    IGNORED(find(archive, formed.data))))
        form--;
    return form;
}

const char *sb_unmatched_in(struct sb_archive *archive, const char *name)
{
    return sb_unmatched_hint(name, sb_unmatched_form(archive, name));
}

enum sb_code sb_unmatched_add(struct sb_names *sides[2], bool side, const char *name, size_t size,
                              const char *beside, const struct sb_notify *notify)
{
    CLEANUP(sb_buf_release) struct sb_buf formed = {0};
    bool is_nfd = !sb_name_form(name, size, SB_NFD, &formed), both = false;

    if (is_nfd && !sb_name_form(name, size, SB_NFC, &formed))
        return SB_OK;
    if (is_nfd && sb_buf_set(&formed, name, size))
        return sb_fail_memory();
    TRY(sb_names_has(sides[!side], formed.data, formed.size, &both));
    if (both)
        sb_unmatched_warn(notify, name);
    return sb_names_put(&sides[side], beside, formed.data, formed.size);
}

void sb_unmatched_warn(const struct sb_notify *notify, const char *name)
{
    sb_report(notify, SB_WARNING, "unicode", name,
              "the other side has this name in another Unicode form (NFC or NFD, as macOS makes "
              "it), which counts as another name");
}
