#include "verify/verify.h"

#include "archive/archive.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "task/protect/before.h"
#include "ui/message.h"
#include "ui/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum sb_code verify_repair_check(const struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;

    if (verify_repair_wanted(run) && run->settings->wanted.quick)
        return sb_fail(SB_INVALID,
                       "--repair%s: what is damaged is found by reading it; leave out --quick",
                       settings->from ? "-from" : "");
    if (settings->prefix && !settings->from)
        return sb_fail(SB_INVALID, "--repair-prefix goes with --repair-from");
    if (settings->parity_dir && !verify_repair_wanted(run))
        return sb_fail(SB_INVALID, "--parity-dir goes with --repair and --repair-from");
    if (settings->trust && !settings->repair)
        return sb_fail(SB_INVALID, "--trust-parity goes with --repair");
    if (settings->dry_run && !verify_repair_wanted(run))
        return sb_fail(SB_INVALID, "--dry-run goes with --repair and --repair-from");
    return SB_OK;
}

bool verify_repair_wanted(const struct verify_run *run)
{
    return run->settings->repair.repair || run->settings->repair.from;
}

enum sb_code verify_repair_begin(struct verify_run *run)
{
    const struct sb_protect_options options = {
        .act = SB_PROTECT_REPAIR,
        .parity_dir = run->settings->repair.parity_dir,
        .threads = run->settings->wanted.threads,
        .trust = run->settings->repair.trust,
        .dry_run = run->settings->repair.dry_run,
        .result = &run->protect,
        .notify = &run->notify,
    };
    struct stat st;

    if (!run->settings->repair.repair || run->settings->wanted.quick ||
        (stat(run->path, &st) == 0 && S_ISDIR(st.st_mode)))
        return SB_OK;
    if (strcmp(run->path, "-") == 0)
        return sb_fail(SB_INVALID, "standard input cannot be repaired; give a file");
    return sb_protect_bring_back(run->path, &options);
}

enum sb_code verify_repair_undo(const struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;

    if (verify_repair_wanted(run) || run->name_count > 0 || strcmp(run->path, "-") == 0)
        return sb_fail(SB_INVALID,
                       "--undo-repair takes an archive or a file, and goes with --parity-dir and "
                       "--dry-run alone");
    return sb_before_undo(run->path, settings->parity_dir, settings->dry_run, &run->notify);
}

void verify_repair_warn(struct verify_run *run)
{
    const struct sb_protect_result *found = &run->protect;

    if (found->repaired > 0 && !run->settings->repair.dry_run)
        verify_run_warn(run, LOUD_ALWAYS, "repaired",
                        "%" PRId64 " damaged piece%s of its files or their parity files repaired",
                        found->repaired, found->repaired == 1 ? "" : "s");
    /* What is damaged is not protected. */
    if (run->result.defects > 0 || !run->settings->repair.repair)
        return;
    if (found->files > 0 && found->without > 0)
        verify_run_warn(run, LOUD_ONCE, "unprotected",
                        "%" PRId64 " of its files %s no parity file; 'shardbox protect --update' "
                        "makes what is missing",
                        found->without, found->without == 1 ? "has" : "have");
    if (found->files == 0 && found->changed == 0)
        verify_run_warn(run, LOUD_ONCE, "unprotected",
                        "has no parity file to be repaired by; 'shardbox protect' makes it");
}

enum sb_code verify_repair_refuse(const struct verify_run *run, bool bag)
{
    if (!run->settings->repair.from)
        return SB_OK;
    if (bag)
        return sb_fail(SB_INVALID,
                       "%s: --repair-from is for archives; --repair-to=BAG keeps what is sound of "
                       "a bag",
                       run->path);
    return sb_fail(SB_INVALID,
                   "%s: --repair-from is for archives; of this, take the whole from the copy",
                   run->path);
}

enum sb_code verify_repair(struct verify_run *run, struct sb_archive *archive,
                           const struct sb_verify_options *options)
{
    const struct verify_repair_settings *settings = &run->settings->repair;
    const struct sb_restore_options how = {
        .protect = settings->repair ? &run->protect : NULL,
        .parity_dir = settings->parity_dir,
        .copy = settings->from,
        .prefix = settings->prefix,
        .trust = settings->trust,
        .dry_run = settings->dry_run,
        .threads = options->threads ? options->threads : sb_default_threads(),
        .notify = &run->notify,
    };

    return sb_verify_and_restore(archive, options, &run->events, &how, &run->restored);
}

/* DIR, where DIR/NAME was meant, which is not the damaged archive itself? */
static bool holds_copy(const char *dir, const char *archive)
{
    struct sb_buf path = {0};
    struct stat ours, theirs;
    bool holds = !sb_buf_add_format(&path, "%s/%s", dir, sb_base_name(archive)) &&
                 stat(archive, &ours) == 0 && stat(path.data, &theirs) == 0 &&
                 (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) &&
                 sb_archive_looks_like(path.data);

    sb_buf_release(&path);
    return holds;
}

/* If the copy has none of the names, they may have another prefix there. */
static const char *hint(const struct verify_run *run)
{
    const struct sb_restore_result *restored = &run->restored;

    if (!run->settings->repair.from || restored->missing < restored->damaged ||
        run->settings->repair.prefix)
        return "";
    if (holds_copy(run->settings->repair.from, run->path))
        return "; there is an archive of this name in it: --repair-from takes that";
    return "; --repair-prefix=DIR names the directory of it that has the files, if there is one";
}

/* NULL: no memory. */
static char *name_source(const struct verify_repair_settings *settings)
{
    const char *parity = settings->repair ? "by parity files" : "";
    const char *both = settings->repair && settings->from ? " or " : "", *copy = settings->from;
    char *text;

    if (copy && strcmp(copy, "-") == 0)
        copy = "standard input";
    if (asprintf(&text, "%s%s%s%s", parity, both, copy ? "from " : "", copy ? copy : "") < 0)
        return NULL;
    return text;
}

static void say_restored(struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;
    const struct sb_restore_result *restored = &run->restored;
    const char *plural = restored->damaged == 1 ? "" : "s";
    char size[SB_HUMAN_SIZE], *from = name_source(settings);

    if (!from) {
        message_error("out of memory");
        return;
    }
    sb_format_human(restored->bytes, size);
    if (settings->dry_run)
        verify_run_warn(run, LOUD_ONCE, "restorable",
                        "%" PRId64 " of %" PRId64
                        " damaged file%s (%s) can be restored %s%s; nothing was written "
                        "(--dry-run)",
                        restored->restored, restored->damaged, plural, size, from, hint(run));
    else if (restored->left == 0)
        verify_run_warn(run, LOUD_ALWAYS, "restored", "%" PRId64 " damaged file%s (%s) restored %s",
                        restored->restored, plural, size, from);
    else
        verify_run_warn(run, LOUD_ONCE, "restored",
                        "%" PRId64 " of %" PRId64 " damaged file%s (%s) restored %s%s",
                        restored->restored, restored->damaged, plural, size, from, hint(run));
    free(from);
}

void verify_repair_summarize(struct verify_run *run, const char *advice)
{
    const struct sb_restore_result *restored = &run->restored;

    if (restored->damaged > 0)
        say_restored(run);
    if (restored->left > 0)
        verify_report_defects(run, restored->left, restored->left == 1 ? " remains" : " remain", "",
                              advice);
}
