/* SPDX-License-Identifier: Apache-2.0
 *
 * Times the two orders in which partial results are joined (stages/common/fan_in.h) against size and number of
 * processors, on a CUDA device.
 */
#ifndef CUDA_REDUCTION_STUDY_H
#define CUDA_REDUCTION_STUDY_H

#include "cuda/device.h"
#include "stages/common/fan_in.h"

/* One reduction of n numbers, or of n tables, by a number of processors. */
struct study_row {
    const char *device; /* "CPU", "CUDA" */
    const char *work;   /* "sum", "tables" */
    enum reduction_method method;
    int64_t n, processors;
    double seconds; /* median */
    double serial;  /* seconds of one processor of the device, one number after the other */
};

enum { STUDY_BINS = 4096 };

/* splitmix64 (S. Vigna), in [0, 1): what is summed. */
void ts_study_fill(float *values, int64_t n);

/* What table `table` has in a bin, below 2^20. */
uint32_t ts_study_count(uint64_t table, uint64_t bin);

/* Appends rows; fails where a sum is further than 1e-12 of itself from `sums`[i], that of the first sizes[i] values, or
 * joined tables are not the sums of theirs. */
enum ts_status ts_cuda_reduction_study(const struct cuda_device *device, const int64_t *sizes, const double *sums,
                                       int n_sizes, struct ts_diag *diag, struct study_row *rows, int room,
                                       int *n_rows);

#endif
