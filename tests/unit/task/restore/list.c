/* lib/task/restore/list.c */
#include "check.h"
#include "task/restore/impl.h"

#define MANY 3000

static struct sb_restore_list *new_list(void)
{
    struct sb_restore_list *list;

    CHECK(sb_restore_list_new(&list, "/tmp/x") == SB_OK);
    return list;
}

static void add(struct sb_restore_list *list, const char *path, uint32_t shard, int64_t offset)
{
    const struct sb_entry entry = {.path = path,
                                   .path_size = strlen(path),
                                   .type = SB_LINK,
                                   .has = SB_HAS_CRC,
                                   .shard = shard,
                                   .offset = offset,
                                   .size = 7,
                                   .crc32c = 0xfedcba98};

    CHECK(sb_restore_list_add(list, &entry) == SB_OK);
}

static bool is_damaged(struct sb_restore_list *list, const char *path, size_t size)
{
    bool damaged = false;

    CHECK(sb_restore_list_is_damaged(list, path, size, &damaged) == SB_OK);
    return damaged;
}

static void names_are_told_apart_by_their_bytes_and_come_in_order(void)
{
    struct sb_restore_list *list = new_list();
    const char *path;
    size_t size;

    CHECK(sb_restore_list_damage(list, "b\377", 2) == SB_OK);
    CHECK(sb_restore_list_damage(list, "a", 1) == SB_OK);
    CHECK(sb_restore_list_damage(list, "a", 1) == SB_OK);
    CHECK(is_damaged(list, "a", 1) && is_damaged(list, "b\377", 2));
    CHECK(!is_damaged(list, "b", 1) && !is_damaged(list, "", 0));
    CHECK(sb_restore_list_next_damaged(list, &path, &size) == SB_OK);
    CHECK(size == 1 && strcmp(path, "a") == 0);
    CHECK(sb_restore_list_next_damaged(list, &path, &size) == SB_OK);
    CHECK(size == 2 && strcmp(path, "b\377") == 0);
    CHECK(sb_restore_list_next_damaged(list, &path, &size) == SB_END);
    sb_restore_list_free(list);
}

static void items_come_as_they_were_added(void)
{
    struct sb_restore_list *list = new_list();
    struct sb_restore_item item;

    add(list, "one", 3, INT64_MAX - 7);
    CHECK(sb_restore_list_next(list, 0, SB_RESTORE_WANTED, &item) == SB_OK);
    CHECK_TEXT(item.path, "one");
    CHECK(item.id == 1 && item.path_size == 3 && item.is_link && item.shard == 3);
    CHECK(item.offset == INT64_MAX - 7 && item.size == 7 && item.crc32c == 0xfedcba98);
    CHECK(item.state == SB_RESTORE_WANTED && sb_restore_list_open(list) == 1);
    sb_restore_list_free(list);
}

static void items_are_gone_through_while_their_states_change(void)
{
    struct sb_restore_list *list = new_list();
    struct sb_restore_item item = {0};
    int64_t seen = 0;

    for (int64_t i = 0; i < MANY; i++)
        add(list, i % 2 ? "odd" : "even", 0, i);
    while (!sb_restore_list_next(list, item.id, SB_RESTORE_WANTED, &item)) {
        CHECK(item.offset == seen++);
        if (item.offset % 3 == 0)
            CHECK(sb_restore_list_set(list, item.id, SB_RESTORE_WRITTEN) == SB_OK);
    }
    CHECK(seen == MANY && sb_restore_list_open(list) == MANY - MANY / 3);
    item.id = seen = 0;
    while (!sb_restore_list_next(list, item.id, SB_RESTORE_WRITTEN, &item))
        seen += item.state == SB_RESTORE_WRITTEN && item.offset % 3 == 0;
    CHECK(seen == MANY / 3);
    CHECK(sb_restore_list_next_of(list, 0, 0, &item) == SB_OK && item.id == 2);
    CHECK(sb_restore_list_next_of(list, 1, 0, &item) == SB_END);
    sb_restore_list_free(list);
}

static void a_name_is_found_as_often_as_it_waits_and_through_links(void)
{
    struct sb_restore_list *list = new_list();
    struct sb_restore_item item = {0};

    add(list, "same", 0, 0);
    add(list, "other", 0, 10);
    add(list, "same", 0, 20);
    CHECK(sb_restore_list_find(list, "same", 4, false, 0, &item) == SB_OK && item.id == 1);
    CHECK(sb_restore_list_set(list, 1, SB_RESTORE_OTHER) == SB_OK);
    CHECK(sb_restore_list_find(list, "same", 4, false, 1, &item) == SB_OK && item.id == 3);
    CHECK(sb_restore_list_find(list, "same", 4, false, 3, &item) == SB_END);
    CHECK(sb_restore_list_set(list, 3, SB_RESTORE_WRITTEN) == SB_OK);
    CHECK(sb_restore_list_find(list, "same", 4, false, 1, &item) == SB_END);

    CHECK(sb_restore_list_find(list, "same", 4, true, 0, &item) == SB_END);
    CHECK(sb_restore_list_link(list, 2, "same", 4) == SB_OK);
    CHECK(sb_restore_list_find(list, "same", 4, true, 0, &item) == SB_OK && item.id == 2);
    CHECK_TEXT(item.path, "other");
    sb_restore_list_free(list);
}

int main(void)
{
    RUN(names_are_told_apart_by_their_bytes_and_come_in_order);
    RUN(items_come_as_they_were_added);
    RUN(items_are_gone_through_while_their_states_change);
    RUN(a_name_is_found_as_often_as_it_waits_and_through_links);
    return check_end();
}
