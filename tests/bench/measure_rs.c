/*
 * measure_rs [-w WORDS] [-r RUN] [-s SIZE] [DATA PARITY]: adds 128 MiB of data to parities in
 * memory in each form that this processor has, and prints how many GB of data that is in a second
 * of one core's time, the best of five times. By default 240 pieces of data and 12 of parity, of
 * 16 KiB, word after word. With -w words take turns, as interleaved words are read from a disk:
 * each takes RUN pieces (by default one) at a time.
 */
#include "core/rs/rs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOTAL      ((size_t)128 << 20)
#define DATA_BYTES ((size_t)64 << 20) /* more than the caches of a core */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct measurement {
    struct sb_rs *rs;
    unsigned pieces; /* of data */
    size_t words, run, size;
    unsigned char *data;      /* DATA_BYTES */
    unsigned char **parities; /* of all words */
};

static double seconds(const struct measurement *m)
{
    unsigned outputs = sb_rs_outputs(m->rs);
    size_t at = 0;
    double start = now();

    for (size_t n = 0; n < TOTAL / m->size; n++) {
        size_t word = n / m->run % m->words;
        size_t piece = (n / (m->run * m->words) * m->run + n % m->run) % m->pieces;

        sb_rs_add(m->rs, (unsigned)piece, m->data + at, m->size, m->parities + word * outputs);
        at += m->size;
        if (at + m->size > DATA_BYTES)
            at = 0;
    }
    return now() - start;
}

static double best_of(const struct measurement *m, int times)
{
    double best = seconds(m);

    while (--times) {
        double next = seconds(m);

        best = next < best ? next : best;
    }
    return best;
}

static void *require(void *memory)
{
    if (!memory) {
        fprintf(stderr, "measure_rs: out of memory\n");
        exit(2);
    }
    return memory;
}

static void measure(struct measurement *m, unsigned parity)
{
    size_t count = m->words * parity;
    unsigned char *bytes = require(aligned_alloc(4096, (count * m->size + 4095) / 4096 * 4096));

    m->data = require(malloc(DATA_BYTES));
    m->parities = require(calloc(count, sizeof(*m->parities)));
    memset(bytes, 0, count * m->size);
    for (size_t i = 0; i < DATA_BYTES; i++)
        m->data[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < count; i++)
        m->parities[i] = bytes + i * m->size;
    for (size_t form = 0; sb_rs_form(form); form++) {
        sb_rs_use_form(m->rs, form);
        printf("%-12s %6.2f GB/s\n", sb_rs_form(form), (double)TOTAL / best_of(m, 5) / 1e9);
    }
    free(m->parities);
    free(m->data);
    free(bytes);
}

int main(int argc, char **argv)
{
    struct measurement m = {.words = 1, .run = 1, .size = 16384, .pieces = 240};
    unsigned parity = 12;
    int option;

    while ((option = getopt(argc, argv, "w:r:s:")) != -1) {
        size_t *to = option == 'w' ? &m.words : option == 'r' ? &m.run : &m.size;

        if (option == '?')
            return 2;
        *to = strtoul(optarg, NULL, 10);
    }
    if (argc - optind == 2) {
        m.pieces = (unsigned)strtoul(argv[optind], NULL, 10);
        parity = (unsigned)strtoul(argv[optind + 1], NULL, 10);
    }
    if ((argc != optind && argc - optind != 2) || m.words == 0 || m.words > 1 << 16 || m.run == 0 ||
        m.run > SB_RS_PIECES_MAX || m.size == 0 || m.size > DATA_BYTES) {
        fprintf(stderr, "usage: measure_rs [-w WORDS] [-r RUN] [-s SIZE] [DATA PARITY]\n");
        return 2;
    }
    if (sb_rs_encoder(&m.rs, m.pieces, parity)) {
        fprintf(stderr, "measure_rs: %s\n", sb_error()->text);
        return 2;
    }
    measure(&m, parity);
    sb_rs_free(m.rs);
    return 0;
}
