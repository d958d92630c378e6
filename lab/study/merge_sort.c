/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of 32 keys are sorted by insertion, and then runs are merged two by two until one is left
 * (J. von Neumann, 1945; D. E. Knuth, The Art of Computer Programming, vol. 3, 5.2.4). Threads
 * share the merges of a level, of which the last has a single one: as in every tree, the processors
 * run out of work towards its root.
 */
#include "lab/study/merge_sort.h"

#include <stdbool.h>
#include <string.h>

enum { LEAF = 32 };

static void sort_leaf(uint32_t *to, const uint32_t *keys, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && to[at - 1] > keys[i]; at--)
            to[at] = to[at - 1];
        to[at] = keys[i];
    }
}

/* Merges the sorted runs [0, middle) and [middle, n), without a branch that the keys decide. */
static void merge(uint32_t *to, const uint32_t *from, int64_t middle, int64_t n)
{
    int64_t low = 0, high = middle;
    while (low < middle && high < n) {
        const uint32_t a = from[low], b = from[high];
        const bool upper = b < a;
        *to++ = upper ? b : a;
        high += upper;
        low += !upper;
    }
    memcpy(to, from + low, (size_t)(middle - low) * sizeof *to);
    memcpy(to + (middle - low), from + high, (size_t)(n - high) * sizeof *to);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

uint32_t *ts_merge_sort(const uint32_t *keys, uint32_t *scratch, int64_t n, int threads)
{
    uint32_t *from = scratch, *to = scratch + n;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < n; first += LEAF)
        sort_leaf(from + first, keys + first, least(LEAF, n - first));
    for (int64_t width = LEAF; width < n; width *= 2) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t first = 0; first < n; first += 2 * width)
            merge(to + first, from + first, least(width, n - first), least(2 * width, n - first));
        uint32_t *const merged = to;
        to = from;
        from = merged;
    }
    return from;
}
