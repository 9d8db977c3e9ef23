/*
 * Names that wait for an answer of sb_fetch, and their look-up.
 *
 * Internal to fetch.c; belongs to its calling thread. {0} is an empty queue. Names are looked up in
 * an order close to that of the index.
 */
#ifndef SB_TASK_FETCH_QUEUE_H
#define SB_TASK_FETCH_QUEUE_H

#include "task/fetch/slot.h"

struct sb_archive;
struct sb_many;
struct sb_name_place;

struct sb_queue {
    struct sb_buf names;
    struct sb_request *requests;
    struct sb_name_place *order; /* of look-ups */
    size_t capacity;             /* of requests and order */
    size_t count;
    bool looked_up;
    size_t next; /* the request to answer next; count: none */
};

struct sb_lookup {
    struct sb_archive *archive;
    const struct sb_fetch_options *options;
    struct sb_buf normal; /* a name in its stored form */
    struct sb_buf plain;  /* and one without its suffix */
};

void sb_lookup_release(struct sb_lookup *lookup); /* not of the archive */

/* The stored form of the name: itself, or lookup->normal. */
enum sb_code sb_stored_name(struct sb_lookup *lookup, const char **name, size_t *size) SB_CHECKED;

/* Looks up a name that is in `names`, and decides how to answer it. */
enum sb_code sb_look_up(struct sb_lookup *lookup, const struct sb_buf *names,
                        struct sb_request *request) SB_CHECKED;

void sb_queue_release(struct sb_queue *queue);

/*
 * Replaces the contents by the next names: waits for one, and takes up to `limit` while that needs
 * no waiting or, if `patient`, until the limit or the end. *ended: there are no more names.
 */
enum sb_code sb_queue_collect(struct sb_queue *queue, const struct sb_fetch_names *names,
                              size_t limit, bool patient, bool *ended) SB_CHECKED;

/* Unless it was done already; in read transactions of bounded length. */
enum sb_code sb_queue_look_up(struct sb_queue *queue, struct sb_many *many,
                              const struct sb_fetch_options *options) SB_CHECKED;

/* Once all are looked up: requests without an address come first. */
void sb_queue_sort_by_address(struct sb_queue *queue);

#endif
