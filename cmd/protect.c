/*
 * shardbox protect: parity files, by which damaged files are repaired.
 */
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

struct settings {
    struct protecting protecting;
    bool update, check, repair, remove;
};

static bool take_redundancy(void *settings, const char *value)
{
    return parse_redundancy("redundancy", value,
                            &((struct settings *)settings)->protecting.wanted.per_mille);
}

static const struct option options[] = {
    OPTION_GROUP("What is done"),
    OPTION_CALL(0, "redundancy", "PERCENT", take_redundancy,
                "size of the parity file, of that of FILE (default: 5%)", OPERAND_NONE),
    OPTION_FLAG('u', "update", struct settings, update,
                "make parity files anew whose FILE changed, and missing ones"),
    OPTION_FLAG(0, "check", struct settings, check, "name what is damaged, byte by byte"),
    OPTION_FLAG(0, "repair", struct settings, repair, "make damaged bytes as they were, in place"),
    OPTION_FLAG(0, "remove", struct settings, remove, "remove parity files"),
    OPTION_DRY_RUN(struct settings, protecting.wanted.dry_run),
    OPTION_GROUP("How"),
    OPTION_FLAG(0, "hard-links", struct settings, protecting.wanted.hard_links,
                "repair files that have several names"),
    OPTION_FLAG(0, "trust-parity", struct settings, protecting.wanted.trust,
                "repair what may have changed instead"),
    OPTION_TEXT(0, "parity-dir", struct settings, protecting.wanted.parity_dir, "DIR",
                "parity files are in DIR, under their names", OPERAND_FILE),
    OPTION_THREADS(struct settings, protecting.wanted.threads, "compute with N threads"),
    OPTION_BWLIMIT,
    OPTION_WAIT,
    OPTION_END,
};

static enum sb_protect_act act_of(const struct settings *settings)
{
    if (settings->update)
        return SB_PROTECT_UPDATE;
    if (settings->check)
        return SB_PROTECT_CHECK;
    if (settings->repair)
        return SB_PROTECT_REPAIR;
    return settings->remove ? SB_PROTECT_REMOVE : SB_PROTECT_MAKE;
}

static const struct option_rule rules[] = {
    {RULE_MANY, "update check repair remove", NULL,
     "--update, --check, --repair and --remove cannot be given together"},
    {RULE_WITH, "redundancy", "check repair remove",
     "--redundancy is for parity files that are made"},
    {RULE_WITHOUT, "hard-links", "repair", "--hard-links is for --repair"},
    {RULE_WITHOUT, "trust-parity", "repair", "--trust-parity is for --repair"},
    {RULE_WITH, "dry-run", "check", "--check changes nothing; -n does not go with it"},
    {0},
};

/* A shard whose archive is given, too, is not done twice, and other files of it not at all. */
static bool comes_with_archive(char **operands, int count, const char *path, const char *parity_dir)
{
    for (int i = 0; i < count; i++) {
        if (sb_protect_has_own(operands[i], path, parity_dir))
            return true;
    }
    return false;
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_protect_options *wanted = &settings->protecting.wanted;

    if (count == 0)
        return message_usage("give at least one FILE");
    wanted->act = act_of(settings);
    wanted->one = count == 1;
    wanted->notify = &message_notify;
    for (int i = 0; i < count; i++) {
        if (!comes_with_archive(operands, count, operands[i], wanted->parity_dir))
            protecting_add(&settings->protecting, operands[i]);
    }
    protecting_run(&settings->protecting, false);
    output_flush();
    return message_status();
}

const struct command protect_command = {
    .name = "protect",
    .summary = "make parity files, by which damaged files are repaired",
    .synopsis = {"[--redundancy=PERCENT] [--update] FILE...", "--check|--repair|--remove FILE..."},
    .examples = {"shardbox protect --update train.barecat", "shardbox protect --repair train.tar"},
    .options = options,
    .rules = rules,
    .exit_status = "0 done, or all is sound, 1 damage, or a file that changed, 2 error",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .run = run,
};
