#include "pack/meant.h"
#include "ui/meant.h"

#include "archive/archive.h"
#include "store/container.h"
#include "store/store.h"

#include <string.h>
#include <sys/stat.h>

/* The inputs but for the one at `except`, each with its option. */
static void quote_inputs(struct line_to_type *line, const struct sb_pack_input *inputs,
                         size_t count, size_t except)
{
    for (size_t i = 0; i < count; i++) {
        if (i == except)
            continue;
        if (inputs[i].kind != SB_INPUT_PATH)
            line_say(line, inputs[i].kind == SB_INPUT_DIRECTORY ? "-C"
                           : inputs[i].kind == SB_INPUT_LIST    ? "-T"
                                                                : "-0T");
        line_quote(line, inputs[i].text);
    }
}

static bool is_archive(enum sb_container_kind kind)
{
    return sb_container_takes(kind) & SB_TO_INDEX;
}

/* A pattern that is quoted, in the place of the archive. */
static bool explain_glob(const char *pattern, const struct sb_pack_input *inputs, size_t count)
{
    size_t at = 0;
    struct line_to_type line = {0};

    while (at < count && (inputs[at].kind != SB_INPUT_PATH ||
                          !is_archive(sb_container_by_suffix(inputs[at].text).kind)))
        at++;
    line_say(&line, "pack --include");
    line_quote(&line, pattern);
    if (at < count)
        line_quote(&line, inputs[at].text);
    else
        line_say(&line, "ARCHIVE");
    quote_inputs(&line, inputs, count, at);
    if (count - (at < count) == 0)
        line_say(&line, ".");
    line_complain(&line, "%s: is a pattern, not the name of an archive, which comes first",
                  pattern);
    return true;
}

/* Where the archive is named last, as by 'cp'; count: none is called as one. */
static size_t find_archive(const struct sb_pack_input *inputs, size_t count)
{
    size_t last = count - 1;

    return count > 0 && inputs[last].kind == SB_INPUT_PATH &&
                   is_archive(sb_container_by_suffix(inputs[last].text).kind)
               ? last
               : count;
}

static bool explain_input(const char *archive, const char *what, const struct sb_pack_input *inputs,
                          size_t count)
{
    size_t last = find_archive(inputs, count);
    struct line_to_type line = {0};

    line_say(&line, "pack");
    if (last < count)
        line_quote(&line, inputs[last].text);
    else
        line_say(&line, "ARCHIVE");
    line_quote(&line, archive);
    quote_inputs(&line, inputs, count, last);
    line_complain(&line, "%s: %s, which comes first", archive, what);
    return true;
}

static bool explain_suffix(const char *archive, enum sb_container_kind kind,
                           const struct sb_pack_input *inputs, size_t count)
{
    struct line_to_type line = {0};
    bool plain = true;

    for (size_t i = 0; i < count; i++)
        plain &= inputs[i].kind == SB_INPUT_PATH;
    line_say(&line, plain ? "convert" : "pack");
    if (!plain) {
        struct sb_buf name = {0};

        line.code =
            sb_buf_add_format(&name, "%.*s.barecat", (int)sb_container_base_size(archive), archive);
        line_quote(&line, line.code ? "" : name.data);
        sb_buf_release(&name);
    }
    quote_inputs(&line, inputs, count, count);
    if (plain)
        line_quote(&line, archive);
    line_complain(&line, "%s: is called as a %s, and pack makes archives", archive,
                  sb_container_word(kind));
    return true;
}

bool pack_explain_archive(const char *archive, const struct sb_pack_input *inputs, size_t count,
                          bool is_made)
{
    const struct sb_container_type type = {.kind = SB_UNKNOWN};
    enum sb_container_kind kind = sb_container_by_suffix(archive).kind;
    struct stat st;
    bool exists = stat(archive, &st) == 0;

    if (exists && S_ISDIR(st.st_mode) && sb_store_abilities(archive, type) & SB_CAN_WALK)
        return explain_input(archive, "is a directory, not an archive", inputs, count);
    if (!is_made || sb_archive_looks_like(archive))
        return false;
    if (!exists && strpbrk(archive, "*?["))
        return explain_glob(archive, inputs, count);
    if (!exists && kind != SB_UNKNOWN && !is_archive(kind))
        return explain_suffix(archive, kind, inputs, count);
    if (exists && kind == SB_UNKNOWN && S_ISREG(st.st_mode) && st.st_size > 0)
        return explain_input(archive, "exists and is no archive", inputs, count);
    return false;
}
