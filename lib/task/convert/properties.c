#include "task/convert/convert.h"

#include "core/array.h"

static const struct {
    unsigned bit;
    const char *word;
    const char *text;
} properties[] = {
    {SB_KEEPS_OWNER, "owners", "owners"},
    {SB_KEEPS_OWNER_NAME, "owner-names", "owner names"},
    {SB_KEEPS_NANOSECONDS, "nanoseconds", "nanoseconds"},
    {SB_KEEPS_HARD_LINKS, "hard-links", "hard links"},
    {SB_KEEPS_SPECIAL, "special", "special files"},
    {SB_KEEPS_XATTRS, "xattrs", "xattrs"},
    {SB_KEEPS_ACLS, "acls", "ACLs"},
    {SB_KEEPS_FLAGS, "flags", "inode flags"},
    {SB_KEEPS_SPARSE, "holes", "holes"},
    {SB_KEEPS_COMMENT, "comments", "comments"},
    {SB_KEEPS_SHAPE, "shapes", "shapes"},
    {SB_KEEPS_ITEM_NAME, "item-names", "names of items"},
    {SB_KEEPS_SECOND_NAME, "second-names", "second names of owners"},
    {SB_KEEPS_FAR_TIME, "times", "times out of range"},
};

const char *sb_property_text(unsigned property)
{
    for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
        if (properties[i].bit == property)
            return properties[i].text;
    }
    return "other properties";
}

const char *sb_property_word(unsigned property)
{
    for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
        if (properties[i].bit == property)
            return properties[i].word;
    }
    return "other";
}
