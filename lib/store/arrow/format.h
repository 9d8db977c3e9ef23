/*
 * Constants of the Arrow IPC file format, for the reader and the writer.
 *
 * From the Arrow project's format/{File,Message,Schema}.fbs (slots of tables, values of enums) and
 * docs/format/Columnar.html ("IPC File Format", "Encapsulated message format").
 */
#ifndef SB_STORE_ARROW_FORMAT_H
#define SB_STORE_ARROW_FORMAT_H

#define SB_ARROW_MAGIC      "ARROW1"
#define SB_ARROW_MAGIC_SIZE 6
#define SB_ARROW_START      8 /* of the first message: after the magic and its padding */

/* A message: the continuation, the size of its metadata as int32, the metadata, the body. */
#define SB_ARROW_CONTINUATION 0xffffffffU
#define SB_ARROW_PREFIX       8

/* Messages, bodies and buffers begin at multiples of this. */
#define SB_ARROW_ALIGNMENT 8

/* Limit for metadata that are read: some 300,000 columns. */
#define SB_ARROW_METADATA_MOST (64 << 20)

/* The footer's struct of a batch: offset int64, size of the metadata int32, 4 bytes of padding,
 * size of the body int64. */
#define SB_ARROW_BLOCK_SIZE 24

#define SB_ARROW_VERSION       4 /* V5 */
#define SB_ARROW_VERSION_LEAST 3 /* V4 */

enum {
    SB_FLAT_FOOTER_VERSION,
    SB_FLAT_FOOTER_SCHEMA,
    SB_FLAT_FOOTER_DICTIONARIES,
    SB_FLAT_FOOTER_BATCHES,
    SB_FLAT_FOOTER_SLOTS,
};

enum {
    SB_FLAT_SCHEMA_ENDIANNESS,
    SB_FLAT_SCHEMA_FIELDS,
    SB_FLAT_SCHEMA_METADATA,
    SB_FLAT_SCHEMA_SLOTS,
};

enum {
    SB_FLAT_PAIR_KEY,
    SB_FLAT_PAIR_VALUE,
    SB_FLAT_PAIR_SLOTS,
};

enum {
    SB_FLAT_FIELD_NAME,
    SB_FLAT_FIELD_NULLABLE,
    SB_FLAT_FIELD_TYPE_TYPE,
    SB_FLAT_FIELD_TYPE,
    SB_FLAT_FIELD_DICTIONARY,
    SB_FLAT_FIELD_CHILDREN,
    SB_FLAT_FIELD_SLOTS,
};

/* Types of a field, and the slots of their tables. */
enum {
    SB_ARROW_TYPE_INT = 2,
    SB_ARROW_TYPE_FLOAT = 3,
    SB_ARROW_TYPE_BINARY = 4,
    SB_ARROW_TYPE_UTF8 = 5,
    SB_ARROW_TYPE_BOOL = 6,
    SB_ARROW_TYPE_LIST = 12,
};

enum {
    SB_FLAT_INT_BIT_WIDTH,
    SB_FLAT_INT_IS_SIGNED,
    SB_FLAT_INT_SLOTS,
};

enum {
    SB_FLAT_FLOAT_PRECISION, /* 0, 1, 2: 2, 4, 8 bytes */
    SB_FLAT_FLOAT_SLOTS,
};

enum {
    SB_FLAT_MESSAGE_VERSION,
    SB_FLAT_MESSAGE_HEADER_TYPE,
    SB_FLAT_MESSAGE_HEADER,
    SB_FLAT_MESSAGE_BODY_SIZE,
    SB_FLAT_MESSAGE_SLOTS,
};

enum {
    SB_ARROW_SCHEMA = 1,
    SB_ARROW_RECORD_BATCH = 3,
};

enum {
    SB_FLAT_BATCH_LENGTH,
    SB_FLAT_BATCH_NODES,   /* structs of two int64: number of values, number of nulls */
    SB_FLAT_BATCH_BUFFERS, /* structs of two int64: offset in the body, size */
    SB_FLAT_BATCH_COMPRESSION,
    SB_FLAT_BATCH_SLOTS,
};

#endif
