/* lib/task/transfer/names.c: owners that this machine knows, and others */
#include "archive/owner_names.h"
#include "check.h"
#include "task/transfer/impl.h"

#include <stdio.h>
#include <string.h>

static struct sb_local_owners owners;

static struct sb_member with(const char *user, const char *group)
{
    struct sb_member member = {
        .user = user, .group = group, .entry = {.has = SB_HAS_UID, .uid = 77, .gid = 88}};

    sb_local_owners_apply(&owners, &member);
    return member;
}

static void names_of_this_machine_win(void)
{
    int64_t root = -1;
    struct sb_member member = with("root", "root");

    CHECK(sb_account_id(SB_USER, "root", &root) && root == 0);
    CHECK(member.entry.uid == 0 && member.entry.gid == 0);
    CHECK(member.entry.has == (SB_HAS_UID | SB_HAS_GID));
}

static void others_leave_the_numbers(void)
{
    char name[64], longer[128];
    struct sb_member member = with(NULL, "");

    CHECK(member.entry.uid == 77 && member.entry.gid == 88 && member.entry.has == SB_HAS_UID);
    /* More than there are slots, so that some meet in one. */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 200; i++) {
            snprintf(name, sizeof(name), "no-such-%d", i);
            member = with(name, name);
            CHECK(member.entry.uid == 77 && member.entry.gid == 88);
        }
        member = with("root", NULL);
        CHECK(member.entry.uid == 0 && member.entry.gid == 88);
    }
    memset(longer, 'n', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    member = with(longer, longer);
    CHECK(member.entry.uid == 77);
}

static void accounts_are_found_both_ways(void)
{
    char name[40] = "";

    CHECK(sb_account_name(SB_USER, 0, name, sizeof(name)) && strcmp(name, "root") == 0);
    CHECK(sb_account_name(SB_GROUP, 0, name, 3) && strcmp(name, "ro") == 0);
    CHECK(!sb_account_name(SB_USER, 4294967290, name, sizeof(name)));
}

int main(void)
{
    RUN(names_of_this_machine_win);
    RUN(others_leave_the_numbers);
    RUN(accounts_are_found_both_ways);
    return check_end();
}
