/*
 * What is known of the rows of a table, and of their cells, before bytes of them are read; and
 * which of it a listing shows, where, and by which words.
 */
#ifndef SB_STORE_FACTS_H
#define SB_STORE_FACTS_H

#include "store/array/npy.h"
#include "store/table.h"

/* What is not known, or is not there, is -1 or NULL. Texts live until the next call on the table.
 */
struct sb_facts {
    /* Of the row. */
    struct sb_row_key key; /* what it is called, or was found by */
    int64_t row;
    const char *structure; /* what its columns are together: "dict" */
    bool superseded;       /* a later row of this name counts */
    int64_t part;          /* the number of its file, or of that part of the table, */
    int64_t place;         /* its own number in that, */
    const char *path;      /* and the path */

    /* Of the cell; of a row of several, `size` is that of all of them. */
    const char *name;         /* of the column; "" of one that has none */
    struct sb_row_key member; /* the file of a tree that it is */
    const char *dtype;        /* NULL: bytes */
    const struct sb_npy *shape;
    int64_t length; /* values */
    int64_t size, stored, offset;
    const char *defect; /* why it cannot be read: sizes are then not known */
};

enum sb_fact_of {
    SB_FACT_END,
    SB_FACT_ROW,
    SB_FACT_KEY, /* left out of objects where it is NULL, as SHAPE is */
    SB_FACT_STRUCTURE,
    SB_FACT_SUPERSEDED, /* in lines only if such rows are listed */
    SB_FACT_PART,
    SB_FACT_PLACE,
    SB_FACT_PATH,
    SB_FACT_CELLS, /* all cells: in lines by name, type and shape, in objects a list of objects */
    SB_FACT_NAME,
    SB_FACT_NAME_IF_ANY, /* of objects */
    SB_FACT_MEMBER,
    SB_FACT_DTYPE,
    SB_FACT_SHAPE,
    SB_FACT_LENGTH,
    SB_FACT_SIZE,
    SB_FACT_STORED,
    SB_FACT_OFFSET,
    SB_FACT_DEFECT,  /* its text, where there is one */
    SB_FACT_DAMAGED, /* likewise, but for the text; nothing more is said then */
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
    /* A JSON object: of a cell; where it has SB_FACT_CELLS, of a row, and `cells` are its cells'.
     */
    const struct sb_fact *object, *cells;

    /* A line: of a cell; or of a row where it has SB_FACT_CELLS. In detail each is of a cell. A
     * name that comes last is as it is. */
    const enum sb_fact_of *line, *details;
};

#endif
