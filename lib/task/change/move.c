#include "task/change/change.h"

#include "archive/archive.h"
#include "archive/writer/writer.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "store/names.h"
#include "store/unmatched.h"

#include <string.h>

struct move {
    const struct sb_move_options *options;
    struct sb_archive *archive; /* under dry_run, else NULL */
    struct sb_writer *writer;   /* NULL under dry_run */
    struct sb_names *made;      /* new names so far: not to be overwritten */
    struct sb_buf destination;
    bool into; /* the destination is a directory to go into */
    bool changed;
    struct sb_buf from, to;
};

/* The root is a directory, whether it has a row or not. */
static enum sb_code find(struct move *move, const char *path, size_t size, struct sb_entry *entry)
{
    if (size == 0) {
        *entry = (struct sb_entry){.path = path, .type = SB_DIR};
        return SB_OK;
    }
    if (move->writer)
        return sb_writer_lookup(move->writer, path, size, entry);
    return sb_archive_lookup(move->archive, path, size, entry);
}

static enum sb_code fail_missing(const char *text, enum sb_form form)
{
    return sb_fail(SB_NOENT, "%s: no such file or directory in the archive%s", *text ? text : "''",
                   sb_unmatched_hint(text, form));
}

static enum sb_form find_form(struct move *move, const struct sb_buf *name, struct sb_entry *entry)
{
    for (enum sb_form form = SB_NFC; form <= SB_NFD; form++) {
        if (sb_name_form(name->data, name->size, form, &move->to) &&
            !IGNORED(find(move, move->to.data, move->to.size, entry)))
            return form;
    }
    return SB_ANY_FORM;
}

static enum sb_code normalize(const char *text, struct sb_buf *out)
{
    bool stripped;

    if (!*text)
        return fail_missing(text, SB_ANY_FORM);
    return sb_name_normalize(text, out, &stripped);
}

/* The directory, and those above it that are missing; a dry run only looks. */
static enum sb_code make_directories(struct move *move, const char *path, size_t size)
{
    CLEANUP(sb_buf_release) struct sb_buf dir = {0};
    struct sb_entry entry;

    for (size_t end = 0; end < size; end++) {
        enum sb_code code;

        end += strcspn(path + end, "/");
        end = end < size ? end : size;
        TRY(sb_buf_set(&dir, path, end));
        code = find(move, dir.data, dir.size, &entry);
        if (code == SB_OK && entry.type != SB_DIR)
            return sb_fail(SB_INVALID, "%s: is no directory", dir.data);
        if (code && code != SB_NOENT)
            return code;
        if (code == SB_NOENT && move->writer)
            TRY(sb_writer_make_dir(move->writer, dir.data, dir.size));
    }
    return SB_OK;
}

/* With a '/' at its end, or for several sources, what is missing is a directory. */
static bool makes_destination(const struct sb_move_options *options)
{
    const char *text = options->destination;

    return options->parents && !options->no_target_directory &&
           (options->into_directory || options->source_count > 1 || text[strlen(text) - 1] == '/');
}

static enum sb_code look_at_destination(struct move *move)
{
    const struct sb_move_options *options = move->options;
    const char *text = options->destination;
    struct sb_entry entry;
    enum sb_code code;

    TRY(normalize(text, &move->destination));
    code = find(move, move->destination.data, move->destination.size, &entry);
    if (code && code != SB_NOENT)
        return code;
    if (code == SB_NOENT && makes_destination(options)) {
        move->into = true;
        return sb_name_problem(move->destination.data, move->destination.size)
                   ? SB_OK /* which is said of the first source */
                   : make_directories(move, move->destination.data, move->destination.size);
    }
    move->into = code == SB_OK && entry.type == SB_DIR && !options->no_target_directory;
    if (move->into || (options->source_count == 1 && !options->into_directory))
        return SB_OK;
    return sb_fail(code ? SB_NOENT : SB_INVALID, "%s: %s", text,
                   code ? "no such directory in the archive; -p makes it"
                        : "is no directory to move into");
}

static enum sb_code name_target(struct move *move)
{
    const struct sb_buf *from = &move->from;
    size_t parent = sb_parent_size(from->data, from->size);
    size_t base = parent ? parent + 1 : 0;
    const char *problem;

    TRY(sb_buf_set(&move->to, move->destination.data, move->destination.size));
    if (move->into && ((move->to.size && sb_buf_add_char(&move->to, '/')) ||
                       sb_buf_add(&move->to, from->data + base, from->size - base)))
        return sb_fail_memory();
    problem = sb_name_problem(move->to.data, move->to.size);
    if (!problem)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: cannot be moved: its new name %s", from->data, problem);
}

static enum sb_code check_parent(struct move *move)
{
    const struct sb_buf *to = &move->to;
    size_t size = sb_parent_size(to->data, to->size);
    CLEANUP(sb_buf_release) struct sb_buf parent = {0};
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_buf_set(&parent, to->data, size));
    code = find(move, parent.data, size, &entry);
    if (code == SB_NOENT && move->options->parents)
        return make_directories(move, parent.data, size);
    if (code == SB_NOENT)
        return sb_fail(SB_NOENT, "%s: no such directory in the archive; -p makes it", parent.data);
    if (code == SB_OK && entry.type != SB_DIR)
        return sb_fail(SB_INVALID, "%s: is no directory", parent.data);
    return code;
}

/* Is the existing file kept? A missing time is older than any. */
static bool is_kept(enum sb_existing existing, const struct sb_entry *source,
                    const struct sb_entry *target)
{
    if (existing != SB_EXISTING_NEWER || source->type == SB_DIR || target->type == SB_DIR)
        return existing == SB_EXISTING_SKIP;
    return !(source->has & SB_HAS_MTIME) ||
           ((target->has & SB_HAS_MTIME) && source->mtime_ns <= target->mtime_ns);
}

/* Is the new name in use? *keep: then that file stays, and so does the source. */
static enum sb_code look_at_target(struct move *move, const struct sb_entry *source, bool *keep)
{
    enum sb_existing existing = move->options->existing;
    const char *to = move->to.data;
    struct sb_entry entry;
    bool given;
    enum sb_code code = find(move, to, move->to.size, &entry);
    bool there = code == SB_OK;

    if (code && code != SB_NOENT)
        return code;
    TRY(sb_names_add(move->made, to, move->to.size, &given));
    *keep = there ? is_kept(existing, source, &entry) : given && existing == SB_EXISTING_SKIP;
    if (*keep)
        return SB_OK;
    if (given)
        return sb_fail(SB_EXISTS, "%s: would get the name of another one that is moved", to);
    if (!there || source->type == SB_DIR || entry.type == SB_DIR || existing != SB_EXISTING_FAIL)
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: exists already; --existing=replace (-f) replaces it, --existing=skip "
                   "leaves both as they are",
                   to);
}

static enum sb_code check_source(struct move *move, const char *text, struct sb_entry *entry)
{
    const struct sb_buf *from = &move->from, *to = &move->to;
    const char *destination = move->options->destination;
    enum sb_code code;

    TRY(normalize(text, &move->from));
    if (from->size == 0)
        return sb_fail(SB_INVALID, "%s: the root directory cannot be moved", text);
    code = find(move, from->data, from->size, entry);
    if (code)
        return code == SB_NOENT ? fail_missing(text, find_form(move, from, entry)) : code;
    /* A '/' after a name that does not exist yet means a directory. */
    if (!move->into && entry->type != SB_DIR && destination[strlen(destination) - 1] == '/')
        return sb_fail(SB_NOENT, "%s: no such directory in the archive; -p makes it", destination);
    TRY(name_target(move));
    if (from->size == to->size && memcmp(from->data, to->data, to->size) == 0)
        return sb_fail(SB_INVALID, "%s: has that name already", text);
    if (entry->type == SB_DIR && sb_name_within(to->data, to->size, from->data, from->size))
        return sb_fail(SB_INVALID, "%s: a directory cannot go into itself, to %s", text, to->data);
    return check_parent(move);
}

static enum sb_code move_one(struct move *move, const char *text)
{
    const struct sb_move_options *options = move->options;
    struct sb_entry entry;
    bool keep = false;

    TRY(check_source(move, text, &entry));
    TRY(look_at_target(move, &entry, &keep));
    if (keep) {
        sb_report(options->notify, SB_NOTE, "kept", move->from.data,
                  "stays, for %s is there already", move->to.data);
        return SB_OK;
    }
    if (options->moved)
        options->moved(options->context, move->from.data, move->to.data);
    if (!move->writer)
        return SB_OK;
    move->changed = true;
    return sb_writer_rename(move->writer, move->from.data, move->from.size, move->to.data,
                            move->to.size);
}

static void release(struct move *move)
{
    sb_writer_free(move->writer);
    sb_archive_free(move->archive);
    sb_names_free(move->made);
    sb_buf_release(&move->destination);
    sb_buf_release(&move->from);
    sb_buf_release(&move->to);
}

enum sb_code sb_move(const char *archive, const struct sb_move_options *options)
{
    struct sb_writer_options writing = {
        .mode = SB_APPEND, .index_only = true, .notify = options->notify};
    CLEANUP(release) struct move move = {.options = options};

    TRY(sb_names_new(&move.made, archive));
    TRY(options->dry_run ? sb_archive_open(&move.archive, archive)
                         : sb_writer_open(&move.writer, archive, &writing));
    TRY(look_at_destination(&move));
    for (size_t i = 0; i < options->source_count; i++)
        TRY(move_one(&move, options->sources[i]));
    if (sb_interrupted())
        return sb_fail_interrupt();
    return move.changed ? sb_writer_commit(move.writer) : SB_OK;
}
