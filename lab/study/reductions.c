/* SPDX-License-Identifier: Apache-2.0
 *
 * The study reductions: sum, product, minimum, maximum, variance and sort of n values by a tree of
 * joins, on as many processors as the device has, against one processor of the CPU and against cub.
 * Numbers are joined in two levels (stages/values/fan_in.h); the tree that sorts merges runs two by
 * two, and stands beside the radix sort that stages use. Numbers are compared with those of
 * extended precision, and sorted keys with the values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/study/fan_in_study.h"
#include "lab/study/study_rows.h"

enum { N_SIZES = 6 };
static const int64_t sizes[N_SIZES] = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
static const struct fan_in_peer *peer;

void ts_study_use_peer(const struct fan_in_peer *library)
{
    peer = library;
}

/* A method of a work: an order of joins. */
struct method {
    enum fan_in_order order;
    const char *name;
    bool on_cpu, on_cuda;
};
static const struct method of_numbers[] = {{FAN_IN_SERIAL, "serial", true, false},
                                           {FAN_IN_TWO_LEVEL, "tree", true, true},
                                           {FAN_IN_PEER, NULL, false, true}};
static const struct method of_sorts[] = {{FAN_IN_RADIX, "radix", true, true},
                                         {FAN_IN_MERGE_TREE, "tree", true, true},
                                         {FAN_IN_PEER, NULL, false, true}};
enum { METHODS = 3 };

struct measuring {
    struct study_run *run;
    struct fan_in_runner *runner;
    struct fan_in_job job;
    const float *values;
    uint32_t *keys; /* as many as there are values */
    double expected[N_SIZES][FAN_IN_NUMBERS];
};

static enum ts_status join_once(void *data, double *seconds)
{
    struct measuring *it = data;
    const enum ts_status status = it->runner->begin(it->runner, &it->job, NULL);
    return status == TS_OK ? it->runner->join(it->runner, &it->job, seconds) : status;
}

static enum ts_status check(const struct measuring *it, const double expected[FAN_IN_NUMBERS],
                            double *error)
{
    *error = 0;
    if (it->job.work != FAN_IN_SORT)
        return ts_fan_in_check(it->runner, &it->job, expected[it->job.work], it->run->diag, error);
    const enum ts_status status = it->runner->end(it->runner, &it->job, it->keys);
    if (status != TS_OK || ts_fan_in_sorted(it->values, it->keys, it->job.n))
        return status;
    return ts_diag_error(it->run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                         "%lld values were not sorted", (long long)it->job.n);
}

static enum ts_status measure_method(struct measuring *it, const struct method *method,
                                     const double expected[FAN_IN_NUMBERS])
{
    const bool on_cpu = !strcmp(it->runner->device, "CPU");
    int64_t numbers[FAN_IN_PROCESSORS];
    struct study_row row = {.device = it->runner->device,
                            .x = it->job.n,
                            .threads = on_cpu ? 1 : -1,
                            .items = (double)it->job.n,
                            .number = NAN};
    if (!(on_cpu ? method->on_cpu : method->on_cuda) || (method->order == FAN_IN_PEER && !peer))
        return TS_OK;
    snprintf(row.subject, sizeof row.subject, "%s", ts_fan_in_works[it->job.work]);
    snprintf(row.method, sizeof row.method, "%s", method->name ? method->name : peer->name);
    it->job.order = method->order;
    it->job.processors = 1;
    if (method->order == FAN_IN_TWO_LEVEL || method->order == FAN_IN_MERGE_TREE) {
        const int n = it->runner->processors(it->runner, &it->job, numbers);
        it->job.processors = numbers[n - 1];
        row.threads = on_cpu ? it->job.processors : -1;
    }
    enum ts_status status = ts_study_time(it->run, join_once, it, &row);
    if (status == TS_OK)
        status = check(it, expected, &row.error);
    return status == TS_OK ? ts_study_add(it->run, &row) : status;
}

/* Measures all works on one device, and destroys its runner, which is NULL where it could not be
 * made. */
static enum ts_status measure_device_take(struct fan_in_runner *runner, struct measuring it,
                                          int n_sizes)
{
    enum ts_status status = runner ? TS_OK : TS_RUN_FAILED;
    it.runner = runner;
    for (int work = 0; work < FAN_IN_ALL_WORKS; work++)
        for (int i = 0; status == TS_OK && work != FAN_IN_TABLES && i < n_sizes; i++) {
            for (int k = 0; status == TS_OK && k < METHODS; k++) {
                it.job = (struct fan_in_job){.work = (enum fan_in_work)work, .n = sizes[i]};
                status = measure_method(&it, work == FAN_IN_SORT ? &of_sorts[k] : &of_numbers[k],
                                        it.expected[i]);
            }
        }
    if (runner)
        runner->destroy(runner);
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    int n_sizes = 1;
    while (n_sizes < N_SIZES && (run->request->most == 0 || sizes[n_sizes] <= run->request->most))
        n_sizes++;
    const int64_t n = sizes[n_sizes - 1];
    float *values = malloc((size_t)n * sizeof *values);
    uint32_t *keys = malloc((size_t)n * sizeof *keys);
    struct measuring it = {.run = run, .values = values, .keys = keys};
    enum ts_status status =
        values && keys ? TS_OK : ts_diag_no_memory(run->diag, (size_t)n * 2 * sizeof *values);
    if (status == TS_OK)
        ts_fan_in_fill(values, n);
    for (int i = 0; status == TS_OK && i < n_sizes; i++)
        ts_fan_in_expect(values, sizes[i], it.expected[i]);
    if (status == TS_OK && run->devices.on_cpu)
        status = measure_device_take(
            ts_fan_in_runner_create(NULL, values, n, run->threads, peer, run->diag), it, n_sizes);
    if (status == TS_OK && run->devices.device)
        status = measure_device_take(
            ts_fan_in_runner_create(run->devices.device, values, n, run->threads, peer, run->diag),
            it, n_sizes);
    free(values);
    free(keys);
    return status;
}

/* ---- the study ------------------------------------------------------------------------------- */

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("n", "n")};

static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const sum = "sum", *const sort = "sort";
    const struct study_row *tree = ts_study_find(rows, "CPU", sum, "tree", -1),
                           *radix = ts_study_find(rows, "CPU", sort, "radix", -1);
    const char *between = "";
    if (tree && radix) {
        fprintf(stream,
                "CPU, %lld values: the tree of %lld threads sums %.2f times as fast as one thread "
                "does, and sorts %.2f times as fast as radix by one thread",
                (long long)tree->x, (long long)tree->threads,
                ts_study_ratio(rows, "CPU", sum, "serial", "tree", tree->x),
                ts_study_ratio(rows, "CPU", sort, "radix", "tree", tree->x));
        between = "; ";
    }
    tree = ts_study_find(rows, "CUDA", sum, "tree", -1);
    if (!tree)
        return;
    fprintf(stream, "%sCUDA, %lld values: radix sorts %.2f times as fast as the tree", between,
            (long long)tree->x, ts_study_ratio(rows, "CUDA", sort, "tree", "radix", tree->x));
    if (peer)
        fprintf(stream,
                ", %s sums %.2f times as fast as the tree, and sorts %.2f times as fast as radix",
                peer->name, ts_study_ratio(rows, "CUDA", sum, "tree", peer->name, tree->x),
                ts_study_ratio(rows, "CUDA", sort, "radix", peer->name, tree->x));
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "reductions and sorts of n values", "number n of values", path,
                         diag);
}

const struct study ts_reductions_study = {
    .name = "reductions",
    .own_data = true,
    .sentence = "sum, product, minimum, maximum, variance and sort by a tree, against one "
                "processor and cub",
    .heading = "n floats are joined in double (tree: in two levels, by as many threads as there "
               "are; serial: one thread), or their\nbits are sorted (tree: runs are merged two by "
               "two; radix: as stages sort, on the CPU with one thread).\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "on a G80 a tree of 2^22 values took 0.27 ms once each thread added several values "
             "before it, 30 times less than the first one that only paired them (M. Harris, "
             "Optimizing Parallel Reduction in CUDA, 2007), and radix was the fastest sort, a tree "
             "of merges the fastest that compares (N. Satish, M. Harris, M. Garland, 2009)",
    .finding = finding,
};
