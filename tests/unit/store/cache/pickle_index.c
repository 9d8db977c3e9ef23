/* lib/store/cache/index.h */
#include "check.h"
#include "core/buf.h"
#include "store/cache/index.h"

#include <stdlib.h>

/* What Python makes of {"m:a": (0, 1), "m:b": (300, 70000), "m:é": (2**40, 2**31)}. */
#define OLD_TABLE                                                                                  \
    "}q\0(X\3\0\0\0m:aq\1K\0K\1\x86q\2X\3\0\0\0m:bq\3M,\1Jp\x11\1\0\x86q\4X\4\0\0\0m:\xc3\xa9q\5"  \
    "\x8a\6\0\0\0\0\0\1\x8a\5\0\0\0\x80\0\x86q\6u."
#define NEW_TABLE                                                                                  \
    "\x95\x39\0\0\0\0\0\0\0}\x94(\x8c\3m:a\x94K\0K\1\x86\x94\x8c\3m:b\x94M,\1Jp\x11\1\0\x86\x94"   \
    "\x8c\4m:\xc3\xa9\x94\x8a\6\0\0\0\0\0\1\x8a\5\0\0\0\x80\0\x86\x94u."

struct sample {
    const char *data;
    size_t size;
};

#define SAMPLE(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct sample pythons[] = {
    SAMPLE("\x80\2" OLD_TABLE),
    SAMPLE("\x80\3" OLD_TABLE),
    SAMPLE("\x80\4" NEW_TABLE),
    SAMPLE("\x80\5" NEW_TABLE),
};

static char told[512];
static int told_entries;

static enum sb_code tell(void *context, const struct sb_pickle_entry *entry)
{
    size_t size = strlen(told);

    (void)context;
    told_entries++;
    if (sizeof(told) - size > entry->key_size + 50)
        snprintf(told + size, sizeof(told) - size, "%.*s=%lld:%lld ", (int)entry->key_size,
                 entry->key, (long long)entry->segment, (long long)entry->row);
    return SB_OK;
}

/* From memory of just that size, so that a sanitizer sees what reads past it. */
static enum sb_code read_bytes(const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);
    enum sb_code code;

    if (!copy)
        return SB_NOMEM;
    memcpy(copy, data, size);
    told[0] = '\0';
    told_entries = 0;
    code = sb_pickle_index_read(copy, size, tell, NULL);
    free(copy);
    return code;
}

static void what_python_writes_is_read(void)
{
    for (size_t i = 0; i < sizeof(pythons) / sizeof(*pythons); i++) {
        CHECK(read_bytes(pythons[i].data, pythons[i].size) == SB_OK);
        CHECK_TEXT(told, "m:a=0:1 m:b=300:70000 m:\xc3\xa9=1099511627776:2147483648 ");
    }
}

static void one_key_or_none_has_a_form_of_its_own(void)
{
    static const struct sample one[] = {
        SAMPLE("\x80\2}q\0X\3\0\0\0m:aq\1K\0K\1\x86q\2s."),
        SAMPLE("\x80\4\x95\x10\0\0\0\0\0\0\0}\x94\x8c\3m:a\x94K\0K\1\x86\x94s."),
    };
    static const struct sample none[] = {SAMPLE("\x80\2}q\0."), SAMPLE("\x80\4}\x94.")};

    for (size_t i = 0; i < 2; i++) {
        CHECK(read_bytes(one[i].data, one[i].size) == SB_OK);
        CHECK_TEXT(told, "m:a=0:1 ");
        CHECK(read_bytes(none[i].data, none[i].size) == SB_OK);
        CHECK(told_entries == 0);
    }
}

static void what_would_run_code_is_refused(void)
{
    static const struct sample hostile[] = {
        /* {"m:a": (0, 1), "m:b": os.system("...")}, whose first entry is sound */
        SAMPLE("\x80\2}q\0(X\3\0\0\0m:aq\1K\0K\1\x86q\2X\3\0\0\0m:bq\3cposix\nsystem\nq\4"
               "X\4\0\0\0trueq\5\x85q\6Rq\7u."),
        SAMPLE("\x80\4\x95\x35\0\0\0\0\0\0\0}\x94(\x8c\3m:a\x94K\0K\1\x86\x94\x8c\3m:b\x94"
               "\x8c\5posix\x94\x8c\6system\x94\x93\x94\x8c\4true\x94\x85\x94R\x94u."),
        SAMPLE("\x80\4\x8c\5posix\x94\x8c\6system\x94\x93\x94\x8c\4true\x94\x85\x94R\x94."),
        SAMPLE("cposix\nsystem\n(S'true'\ntR."),
        SAMPLE("\x80\2cbuiltins\nexec\n."),
        SAMPLE("\x80\2}(i__main__\nx\n\x81."),
    };

    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
        CHECK(read_bytes(hostile[i].data, hostile[i].size) == SB_FORMAT);
    read_bytes(hostile[4].data, hostile[4].size);
    CHECK_TEXT(sb_error()->text,
               "has opcode 0x63 at byte 2, where a table of keys and places has another");
}

static void anything_else_is_refused(void)
{
    static const struct sample others[] = {
        SAMPLE(""),
        SAMPLE("\x80"),
        SAMPLE("\x80\1}."),
        SAMPLE("\x80\6}."),
        SAMPLE("(dp0\nVm:a\np1\n(I0\nI1\ntp2\ns."), /* protocol 0 */
        SAMPLE("\x80\4]\x94."),
        SAMPLE("\x80\4}}."),
        SAMPLE("\x80\4}\x94\x8c\1a\x94K\1K\2K\3\x87\x94s."),      /* (1, 2, 3) */
        SAMPLE("\x80\4}\x94\x8c\1a\x94K\1\x8c\1x\x94\x86\x94s."), /* (1, "x") */
        SAMPLE("\x80\4}\x94\x8c\1a\x94K\1J\xff\xff\xff\xff\x86\x94s."),
        SAMPLE("\x80\4}\x94\x8c\1a\x94K\1\x8a\1\xff\x86\x94s."),
        SAMPLE("\x80\4}\x94\x8c\1a\x94K\1\x8a\x09\0\0\0\0\0\0\0\0\1\x86\x94s."),
        SAMPLE("\x80\4}\x94(\x8c\1a\x94K\1K\2\x86\x94\x8c\1b\x94h\2u."), /* a fetch from the memo */
        SAMPLE("\x80\4}\x94\x8c\1aK\1K\2\x86\x94."),
        SAMPLE("\x80\4}\x94K\1K\1K\2\x86s."),
        SAMPLE("\x80\4}\x94\x8d\xff\xff\xff\xff\xff\xff\xff\xff\x61K\1K\2\x86s."),
        SAMPLE("\x80\4}\x94X\xff\xff\xff\xff\x61K\1K\2\x86s."),
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (!CHECK(read_bytes(others[i].data, others[i].size) == SB_FORMAT))
            printf("# sample %zu\n", i);
    }
}

static void what_is_cut_short_is_refused_wherever(void)
{
    for (size_t i = 0; i < sizeof(pythons) / sizeof(*pythons); i++) {
        for (size_t size = 0; size < pythons[i].size; size++)
            CHECK(read_bytes(pythons[i].data, size) == SB_FORMAT);
    }
}

static enum sb_code stop(void *context, const struct sb_pickle_entry *entry)
{
    (void)entry;
    ++*(int *)context;
    return sb_fail(SB_INTERRUPT, "enough");
}

static void who_takes_entries_may_end_it(void)
{
    int calls = 0;

    CHECK(sb_pickle_index_read(pythons[0].data, pythons[0].size, stop, &calls) == SB_INTERRUPT);
    CHECK(calls == 1);
}

struct expected {
    int64_t entries;
    bool differs;
};

static int64_t place_of(int64_t number)
{
    static const int64_t places[] = {0, 255, 256, 65535, 65536, INT32_MAX, INT64_MAX};

    return places[number % 7];
}

static size_t make_key(char *key, int64_t number)
{
    memset(key, 'k', 400);
    snprintf(key, 400, "m:%lld", (long long)number);
    return number == 3 ? 300 : strlen(key);
}

static enum sb_code compare(void *context, const struct sb_pickle_entry *entry)
{
    struct expected *expected = context;
    char key[400] = "";
    size_t size = make_key(key, expected->entries);

    if (entry->key_size != size || memcmp(entry->key, key, size) != 0 ||
        entry->segment != place_of(expected->entries) ||
        entry->row != place_of(expected->entries + 1))
        expected->differs = true;
    expected->entries++;
    return SB_OK;
}

static enum sb_code collect(void *out, const void *data, size_t size)
{
    return sb_buf_add(out, data, size) ? sb_fail_memory() : SB_OK;
}

static void what_is_written_is_read(void)
{
    static const int64_t counts[] = {0, 1, 2, 999, 1000, 1001, 2000, 2001};

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct expected expected = {0};
        struct sb_pickle_writer writer;
        struct sb_buf out = {0};
        char key[400] = "";

        CHECK(sb_pickle_index_begin(&writer, collect, &out) == SB_OK);
        for (int64_t n = 0; n < counts[i]; n++) {
            struct sb_pickle_entry entry = {key, make_key(key, n), place_of(n), place_of(n + 1)};

            CHECK(sb_pickle_index_add(&writer, &entry) == SB_OK);
        }
        CHECK(sb_pickle_index_end(&writer) == SB_OK);
        CHECK(sb_pickle_index_read(out.data, out.size, compare, &expected) == SB_OK);
        CHECK(expected.entries == counts[i] && !expected.differs);
        sb_buf_release(&out);
    }
}

static void what_is_written_is_what_python_reads(void)
{
    static const char bytes[] = "\x80\4}(\x8c\3m:aK\0K\1\x86\x8c\3m:bM,\1Jp\x11\1\0\x86u.";
    struct sb_pickle_writer writer;
    struct sb_buf out = {0};

    CHECK(sb_pickle_index_begin(&writer, collect, &out) == SB_OK);
    CHECK(sb_pickle_index_add(&writer, &(struct sb_pickle_entry){"m:a", 3, 0, 1}) == SB_OK);
    CHECK(sb_pickle_index_add(&writer, &(struct sb_pickle_entry){"m:b", 3, 300, 70000}) == SB_OK);
    CHECK(sb_pickle_index_end(&writer) == SB_OK);
    CHECK(out.size == sizeof(bytes) - 1 && memcmp(out.data, bytes, out.size) == 0);
    sb_buf_release(&out);
}

int main(void)
{
    RUN(what_python_writes_is_read);
    RUN(one_key_or_none_has_a_form_of_its_own);
    RUN(what_would_run_code_is_refused);
    RUN(anything_else_is_refused);
    RUN(what_is_cut_short_is_refused_wherever);
    RUN(who_takes_entries_may_end_it);
    RUN(what_is_written_is_read);
    RUN(what_is_written_is_what_python_reads);
    return check_end();
}
