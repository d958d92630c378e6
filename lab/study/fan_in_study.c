/* SPDX-License-Identifier: Apache-2.0
 *
 * The study fan-in: speed-up and efficiency of the orders in which partial results are joined
 * (stages/values/fan_in.h), against size N and number of processors p: S = T1/Tp, E = S/p, where T1
 * is the time of one processor that takes one value after the other. Beside them stand S and E of
 * machines whose joins take one unit of time and all else none.
 *
 * One processor takes N - 1 units. A step of a fan-in with k joins takes ceil(k/p), so that p = N/2
 * processors take log2 N: S(N) = (N - 1) / log2 N and E(N) = 2 (N - 1) / (N log2 N), which falls to
 * 0. In two levels, p processors first join N/p values each, and their results fan in: N/p - 1 +
 * log2 p units, so that p = sqrt(N) gives S(N) = (N - 1) / (sqrt(N) - 1 + log2(N)/2) and an E(N)
 * that rises to 1 (R. P. Brent, "The parallel evaluation of general arithmetic expressions", J. ACM
 * 21, 1974; J. JaJa, An Introduction to Parallel Algorithms, 1992, 1.4 and 2.1).
 *
 * Every result is compared with one in extended precision, and every sum of tables with its counts.
 */
#include "lab/study/fan_in_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "lab/study/study.h"

enum { N_SIZES = 4, MOST_RUNS = 101 };
static const int64_t sizes[N_SIZES] = {1 << 10, 1 << 14, 1 << 18, 1 << 24};

/* The values and tables that the study joins, and the numbers that the values should come to. */
struct fan_in_data {
    float *values;
    int n_sizes;
    double expected[N_SIZES][FAN_IN_NUMBERS];
    uint32_t *tables; /* one after the other */
    int64_t n_tables;
};

/* ---- values and tables ----------------------------------------------------------------------- */

/* Returns a count of a table, below 2^20. */
static uint32_t count_of(uint64_t table, uint64_t bin)
{
    return (uint32_t)((table * 2654435761u ^ bin * 40503u) % 1000003u);
}

static void data_clear(struct fan_in_data *data)
{
    free(data->values);
    free(data->tables);
}

/* most: values, or counts of all tables; 0: any number. Needs data_clear() whatever it returns. */
static enum ts_status data_init(struct fan_in_data *data, int64_t most, struct ts_diag *diag)
{
    *data = (struct fan_in_data){.n_sizes = 1, .n_tables = 1024};
    while (data->n_sizes < N_SIZES && (most == 0 || sizes[data->n_sizes] <= most))
        data->n_sizes++;
    while (data->n_tables > FAN_IN_LEAST_TABLES && most > 0 && data->n_tables * FAN_IN_BINS > most)
        data->n_tables /= 2;
    const int64_t n = sizes[data->n_sizes - 1], counts = data->n_tables * FAN_IN_BINS;
    data->values = malloc((size_t)n * sizeof *data->values);
    data->tables = malloc((size_t)counts * sizeof *data->tables);
    if (!data->values || !data->tables)
        return ts_diag_no_memory(diag, (size_t)(n + counts) * sizeof *data->values);
    ts_fan_in_fill(data->values, n);
    for (int i = 0; i < data->n_sizes; i++)
        ts_fan_in_expect(data->values, sizes[i], data->expected[i]);
    for (int64_t i = 0; i < counts; i++)
        data->tables[i] = count_of((uint64_t)(i / FAN_IN_BINS), (uint64_t)(i % FAN_IN_BINS));
    return TS_OK;
}

/* ---- measurements ---------------------------------------------------------------------------- */

/* A device that joins, and the data that it joins. */
struct measuring {
    struct study_run *run;
    struct fan_in_runner *runner;
    const struct fan_in_data *data;
};

/* Checks the sums of tables that were joined once. */
static enum ts_status check_tables(const struct measuring *it, const struct fan_in_job *job)
{
    uint32_t found[FAN_IN_BINS];
    double seconds;
    enum ts_status status = it->runner->begin(it->runner, job, it->data->tables);
    if (status == TS_OK)
        status = it->runner->join(it->runner, job, &seconds);
    if (status == TS_OK)
        status = it->runner->end(it->runner, job, found);
    for (int64_t bin = 0; status == TS_OK && bin < FAN_IN_BINS; bin++) {
        uint32_t sum = 0;
        for (int64_t table = 0; table < job->n; table++)
            sum += it->data->tables[table * FAN_IN_BINS + bin];
        if (found[bin] != sum)
            status = ts_diag_error(it->run->diag, TS_RUN_FAILED,
                                   &(struct diag_site){.code = "study-result"},
                                   "bin %lld of %lld joined tables came to %u instead of %u",
                                   (long long)bin, (long long)job->n, found[bin], sum);
    }
    return status;
}

/* Fills in the times. The first run warms up, unless it alone takes as long as all should. */
static enum ts_status time_job(const struct measuring *it, const struct fan_in_job *job,
                               struct fan_in_row *row)
{
    const struct fan_in_runner *runner = it->runner;
    const int runs = it->run->request->runs,
              most = runs > 0 ? (runs < MOST_RUNS ? runs : MOST_RUNS) : runner->most_runs;
    double times[MOST_RUNS], spent = 0, seconds = 0;
    enum ts_status status = runner->join(it->runner, job, &seconds);
    int n = seconds < runner->budget ? 0 : 1;
    times[0] = spent = seconds;
    while (status == TS_OK && n < most &&
           (runs > 0 || n < runner->least_runs || spent < runner->budget)) {
        status = runner->join(it->runner, job, &times[n]);
        spent += times[n++];
    }
    row->seconds = ts_median(times, n);
    ts_range_of_times(times, n, &row->fastest, &row->slowest);
    row->spread = ts_spread(times, n);
    return status;
}

double ts_fan_in_model(const struct fan_in_job *job)
{
    const int64_t width = job->work == FAN_IN_TABLES ? FAN_IN_BINS : 1, p = job->processors;
    const int64_t runs = p > width ? p / width : 1; /* of the two levels, of each bin */
    int64_t units = 0, n = job->n;
    if (job->order == FAN_IN_TWO_LEVEL) {
        units = (n + runs - 1) / runs - 1;
        for (int64_t left = runs; left > 1; left = (left + 1) / 2)
            units++;
        units *= (width + p - 1) / p;
    } else {
        for (int64_t left; (left = (int64_t)ts_fan_in_stride((size_t)n)) > 0; n = left)
            units += ((n - left) * width + p - 1) / p;
    }
    return (double)((job->n - 1) * width) / (double)units;
}

/* Times a job and checks its result. serial: seconds of one processor, which are only measured
 * where it is NULL. own: as many processors as the order has work for, or as there are. */
static enum ts_status measure_job(const struct measuring *it, const struct fan_in_job *job,
                                  double expected, const double *serial, bool own, double *seconds)
{
    struct fan_in_row row = {.device = it->runner->device,
                             .work = ts_fan_in_works[job->work],
                             .method = ts_fan_in_orders[job->order],
                             .n = job->n,
                             .processors = job->processors,
                             .own = own,
                             .model = ts_fan_in_model(job)};
    const bool tables = job->work == FAN_IN_TABLES;
    double error;
    enum ts_status status =
        tables ? check_tables(it, job) : it->runner->begin(it->runner, job, NULL);
    if (status == TS_OK)
        status = time_job(it, job, &row);
    if (status == TS_OK && !tables)
        status = ts_fan_in_check(it->runner, job, expected, it->run->diag, &error);
    *seconds = row.seconds;
    if (status != TS_OK || !serial)
        return status;
    row.speed_up = *serial / row.seconds;
    row.low = *serial / row.slowest;
    row.high = *serial / row.fastest;
    row.efficiency = row.speed_up / (double)job->processors;
    return ts_table_add(&it->run->rows, &row, it->run->diag);
}

/* Measures T1 first, then the orders with each number of processors. */
static enum ts_status measure_size(const struct measuring *it, enum fan_in_work work, int64_t n,
                                   double expected)
{
    const int last = work == FAN_IN_TABLES ? FAN_IN_TWO_LEVEL : FAN_IN_ADJACENT;
    struct fan_in_job job = {work, FAN_IN_SERIAL, n, 1};
    double serial, seconds;
    enum ts_status status = measure_job(it, &job, expected, NULL, false, &serial);
    for (int order = FAN_IN_STRIDE; order <= last; order++) {
        int64_t numbers[FAN_IN_PROCESSORS];
        job.order = (enum fan_in_order)order;
        const int n_numbers = it->runner->processors(it->runner, &job, numbers);
        bool found = false;
        for (int i = 0; status == TS_OK && i < n_numbers; i++) {
            const bool own = i + 1 == n_numbers ||
                             (work != FAN_IN_TABLES && numbers[i + 1] > ts_fan_in_busy(&job));
            job.processors = numbers[i];
            status = measure_job(it, &job, expected, &serial, own && !found, &seconds);
            found = found || own;
        }
    }
    return status;
}

/* Measures all jobs on one device, and destroys its runner, which is NULL where it could not be
 * made. */
static enum ts_status measure_device_take(struct fan_in_runner *runner, struct study_run *run,
                                          const struct fan_in_data *data)
{
    const struct measuring it = {run, runner, data};
    enum ts_status status = runner ? TS_OK : TS_RUN_FAILED;
    if (!runner)
        return status;
    for (int work = 0; work < FAN_IN_NUMBERS; work++)
        for (int i = 0; status == TS_OK && i < data->n_sizes; i++)
            status = measure_size(&it, (enum fan_in_work)work, sizes[i], data->expected[i][work]);
    for (int i = 0; status == TS_OK && i < FAN_IN_TABLE_NUMBERS && runner->tables[i]; i++)
        if (runner->tables[i] <= data->n_tables)
            status = measure_size(&it, FAN_IN_TABLES, runner->tables[i], 0);
    runner->destroy(runner);
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    struct fan_in_data data;
    enum ts_status status = data_init(&data, run->request->most, run->diag);
    const int64_t n = sizes[data.n_sizes - 1];
    if (status == TS_OK && run->devices.on_cpu)
        status = measure_device_take(
            ts_fan_in_runner_create(NULL, data.values, n, run->threads, NULL, run->diag), run,
            &data);
    if (status == TS_OK && run->devices.device)
        status = measure_device_take(ts_fan_in_runner_create(run->devices.device, data.values, n,
                                                             run->threads, NULL, run->diag),
                                     run, &data);
    data_clear(&data);
    return status;
}

/* ---- the study ------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct fan_in_row, member)
static const struct table_column columns[] = {
    {"device", "device", COLUMN_TEXT, AT(device), -6},
    {"work", "work", COLUMN_TEXT, AT(work), -8},
    {"method", "method", COLUMN_TEXT, AT(method), -10},
    {"n", "n", COLUMN_INTEGER, AT(n), 10},
    {"processors", "processors", COLUMN_INTEGER, AT(processors), 10},
    {"seconds", "microsec.", COLUMN_REAL, AT(seconds), 12, 2, 1e6},
    {"speed_up", "speed-up", COLUMN_REAL, AT(speed_up), 10, 2},
    {"efficiency", "efficiency", COLUMN_REAL, AT(efficiency), 10, 4},
    {"model", "analytic", COLUMN_REAL, AT(model), 10, 2},
    {"spread", "10-90", COLUMN_REAL, AT(spread), 5, 0, 100, "%"}};

/* Returns the row of the sum of the most values, in this order by as many processors as it keeps
 * busy; NULL: there is none. */
static const struct fan_in_row *largest(const struct table_rows *rows, const char *device,
                                        enum fan_in_order order)
{
    const struct fan_in_row *row = rows->rows, *found = NULL;
    for (int i = 0; i < rows->n; i++)
        if (row[i].own && !strcmp(row[i].device, device) &&
            !strcmp(row[i].method, ts_fan_in_orders[order]) &&
            !strcmp(row[i].work, ts_fan_in_works[FAN_IN_SUM]))
            found = &row[i];
    return found;
}

/* Says for each device what the orders reach of their analytic speed-up, and what stride saves. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const devices[] = {"CPU", "CUDA"};
    const char *between = "";
    for (size_t k = 0; k < 2; k++) {
        const struct fan_in_row *stride = largest(rows, devices[k], FAN_IN_STRIDE),
                                *runs = largest(rows, devices[k], FAN_IN_TWO_LEVEL),
                                *adjacent = largest(rows, devices[k], FAN_IN_ADJACENT);
        if (!stride || !runs || !adjacent)
            continue;
        fprintf(stream,
                "%s%s, sum of %lld values: halving with stride is %.2f times as fast as one "
                "processor with %lld threads (analytic %.0f), two-level %.2f times with %lld "
                "(analytic %.0f); halving with stride is %.1f times as fast as adjacent pairing",
                between, devices[k], (long long)stride->n, stride->speed_up,
                (long long)stride->processors, stride->model, runs->speed_up,
                (long long)runs->processors, runs->model, adjacent->seconds / stride->seconds);
        between = "; ";
    }
}

const struct study ts_fan_in_study = {
    .name = "fan-in",
    .own_data = true,
    .sentence = "speed-up and efficiency of three orders of joining partial results, against size "
                "and processors",
    .heading = "n floats are joined in double, and n tables of 4096 counts are added up. Speed-up: "
               "time of one processor that\ntakes one value (table) after the other / time; "
               "efficiency: speed-up / processors; analytic: the speed-up if joins\ntook one unit "
               "of time and all else none. Processors are threads.\n",
    .table = TABLE_OF(struct fan_in_row, columns),
    .measure = measure,
    .plot = ts_fan_in_plot,
    .found = "n values fan in within log2 n steps of n/2 processors, whose efficiency falls with "
             "2/log2 n, while runs of sqrt(n) values before it need sqrt(n) processors, whose "
             "efficiency rises to 1 (R. P. Brent, 1974; J. JaJa, 1992); on a G80, halving with "
             "stride took 1.72 ms for 2^22 values and adjacent pairing 3.46 ms (M. Harris, "
             "Optimizing Parallel Reduction in CUDA, 2007)",
    .finding = finding,
};
