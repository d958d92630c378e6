/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the study fan-in: what it measures (fan_in_study.c), its values and their checks
 * (fan_in_data.c), its runner on the CPU (fan_in_cpu.c; that of a CUDA device is
 * lab/cuda/fan_in_study.cu) and its chart (fan_in_plot.c). The study reductions uses its values and
 * its runners.
 */
#ifndef LAB_STUDY_FAN_IN_STUDY_H
#define LAB_STUDY_FAN_IN_STUDY_H

#include "lab/bench/table.h"
#include "lab/cuda/fan_in_study.h"

extern const char *const ts_fan_in_works[FAN_IN_ALL_WORKS], *const ts_fan_in_orders[FAN_IN_ORDERS];

struct fan_in_row {
    const char *device, *work, *method;
    int64_t n, processors;   /* values or tables, and threads */
    double seconds;          /* median */
    double fastest, slowest; /* the 10th and the 90th percentile */
    double spread;           /* from the one to the other, as a share of the median */
    double speed_up;   /* time of one processor of the device, one value or table after the other /
                          seconds */
    double low, high;  /* the speed-up of the slowest and of the fastest */
    double efficiency; /* speed-up / processors */
    double model;      /* the analytic speed-up of as many processors */
    bool own;          /* as many processors as the order keeps busy, or as there are */
};

/* Fills n values in [0, 1); works out what they should come to. */
void ts_fan_in_fill(float *values, int64_t n);
void ts_fan_in_expect(const float *values, int64_t n, double expected[FAN_IN_NUMBERS]);
/* Returns the number that a partial result of n values, a double or moments, stands for. */
double ts_fan_in_value(enum fan_in_work work, const void *partial, int64_t n);
/* True where both are equal, but for the rounding of 2^24 joins one after the other. */
bool ts_fan_in_right(enum fan_in_work work, double found, double expected);
/* Checks the number that the runner's last job came to and writes its distance as a share of the
 * expected one. TS_RUN_FAILED: it is wrong (study-result). */
enum ts_status ts_fan_in_check(struct fan_in_runner *runner, const struct fan_in_job *job,
                               double expected, struct ts_diag *diag, double *error);
/* True where the keys, which are the bits of the values, stand in rising order. */
bool ts_fan_in_sorted(const float *values, const uint32_t *keys, int64_t n);

/* Creates the runner of the CPU for at most n values, which the caller keeps, and so many threads.
 * Returns NULL where memory is out. */
struct fan_in_runner *ts_fan_in_cpu_create(const float *values, int64_t n, int threads,
                                           struct ts_diag *diag);
/* Creates the runner of a device, or of the CPU (NULL) with so many threads. peer may be NULL. */
struct fan_in_runner *ts_fan_in_runner_create(const struct device_numbers *device,
                                              const float *values, int64_t n, int threads,
                                              const struct fan_in_peer *peer, struct ts_diag *diag);

/* Returns the speed-up of the job's processors if a join takes one unit of time and all else none
 * (fan_in_study.c). */
double ts_fan_in_model(const struct fan_in_job *job);

/* Draws time, speed-up and efficiency of sums and of tables, three panels against n and three
 * against processors a device and work, with a line an order, and a dashed one of its analytic
 * speed-up and efficiency. */
enum ts_status ts_fan_in_plot(const struct table_rows *rows, const char *path,
                              struct ts_diag *diag);

#endif
