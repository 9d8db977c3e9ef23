#include "task/transfer/impl.h"

#include "archive/owner_names.h"
#include "core/buf.h"
#include "core/choice.h"
#include "core/events.h"
#include "core/glob.h"
#include "core/hash64.h"
#include "core/name.h"
#include "store/names.h"
#include "store/naming.h"
#include "store/samples/samples.h"
#include "task/fetch/stored_names.h"

#include <stdlib.h>
#include <string.h>

static int64_t id_of(struct sb_local_owners *owners, enum sb_owner which, const char *name)
{
    size_t size = strlen(name), sum = 0;
    struct sb_local_owner *slot;
    int64_t id;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char)name[i];
    slot = &owners->slots[which][sum % SB_LOCAL_OWNERS_SLOTS];
    if (strcmp(slot->name, name) == 0)
        return slot->id;
    if (!sb_account_id(which, name, &id))
        id = -1;
    if (size < sizeof(slot->name)) {
        memcpy(slot->name, name, size + 1);
        slot->id = id;
    }
    return id;
}

static void apply(struct sb_local_owners *owners, enum sb_owner which, const char *name,
                  struct sb_entry *entry)
{
    int64_t id = name && name[0] ? id_of(owners, which, name) : -1;

    if (id < 0)
        return;
    entry->has |= which == SB_USER ? SB_HAS_UID : SB_HAS_GID;
    *(which == SB_USER ? &entry->uid : &entry->gid) = id;
}

void sb_local_owners_apply(struct sb_local_owners *owners, struct sb_member *member)
{
    apply(owners, SB_USER, member->user, &member->entry);
    apply(owners, SB_GROUP, member->group, &member->entry);
}

enum sb_code sb_neighbours_begin(struct sb_neighbours *neighbours, const char *beside,
                                 const struct sb_notify *notify)
{
    *neighbours = (struct sb_neighbours){.notify = notify};
    return sb_names_new(&neighbours->seen, beside);
}

void sb_neighbours_end(struct sb_neighbours *neighbours)
{
    sb_names_free(neighbours->seen);
    sb_buf_release(&neighbours->stem);
    sb_buf_release(&neighbours->columns);
    *neighbours = (struct sb_neighbours){0};
}

/* Among the names that were seen, the place of a sample is its number, and its mark below that. */
static enum sb_code turn_to_sample(struct sb_neighbours *neighbours, const char *name, size_t stem,
                                   bool mark, struct sb_neighbour *out)
{
    int64_t place = neighbours->count * 2 + mark;

    TRY(sb_names_add_from(neighbours->seen, name, stem, place, &place));
    out->sample = place / 2;
    out->mark = place % 2;
    out->late = out->sample < neighbours->count;
    if (out->late)
        return SB_OK;
    out->first = true;
    neighbours->count++;
    neighbours->mark = mark;
    sb_buf_clear(&neighbours->columns);
    return sb_buf_set(&neighbours->stem, name, stem);
}

enum sb_code sb_neighbours_take(struct sb_neighbours *neighbours, const char *name, size_t size,
                                bool mark, struct sb_neighbour *out)
{
    size_t stem = sb_sample_name_size(name, size), at;
    bool again;

    *out = (struct sb_neighbour){
        .sample = neighbours->count - 1, .mark = neighbours->mark, .column = name + stem};
    if (neighbours->stem.size != stem || memcmp(neighbours->stem.data, name, stem) != 0) {
        TRY(turn_to_sample(neighbours, name, stem, mark, out));
        if (out->late)
            return SB_OK;
    }
    TRY(sb_sample_extension(&neighbours->columns, name + stem, size - stem, &at, &again));
    out->column = neighbours->columns.data + at;
    if (again)
        sb_sample_report_twice(neighbours->notify, name, out->column);
    return SB_OK;
}

void sb_neighbours_report(const struct sb_neighbour *late, const char *name,
                          const struct sb_notify *notify)
{
    sb_report(notify, SB_PROBLEM, "late", name,
              "is of sample %lld, which others came after; left out", (long long)late->sample);
}

#define OWNED 'n' /* before names that have an owner; notes have other letters */

static const char marks[] = {
    [SB_TAKEN_SHORTENED] = 's', [SB_TAKEN_KEPT] = 'k', [SB_TAKEN_LINKED] = 'l'};

struct sb_taken {
    struct sb_names *seen;
    struct sb_hash_key key; /* owners are kept as hashes */
    struct sb_buf marked;
    int64_t kept;
};

enum sb_code sb_taken_new(struct sb_taken **out, const char *beside)
{
    CLEANUP(sb_taken_freep) struct sb_taken *taken = NULL;

    *out = NULL;
    TRY(SB_NEW(&taken));
    TRY(sb_hash_key_draw(&taken->key));
    TRY(sb_names_new(&taken->seen, beside));
    *out = TAKE(taken);
    return SB_OK;
}

void sb_taken_free(struct sb_taken *taken)
{
    if (!taken)
        return;
    sb_names_free(taken->seen);
    sb_buf_release(&taken->marked);
    free(taken);
}

/* With the letter `mark` before it. */
static enum sb_code mark_name(struct sb_taken *taken, char mark, const struct sb_buf *name)
{
    sb_buf_clear(&taken->marked);
    TRY(sb_buf_add_char(&taken->marked, mark));
    return sb_buf_add(&taken->marked, name->data, name->size);
}

static enum sb_code find_marked(struct sb_taken *taken, char mark, const struct sb_buf *name,
                                int64_t *place)
{
    TRY(mark_name(taken, mark, name));
    return sb_names_find(taken->seen, taken->marked.data, taken->marked.size, place);
}

/* Never negative: that would mean that the name was not found. */
static int64_t place_of(const struct sb_taken *taken, const char *from, size_t size)
{
    return (int64_t)(sb_hash64(&taken->key, from, size) >> 1);
}

/* *other: another one owns the name. The owner is the name in the source, `from`: the same one
 * again is no conflict. */
static enum sb_code look_up_taken(struct sb_taken *taken, const struct sb_buf *name,
                                  const char *from, size_t from_size, bool *other)
{
    int64_t place;

    TRY(find_marked(taken, OWNED, name, &place));
    *other = place >= 0 && place != place_of(taken, from, from_size);
    return SB_OK;
}

enum sb_code sb_taken_add(struct sb_taken *taken, enum sb_taken_note note,
                          const struct sb_buf *name)
{
    bool before;

    TRY(mark_name(taken, marks[note], name));
    TRY(sb_names_add(taken->seen, taken->marked.data, taken->marked.size, &before));
    taken->kept += note == SB_TAKEN_KEPT;
    return SB_OK;
}

enum sb_code sb_taken_has(struct sb_taken *taken, enum sb_taken_note note,
                          const struct sb_buf *name, bool *has)
{
    int64_t place;

    TRY(find_marked(taken, marks[note], name, &place));
    *has = place >= 0;
    return SB_OK;
}

int64_t sb_taken_kept(const struct sb_taken *taken)
{
    return taken->kept;
}

/* The name of a clean one in the sink. SB_END: it has none. */
static enum sb_code map_name(struct sb_transfer_run *transfer, const char *name, size_t size,
                             struct sb_buf *out)
{
    const struct sb_buf *mapped;

    if (transfer->names) {
        TRY(sb_stored_names_map(transfer->names, name, size, name, &mapped));
        name = mapped->data;
        size = mapped->size;
    }
    return sb_buf_set(out, name, size);
}

static bool wanted(const struct sb_transfer_run *transfer, const char *name, size_t size,
                   bool is_dir)
{
    const struct sb_transfer_options *options = transfer->options;
    size_t skip = size < options->filter_skip ? size : options->filter_skip;

    return sb_filter_takes(options->filter, name + skip, size - skip, is_dir) &&
           (!options->choice || sb_choice_takes(options->choice, name, size, is_dir));
}

/*
 * Files whose bytes change have another name; so have hard links to them. SB_END: the suffix makes
 * it too long, which was reported.
 */
static enum sb_code recode_name(struct sb_transfer_run *transfer, struct sb_buf *name,
                                const char **original)
{
    const struct sb_recode *recode = &transfer->options->recode;
    CLEANUP(sb_buf_release) struct sb_buf new_name = {0};
    struct sb_buf old_name = *name;
    const char *problem;
    unsigned layers;

    *original = NULL;
    TRY(sb_recode_name(recode, name->data, name->size, &new_name, &layers));
    problem = sb_name_problem(new_name.data, new_name.size);
    if (problem) {
        sb_report(transfer->options->notify, SB_PROBLEM, "name", name->data,
                  "left out: the name, with the suffix of its compression, %s", problem);
        return SB_END;
    }
    if (layers > 0 || recode->compress != SB_FILTER_NONE) {
        *name = new_name;
        new_name = transfer->recoded;
        transfer->recoded = old_name;
        *original = transfer->recoded.data;
    }
    return SB_OK;
}

/*
 * Does the source have something that keeps this name? A file of this name loses its suffix too,
 * unless something keeps the shorter name: so the last name of that sequence decides.
 */
static enum sb_code stays(struct sb_transfer_run *transfer, const struct sb_recode *bare,
                          struct sb_buf *name, bool *taken)
{
    enum sb_holding holding = SB_HOLDS_FILE;
    CLEANUP(sb_buf_release) struct sb_buf shorter = {0};
    unsigned layers = 1;

    while (holding == SB_HOLDS_FILE && layers > 0) {
        TRY(sb_source_holds(transfer->source, name->data, name->size, &holding));
        TRY(sb_recode_name(bare, name->data, name->size, &shorter, &layers));
        if (layers > 0 && sb_buf_set(name, shorter.data, shorter.size))
            return sb_fail_memory();
    }
    *taken = holding != SB_HOLDS_NOTHING;
    return SB_OK;
}

/*
 * Is the current member's name without its suffix that of another member? *shorter: a suffix was
 * removed.
 */
static enum sb_code is_taken(struct sb_transfer_run *transfer, const char *from, size_t from_size,
                             bool *shorter, bool *taken)
{
    const struct sb_transfer_options *options = transfer->options;
    struct sb_recode bare = options->recode;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    unsigned layers;

    *taken = false;
    bare.compress = SB_FILTER_NONE;
    TRY(sb_recode_name(&bare, from, from_size, &name, &layers));
    *shorter = layers > 0;
    if (*shorter)
        TRY(stays(transfer, &bare, &name, taken));
    if (!*shorter || *taken)
        return SB_OK;
    return look_up_taken(options->taken, &transfer->path, from, from_size, taken);
}

/* The file keeps its name, and its bytes. */
static enum sb_code keep_as_stored(struct sb_transfer_run *transfer)
{
    const struct sb_transfer_options *options = transfer->options;
    struct sb_buf shorter = transfer->path;

    transfer->path = transfer->recoded;
    transfer->recoded = shorter;
    transfer->original = NULL;
    sb_report(options->notify, SB_NOTE, "kept", transfer->path.data,
              "left as it is stored: there is a %s too", shorter.data);
    return sb_taken_add(options->taken, SB_TAKEN_KEPT, &transfer->path);
}

enum sb_code sb_transfer_comes(struct sb_transfer_run *transfer, const struct sb_buf *name,
                               bool *comes)
{
    const struct sb_transfer_options *options = transfer->options;
    CLEANUP(sb_buf_release) struct sb_buf longer = {0};

    TRY(look_up_taken(options->taken, name, "", 0, comes));
    for (size_t i = 0; !*comes && !transfer->names && sb_coding_words[i]; i++) {
        enum sb_holding holding = SB_HOLDS_NOTHING;

        TRY(sb_buf_set(&longer, name->data, name->size));
        TRY(sb_buf_add_char(&longer, '.'));
        TRY(sb_buf_add_text(&longer, sb_coding_words[i]));
        TRY(sb_source_holds(transfer->source, longer.data, longer.size, &holding));
        *comes = holding == SB_HOLDS_FILE;
    }
    return SB_OK;
}

/* Reports earlier links to a file that has lost its suffix. */
static enum sb_code note_shortened(struct sb_transfer_run *transfer)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_buf *before = &transfer->recoded;
    bool linked = false, comes = false;

    TRY(sb_taken_has(options->taken, SB_TAKEN_LINKED, before, &linked));
    if (linked)
        TRY(sb_transfer_comes(transfer, before, &comes));
    if (linked && !comes)
        sb_report(options->notify, SB_PROBLEM, "link", before->data,
                  "a symbolic link points to it, and it is called %s here", transfer->path.data);
    return sb_taken_add(options->taken, SB_TAKEN_SHORTENED, before);
}

/* SB_END. */
static enum sb_code leave_out_taken(const struct sb_transfer_run *transfer, const char *from)
{
    const struct sb_notify *notify = transfer->options->notify;

    if (strcmp(from, transfer->path.data) == 0)
        sb_report(notify, SB_PROBLEM, "taken", from,
                  "left out: a file that lost its suffix has this name already");
    else
        sb_report(notify, SB_PROBLEM, "taken", from,
                  "left out: it would be called %s, as another one is already",
                  transfer->path.data);
    return SB_END;
}

/*
 * Removes a file's suffix unless another member has that name. SB_END: a hard link whose file was
 * decompressed would have to keep it.
 */
static enum sb_code shorten(struct sb_transfer_run *transfer, const char *from, size_t from_size)
{
    const struct sb_transfer_options *options = transfer->options;
    bool shorter, taken;

    if (!options->taken || !options->recode.decompress || !transfer->original)
        return SB_OK;
    TRY(is_taken(transfer, from, from_size, &shorter, &taken));
    if (!shorter)
        return SB_OK;
    if (!taken)
        return note_shortened(transfer);
    return transfer->member.hard_link ? leave_out_taken(transfer, from) : keep_as_stored(transfer);
}

/* From now on the current member owns its name. SB_END: another one has it, which was reported. */
static enum sb_code claim(struct sb_transfer_run *transfer, const char *from, size_t from_size)
{
    const struct sb_transfer_options *options = transfer->options;
    struct sb_taken *taken = options->taken;
    int64_t mine, first;

    if (!taken || transfer->path.size == 0)
        return SB_OK;
    mine = place_of(taken, from, from_size);
    TRY(mark_name(taken, OWNED, &transfer->path));
    TRY(sb_names_add_from(taken->seen, taken->marked.data, taken->marked.size, mine, &first));
    if (first == mine || options->meeting_names || transfer->member.entry.type == SB_DIR)
        return SB_OK;
    return leave_out_taken(transfer, from);
}

enum sb_code sb_transfer_leave(struct sb_transfer_run *transfer)
{
    const struct sb_buf *name = &transfer->clean;

    if (transfer->source->unique || transfer->member.entry.type == SB_DIR)
        return SB_OK;
    return sb_names_put(&transfer->left, transfer->options->beside, name->data, name->size);
}

/*
 * What the current member links to, as it is called in the sink. SB_END: nothing there can have
 * that name. *recodes: are files recoded? Then: was that one?
 */
static enum sb_code map_hard_link(struct sb_transfer_run *transfer, bool *recodes)
{
    const char *target = transfer->member.hard_link, *problem, *ignored;
    struct sb_buf *clean = &transfer->target, *mapped = &transfer->hard_link;
    struct sb_taken *taken = transfer->options->taken;
    bool kept = false;

    TRY(sb_naming_clean(target, strlen(target), false, clean, &problem));
    if (problem)
        return SB_END;
    TRY(map_name(transfer, clean->data, clean->size, mapped));
    TRY(sb_names_has(transfer->left, clean->data, clean->size, &transfer->target_left));
    if (*recodes && taken)
        TRY(sb_taken_has(taken, SB_TAKEN_KEPT, mapped, &kept));
    *recodes = *recodes && !kept;
    return *recodes ? recode_name(transfer, mapped, &ignored) : SB_OK;
}

static enum sb_code name_hard_link(struct sb_transfer_run *transfer, bool *recodes)
{
    enum sb_code code = map_hard_link(transfer, recodes);

    if (code == SB_END)
        sb_report(transfer->options->notify, SB_PROBLEM, "missing", transfer->path.data,
                  "hard link to %s, which is not there; left out", transfer->member.hard_link);
    transfer->member.hard_link = transfer->hard_link.data;
    return code;
}

/* SB_END: it is of another share, or late, which was reported. */
static enum sb_code find_sample(struct sb_transfer_run *transfer, const char *name, size_t size)
{
    const struct sb_transfer_options *options = transfer->options;
    struct sb_neighbours *neighbours = options->neighbours;
    struct sb_neighbour member;

    if (!neighbours || transfer->member.entry.type == SB_DIR)
        return SB_OK;
    /* What belongs to no sample goes with the one before it. */
    if (!sb_sample_takes(name, size))
        return (neighbours->count > 0 ? neighbours->mark : sb_share_has(options->sample_share, 0))
                   ? SB_OK
                   : SB_END;
    TRY(sb_neighbours_take(neighbours, name, size,
                           sb_share_has(options->sample_share, neighbours->count), &member));
    if (!member.mark)
        return SB_END;
    if (member.late)
        sb_neighbours_report(&member, name, options->notify);
    return member.late ? SB_END : SB_OK;
}

/* From a clean name. */
static enum sb_code name_member(struct sb_transfer_run *transfer, const char *name, size_t size)
{
    struct sb_member *member = &transfer->member;
    struct sb_entry *entry = &member->entry;
    bool recodes =
        entry->type == SB_FILE && !member->special && sb_recode_works(&transfer->options->recode);
    enum sb_code code = SB_OK;

    if (!wanted(transfer, name, size, entry->type == SB_DIR))
        return SB_END;
    code = find_sample(transfer, name, size);
    if (!code)
        code = map_name(transfer, name, size, &transfer->path);
    if (!code && transfer->path.size == 0 && !entry->has)
        return SB_END; /* nothing is known of the root, which is there anyway */
    if (!code && member->hard_link)
        code = name_hard_link(transfer, &recodes);
    transfer->original = NULL;
    if (!code && recodes)
        code = recode_name(transfer, &transfer->path, &transfer->original);
    if (!code)
        code = shorten(transfer, name, size);
    if (!code)
        code = claim(transfer, name, size);
    if (member->hard_link)
        transfer->original = NULL;
    entry->path = transfer->path.data;
    entry->path_size = transfer->path.size;
    return code;
}

enum sb_code sb_transfer_name(struct sb_transfer_run *transfer)
{
    const struct sb_entry *entry = &transfer->member.entry;
    bool is_dir = entry->type == SB_DIR;
    const char *name = entry->path;
    size_t size = entry->path_size;
    enum sb_code code;

    transfer->target_left = false;
    /* SB_END: it cannot be stored, which was reported. */
    if (!transfer->options->stored_names)
        TRY(sb_naming_map(&transfer->naming, name, size, is_dir, &name, &size));
    if (!transfer->source->unique && !is_dir && sb_buf_set(&transfer->clean, name, size))
        return sb_fail_memory();
    code = name_member(transfer, name, size);
    return code == SB_END && sb_transfer_leave(transfer) ? sb_error()->code : code;
}
