#include "core/rs/field.h"

#include <pthread.h>

#define POLYNOMIAL 0x11d
#define ORDER      255 /* of the group of all but zero */

static struct sb_rs_field tables;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_powers(void)
{
    unsigned power = 1;

    for (unsigned n = 0; n < ORDER; n++) {
        tables.power[n] = tables.power[n + ORDER] = (unsigned char)power;
        tables.log[power] = (unsigned char)n;
        power <<= 1;
        if (power & 0x100)
            power ^= POLYNOMIAL;
    }
}

static uint64_t matrix_of(unsigned char factor)
{
    uint64_t matrix = 0;

    for (unsigned bit = 0; bit < 8; bit++) {
        uint64_t product = sb_rs_multiply(&tables, factor, (unsigned char)(1u << bit));

        for (unsigned i = 0; i < 8; i++)
            matrix |= (product >> i & 1) << (8 * (7 - i) + bit);
    }
    return matrix;
}

static void fill_tables(void)
{
    fill_powers();
    for (unsigned factor = 0; factor < 256; factor++) {
        unsigned char *row = tables.nibbles[factor];

        for (unsigned n = 0; n < 16; n++) {
            row[n] = sb_rs_multiply(&tables, (unsigned char)factor, (unsigned char)n);
            row[16 + n] = sb_rs_multiply(&tables, (unsigned char)factor, (unsigned char)(n << 4));
        }
        tables.matrix[factor] = matrix_of((unsigned char)factor);
    }
}

const struct sb_rs_field *sb_rs_field(void)
{
    pthread_once(&tables_once, fill_tables);
    return &tables;
}

unsigned char sb_rs_multiply(const struct sb_rs_field *field, unsigned char a, unsigned char b)
{
    return a && b ? field->power[field->log[a] + field->log[b]] : 0;
}
