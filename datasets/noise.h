/* SPDX-License-Identifier: Apache-2.0
 *
 * Noise of phantoms: numbers that follow from a 64-bit state alone, so that values can be made in
 * any order and by any number of threads, and are the same on every machine. A normal number is the
 * sum of twelve uniform ones minus 6, which is normal to within 1 % up to three standard
 * deviations. Source: splitmix64 of G. Steele, D. Lea and C. Flood (2014).
 */
#ifndef DATASETS_NOISE_H
#define DATASETS_NOISE_H

#include <stdint.h>

/* Neighboring states differ by NOISE_STEP, and one normal number takes NOISE_NORMAL_STEPS of
 * them. */
#define NOISE_STEP UINT64_C(0x9E3779B97F4A7C15)
#define NOISE_NORMAL_STEPS 3

/* Returns 64 uniform bits. */
static inline uint64_t noise_bits(uint64_t state)
{
    state = (state ^ state >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    state = (state ^ state >> 27) * UINT64_C(0x94D049BB133111EB);
    return state ^ state >> 31;
}

/* Returns the state where slice or frame i begins. */
static inline uint64_t noise_begin(uint64_t seed, int64_t i)
{
    return noise_bits(seed + (uint64_t)i * UINT64_C(0xD1342543DE82EF95) + NOISE_STEP);
}

/* Returns a normal number from the NOISE_NORMAL_STEPS states behind this one: twelve uniform
 * numbers of 16 bits, which two sums of 32 bits add up exactly. */
static inline double noise_normal(uint64_t state)
{
    const uint64_t parts = UINT64_C(0x0000FFFF0000FFFF);
    uint64_t sums = 0;
    for (uint64_t i = 1; i <= NOISE_NORMAL_STEPS; i++) {
        const uint64_t bits = noise_bits(state + i * NOISE_STEP);
        sums += (bits & parts) + (bits >> 16 & parts);
    }
    const int32_t sum = (int32_t)((uint32_t)sums + (uint32_t)(sums >> 32));
    return ((double)sum + 6) / 65536 - 6;
}

#endif
