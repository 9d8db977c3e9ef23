#include "archive/parent.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

/*
 * Size of one character as SQLite steps over it: a byte from 0xC0 up includes the continuation
 * bytes.
 */
static size_t character_size(const unsigned char *text)
{
    size_t size = 1;

    if (text[0] < 0xC0)
        return 1;
    while ((text[size] & 0xC0) == 0x80)
        size++;
    return size;
}

/*
 * The bytes of a text as they are in the row: sqlite3_value_text would copy them to add a NUL.
 * Other values are converted, as the built-in functions do. NULL for NULL.
 */
static const unsigned char *text_of(sqlite3_value *value, size_t *size)
{
    const unsigned char *text = sqlite3_value_type(value) == SQLITE_TEXT
                                    ? sqlite3_value_blob(value)
                                    : sqlite3_value_text(value);

    *size = (size_t)sqlite3_value_bytes(value);
    if (!text && *size == 0 && sqlite3_value_type(value) == SQLITE_TEXT)
        return (const unsigned char *)"";
    return text;
}
/* Does text[0..size) end with one of the characters of the NUL-terminated set? Its size, or 0. */
static size_t last_in_set(const unsigned char *text, size_t size, const unsigned char *set)
{
    size_t step;

    for (; *set; set += step) {
        step = character_size(set);
        if (step <= size && memcmp(text + size - step, set, step) == 0)
            return step;
    }
    return 0;
}

/* False if the set has bytes beyond ASCII: then characters, not bytes, are trimmed. */
static bool ascii_set(const unsigned char *set, size_t size, bool in_set[256])
{
    memset(in_set, 0, 256 * sizeof(bool));
    for (size_t i = 0; i < size && set[i]; i++) {
        if (set[i] >= 0x80)
            return false;
        in_set[set[i]] = true;
    }
    return true;
}

static void fast_rtrim(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *text, *set;
    bool in_set[256];
    size_t size, set_size, step;

    (void)count;
    text = text_of(values[0], &size);
    set = text_of(values[1], &set_size);
    if (!text || !set)
        return;
    if (ascii_set(set, set_size, in_set)) {
        while (size && in_set[text[size - 1]])
            size--;
    } else {
        set = sqlite3_value_text(values[1]);
        while (size && (step = last_in_set(text, size, set)))
            size -= step;
    }
    sqlite3_result_text(context, (const char *)text, (int)size, SQLITE_TRANSIENT);
}

/* Only replace(X, one byte, '') is made fast: the form that the schema has. */
static void fast_replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *text, *pattern;
    char on_stack[512], *result = on_stack;
    size_t size, pattern_size, kept = 0;

    (void)count;
    text = text_of(values[0], &size);
    pattern = text_of(values[1], &pattern_size);
    if (!text || !pattern || sqlite3_value_type(values[2]) == SQLITE_NULL)
        return;
    if (pattern_size != 1 || sqlite3_value_bytes(values[2]) != 0) {
        sqlite3_result_error(context, "replace() here takes one character and the empty text", -1);
        return;
    }
    if (size > sizeof(on_stack))
        result = sqlite3_malloc64(size);
    if (!result) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        result[kept] = (char)text[i];
        kept += text[i] != pattern[0];
    }
    sqlite3_result_text(context, result, (int)kept,
                        result == on_stack ? SQLITE_TRANSIENT : sqlite3_free);
}

enum sb_code sb_register_parent_functions(struct sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

    if (sqlite3_create_function_v2(db, "rtrim", 2, flags, NULL, fast_rtrim, NULL, NULL, NULL) ||
        sqlite3_create_function_v2(db, "replace", 3, flags, NULL, fast_replace, NULL, NULL, NULL))
        return sb_database_fail(db);
    return SB_OK;
}
