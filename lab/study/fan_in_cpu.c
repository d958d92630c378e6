/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner of the study fan-in on the CPU, whose processors are threads of OpenMP. Each works out
 * a contiguous share of a step and waits for the others after it; tables are shared out by bins, so
 * that no thread waits for another.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "core/timing.h"
#include "lab/study/fan_in_study.h"
#include "lab/study/merge_sort.h"
#include "stages/values/radix_sort.h"

enum { LANES = 8, LEAST_RUN = 64, MOST_TABLES = 256, REPEATS = 32, FEW_VALUES = 1 << 16 };

struct cpu_runner {
    struct fan_in_runner runner; /* first: the study's view of it */
    const float *values;
    int threads;      /* at the most */
    void *parts;      /* partial results of half as many values; or twice as many keys */
    uint32_t *sorted; /* in parts */
    uint64_t *tables; /* thread by thread, that thread's bins of each table */
};

/* ---- partial results ------------------------------------------------------------------------- */

/* The functions of one work, whose partial results have a type: `of` makes one of a value, `join`
 * joins partial results a and b. run: one processor, whose vector lanes take neighbors, joins n > 0
 * values into parts[at]. first: the first step of a fan-in joins values i and i + stride into
 * parts[i], for n such i from `begin` on. step: a later one joins parts[i + stride] into
 * parts[i]. */
#define OPERATION(name, type, of, join)                                                            \
    static inline type of_##name(float v)                                                          \
    {                                                                                              \
        const double value = (double)v;                                                            \
        return of;                                                                                 \
    }                                                                                              \
    static inline type join_##name(type a, type b)                                                 \
    {                                                                                              \
        return join;                                                                               \
    }                                                                                              \
    TS_VECTORIZED static void name##_run(void *parts, int64_t at, const float *values, int64_t n)  \
    {                                                                                              \
        type lanes[LANES], all = of_##name(values[0]);                                             \
        const int64_t whole = n / LANES * LANES;                                                   \
        for (int64_t lane = 0; whole && lane < LANES; lane++)                                      \
            lanes[lane] = of_##name(values[lane]);                                                 \
        for (int64_t i = LANES; i < whole; i += LANES)                                             \
            for (int64_t lane = 0; lane < LANES; lane++)                                           \
                lanes[lane] = join_##name(lanes[lane], of_##name(values[i + lane]));               \
        if (whole)                                                                                 \
            all = lanes[0];                                                                        \
        for (int64_t lane = 1; whole && lane < LANES; lane++)                                      \
            all = join_##name(all, lanes[lane]);                                                   \
        for (int64_t i = whole ? whole : 1; i < n; i++)                                            \
            all = join_##name(all, of_##name(values[i]));                                          \
        ((type *)parts)[at] = all;                                                                 \
    }                                                                                              \
    TS_VECTORIZED static void name##_first(void *parts, int64_t begin, int64_t n,                  \
                                           const float *values, int64_t stride)                    \
    {                                                                                              \
        type *own = (type *)parts + begin;                                                         \
        const float *lower = values + begin, *upper = lower + stride;                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            own[i] = join_##name(of_##name(lower[i]), of_##name(upper[i]));                        \
    }                                                                                              \
    TS_VECTORIZED static void name##_step(void *parts, int64_t begin, int64_t n, int64_t stride)   \
    {                                                                                              \
        type *own = (type *)parts + begin;                                                         \
        const type *upper = own + stride;                                                          \
        for (int64_t i = 0; i < n; i++)                                                            \
            own[i] = join_##name(own[i], upper[i]);                                                \
    }                                                                                              \
    TS_VECTORIZED static void name##_first_pairs(void *parts, int64_t begin, int64_t n,            \
                                                 const float *values)                              \
    {                                                                                              \
        for (int64_t i = begin; i < begin + n; i++)                                                \
            ((type *)parts)[i] =                                                                   \
                join_##name(of_##name(values[2 * i]), of_##name(values[2 * i + 1]));               \
    }                                                                                              \
    TS_VECTORIZED static void name##_pairs(void *parts, int64_t begin, int64_t n, int64_t gap)     \
    {                                                                                              \
        type *own = (type *)parts + begin * 2 * gap;                                               \
        for (int64_t i = 0; i < n; i++, own += 2 * gap)                                            \
            *own = join_##name(*own, own[gap]);                                                    \
    }
#define MOMENTS(sum, squares) ((struct fan_in_moments){sum, squares})
OPERATION(sum, double, value, a + b)
OPERATION(product, double, FAN_IN_FACTOR(value), a *b)
OPERATION(min, double, value, b < a ? b : a)
OPERATION(max, double, value, b > a ? b : a)
OPERATION(variance, struct fan_in_moments,
          MOMENTS(value - FAN_IN_SHIFT, (value - FAN_IN_SHIFT) * (value - FAN_IN_SHIFT)),
          MOMENTS(a.sum + b.sum, a.squares + b.squares))

static const struct operation {
    void (*run)(void *parts, int64_t at, const float *values, int64_t n);
    void (*first)(void *parts, int64_t begin, int64_t n, const float *values, int64_t stride);
    void (*step)(void *parts, int64_t begin, int64_t n, int64_t stride);
    void (*first_pairs)(void *parts, int64_t begin, int64_t n, const float *values);
    void (*pairs)(void *parts, int64_t begin, int64_t n, int64_t gap);
} operations[FAN_IN_NUMBERS] = {
#define STEPS(name)                                                                                \
    {                                                                                              \
        name##_run, name##_first, name##_step, name##_first_pairs, name##_pairs                    \
    }
    [FAN_IN_SUM] = STEPS(sum), [FAN_IN_PRODUCT] = STEPS(product),   [FAN_IN_MIN] = STEPS(min),
    [FAN_IN_MAX] = STEPS(max), [FAN_IN_VARIANCE] = STEPS(variance),
};

/* ---- reductions ------------------------------------------------------------------------------ */

/* Each of the threads does a contiguous share of a step, and waits for the others after it. */
static void fan_in(const struct cpu_runner *cpu, const struct operation *operation,
                   const struct fan_in_job *job)
{
    const bool adjacent = job->order == FAN_IN_ADJACENT;
#pragma omp parallel num_threads((int)job->processors)
    {
        const int64_t thread = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t stride = job->n / 2, first = stride * thread / all,
                end = stride * (thread + 1) / all;
        if (adjacent)
            operation->first_pairs(cpu->parts, first, end - first, cpu->values);
        else
            operation->first(cpu->parts, first, end - first, cpu->values, stride);
        for (stride /= 2; stride > 0; stride /= 2) {
#pragma omp barrier
            first = stride * thread / all;
            end = stride * (thread + 1) / all;
            if (adjacent)
                operation->pairs(cpu->parts, first, end - first, job->n / 4 / stride);
            else
                operation->step(cpu->parts, first, end - first, stride);
        }
    }
}

/* The threads share runs of about sqrt(n) values; the results of the runs fan in on one of them. */
static void two_level(const struct cpu_runner *cpu, const struct operation *operation,
                      const struct fan_in_job *job)
{
    const int64_t n = job->n,
                  length = (int64_t)ts_run_length((size_t)n, LEAST_RUN, LEAST_RUN, (size_t)n);
    int64_t n_runs = (n + length - 1) / length;
#pragma omp parallel for schedule(static) num_threads((int)job->processors)
    for (int64_t run = 0; run < n_runs; run++) {
        const int64_t left = n - run * length;
        operation->run(cpu->parts, run, cpu->values + run * length, left < length ? left : length);
    }
    for (int64_t stride = (int64_t)ts_fan_in_stride((size_t)n_runs); stride > 0;
         n_runs = stride, stride /= 2)
        operation->step(cpu->parts, 0, n_runs - stride, stride);
}

/* Each of the threads has tables of its own for its share of the bins, and joins those. */
struct share {
    uint64_t *tables;
    int64_t first, n; /* bins */
};

static struct share share_of(const struct cpu_runner *cpu, const struct fan_in_job *job,
                             int64_t thread)
{
    const int64_t first = FAN_IN_BINS * thread / job->processors,
                  end = FAN_IN_BINS * (thread + 1) / job->processors;
    return (struct share){cpu->tables + first * job->n, first, end - first};
}

TS_VECTORIZED static void add_counts(uint64_t *into, const uint64_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        into[i] += from[i];
}

static void join_tables(const struct cpu_runner *cpu, const struct fan_in_job *job)
{
#pragma omp parallel for schedule(static, 1) num_threads((int)job->processors)
    for (int64_t thread = 0; thread < job->processors; thread++) {
        const struct share share = share_of(cpu, job, thread);
        if (job->order != FAN_IN_SERIAL)
            ts_tables_join(share.tables, (size_t)job->n, (size_t)share.n,
                           (enum reduction_method)job->order);
        for (int64_t table = 1; job->order == FAN_IN_SERIAL && table < job->n; table++)
            add_counts(share.tables, share.tables + table * share.n, share.n);
    }
}

/* ---- the runner ------------------------------------------------------------------------------ */

static struct cpu_runner *own(struct fan_in_runner *runner)
{
    return (struct cpu_runner *)runner;
}

/* Lists 1, 2, 4, ... and all threads. */
static int processors(const struct fan_in_runner *runner, const struct fan_in_job *job,
                      int64_t numbers[FAN_IN_PROCESSORS])
{
    const int64_t all = ((const struct cpu_runner *)runner)->threads;
    int n = 0;
    (void)job;
    for (int64_t p = 1; p < all && n < FAN_IN_PROCESSORS - 1; p *= 2)
        numbers[n++] = p;
    numbers[n++] = all;
    return n;
}

static enum ts_status begin(struct fan_in_runner *runner, const struct fan_in_job *job,
                            const uint32_t *tables)
{
    const struct cpu_runner *cpu = own(runner);
    const bool sorts = job->work == FAN_IN_SORT;
    memset(cpu->parts, 0xFF,
           sorts ? (size_t)job->n * 2 * sizeof *cpu->sorted
                 : sizeof(struct fan_in_moments)); /* NaN */
    if (sorts && job->order == FAN_IN_RADIX)
        memcpy(cpu->parts, cpu->values, (size_t)job->n * sizeof *cpu->sorted);
    for (int64_t thread = 0; job->work == FAN_IN_TABLES && thread < job->processors; thread++) {
        const struct share share = share_of(cpu, job, thread);
        for (int64_t i = 0; i < job->n * share.n; i++)
            share.tables[i] = tables[i / share.n * FAN_IN_BINS + share.first + i % share.n];
    }
    return TS_OK;
}

/* The keys are the bits of the values. Radix sorts by one thread, as stages do, and in place. */
static void sort(struct cpu_runner *cpu, const struct fan_in_job *job)
{
    cpu->sorted = cpu->parts;
    if (job->order == FAN_IN_RADIX)
        ts_radix_sort(cpu->sorted, cpu->sorted + job->n, (size_t)job->n);
    else
        cpu->sorted =
            ts_merge_sort((const uint32_t *)cpu->values, cpu->parts, job->n, (int)job->processors);
}

static void join_once(struct cpu_runner *cpu, const struct fan_in_job *job)
{
    if (job->work == FAN_IN_TABLES)
        join_tables(cpu, job);
    else if (job->work == FAN_IN_SORT)
        sort(cpu, job);
    else if (job->order == FAN_IN_SERIAL)
        operations[job->work].run(cpu->parts, 0, cpu->values, job->n);
    else if (job->order == FAN_IN_TWO_LEVEL)
        two_level(cpu, &operations[job->work], job);
    else
        fan_in(cpu, &operations[job->work], job);
}

/* Short reductions are repeated within a measurement; tables and sorts, which a repetition would
 * change, are not. */
static enum ts_status join(struct fan_in_runner *runner, const struct fan_in_job *job,
                           double *seconds)
{
    const int repeats = job->n < FEW_VALUES && job->work < FAN_IN_NUMBERS ? REPEATS : 1;
    const double start = ts_seconds();
    for (int i = 0; i < repeats; i++)
        join_once(own(runner), job);
    *seconds = (ts_seconds() - start) / repeats;
    return TS_OK;
}

static enum ts_status end(struct fan_in_runner *runner, const struct fan_in_job *job, void *result)
{
    const struct cpu_runner *cpu = own(runner);
    if (job->work == FAN_IN_SORT)
        memcpy(result, cpu->sorted, (size_t)job->n * sizeof *cpu->sorted);
    else if (job->work != FAN_IN_TABLES)
        memcpy(result, cpu->parts, sizeof(struct fan_in_moments));
    for (int64_t thread = 0; job->work == FAN_IN_TABLES && thread < job->processors; thread++) {
        const struct share share = share_of(cpu, job, thread);
        for (int64_t bin = 0; bin < share.n; bin++)
            ((uint32_t *)result)[share.first + bin] = (uint32_t)share.tables[bin];
    }
    return TS_OK;
}

static void destroy(struct fan_in_runner *runner)
{
    free(own(runner)->parts);
    free(own(runner)->tables);
    free(runner);
}

struct fan_in_runner *ts_fan_in_cpu_create(const float *values, int64_t n, int threads,
                                           struct ts_diag *diag)
{
    struct cpu_runner *cpu = calloc(1, sizeof *cpu);
    if (cpu) {
        *cpu = (struct cpu_runner){
            .runner = {.device = "CPU",
                       .tables = {FAN_IN_LEAST_TABLES, 64, MOST_TABLES},
                       .least_runs = 5,
                       .most_runs = 15,
                       .budget = 0.1,
                       .processors = processors,
                       .begin = begin,
                       .join = join,
                       .end = end,
                       .destroy = destroy},
            .values = values,
            .threads = threads,
            .parts = malloc((size_t)n / 2 * sizeof(struct fan_in_moments)),
            .tables = calloc((size_t)MOST_TABLES * FAN_IN_BINS, sizeof *cpu->tables)};
        if (cpu->parts && cpu->tables)
            return &cpu->runner;
        destroy(&cpu->runner);
    }
    ts_diag_no_memory(diag, (size_t)n * sizeof *values);
    return NULL;
}
