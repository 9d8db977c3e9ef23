#include "find/walk.h"
#include "ui/message.h"
#include "ui/output.h"

#include "archive/listed.h"
#include "core/list.h"

#include <string.h>

static void consider_listed(struct finding *finding, const struct sb_listed_name *name)
{
    const struct find_settings *settings = finding->settings;

    if (settings->missing && !name->there)
        output_line(name->given, strlen(name->given), settings->nul);
    else if (!name->there)
        sb_report(&message_notify, SB_PROBLEM, "missing", name->given,
                  "no such file or directory in the archive");
    else if (!settings->missing)
        find_consider(finding, &name->entry);
}

/*
 * When members are considered no lock is held: what is printed may have to wait. A batch ends when
 * the next name would have to be waited for.
 */
static enum sb_code consider_batches(struct finding *finding, struct sb_listed *listed)
{
    enum sb_code code = SB_OK;

    while (!code && !finding->visit.quit) {
        code = sb_listed_take(listed);
        if (!code)
            code = sb_listed_look_up(listed);
        for (size_t i = 0; !code && i < sb_listed_count(listed) && !finding->visit.quit; i++)
            consider_listed(finding, sb_listed_at(listed, i));
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code find_listed(struct finding *finding)
{
    const struct find_settings *settings = finding->settings;
    struct sb_listed *listed = NULL;
    struct sb_list *list;
    enum sb_code code = SB_OK;

    TRY(sb_list_open(&list, settings->files_from, settings->nul ? '\0' : '\n'));
    code = sb_listed_new(&listed, finding->archive, list, (unsigned)settings->threads);
    if (!code)
        code = consider_batches(finding, listed);
    sb_listed_free(listed);
    sb_list_free(list);
    return code;
}
