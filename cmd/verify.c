/*
 * shardbox verify: is an archive, or another container, sound?
 */
#include "task/verify.h"
#include "archive/archive.h"
#include "command.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "message.h"
#include "opening.h"
#include "options.h"
#include "output.h"
#include "task/verify_container.h"
#include "verify_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    struct opening opening;
    bool quick;
    bool strict;
    bool present;
    bool json;
    int64_t threads;
    struct verify_records_settings records;
};

static const struct option options[] = {
    OPTION_FLAG('Q', "quick", struct settings, quick,
                "check the index and the shards' sizes, read no file's bytes"),
    OPTION_FLAG(0, "strict", struct settings, strict, "a file without a checksum is a defect"),
    OPTION_FLAG(0, "present", struct settings, present,
                "check the shards that have arrived, and list the others"),
    OPTION_INTEGER('j', "threads", struct settings, threads, "N", 1, 256,
                   "read with N threads (default: the cores, at most 4)"),
    OPTION_FLAG(0, "json", struct settings, json, "print each defect as a line of JSON"),
    OPTION_FROM,
    OPTIONS_VERIFY_RECORDS(struct settings, records),
    OPTION_END,
};

static const char *const synopsis[] = {"ARCHIVE [PATH|GLOB...]", "BAG", NULL};

/* kind: path: text */
static enum sb_code format_text(struct sb_buf *line, const struct sb_defect *defect)
{
    enum sb_code code = sb_buf_add_format(line, "%s: ", defect->kind);

    if (code == SB_OK && defect->path && defect->path_size == 0)
        code = sb_buf_add_text(line, "root directory: ");
    else if (code == SB_OK && defect->path) {
        code = sb_quote(line, defect->path, defect->path_size, SB_ESCAPE);
        if (code == SB_OK)
            code = sb_buf_add_text(line, ": ");
    }
    if (code == SB_OK)
        code = sb_quote(line, defect->text, strlen(defect->text), SB_ESCAPE);
    return code;
}

static enum sb_code format_json(struct sb_buf *line, const struct sb_defect *defect)
{
    struct sb_buf text = {0};
    enum sb_code code = sb_buf_add_format(line, "{\"kind\":\"%s\"", defect->kind);

    if (code == SB_OK && defect->path) {
        code = sb_buf_add_char(line, ',');
        if (code == SB_OK)
            code = json_name(line, "path", defect->path, defect->path_size);
    }
    if (code == SB_OK && defect->shard >= 0)
        code = sb_buf_add_format(line, ",\"shard\":%" PRId64, defect->shard);
    if (code == SB_OK && defect->has_record)
        code = sb_buf_add_format(line, ",\"record\":%" PRId64, defect->record);
    if (code == SB_OK && defect->offset >= 0)
        code = sb_buf_add_format(line, ",\"offset\":%" PRId64, defect->offset);
    if (code == SB_OK)
        code = sb_buf_add_text(line, ",\"text\":");
    /* The text may name a file whose name is not UTF-8. */
    if (code == SB_OK)
        code = sb_quote(&text, defect->text, strlen(defect->text), SB_ESCAPE);
    if (code == SB_OK)
        code = json_string(line, text.data ? text.data : "", text.size);
    if (code == SB_OK)
        code = sb_buf_add_char(line, '}');
    sb_buf_release(&text);
    return code;
}

static void print_defect(void *context, const struct sb_defect *defect)
{
    const struct settings *settings = context;
    struct sb_buf line = {0};
    enum sb_code code = settings->json ? format_json(&line, defect) : format_text(&line, defect);

    if (code == SB_OK)
        code = sb_buf_add_char(&line, '\n');
    if (code == SB_OK)
        output_bytes(line.data, line.size);
    else
        message_error("out of memory while naming a defect");
    sb_buf_release(&line);
}

/* What to do next, by the gravest thing found. */
static const char *advice(unsigned remedies)
{
    if (remedies & SB_REMEDY_INDEX)
        return "the index is damaged: take it from another copy, or pack the files anew";
    if (remedies & SB_REMEDY_SOURCES)
        return "bring the linked shards back, or make the view anew, with --force";
    if (remedies & SB_REMEDY_SHARDS)
        return "copy the damaged shards again, or pack the files named anew with 'shardbox pack "
               "--append --update'";
    if (remedies & SB_REMEDY_ENTRIES)
        return "unpack what is sound with 'shardbox unpack' and pack it anew";
    if (remedies & SB_REMEDY_FETCH)
        return "fetch the missing shards, then verify again";
    if (remedies & SB_REMEDY_UPGRADE)
        return "'shardbox upgrade' puts this right";
    return "'shardbox upgrade --checksums' computes them";
}

static void add_count(struct sb_buf *line, int64_t count, const char *one, const char *many)
{
    if (sb_buf_add_format(line, "%" PRId64 " %s", count, count == 1 ? one : many) != SB_OK)
        message_error("out of memory");
}

static void note_count(const char *path, int64_t count, const char *one, const char *many)
{
    if (count > 0)
        message_note("%s: %" PRId64 " %s", path, count, count == 1 ? one : many);
}

static void note_sound(const char *path, const struct sb_verify_result *result)
{
    bool one_file = result->files_read == 1;
    char size[SB_HUMAN_SIZE];

    sb_format_human(result->bytes_read, size);
    message_note("%s: sound; %" PRId64 " %s (%s) %s, %" PRId64 " %s%s", path, result->files_read,
                 one_file ? "file" : "files", size,
                 one_file ? "matches its checksum" : "match their checksums", result->dirs,
                 result->dirs == 1 ? "directory" : "directories",
                 result->selected ? "; only what was selected was looked at" : "");
}

static void summarize_sound(const char *path, const struct settings *settings,
                            const struct sb_verify_result *result)
{
    if (settings->quick)
        message_warning("%s: the index%s is sound; --quick has read no file's bytes: 'shardbox "
                        "verify' without it does",
                        path, result->selected ? ", as far as selected," : "");
    else
        note_sound(path, result);
    note_count(path, result->shared, "file shares the bytes of another one in a linked shard",
               "files share the bytes of another one in a linked shard");
    note_count(path, result->raw_names, "name is not UTF-8: Barecat cannot list this archive",
               "names are not UTF-8: Barecat cannot list this archive");
}

static void summarize(const char *path, const struct settings *settings,
                      const struct sb_verify_result *result)
{
    struct sb_buf line = {0};

    if (result->unchecked > 0 && !settings->strict)
        message_warning("%s: %" PRId64 " of %" PRId64
                        " files have no checksum, so their bytes cannot be checked; 'shardbox "
                        "upgrade --checksums' computes them",
                        path, result->unchecked, result->files);
    if (result->defects == 0) {
        summarize_sound(path, settings, result);
        return;
    }
    add_count(&line, result->defects, "defect", "defects");
    if (result->absent > 0 && settings->present && sb_buf_add_text(&line, "; ") == SB_OK)
        add_count(&line, result->absent, "file was passed over", "files were passed over");
    if (settings->quick && sb_buf_add_text(&line, "; no file's bytes were read (--quick)") != SB_OK)
        message_error("out of memory");
    message_problem("%s: %s; %s", path, line.data ? line.data : "", advice(result->remedies));
    sb_buf_release(&line);
}

static void warn_of_newer(const struct sb_archive *archive, const char *path)
{
    int major, minor;

    if (sb_archive_schema(archive) != SB_SCHEMA_NEWER)
        return;
    sb_archive_version(archive, &major, &minor);
    message_warning("%s: schema %d.%d is newer than this program, which may miss defects", path,
                    major, minor);
}

/* What keeps the index from being read, or from being read on, is a defect like those in it. */
static void add_damage(const struct settings *settings, const struct sb_error *err,
                       struct sb_verify_result *result)
{
    struct sb_defect defect = {.kind = "integrity", .shard = -1, .offset = -1, .text = err->text};

    print_defect((void *)(uintptr_t)settings, &defect);
    result->defects++;
    result->remedies |= SB_REMEDY_INDEX;
    message_raise(STATUS_PARTIAL);
}

static struct sb_verify_options options_of(const struct settings *settings, char **paths,
                                           size_t path_count)
{
    return (struct sb_verify_options){
        .quick = settings->quick,
        .strict = settings->strict,
        .present = settings->present,
        .threads = settings->threads ? (unsigned)settings->threads : sb_default_threads(),
        .paths = paths,
        .path_count = path_count,
    };
}

static struct sb_verify_events events_of(const struct settings *settings)
{
    return (struct sb_verify_events){.context = (void *)(uintptr_t)settings,
                                     .found = print_defect,
                                     .progress = message_progress_call};
}

static enum sb_code verify_archive(const struct settings *settings, const char *path, char **paths,
                                   size_t path_count, struct sb_error *err)
{
    struct sb_verify_options wanted = options_of(settings, paths, path_count);
    struct sb_verify_events events = events_of(settings);
    struct sb_verify_result result = {0};
    struct sb_archive *archive = NULL;
    enum sb_code code = sb_archive_open(&archive, path, err);

    if (code == SB_OK) {
        warn_of_newer(archive, path);
        code = sb_verify(archive, &wanted, &events, &message_notify, &result, err);
    }
    message_progress_end();
    if (code == SB_DAMAGED) {
        add_damage(settings, err, &result);
        code = SB_OK;
    }
    output_flush();
    if (code == SB_OK)
        summarize(path, settings, &result);
    sb_archive_free(archive);
    return code;
}

/* One object behind the defects: what was looked at, and what that does not say. */
static void print_container_summary(const struct sb_input *input,
                                    const struct sb_verify_result *result, const char *unproved)
{
    output_format("{\"kind\":\"summary\",\"container\":\"%s\",\"defects\":%" PRId64
                  ",\"files\":%" PRId64 ",\"dirs\":%" PRId64 ",\"bytes_read\":%" PRId64
                  ",\"unchecked\":%" PRId64 ",\"unproved\":\"%s\"}\n",
                  sb_container_word(input->type.kind), result->defects, result->files, result->dirs,
                  result->bytes_read, result->unchecked, unproved);
}

static void summarize_container(const struct settings *settings, const struct sb_input *input,
                                const struct sb_verify_result *result, const char *unproved)
{
    const char *name = input->name;

    if (result->defects > 0)
        message_problem("%s: %" PRId64 " %s%s; take it from another copy, or keep what is sound "
                        "with 'shardbox unpack'",
                        name, result->defects, result->defects == 1 ? "defect" : "defects",
                        settings->quick ? "; no file's bytes were read (--quick)" : "");
    else if (settings->quick)
        message_warning("%s: the structure is sound; --quick has read no file's bytes", name);
    else if (result->unchecked > 0)
        message_warning("%s: the structure is sound, and all can be read; %s", name, unproved);
    else
        message_note("%s: sound; %" PRId64 " files, %" PRId64 " directories; %s", name,
                     result->files, result->dirs, unproved);
}

static enum sb_code verify_other(const struct settings *settings, const char *path, char **paths,
                                 size_t path_count, struct sb_error *err)
{
    struct sb_verify_options wanted = options_of(settings, paths, path_count);
    struct sb_verify_events events = events_of(settings);
    struct sb_verify_result result = {0};
    struct sb_input *input;
    const char *unproved;
    enum sb_code code = open_input(&input, path, &settings->opening, err);

    if (code)
        return code;
    if (settings->present)
        code = sb_fail(err, SB_INVALID, "%s: is no archive, whose shards arrive one by one",
                       input->name);
    if (!code)
        code =
            sb_verify_container(input, &wanted, &events, &message_notify, &result, &unproved, err);
    message_progress_end();
    if (!code && settings->json)
        print_container_summary(input, &result, unproved);
    output_flush();
    if (!code)
        summarize_container(settings, input, &result, unproved);
    sb_input_close(input);
    free(input);
    return code;
}

static enum sb_code verify_bag(const struct settings *settings, const char *spec, size_t path_count,
                               struct sb_error *err)
{
    struct sb_verify_events events = events_of(settings);
    struct verify_records_use use = {
        .from = settings->opening.from,
        .quick = settings->quick,
        .strict = settings->strict,
        .json = settings->json,
        .threads = options_of(settings, NULL, 0).threads,
        .events = &events,
    };

    if (path_count > 0)
        return sb_fail(err, SB_INVALID, "%s: has records, not names; --records chooses them", spec);
    if (settings->present)
        return sb_fail(err, SB_INVALID, "%s: is no archive, whose shards arrive one by one", spec);
    return verify_records(&settings->records, &use, spec, err);
}

static enum sb_code verify(const struct settings *settings, const char *path, char **paths,
                           size_t path_count, struct sb_error *err)
{
    const struct opening *opening = &settings->opening;
    const char *misused;
    enum sb_code code = SB_OK;

    if (is_bag(path, opening))
        return verify_bag(settings, path, path_count, err);
    misused = option_of_verify_records();
    if (misused)
        return sb_fail(err, SB_INVALID, "%s: is no bag, and --%s is for bags", path, misused);
    if (looked_for_as_archive(path, opening))
        code = verify_archive(settings, path, paths, path_count, err);
    if (looked_for_as_archive(path, opening) && (!code || !may_be_other(path, opening, err)))
        return code ? err->code : SB_OK;
    return verify_other(settings, path, paths, path_count, err);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {0};
    struct sb_error err;
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status != OPTIONS_RUN)
        return status;
    if (first == argc)
        return message_usage("no archive given");
    if (verify(&settings, argv[first], argv + first + 1, (size_t)(argc - first - 1), &err) != SB_OK)
        return message_failure(&err);
    return message_status();
}

const struct command verify_command = {
    .name = "verify",
    .summary = "check an archive: its index, its shards and every byte",
    .synopsis = synopsis,
    .options = options,
    .notes = "Exit status: 0 sound, 1 defects were found, 2 error or not an archive.",
    .operands = OPERAND_ARCHIVE_PATHS,
    .run = run,
};
