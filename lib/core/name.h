/*
 * Names of entries inside a container, and how they are shown.
 *
 * A stored name is a run of bytes: components separated by single '/', no leading or trailing '/',
 * no empty, "." or ".." component, no NUL. The root directory is the empty name. Names need not be
 * UTF-8, nor need a file system accept them. Pure functions, thread-safe.
 */
#ifndef SB_CORE_NAME_H
#define SB_CORE_NAME_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_NAME_MAX  65536 /* bytes */
#define SB_DEPTH_MAX 900   /* directories above a file; SQLite's trigger depth ends at 1000 */

/*
 * NULL for a name that may be stored, else its problem as a short phrase ("has a .. component").
 * The empty name is a problem.
 */
const char *sb_name_problem(const char *name, size_t size);

bool sb_is_utf8(const char *text, size_t size);

/*
 * Length of the UTF-8 character at text and its code point. 0 if it is invalid: a continuation byte
 * without its lead, an overlong form, a surrogate, truncated or above U+10FFFF. size is at least 1.
 */
size_t sb_utf8_character(const char *text, size_t size, uint32_t *code_point);

/* Writes a character, and returns its length. */
size_t sb_utf8_put(uint32_t code_point, char out[4]);

/* Unicode writes a letter and its mark as one character (NFC), or as two (NFD), as macOS does: to
 * bytes, two names. */
enum sb_form { SB_ANY_FORM, SB_NFC, SB_NFD };

/* Is the name UTF-8, and not in this form? Then it is written so to out. (For hints: false also if
 * memory runs out.) */
bool sb_name_form(const char *name, size_t size, enum sb_form form, struct sb_buf *out);

/* Length of the name of the directory that holds `name`: 0 at the top. */
size_t sb_parent_size(const char *name, size_t size);

/* The part of a path after its last '/'. */
const char *sb_base_name(const char *path);

/* Number of '/' in it. */
size_t sb_name_depth(const char *name, size_t size);

/* Is `name` equal to `dir` or below it? The root (dir_size 0) holds everything. */
bool sb_name_within(const char *name, size_t size, const char *dir, size_t dir_size);

/*
 * Does SQLite's expression for `parent`, rtrim(rtrim(path, replace(path, '/', '')), '/'), yield the
 * parent of this name? Always for UTF-8. For other bytes SQLite reads the set of characters to trim
 * as it reads broken UTF-8, and may trim too much or too little.
 */
bool sb_parent_is_computable(const char *name, size_t size);

/*
 * Turns an argument into a stored name, as tar does: leading "/" are dropped, with every component
 * up to the last ".." ; "." components and repeated "/" vanish. *stripped is set when
 * something other than "./" was taken from the front. The result may be empty (the root).
 */
enum sb_code sb_name_normalize(const char *text, struct sb_buf *out, bool *stripped) SB_CHECKED;

/* out becomes the name below dir; the root is an empty text, on both sides, and never NULL. */
enum sb_code sb_name_join(struct sb_buf *out, const char *dir, size_t dir_size, const char *name,
                          size_t size) SB_CHECKED;

/* Adds the path to `to` from the directory of `from`; both are absolute and resolved. */
enum sb_code sb_name_relative(struct sb_buf *out, const char *from, const char *to) SB_CHECKED;

/*
 * Drops the first `count` components; false when nothing is left.
 */
bool sb_strip_components(const char **name, size_t *size, unsigned count);

/* How sb_quote writes a name. */
enum sb_quoting {
    SB_RAW,    /* the bytes */
    SB_SHELL,  /* as GNU ls on a terminal: 'a b', 'a'$'\n''b', only where needed; bidirectional
                  controls are escaped too, unassigned characters are not */
    SB_ESCAPE, /* for messages: control characters, broken UTF-8 and bidirectional controls as \n,
                  \033; a backslash stays as it is */
};

/* Appends to out. */
enum sb_code sb_quote(struct sb_buf *out, const char *name, size_t size,
                      enum sb_quoting quoting) SB_CHECKED;

#endif
