/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads write one string of bits, each a range of its own. Words that lie inside a range are stored; those at
 * its ends, which neighbors share, are joined by atomic or, which gives the same word in any order. They must be 0
 * before.
 */
#ifndef CUDA_DEFLATE_BITS_CUH
#define CUDA_DEFLATE_BITS_CUH

#include "cuda/device/launch.cuh"

struct bit_writer {
    uint32_t *word; /* the next word to write */
    uint64_t bits;  /* bits that are not written yet, the first one lowest */
    unsigned n;     /* number of these bits, with those of others before them in the word */
    bool joins;     /* whether others have bits of the next word */
};

static __device__ inline struct bit_writer write_from(uint32_t *words, uint32_t first_bit)
{
    return {words + first_bit / 32, 0, first_bit % 32, first_bit % 32 != 0};
}

/* Appends n <= 32 bits; those of `value` above them are 0. */
static __device__ inline void put_bits(struct bit_writer &writer, uint32_t value, unsigned n)
{
    writer.bits |= (uint64_t)value << writer.n;
    writer.n += n;
    if (writer.n < 32)
        return;
    if (writer.joins)
        atomicOr(writer.word, (uint32_t)writer.bits);
    else
        *writer.word = (uint32_t)writer.bits;
    writer.word++;
    writer.bits >>= 32;
    writer.n -= 32;
    writer.joins = false;
}

static __device__ inline void end_bits(const struct bit_writer &writer)
{
    if (writer.n > 0)
        atomicOr(writer.word, (uint32_t)writer.bits);
}

#endif
