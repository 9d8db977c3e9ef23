/*
 * What columns a cache has: by its schema.json, and by one of its segments, to be compared.
 *
 * schema.json is what torchcachex writes with json.dump (backend.py, _save_schema): fields with
 * their names and types in PyArrow's words, metadata, of which tensor_keys is JSON within a string,
 * and output_structure. Memory is that of the file, which is refused beyond a megabyte.
 */
#ifndef SB_TASK_VERIFY_CACHE_COLUMNS_H
#define SB_TASK_VERIFY_CACHE_COLUMNS_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_cache_column {
    char *name; /* both empty where the JSON does not say */
    char *type; /* "string", "binary", "list<float32>"; of schema.json as it stands there */
};

/* {0} is an empty one. */
struct sb_cache_schema {
    struct sb_cache_column *fields; /* sorted by name */
    size_t count, capacity;

    /* Of schema.json alone. */
    char *structure; /* NULL: not said */
    char **tensors;  /* names in tensor_keys, sorted */
    size_t tensor_count, tensor_capacity;
    bool names_tensors;
};

void sb_cache_schema_release(struct sb_cache_schema *schema);

/* schema.json of the cache in dir. SB_NOENT: there is none. SB_FORMAT: it is none that could be
 * read, and the text says why, without its name. */
enum sb_code sb_cache_schema_read(struct sb_cache_schema *schema, const char *dir,
                                  struct sb_error *err) SB_CHECKED;

/* The columns of a segment, of which only the metadata are read. Errors as of arrow.h. */
enum sb_code sb_cache_schema_of_segment(struct sb_cache_schema *schema, const char *path,
                                        struct sb_error *err) SB_CHECKED;

/* Is it among the tensors that schema.json names? */
bool sb_cache_schema_has_tensor(const struct sb_cache_schema *schema, const char *name);

/* Replaces out by the type as a segment has it: "list<float>" and "list<item: float>" are
 * "list<float32>". SB_NOMEM. */
enum sb_code sb_cache_usual_type(const char *type, struct sb_buf *out) SB_CHECKED;

#endif
