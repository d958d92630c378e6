/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the study fan-in: what it measures and checks (fan_in_study.c), its runner on the CPU (fan_in_cpu.c;
 * that of a CUDA device is cuda/study/fan_in_study.cu) and its chart (fan_in_plot.c).
 */
#ifndef PIPELINE_STUDY_FAN_IN_STUDY_H
#define PIPELINE_STUDY_FAN_IN_STUDY_H

#include "cuda/study/fan_in_study.h"
#include "pipeline/command/table.h"

extern const char *const ts_fan_in_works[FAN_IN_WORKS], *const ts_fan_in_orders[FAN_IN_ORDERS];

struct fan_in_row {
    const char *device, *work, *method;
    int64_t n, processors;   /* values or tables, and threads */
    double seconds;          /* median */
    double fastest, slowest; /* the 10th and the 90th percentile */
    double spread;           /* from the one to the other, as a share of the median */
    double speed_up;         /* time of one processor of the device, one value or table after the other / seconds */
    double low, high;        /* the speed-up of the slowest and of the fastest */
    double efficiency;       /* speed-up / processors */
};

/* Returns the number that a partial result of n values, a double or moments, stands for. */
double ts_fan_in_value(enum fan_in_work work, const void *partial, int64_t n);
/* True where both are equal, but for the rounding of 2^24 joins one after the other. */
bool ts_fan_in_right(enum fan_in_work work, double found, double expected);

/* Creates the runner of the CPU for at most n values, which the caller keeps. Returns NULL where memory is out. */
struct fan_in_runner *ts_fan_in_cpu_create(const float *values, int64_t n, struct ts_diag *diag);

/* Draws speed-up and efficiency against processors, two panels a device and work, with a line a size and method. */
enum ts_status ts_fan_in_plot(const struct table_rows *rows, const char *path, struct ts_diag *diag);

#endif
