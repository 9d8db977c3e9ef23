#include "archive/places.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct sb_places {
    pthread_mutex_t lock;
    unsigned holders;
    bool known;
    struct sb_placing placing;
    _Atomic uint32_t generation;
};

enum sb_code sb_places_new(struct sb_places **out)
{
    struct sb_places *places = calloc(1, sizeof(*places));

    *out = places;
    if (!places)
        return sb_fail_memory();
    places->holders = 1;
    pthread_mutex_init(&places->lock, NULL);
    return SB_OK;
}

struct sb_places *sb_places_ref(struct sb_places *places)
{
    pthread_mutex_lock(&places->lock);
    places->holders++;
    pthread_mutex_unlock(&places->lock);
    return places;
}

void sb_places_unref(struct sb_places *places)
{
    bool last;

    if (!places)
        return;
    pthread_mutex_lock(&places->lock);
    last = --places->holders == 0;
    pthread_mutex_unlock(&places->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&places->lock);
    free(places);
}

void sb_places_set(struct sb_places *places, uint32_t generation, const struct sb_placing *placing)
{
    pthread_mutex_lock(&places->lock);
    /* The number may wrap around. */
    if (!places->known || (int32_t)(generation - places->generation) > 0) {
        places->known = true;
        places->placing = *placing;
        places->generation = generation;
    }
    pthread_mutex_unlock(&places->lock);
}

uint32_t sb_places_generation(const struct sb_places *places)
{
    return places->generation;
}

uint32_t sb_places_get(struct sb_places *places, struct sb_placing *placing)
{
    uint32_t generation;

    pthread_mutex_lock(&places->lock);
    *placing = places->placing;
    generation = places->generation;
    pthread_mutex_unlock(&places->lock);
    return generation;
}
