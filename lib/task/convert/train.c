#include "task/convert/train.h"

#include "core/file.h"
#include "store/codec/dictionary_trainer.h"
#include "store/kind.h"
#include "store/record_choice.h"
#include "task/convert/input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool reads_standard_input(const struct sb_convert_options *options)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(options->inputs[i], "-") == 0)
            return true;
    }
    return false;
}

/*
 * Makes standard input readable again: *start is its position. A pipe becomes a file with its
 * bytes.
 */
static enum sb_code keep_standard_input(const struct sb_convert_options *options, off_t *start,
                                        struct sb_error *err)
{
    struct sb_input input = {.path = "-", .name = "standard input"};
    enum sb_code code;

    *start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (*start >= 0)
        return SB_OK;
    code = sb_file_take(&input.pipe, dup(STDIN_FILENO), input.name, err);
    if (!code)
        code = sb_input_spool(&input, options->max_size, err);
    if (!code && dup2(input.file->fd, STDIN_FILENO) < 0)
        code = sb_fail_errno(err, errno, "standard input");
    sb_input_close(&input);
    *start = 0;
    return code;
}

static enum sb_code seek_standard_input(off_t start, struct sb_error *err)
{
    if (lseek(STDIN_FILENO, start, SEEK_SET) < 0)
        return sb_fail_errno(err, errno, "standard input");
    return SB_OK;
}

static enum sb_code refuse_fifos(const struct sb_convert_options *options, struct sb_error *err)
{
    struct stat st;

    for (size_t i = 0; i < options->input_count; i++) {
        const char *path = options->inputs[i];

        if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
            return sb_fail(err, SB_INVALID,
                           "%s: --train-dictionary reads inputs twice; give it as standard input",
                           path);
    }
    return SB_OK;
}

/* Defects of the input are reported when it is converted. */
static enum sb_code take_input(struct sb_trainer *trainer, const struct sb_convert_options *options,
                               const char *path, struct sb_error *err)
{
    struct sb_source *source = NULL;
    struct sb_store *store;
    enum sb_code code = sb_convert_open_input(&store, options, path, err);

    if (code)
        return code;
    code = sb_convert_open_source(&source, store, options, NULL, NULL, err);
    if (!code)
        code = sb_trainer_take(trainer, source, err);
    sb_source_free(source);
    sb_store_free(store);
    return code;
}

static enum sb_code take_inputs(struct sb_trainer *trainer,
                                const struct sb_convert_options *options, struct sb_error *err)
{
    bool piped = reads_standard_input(options);
    off_t start = 0;
    enum sb_code code = piped ? keep_standard_input(options, &start, err) : SB_OK;

    if (!code && piped)
        code = seek_standard_input(start, err);
    for (size_t i = 0; !code && i < options->input_count; i++)
        code = take_input(trainer, options, options->inputs[i], err);
    if (!code && piped)
        code = seek_standard_input(start, err);
    return code;
}

enum sb_code sb_convert_train(const struct sb_convert_options *options, struct sb_error *err)
{
    const struct sb_record_choice_options *choice = options->records.choice;
    const char *path = options->records.dictionary;
    struct sb_convert_options sampled = *options;
    struct sb_trainer *trainer;
    struct stat st;
    enum sb_code code;

    if (!options->records.train || options->transfer.dry_run)
        return SB_OK;
    if (!options->force && lstat(path, &st) == 0)
        return sb_fail(err, SB_EXISTS, "%s: exists already; use --force to replace it", path);
    /* A list of numbers can be read only once. */
    if (choice && choice->list)
        sampled.records.choice = NULL;
    code = refuse_fifos(options, err);
    if (code)
        return code;
    code = sb_trainer_new(&trainer, options->records.train, err);
    if (!code)
        code = take_inputs(trainer, &sampled, err);
    if (!code)
        code = sb_trainer_write(trainer, path, options->force, err);
    sb_trainer_free(trainer);
    return code;
}
