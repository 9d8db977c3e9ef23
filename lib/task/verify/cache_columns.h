/*
 * The columns of a cache, from its schema.json and from one of its segments, for comparison.
 *
 * torchcachex writes schema.json with json.dump (backend.py, _save_schema): fields with their names
 * and types in PyArrow's words; metadata, in which tensor_keys is JSON within a string; and
 * output_structure. Memory is that of the file, which may have at most a megabyte.
 */
#ifndef SB_TASK_VERIFY_CACHE_COLUMNS_H
#define SB_TASK_VERIFY_CACHE_COLUMNS_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_cache_column {
    char *name; /* both are empty if the JSON lacks them */
    char *type; /* "string", "binary", "list<float32>"; from schema.json unchanged */
};

/* {0} is an empty one. */
struct sb_cache_schema {
    struct sb_cache_column *fields; /* sorted by name */
    size_t count, capacity;

    /* Only from schema.json. */
    char *structure; /* NULL: missing */
    char **tensors;  /* names in tensor_keys, sorted */
    size_t tensor_count, tensor_capacity;
    bool names_tensors;
};

void sb_cache_schema_release(struct sb_cache_schema *schema);

/*
 * schema.json of the cache in dir. SB_NOENT: it is missing. SB_FORMAT: it cannot be read, with the
 * reason, but not its name, in the text.
 */
enum sb_code sb_cache_schema_read(struct sb_cache_schema *schema, const char *dir) SB_CHECKED;

/* The columns of a segment, whose metadata alone are read. Errors as of arrow.h. */
enum sb_code sb_cache_schema_of_segment(struct sb_cache_schema *schema,
                                        const char *path) SB_CHECKED;

/* Does schema.json list it as a tensor? */
bool sb_cache_schema_has_tensor(const struct sb_cache_schema *schema, const char *name);

/* Replaces out by the type as a segment has it: "list<float>" and "list<item: float>" are
 * "list<float32>". SB_NOMEM. */
enum sb_code sb_cache_usual_type(const char *type, struct sb_buf *out) SB_CHECKED;

#endif
