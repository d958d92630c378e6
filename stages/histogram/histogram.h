/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram counts the values of an image, or of each label, in bins of equal width, and passes the
 * image on unchanged. The counts become tables of the result. The layout of parameters, totals and
 * results is here because the CPU code and cuda/histogram/histogram.cu both write them.
 */
#ifndef STAGES_HISTOGRAM_HISTOGRAM_H
#define STAGES_HISTOGRAM_HISTOGRAM_H

#include "stages/counting/bins.h"
#include "stages/engine/stage.h"

enum histogram_method {
    HISTOGRAM_AUTO,
    HISTOGRAM_GLOBAL,
    HISTOGRAM_SUB,
    HISTOGRAM_SHARED,
    HISTOGRAM_OCCUPANCY,
    HISTOGRAM_WARP_TAGGED,
    HISTOGRAM_LANE_PRIVATE,
    HISTOGRAM_SAMPLED
};

enum histogram_merge {
    HISTOGRAM_MERGE_AUTO,
    HISTOGRAM_MERGE_ATOMIC,
    HISTOGRAM_MERGE_FAN_IN,
    HISTOGRAM_MERGE_TWO_LEVEL
};

struct histogram_params {
    int64_t bins;
    struct ts_numbers range;
    int32_t limits; /* enum limits */
    int32_t scope;  /* enum scope */
    int32_t method; /* enum histogram_method */
    int32_t merge;  /* enum histogram_merge */
    struct ts_reference reference, labels;
    int64_t n_labels;
    struct ts_reference mask;
};

enum { HISTOGRAM_REFERENCE = 1, HISTOGRAM_LABELS = 2, HISTOGRAM_MASK = 3 }; /* inputs */

/* A total for finish(), of an input that a CUDA device counted by value and then made bins from. */
struct histogram_binned {
    struct bins bins;
    uint64_t slots[]; /* the bins and BINS_EXTRA_SLOTS more: stages/counting/bins.h */
};

/* Returns true in the round that only looks for the range. */
bool ts_histogram_ranging(const struct stage_context *context);
/* Returns true if each value of an input has its own count, rather than each bin. */
bool ts_histogram_by_value(const struct stage_context *context, int input);
/* Returns true if a CUDA device makes bins from an input's counts of values: for 16-bit integers,
 * if the bins are known. */
bool ts_histogram_binned(const struct stage_context *context, int input);
/* The first returns true if the bins are known before a pixel is read, the second if they are known
 * when this round begins. */
bool ts_histogram_fixed_bins(const struct stage_context *context);
bool ts_histogram_known_bins(const struct stage_context *context);
/* Returns the bins of a round that knows them. */
struct bins ts_histogram_bins(const struct stage_context *context);
/* Returns the fastest method on a CUDA device for values of this type. */
enum histogram_method ts_histogram_fastest(enum ts_dtype dtype, bool by_value);

/* ---- histogram methods -------------------------------------------------------------------------
 *
 * The methods of histogram on the CPU, by the names that they have on a CUDA device (enum
 * histogram_method). They differ in how many tables of counts there are, which pixels each table
 * counts, and in which order the pixels are read; the counts are the same integers. All methods are
 * here except warp-tagged, which needs lanes of a warp that run in step. */

enum {
    HISTOGRAM_STRIP_COLUMNS = 512, /* columns of a strip of sub-histogram */
    HISTOGRAM_PART_PIXELS = 65536, /* least pixels of a part of shared */
    HISTOGRAM_PART_SLOTS = 16,     /* least pixels of a part of shared for each slot of its table */
    HISTOGRAM_ROWS = 4             /* rows that occupancy takes at a time */
};

/* Set *counts to those of the slices, by any method that the CPU has; HISTOGRAM_AUTO counts as
 * other stages do. Methods with tables keep them in the memory behind the counts, which is then not
 * cleared again. */
void ts_histogram_values_of(enum histogram_method method, struct value_counts *counts,
                            const struct ts_image *slices);
void ts_histogram_bins_of(enum histogram_method method, struct bin_counts *counts,
                          const struct bins *bins, const struct ts_image *slices);

#endif
