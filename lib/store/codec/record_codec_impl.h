/*
 * A dictionary, as the coders of records see it.
 */
#ifndef SB_STORE_CODEC_RECORD_CODEC_IMPL_H
#define SB_STORE_CODEC_RECORD_CODEC_IMPL_H

#include "store/codec/record_codec.h"

#include <stdatomic.h>
#include <zstd.h>

struct sb_dictionary {
    atomic_uint holders;
    struct sb_buf bytes;
    ZSTD_DDict *decoding;
};

#endif
