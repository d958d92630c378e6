/* SPDX-License-Identifier: Apache-2.0
 *
 * The study fan-in (lab/study/fan_in_study.c) measures the orders in which partial results are
 * joined, by a number of processors, on the CPU and on a CUDA device; the study reductions
 * (lab/study/reductions.c) compares them with cub. A runner is a device that joins, or sorts; the
 * studies ask runners for their times and check their results.
 */
#ifndef LAB_CUDA_FAN_IN_STUDY_H
#define LAB_CUDA_FAN_IN_STUDY_H

#include <math.h>

#include "cuda/device/device.h"
#include "stages/values/fan_in.h"

/* This is the work: n values are joined in double, or n tables of counts to their sum; or n values
 * are sorted. */
enum fan_in_work {
    FAN_IN_SUM,
    FAN_IN_PRODUCT,
    FAN_IN_MIN,
    FAN_IN_MAX,
    FAN_IN_VARIANCE,
    FAN_IN_TABLES,
    FAN_IN_SORT,
    FAN_IN_ALL_WORKS,
    FAN_IN_NUMBERS = FAN_IN_TABLES, /* of the works above it, whose result is a number */
    FAN_IN_WORKS = FAN_IN_SORT      /* of the study fan-in */
};
enum { FAN_IN_BINS = 4096, FAN_IN_LEAST_TABLES = 16 };

/* This is a value's factor in the product. It is exact, and so near to 1 that 2^24 of them neither
 * vanish nor overflow. */
#define FAN_IN_FACTOR(value) (1 + ((double)(value)-0.5) * 0x1p-12)

/* This is a partial result of the variance, sum((v - s)^2)/n - (sum(v - s)/n)^2 with s near the
 * mean, which loses no digits (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing
 * the sample variance", 1983). */
struct fan_in_moments {
    double sum, squares;
};
#define FAN_IN_SHIFT 0.5

/* This is the order of the joins: those that stages have (stages/values/fan_in.h), and two to
 * compare them with. Serial: one processor takes one value, or table, after the other. Adjacent:
 * value 0 takes in 1, 2 takes in 3, ...; then 0 takes in 2, 4 takes in 6, ...: as many joins and
 * steps as halving with stride, but neighboring processors work on values that lie ever farther
 * apart. A sort is none of these: radix is what stages use (stages/values/radix_sort.h), and the
 * tree of merges joins sorted runs two by two. */
enum fan_in_order {
    FAN_IN_SERIAL = REDUCTION_AUTO,
    FAN_IN_STRIDE = REDUCTION_FAN_IN,
    FAN_IN_TWO_LEVEL = REDUCTION_TWO_LEVEL,
    FAN_IN_ADJACENT,
    FAN_IN_RADIX,
    FAN_IN_MERGE_TREE,
    FAN_IN_ORDERS,
    FAN_IN_PEER = FAN_IN_ORDERS /* another library does the job, in an order of its own */
};

/* A job is the work on n values, n a power of two, or on n tables, by a number of processors, which
 * are threads. */
struct fan_in_job {
    enum fan_in_work work;
    enum fan_in_order order; /* tables are not joined by adjacent pairing */
    int64_t n, processors;
};

/* Returns how many processors the order keeps busy in its first step: n / 2, or as many as two
 * levels have runs. */
static inline int64_t ts_fan_in_busy(const struct fan_in_job *job)
{
    return job->order == FAN_IN_TWO_LEVEL ? (int64_t)sqrt((double)job->n) : job->n / 2;
}

enum { FAN_IN_PROCESSORS = 24, FAN_IN_TABLE_NUMBERS = 4 };

struct fan_in_runner {
    const char *device;                   /* "CPU", "CUDA" */
    int64_t tables[FAN_IN_TABLE_NUMBERS]; /* how many tables it joins, rising; 0: no more */
    /* A reduction is timed up to most_runs times, and after least_runs of them until so many
     * seconds are spent. */
    int least_runs, most_runs;
    double budget;
    /* Lists the numbers of processors to measure a job with; returns how many. */
    int (*processors)(const struct fan_in_runner *runner, const struct fan_in_job *job,
                      int64_t numbers[FAN_IN_PROCESSORS]);
    /* Makes ready for a job: poisons its result, so that it must be written; or takes n tables of
     * FAN_IN_BINS counts. */
    enum ts_status (*begin)(struct fan_in_runner *runner, const struct fan_in_job *job,
                            const uint32_t *tables);
    /* Carries the job out once, and measures it. */
    enum ts_status (*join)(struct fan_in_runner *runner, const struct fan_in_job *job,
                           double *seconds);
    /* Reads the result: the partial result of all values, a double or a struct fan_in_moments; or
     * FAN_IN_BINS counts of uint32_t; or n sorted keys. */
    enum ts_status (*end)(struct fan_in_runner *runner, const struct fan_in_job *job, void *result);
    void (*destroy)(struct fan_in_runner *runner);
};

struct CUstream_st;

/* Another library that does jobs on the same device memory, for FAN_IN_PEER. */
struct fan_in_peer {
    const char *name;
    /* Enqueues the job on n values, whose bits are the keys of a sort, and writes what end() reads.
     * Where scratch is NULL it only writes how many bytes of scratch it needs. Returns 0, or the
     * library's error. */
    int (*run)(const struct fan_in_job *job, const float *values, void *result, void *scratch,
               size_t *bytes, struct CUstream_st *stream);
};

extern const struct fan_in_peer ts_peer_cub_reductions; /* lab/peers/cub_reductions.cu */

/* Creates the runner of a CUDA device for at most n values, which it copies. peer may be NULL.
 * Returns NULL with a record in diag where memory is out or the device failed. */
struct fan_in_runner *ts_cuda_fan_in_create(const struct device_numbers *device,
                                            const float *values, int64_t n,
                                            const struct fan_in_peer *peer, struct ts_diag *diag);

#endif
