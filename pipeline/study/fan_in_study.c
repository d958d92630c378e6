/* SPDX-License-Identifier: Apache-2.0
 *
 * The study fan-in: speed-up and efficiency of the two orders in which partial results are joined
 * (stages/values/fan_in.h), against size and number of processors: S = T1/Tp, E = S/p, where T1 is the time of one
 * processor that takes one value after the other (R. P. Brent, 1974; J. JaJa, An Introduction to Parallel Algorithms,
 * 1992, 1.4). Every result is compared with one in extended precision, and every sum of tables with its counts.
 */
#include "pipeline/study/fan_in_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "pipeline/study/study.h"

enum { N_SIZES = 4, MOST_RUNS = 101 };
static const int64_t sizes[N_SIZES] = {1 << 10, 1 << 14, 1 << 18, 1 << 24};

const char *const ts_fan_in_works[FAN_IN_WORKS] = {"sum", "product", "min", "max", "variance", "tables"};

/* The values and tables that the study joins, and the numbers that the values should come to. */
struct fan_in_data {
    float *values;
    int n_sizes;
    double expected[N_SIZES][FAN_IN_NUMBERS];
    uint32_t *tables; /* one after the other */
    int64_t n_tables;
};

/* ---- values and results ------------------------------------------------------------------------- */

/* splitmix64 (S. Vigna), in [0, 1). */
static void fill_values(float *values, int64_t n)
{
    uint64_t state = 20240607;
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        values[i] = (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
    }
}

/* Returns a count of a table, below 2^20. */
static uint32_t count_of(uint64_t table, uint64_t bin)
{
    return (uint32_t)((table * 2654435761u ^ bin * 40503u) % 1000003u);
}

/* Works out the expected numbers in extended precision, one value after the other. */
static void expect(const float *values, int64_t n, double expected[FAN_IN_NUMBERS])
{
    long double sum = 0, product = 1, squares = 0;
    float least = values[0], most = values[0];
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)values[i];
        product *= FAN_IN_FACTOR(values[i]);
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    const long double mean = sum / (long double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    expected[FAN_IN_SUM] = (double)sum;
    expected[FAN_IN_PRODUCT] = (double)product;
    expected[FAN_IN_MIN] = (double)least;
    expected[FAN_IN_MAX] = (double)most;
    expected[FAN_IN_VARIANCE] = (double)(squares / (long double)n);
}

double ts_fan_in_value(enum fan_in_work work, const void *partial, int64_t n)
{
    const struct fan_in_moments *moments = partial;
    const double shift = moments->sum / (double)n; /* not used where the work has no moments */
    return work == FAN_IN_VARIANCE ? moments->squares / (double)n - shift * shift : *(const double *)partial;
}

/* Squares of numbers of 24 bits do not end evenly, so that sums of them round more often to one side than to the
 * other. */
bool ts_fan_in_right(enum fan_in_work work, double found, double expected)
{
    static const double relative[FAN_IN_NUMBERS] = {
        [FAN_IN_SUM] = 1e-12, [FAN_IN_PRODUCT] = 1e-12, [FAN_IN_VARIANCE] = 1e-10};
    return fabs(found - expected) <= relative[work] * fabs(expected);
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
    fill_values(data->values, n);
    for (int i = 0; i < data->n_sizes; i++)
        expect(data->values, sizes[i], data->expected[i]);
    for (int64_t i = 0; i < counts; i++)
        data->tables[i] = count_of((uint64_t)(i / FAN_IN_BINS), (uint64_t)(i % FAN_IN_BINS));
    return TS_OK;
}

/* ---- measurements ------------------------------------------------------------------------------- */

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
            status = ts_diag_error(it->run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                                   "bin %lld of %lld joined tables came to %u instead of %u", (long long)bin,
                                   (long long)job->n, found[bin], sum);
    }
    return status;
}

/* Checks the number that the last run came to. */
static enum ts_status check_number(const struct measuring *it, const struct fan_in_job *job, double expected)
{
    struct fan_in_moments partial;
    const enum ts_status status = it->runner->end(it->runner, job, &partial);
    const double found = ts_fan_in_value(job->work, &partial, job->n);
    if (status != TS_OK || ts_fan_in_right(job->work, found, expected))
        return status;
    return ts_diag_error(it->run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                         "the %s of %lld values came to %.17g instead of %.17g", ts_fan_in_works[job->work],
                         (long long)job->n, found, expected);
}

/* Fills in the times. The first run warms up, unless it alone takes as long as all should. */
static enum ts_status time_job(const struct measuring *it, const struct fan_in_job *job, struct fan_in_row *row)
{
    const struct fan_in_runner *runner = it->runner;
    const int runs = it->run->request->runs,
              most = runs > 0 ? (runs < MOST_RUNS ? runs : MOST_RUNS) : runner->most_runs;
    double times[MOST_RUNS], spent = 0, seconds = 0;
    enum ts_status status = runner->join(it->runner, job, &seconds);
    int n = seconds < runner->budget ? 0 : 1;
    times[0] = spent = seconds;
    while (status == TS_OK && n < most && (runs > 0 || n < runner->least_runs || spent < runner->budget)) {
        status = runner->join(it->runner, job, &times[n]);
        spent += times[n++];
    }
    row->seconds = ts_median(times, n);
    row->fastest = times[(n - 1) / 10];
    row->slowest = times[(n - 1) * 9 / 10];
    row->spread = ts_spread(times, n);
    return status;
}

/* Times a job and checks its result. serial: seconds of one processor, which are only measured where it is NULL.
 */
static enum ts_status measure_job(const struct measuring *it, const struct fan_in_job *job, double expected,
                                  const double *serial, double *seconds)
{
    struct fan_in_row row = {.device = it->runner->device,
                             .work = ts_fan_in_works[job->work],
                             .method = ts_choice_name(ts_reduction_choices, job->method),
                             .n = job->n,
                             .processors = job->processors};
    const bool tables = job->work == FAN_IN_TABLES;
    enum ts_status status = tables ? check_tables(it, job) : it->runner->begin(it->runner, job, NULL);
    if (status == TS_OK)
        status = time_job(it, job, &row);
    if (status == TS_OK && !tables)
        status = check_number(it, job, expected);
    *seconds = row.seconds;
    if (status != TS_OK || !serial)
        return status;
    row.speed_up = *serial / row.seconds;
    row.low = *serial / row.slowest;
    row.high = *serial / row.fastest;
    row.efficiency = row.speed_up / (double)job->processors;
    return ts_table_add(&it->run->rows, &row, it->run->diag);
}

/* Measures T1 first, then both orders with each number of processors. */
static enum ts_status measure_size(const struct measuring *it, enum fan_in_work work, int64_t n, double expected)
{
    struct fan_in_job job = {work, REDUCTION_AUTO, n, 1};
    double serial, seconds;
    enum ts_status status = measure_job(it, &job, expected, NULL, &serial);
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++) {
        int64_t numbers[FAN_IN_PROCESSORS];
        job.method = (enum reduction_method)method;
        const int n_numbers = it->runner->processors(it->runner, &job, numbers);
        for (int i = 0; status == TS_OK && i < n_numbers; i++) {
            job.processors = numbers[i];
            status = measure_job(it, &job, expected, &serial, &seconds);
        }
    }
    return status;
}

/* Measures all jobs on one device, and destroys its runner, which is NULL where it could not be made. */
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
        status = measure_device_take(ts_fan_in_cpu_create(data.values, n, run->diag), run, &data);
#ifdef TS_HAVE_CUDA
    if (status == TS_OK && run->devices.device)
        status = measure_device_take(ts_cuda_fan_in_create(run->devices.device, data.values, n, run->diag), run, &data);
#endif
    data_clear(&data);
    return status;
}

/* ---- the study ---------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct fan_in_row, member)
static const struct table_column columns[] = {{"device", "device", COLUMN_TEXT, AT(device), -6},
                                              {"work", "work", COLUMN_TEXT, AT(work), -8},
                                              {"method", "method", COLUMN_TEXT, AT(method), -10},
                                              {"n", "n", COLUMN_INTEGER, AT(n), 10},
                                              {"processors", "processors", COLUMN_INTEGER, AT(processors), 10},
                                              {"seconds", "microsec.", COLUMN_REAL, AT(seconds), 12, 2, 1e6},
                                              {"speed_up", "speed-up", COLUMN_REAL, AT(speed_up), 10, 2},
                                              {"efficiency", "efficiency", COLUMN_REAL, AT(efficiency), 10, 4},
                                              {"spread", "+-", COLUMN_REAL, AT(spread), 5, 0, 100, "%"}};

/* Names the largest speed-up of each order of the sum on each device. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const devices[] = {"CPU", "CUDA"}, *const methods[] = {"fan-in", "two-level"};
    const struct fan_in_row *row = rows->rows;
    const char *between = "";
    for (size_t k = 0; k < 4; k++) {
        const struct fan_in_row *best = NULL;
        for (int i = 0; i < rows->n; i++)
            if (!strcmp(row[i].device, devices[k / 2]) && !strcmp(row[i].method, methods[k % 2]) &&
                !strcmp(row[i].work, ts_fan_in_works[FAN_IN_SUM]) && (!best || row[i].speed_up > best->speed_up))
                best = &row[i];
        if (best)
            fprintf(stream, "%s%s, %s: the sum is at most %.1f times as fast (%lld threads, %lld values)", between,
                    best->device, best->method, best->speed_up, (long long)best->processors, (long long)best->n);
        between = best ? "; " : between;
    }
}

const struct study ts_fan_in_study = {
    .name = "fan-in",
    .sentence = "speed-up and efficiency of two orders of joining partial results, against size and processors",
    .heading =
        "n floats are joined in double, and n tables of 4096 counts are added up. Speed-up: time of one processor "
        "that\ntakes one value (table) after the other / time; efficiency: speed-up / processors. Processors are "
        "threads.\n",
    .table = TABLE_OF(struct fan_in_row, columns),
    .measure = measure,
    .plot = ts_fan_in_plot,
    .found =
        "n values fan in within log2 n steps of n/2 processors, at an efficiency of 1/log2 n; runs of sqrt(n) values "
        "first need sqrt(n) processors and keep half of each busy (R. P. Brent, 1974; J. JaJa, 1992)",
    .finding = finding,
};
