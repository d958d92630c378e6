/* SPDX-License-Identifier: Apache-2.0
 *
 * The first pass over both images counts the values that differ and finds the largest difference
 * and the range of the first image. If values differ, a second pass sums what RMS, PSNR and SSIM
 * need, by the code of the stage `compare`. Slices are shared out among threads, and their results
 * joined in the order of the slices.
 */
#include "program/record/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "stages/engine/validity.h"

struct counts {
    /* at: place of the largest difference, within the slice */
    int64_t n_differ, n_nan[2], n_hidden, at;
    double largest, values[2], low, high, magnitude;
};

/* A pass over both images. `slab` gets their slabs, whose first slice is `z` of volume `volume`. */
struct walk {
    struct source *sources[2];
    int threads;
    uint64_t *valid; /* the pixels of a slab that are compared; NULL: all */
    void *partials;  /* the partial counts of the slab's slices, one after the other */
    void (*slab)(struct walk *walk, const struct ts_image slabs[2], int64_t volume, int64_t z);
    struct difference *difference;
    struct compare_rule rule;
    struct compare_sums sums;
    double low, high;
};

/* ---- counts ---------------------------------------------------------------------------------- */

static double distance(double a, double b)
{
    const bool same = a == b || (isnan(a) && isnan(b));
    const double apart = fabs(a - b);
    if (same)
        return 0;
    return isfinite(apart) ? apart : (double)INFINITY;
}

static void count_row(struct counts *counts, const uint64_t *valid, const double *a,
                      const double *b, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double apart = distance(a[i], b[i]);
        if (valid && !(valid[(first + i) / 64] >> (first + i) % 64 & 1)) {
            counts->n_hidden += apart > 0;
            continue;
        }
        counts->n_nan[0] += isnan(a[i]);
        counts->n_nan[1] += isnan(b[i]);
        if (isfinite(a[i])) {
            counts->low = a[i] < counts->low ? a[i] : counts->low;
            counts->high = a[i] > counts->high ? a[i] : counts->high;
        }
        if (isfinite(b[i]))
            counts->magnitude = fabs(b[i]) > counts->magnitude ? fabs(b[i]) : counts->magnitude;
        counts->n_differ += apart > 0;
        if (apart > counts->largest) {
            counts->largest = apart;
            counts->at = first + i;
            counts->values[0] = a[i];
            counts->values[1] = b[i];
        }
    }
}

static struct counts count_slice(const struct ts_image slabs[2], int64_t z)
{
    enum { PIECE = 1024 };
    double rows[2][PIECE];
    struct counts counts = {.low = (double)INFINITY, .high = -(double)INFINITY};
    const int64_t n = (int64_t)ts_slice_count(&slabs[0]);
    for (int64_t first = 0; first < n; first += PIECE) {
        const int64_t length = n - first < PIECE ? n - first : PIECE;
        for (int side = 0; side < 2; side++)
            ts_load_f64(rows[side],
                        (const char *)ts_slice_data(&slabs[side], z) +
                            (size_t)first * ts_dtype_bytes(slabs[side].dtype),
                        slabs[side].dtype, (size_t)length);
        count_row(&counts, ts_slice_valid(&slabs[0], z), rows[0], rows[1], first, length);
    }
    return counts;
}

static void add_counts(struct walk *walk, const struct counts *counts, int64_t volume, int64_t z)
{
    struct difference *all = walk->difference;
    const int64_t columns = walk->sources[0]->image.axes[2].n;
    all->n_differ += counts->n_differ;
    all->n_hidden += counts->n_hidden;
    for (int side = 0; side < 2; side++)
        all->n_nan[side] += counts->n_nan[side];
    walk->low = fmin(walk->low, counts->low);
    walk->high = fmax(walk->high, counts->high);
    all->magnitude = fmax(all->magnitude, counts->magnitude);
    if (!(counts->largest > all->largest))
        return;
    all->largest = counts->largest;
    memcpy(all->values, counts->values, sizeof all->values);
    memcpy(all->at, (int64_t[]){volume, z, counts->at / columns, counts->at % columns},
           sizeof all->at);
}

static void count_slab(struct walk *walk, const struct ts_image slabs[2], int64_t volume, int64_t z)
{
    struct counts *counts = walk->partials;
    const int64_t n = slabs[0].axes[0].n;
#pragma omp parallel for schedule(dynamic) num_threads(walk->threads)
    for (int64_t i = 0; i < n; i++)
        counts[i] = count_slice(slabs, i);
    for (int64_t i = 0; i < n; i++)
        add_counts(walk, &counts[i], volume, z + i);
}

/* ---- measures -------------------------------------------------------------------------------- */

static void measure_slab(struct walk *walk, const struct ts_image slabs[2], int64_t volume,
                         int64_t z)
{
    struct compare_sums *sums = walk->partials;
    const struct ts_image images[2] = {slabs[1], slabs[0]}; /* against the first */
    const int64_t n = slabs[0].axes[0].n;
    (void)volume;
    (void)z;
    memset(sums, 0, (size_t)n * sizeof *sums);
#pragma omp parallel for schedule(dynamic) num_threads(walk->threads)
    for (int64_t i = 0; i < n; i++)
        ts_compare_slice(&walk->rule, images, i, &sums[i]);
    for (int64_t i = 0; i < n; i++)
        ts_compare_add(&walk->sums, &sums[i]);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Excludes the pixels of a slab that both sides have marked as invalid when read. */
static void choose_pixels(const struct walk *walk, int64_t first, int64_t n)
{
    const size_t words = ts_valid_bytes(&walk->sources[0]->image) / sizeof(uint64_t);
    for (int64_t z = 0; z < n; z++) {
        const uint64_t *a = ts_source_valid(walk->sources[0],
                                            ts_source_number(walk->sources[0], first + z)),
                       *b = ts_source_valid(walk->sources[1],
                                            ts_source_number(walk->sources[1], first + z));
        for (size_t word = 0; word < words; word++)
            walk->valid[(size_t)z * words + word] = a[word] | b[word];
    }
}

static enum ts_status take_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    struct walk *walk = user;
    struct ts_image slabs[2];
    (void)diag;
    for (int side = 0; side < 2; side++) {
        slabs[side] = walk->sources[side]->image;
        slabs[side].masked = walk->valid != NULL;
        slabs[side].valid = walk->valid;
        slabs[side].data = slab->data[side];
        slabs[side].axes[0].n = slab->n;
    }
    if (walk->valid)
        choose_pixels(walk, slab->volume * walk->sources[0]->n_slices + slab->z, slab->n);
    walk->slab(walk, slabs, slab->volume, slab->z);
    return TS_OK;
}

static enum ts_status walk_all(struct walk *walk, struct ts_diag *diag)
{
    return ts_source_walk(&(struct source_walk){.source = walk->sources[0],
                                                .beside = walk->sources[1],
                                                .take = take_slab,
                                                .user = walk},
                          diag);
}

/* Counts what each side marks as invalid, after all slices were read. */
static void count_invalid(struct difference *difference, struct source *const sources[2])
{
    const size_t words = ts_valid_bytes(&sources[0]->image) / sizeof(uint64_t),
                 n = ts_slice_count(&sources[0]->image);
    const bool both = sources[0]->valid && sources[1]->valid;
    for (int64_t i = 0; i < ts_source_total(sources[0]); i++) {
        const int64_t at[2] = {ts_source_number(sources[0], i), ts_source_number(sources[1], i)};
        const uint64_t *a = ts_source_valid(sources[0], at[0]),
                       *b = ts_source_valid(sources[1], at[1]);
        for (int side = 0; side < 2; side++)
            if (sources[side]->image.masked)
                difference->n_invalid[side] += sources[side]->slices[at[side]].padding_count;
        for (size_t word = 0; both && word < words; word++) {
            const uint64_t pixels =
                n - 64 * word < 64 ? UINT64_MAX >> (64 - (n - 64 * word)) : UINT64_MAX;
            difference->n_invalid_apart += __builtin_popcountll((a[word] ^ b[word]) & pixels);
            difference->n_invalid_both += __builtin_popcountll(~(a[word] | b[word]) & pixels);
        }
    }
}

static enum ts_status difference_prepare(struct walk *walk, struct ts_diag *diag)
{
    const size_t partial = sizeof(struct counts) > sizeof(struct compare_sums)
                               ? sizeof(struct counts)
                               : sizeof(struct compare_sums);
    const size_t most = (size_t)ts_source_slab_slices(walk->sources[0], walk->sources[1]);
    const size_t valid = most * ts_valid_bytes(&walk->sources[0]->image);
    const bool masked = walk->sources[0]->valid && walk->sources[1]->valid;
    walk->threads = ts_processors();
    walk->partials = malloc(most * partial);
    walk->valid = masked ? malloc(valid) : NULL;
    return !walk->partials || (masked && !walk->valid)
               ? ts_diag_no_memory(diag, most * partial + valid)
               : TS_OK;
}

static enum ts_status difference_measure(struct walk *walk,
                                         const struct difference_request *request,
                                         struct ts_diag *diag)
{
    struct difference *difference = walk->difference;
    const double range = walk->high > walk->low ? walk->high - walk->low : (double)NAN;
    difference->data_range = request->data_range > 0 ? request->data_range : range;
    const struct compare_params params = {.data_range = difference->data_range,
                                          .window = request->window};
    enum ts_status status = TS_OK;
    walk->rule = ts_compare_rule(&params);
    walk->slab = measure_slab;
    if (difference->n_differ > 0)
        status = walk_all(walk, diag);
    ts_compare_measure(&walk->sums, difference->data_range, difference->measures);
    if (difference->n_differ == 0)
        memcpy(difference->measures, (const double[COMPARE_MEASURES]){0, 0, 0, (double)INFINITY, 1},
               sizeof difference->measures);
    return status;
}

enum ts_status ts_difference(struct source *a, struct source *b,
                             const struct difference_request *request,
                             struct difference *difference, struct ts_diag *diag)
{
    struct walk walk = {.sources = {a, b},
                        .slab = count_slab,
                        .difference = difference,
                        .low = (double)INFINITY,
                        .high = -(double)INFINITY};
    *difference = (struct difference){.n = ts_source_total(a) * (int64_t)ts_slice_count(&a->image)};
    enum ts_status status = difference_prepare(&walk, diag);
    if (status == TS_OK)
        status = walk_all(&walk, diag);
    if (walk.low <= walk.high)
        difference->magnitude = fmax(difference->magnitude, fmax(fabs(walk.low), fabs(walk.high)));
    if (status == TS_OK)
        count_invalid(difference, walk.sources);
    if (status == TS_OK)
        status = difference_measure(&walk, request, diag);
    free(walk.partials);
    free(walk.valid);
    return status;
}
