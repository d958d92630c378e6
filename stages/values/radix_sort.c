/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass counts the digits at all four places. Each of the four passes that follow moves every
 * key to its place by one digit; keys of the same digit keep their order, so that the last pass
 * leaves them sorted.
 */
#include "stages/values/radix_sort.h"

#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, PLACES = 4 };

static void scatter(uint32_t *to, const uint32_t *from, size_t n, int place, const size_t *counts)
{
    size_t at[DIGITS], sum = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        at[digit] = sum;
        sum += counts[digit];
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> (DIGIT_BITS * place) & (DIGITS - 1)]++] = from[i];
}

void ts_radix_sort(uint32_t *keys, uint32_t *scratch, size_t n)
{
    size_t counts[PLACES][DIGITS];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++)
        for (int place = 0; place < PLACES; place++)
            counts[place][keys[i] >> (DIGIT_BITS * place) & (DIGITS - 1)]++;
    for (int place = 0; place < PLACES; place++)
        scatter(place % 2 ? keys : scratch, place % 2 ? scratch : keys, n, place, counts[place]);
}
