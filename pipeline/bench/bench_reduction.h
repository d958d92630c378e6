/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing of the study of reductions (bench_reduction_print.c, bench_reduction_plot.c).
 */
#ifndef PIPELINE_BENCH_BENCH_REDUCTION_H
#define PIPELINE_BENCH_BENCH_REDUCTION_H

#include <stdio.h>

#include "cuda/bench/reduction_study.h"

/* Time of one processor / time, and that / processors. */
double ts_reduction_speed_up(const struct study_row *row);
double ts_reduction_efficiency(const struct study_row *row);

/* A table for people, or JSON. no_device: why no CUDA device takes part, or NULL. */
void ts_reduction_print(const struct study_row *rows, int n, bool json, const char *no_device, FILE *stream);
/* All rows as JSON. */
enum ts_status ts_reduction_save(const char *path, const struct study_row *rows, int n, struct ts_diag *diag);
/* Speed-up and efficiency against processors, two panels a device and work, a line a size and method (SVG). */
enum ts_status ts_reduction_plot(const char *path, const struct study_row *rows, int n, struct ts_diag *diag);

#endif
