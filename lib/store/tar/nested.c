#include "store/tar/nested.h"

#include "store/feed/feed.h"
#include "store/tar/raw.h"

#include <stdlib.h>
#include <string.h>

#define NESTED_MOST 8 /* tars in each other */

#define SMALL ((int64_t)1 << 20) /* compressed, what more threads than one do not make faster */

struct nested {
    struct sb_source base;
    struct sb_source *outer;
    struct sb_input *input; /* of outer */
    struct sb_source_options options;
    const struct sb_notify *notify;
    struct sb_notify below; /* of inner */

    /* The tar that outer's current member is. */
    bool inside;             /* it is one, and this is not yet at its end */
    struct sb_source *inner; /* its members; NULL: its directory was given last */
    struct sb_input tar;
    struct sb_section section;
    struct sb_buf dir;      /* the name of its directory, */
    struct sb_buf name;     /* and its own, for messages */
    struct sb_error damage; /* what ended it, to be reported; code SB_OK: nothing */

    struct sb_buf head; /* the first bytes of outer's current member, if they were read, */
    size_t head_given;
    size_t hole; /* and a hole after them */
    struct sb_buf path, target;
};

static bool has_name(const char *name)
{
    return sb_container_by_suffix(name).kind == SB_TAR;
}

static bool begins_as_tar(const void *first, size_t first_size, int64_t size)
{
    if (sb_filter_by_content(first, first_size) != SB_FILTER_NONE)
        return true;
    return first_size >= SB_TAR_BLOCK &&
           (sb_tar_is_header(first) ||
            (size >= (int64_t)2 * SB_TAR_BLOCK && sb_tar_all_zeros(first, SB_TAR_BLOCK)));
}

/* Reads the first bytes of a member that comes in sequence; a hole ends them. */
static enum sb_code read_head(struct nested *nested)
{
    enum sb_code code = SB_OK;
    const void *data;
    size_t size;

    while (!code && nested->hole == 0 && nested->head.size < SB_TAR_BLOCK) {
        code = sb_source_block_sparse(nested->outer, &data, &size);
        if (!code && !data)
            nested->hole = size;
        else if (!code && sb_buf_add(&nested->head, data, size))
            code = sb_fail_memory();
    }
    return code == SB_END ? SB_OK : code;
}

/* Names its directory, which the member becomes, and sets what inner is opened with. */
static enum sb_code begin(struct nested *nested, struct sb_member *member,
                          enum sb_filter_kind filter)
{
    struct sb_entry *entry = &member->entry;
    int64_t most = member->located ? nested->input->file->st.st_size - member->at : INT64_MAX;

    nested->section = (struct sb_section){
        .from = member->located ? NULL : nested->outer,
        .at = member->at,
        .size = entry->size < most ? entry->size : most,
        .depth = nested->input->section ? nested->input->section->depth + 1 : 1,
    };
    sb_buf_clear(&nested->name);
    TRY(sb_buf_add_format(&nested->name, "%s: %s", nested->input->name, entry->path));
    TRY(sb_buf_set(&nested->dir, entry->path, sb_container_base_size(entry->path)));
    nested->tar = (struct sb_input){
        .path = nested->input->path,
        .name = nested->name.data,
        .type = {.kind = SB_TAR, .filter = filter},
        .kind = &sb_tar_kind,
        .file = nested->input->file,
        .head = nested->head,
        .section = &nested->section,
    };
    nested->inside = true;
    entry->path = nested->dir.data;
    entry->path_size = nested->dir.size;
    entry->type = SB_DIR;
    entry->size = 0;
    entry->mode = (entry->mode & 07777) | (entry->mode & 0444) >> 2 | S_IFDIR;
    member->located = false;
    member->has &= ~(unsigned)SB_KEEPS_SPARSE;
    return SB_OK;
}

static enum sb_code look(struct nested *nested, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    char block[SB_TAR_BLOCK];
    const char *first = block;
    size_t size = sizeof(block);

    if (entry->type != SB_FILE || member->special || member->hard_link || entry->size == 0 ||
        !has_name(entry->path))
        return SB_OK;
    if (member->located) {
        if ((int64_t)size > entry->size)
            size = (size_t)entry->size;
        TRY(sb_file_read(nested->input->file, block, size, member->at, &size));
    } else {
        TRY(read_head(nested));
        first = nested->head.data;
        size = nested->hole > 0 ? 0 : nested->head.size; /* its feed would not have the hole */
    }
    if (size == 0 || !begins_as_tar(first, size, entry->size))
        return SB_OK;
    return begin(nested, member, sb_filter_by_content(first, size));
}

static void end(struct nested *nested)
{
    sb_source_free(nested->inner);
    nested->inner = NULL;
    nested->inside = false;
}

static enum sb_code put_below(const struct nested *nested, struct sb_buf *out, const char *name)
{
    if (sb_buf_set(out, nested->dir.data, nested->dir.size) ||
        (name[0] && (sb_buf_add_char(out, '/') || sb_buf_add_text(out, name))))
        return sb_fail_memory();
    return SB_OK;
}

/* What inner reports of a member is of one below the directory. */
static void pass_below(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    const struct nested *nested = context;

    if (subject)
        subject = IGNORED(put_below(nested, &name, subject)) ? NULL : name.data;
    sb_report(nested->notify, level, kind, subject, "%s", text);
}

static enum sb_code open_inner(struct nested *nested)
{
    struct sb_source_options options = nested->options;

    if (nested->inner)
        return SB_OK;
    if (nested->section.size < SMALL)
        options.threads = 1;
    return sb_source_open(&nested->inner, &nested->tar, &options, &nested->below);
}

static enum sb_code name_member(struct nested *nested, struct sb_member *member)
{
    TRY(put_below(nested, &nested->path, member->entry.path));
    member->entry.path = nested->path.data;
    member->entry.path_size = nested->path.size;
    if (!member->hard_link)
        return SB_OK;
    TRY(put_below(nested, &nested->target, member->hard_link));
    member->hard_link = nested->target.data;
    return SB_OK;
}

/* SB_END: there is no tar, or no more of it. */
static enum sb_code next_inside(struct nested *nested, struct sb_member *member)
{
    enum sb_code code;

    if (!nested->inside)
        return SB_END;
    code = open_inner(nested);
    if (!code)
        code = sb_source_next(nested->inner, member);
    if (!code) {
        nested->base.goes_on = nested->inner->goes_on ||
                               nested->tar.type.filter != SB_FILTER_NONE ||
                               (member->has & SB_KEEPS_SPARSE);
        return name_member(nested, member);
    }
    if (code == SB_DAMAGED || code == SB_FORMAT)
        nested->damage = *sb_error();
    else if (code != SB_END)
        return code;
    end(nested);
    return SB_END;
}

/* Unless it is outer that is damaged, whose own error says the same. */
static void report_damage(struct nested *nested, enum sb_code code)
{
    struct sb_error error = *sb_error();

    if ((code != SB_DAMAGED && code != SB_FORMAT) || strcmp(error.text, nested->damage.text) != 0)
        sb_report(nested->notify, SB_PROBLEM, "damaged", NULL,
                  nested->damage.code == SB_FORMAT ? "%s; left out" : "%s; the rest is left out",
                  nested->damage.text);
    nested->damage.code = SB_OK;
    *sb_error() = error;
}

/* Reports a hard link to what has become a directory. */
static bool links_to_tar(const struct nested *nested, const struct sb_member *member)
{
    if (!member->hard_link || !has_name(member->hard_link))
        return false;
    sb_report(nested->notify, SB_PROBLEM, "link", member->entry.path,
              "is a hard link to %s, which is read as a directory; left out", member->hard_link);
    return true;
}

static enum sb_code next_outside(struct nested *nested, struct sb_member *member)
{
    enum sb_code code;

    do {
        code = sb_source_next(nested->outer, member);
        if (nested->damage.code)
            report_damage(nested, code);
    } while (!code && links_to_tar(nested, member));
    sb_buf_clear(&nested->head);
    nested->head_given = nested->hole = 0;
    nested->base.goes_on = nested->outer->goes_on;
    return code ? code : look(nested, member);
}

static enum sb_code next_nested(struct sb_source *base, struct sb_member *member)
{
    struct nested *nested = (struct nested *)base;
    enum sb_code code = next_inside(nested, member);

    if (code == SB_END)
        code = next_outside(nested, member);
    base->done = nested->outer->done;
    if (nested->inner && !nested->section.from)
        base->done += nested->inner->done;
    return code;
}

static enum sb_code block_nested(struct sb_source *base, const void **data, size_t *size)
{
    struct nested *nested = (struct nested *)base;

    if (nested->inner)
        return sb_source_block_sparse(nested->inner, data, size);
    if (nested->inside)
        return SB_END;
    if (nested->head_given < nested->head.size) {
        *data = nested->head.data + nested->head_given;
        *size = nested->head.size - nested->head_given;
        nested->head_given = nested->head.size;
        return SB_OK;
    }
    if (nested->hole == 0)
        return sb_source_block_sparse(nested->outer, data, size);
    *data = NULL;
    *size = nested->hole;
    nested->hole = 0;
    return SB_OK;
}

static void free_nested(struct sb_source *base)
{
    struct nested *nested = (struct nested *)base;

    end(nested);
    sb_source_free(nested->outer);
    sb_buf_release(&nested->dir);
    sb_buf_release(&nested->name);
    sb_buf_release(&nested->head);
    sb_buf_release(&nested->path);
    sb_buf_release(&nested->target);
    free(nested);
}

enum sb_code sb_tar_nest(struct sb_source **source, struct sb_input *input,
                         const struct sb_source_options *options, const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {
        .free = free_nested, .next = next_nested, .block = block_nested};
    struct sb_source *outer = *source;
    struct nested *nested;

    if (input->section && input->section->depth >= NESTED_MOST)
        return SB_OK;
    nested = calloc(1, sizeof(*nested));
    *source = nested ? &nested->base : NULL;
    if (!nested) {
        sb_source_free(outer);
        return sb_fail_memory();
    }
    nested->base = (struct sb_source){.ops = &ops, .name = input->name, .total = outer->total};
    nested->outer = outer;
    outer->zeros_most = options->max_size;
    nested->input = input;
    nested->options = *options;
    nested->notify = notify;
    nested->below = (struct sb_notify){.call = pass_below, .context = nested};
    return SB_OK;
}
