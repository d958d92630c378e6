/* SPDX-License-Identifier: Apache-2.0
 *
 * Times the two orders in which partial results are joined (stages/values/fan_in.h) against size and number of
 * processors, on a CUDA device.
 */
#ifndef CUDA_BENCH_REDUCTION_STUDY_H
#define CUDA_BENCH_REDUCTION_STUDY_H

#include "cuda/device/device.h"
#include "stages/values/fan_in.h"

/* What n values are joined to, in double; and n tables of counts to their sum. */
enum study_work { STUDY_SUM, STUDY_PRODUCT, STUDY_MIN, STUDY_MAX, STUDY_VARIANCE, STUDY_TABLES, STUDY_WORKS };
enum { STUDY_NUMBERS = STUDY_TABLES, STUDY_BINS = 4096, STUDY_LEAST_TABLES = 16 };
extern const char *const ts_study_works[STUDY_WORKS];

/* A value's factor in the product: so near to 1 that 2^24 of them neither vanish nor overflow, and exact. */
#define STUDY_FACTOR(value) (1 + ((double)(value)-0.5) * 0x1p-12)

/* A partial result of the variance, sum((v - s)^2)/n - (sum(v - s)/n)^2 with s near the mean, which loses no digits (T.
 * F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", 1983). */
struct study_moments {
    double sum, squares;
};
#define STUDY_SHIFT 0.5

/* One reduction of n values, or of n tables, by a number of processors. */
struct study_row {
    const char *device; /* "CPU", "CUDA" */
    enum study_work work;
    enum reduction_method method;
    int64_t n, processors;
    double seconds; /* median */
    double serial;  /* seconds of one processor of the device, one value, or table, after the other */
};

/* splitmix64 (S. Vigna), in [0, 1): what is joined. */
void ts_study_fill(float *values, int64_t n);

/* What table `table` has in a bin, below 2^20. */
uint32_t ts_study_count(uint64_t table, uint64_t bin);

/* What the values come to, by work. */
struct study_answers {
    double of[STUDY_NUMBERS];
};

/* What a partial result of n values, a double or moments, comes to. */
double ts_study_value(enum study_work work, const void *partial, int64_t n);
/* Equal, but for the rounding of 2^24 joins one after the other. */
bool ts_study_right(enum study_work work, double found, double expected);

/* Whether a study of `most` values at the most (0: of any number) joins n tables; the fewest always. */
static inline bool ts_study_joins(int64_t n, int64_t most)
{
    return most == 0 || n <= STUDY_LEAST_TABLES || n * STUDY_BINS <= most;
}

/* Appends rows; fails where the first sizes[i] values do not come to expected[i], or joined tables are not the
 * sums of theirs. */
enum ts_status ts_cuda_reduction_study(const struct device_numbers *device, const int64_t *sizes,
                                       const struct study_answers *expected, int n_sizes, int64_t most,
                                       struct ts_diag *diag, struct study_row *rows, int room, int *n_rows);

#endif
