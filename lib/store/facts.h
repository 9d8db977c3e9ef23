/*
 * What is known of the rows and cells of a table before their bytes are read, and which of it a
 * listing shows, in which order and under which words.
 */
#ifndef SB_STORE_FACTS_H
#define SB_STORE_FACTS_H

#include "store/array/npy.h"
#include "store/table.h"

/* -1 or NULL: not known, or does not exist. Texts live until the next call on the table. */
struct sb_facts {
    /* Of the row. */
    struct sb_row_key key; /* its name, or the key that it was found by */
    int64_t row;
    const char *structure; /* the type of the row as a whole: "dict" */
    bool superseded;       /* a later row of this name counts instead */
    int64_t part;          /* number of the file or part of the table that has it */
    int64_t place;         /* its number within that part */
    const char *path;      /* path of that part */

    /* Of the cell; for a row of several cells, `size` is their sum. */
    const char *name;         /* of the column; "" if it has none */
    struct sb_row_key member; /* for samples: the file that is the cell */
    const char *dtype;        /* NULL: bytes */
    const struct sb_npy *shape;
    int64_t length; /* number of values */
    int64_t size, stored, offset;
    const char *defect; /* why it cannot be read; the sizes are not known then */
};

enum sb_fact_of {
    SB_FACT_END,
    SB_FACT_ROW,
    SB_FACT_KEY, /* left out of objects if it is NULL, like SHAPE */
    SB_FACT_STRUCTURE,
    SB_FACT_SUPERSEDED, /* in lines only if superseded rows are listed */
    SB_FACT_PART,
    SB_FACT_PLACE,
    SB_FACT_PATH,
    SB_FACT_CELLS, /* all cells: in a line their names, types and shapes, in an object a list of
                      objects */
    SB_FACT_NAME,
    SB_FACT_NAME_IF_ANY, /* only in objects */
    SB_FACT_MEMBER,
    SB_FACT_DTYPE,
    SB_FACT_SHAPE,
    SB_FACT_LENGTH,
    SB_FACT_SIZE,
    SB_FACT_STORED,
    SB_FACT_OFFSET,
    SB_FACT_DEFECT,  /* text of the defect, if there is one */
    SB_FACT_DAMAGED, /* "true" in place of the text; ends the object */
};

struct sb_fact {
    enum sb_fact_of of; /* SB_FACT_END ends the list */
    const char *word;
};

/* SB_FACTS(SB_FACT(ROW, "index"), ...) */
#define SB_FACTS(...) ((const struct sb_fact[]){__VA_ARGS__, {0}})
#define SB_FACT(of, word)                                                                          \
    {                                                                                              \
        SB_FACT_##of, word                                                                         \
    }

struct sb_listing {
    /* The fields of a JSON object. It shows one cell; if it has SB_FACT_CELLS, one row, and `cells`
     * are the fields of each cell. */
    const struct sb_fact *object, *cells;

    /* The fields of a line. It shows one cell; if it has SB_FACT_CELLS, one row. A line of
     * `details` always shows one cell. A name is not escaped if it is the last field. */
    const enum sb_fact_of *line, *details;
};

#endif
