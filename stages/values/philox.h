/* SPDX-License-Identifier: Apache-2.0
 *
 * Philox 4x32-10: ten rounds of multiplications and exclusive ors turn a counter of 128 bits and a key of 64 into 128
 * random bits (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011). There is no state: whoever knows the counter has the numbers, in any order, on any thread and device. A stage
 * makes the counter of a pixel's index in the volume, so that slabs do not matter either.
 */
#ifndef STAGES_VALUES_PHILOX_H
#define STAGES_VALUES_PHILOX_H

#include <stdint.h>

#include "core/host_device.h"

struct philox_block {
    uint32_t words[4];
};

TS_HOST_DEVICE struct philox_block ts_philox(struct philox_block counter, uint64_t key)
{
    uint32_t key_0 = (uint32_t)key, key_1 = (uint32_t)(key >> 32), *c = counter.words;
    for (int round = 0; round < 10; round++) {
        const uint64_t even = (uint64_t)0xD2511F53u * c[0], odd = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t first = (uint32_t)(odd >> 32) ^ c[1] ^ key_0, third = (uint32_t)(even >> 32) ^ c[3] ^ key_1;
        c[0] = first;
        c[1] = (uint32_t)odd;
        c[2] = third;
        c[3] = (uint32_t)even;
        key_0 += 0x9E3779B9u;
        key_1 += 0xBB67AE85u;
    }
    return counter;
}

/* A stream of pairs of numbers evenly over (0, 1): draw i of purpose p for pixel n has the counter (n, i, p). */
struct random_stream {
    uint64_t seed, pixel;
    uint32_t purpose, draw;
};
struct random_pair {
    double u, v;
};

/* Returns the middle of one of 2^52 intervals of (0, 1), of which neither end is ever reached. */
TS_HOST_DEVICE double ts_random_between(uint32_t high, uint32_t low)
{
    return ((double)(((uint64_t)high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

TS_HOST_DEVICE struct random_pair ts_random_pair(struct random_stream *stream)
{
    const struct philox_block counter = {
        {(uint32_t)stream->pixel, (uint32_t)(stream->pixel >> 32), stream->draw++, stream->purpose}};
    const struct philox_block block = ts_philox(counter, stream->seed);
    const struct random_pair pair = {ts_random_between(block.words[0], block.words[1]),
                                     ts_random_between(block.words[2], block.words[3])};
    return pair;
}

#endif
