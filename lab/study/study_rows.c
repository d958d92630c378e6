/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the rows of studies that compare methods. A stage's case goes through the benchmark of
 * the stages, so that a study and `tomostage bench` time the same thing in the same way, and its
 * result is held against the stage's oracle under the stage's tolerance where this program has the
 * oracles.
 */
#include "lab/study/study_rows.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/timing.h"

int ts_study_sides(const struct study_run *run, int64_t sides[STUDY_SIDES])
{
    const int64_t most = run->request->most;
    int n = 0;
    for (int64_t side = 256; n < STUDY_SIDES && (n == 0 || most == 0 || side * side <= most);
         side *= 2)
        sides[n++] = side;
    return n;
}

/* ---- measuring ------------------------------------------------------------------------------- */

enum ts_status ts_study_add(struct study_run *run, struct study_row *row)
{
    row->rate = row->items / row->seconds;
    return ts_table_add(&run->rows, row, run->diag);
}

enum ts_status ts_study_time(const struct study_run *run, study_work *work, void *data,
                             struct study_row *row)
{
    enum { MOST = 101, USUAL = 31, LEAST = 5 };
    static const double budget = 0.33;
    const int runs = run->request->runs, most = runs > 0 ? (runs < MOST ? runs : MOST) : USUAL;
    double times[MOST], spent = 0, warm;
    enum ts_status status = work(data, &warm);
    int n = 0;
    for (; status == TS_OK && n < most && (runs > 0 || n < LEAST || spent < budget); n++) {
        status = work(data, &times[n]);
        spent += times[n];
    }
    if (status != TS_OK)
        return status;
    row->seconds = ts_median(times, n);
    ts_range_of_times(times, n, &row->fastest, &row->slowest);
    row->spread = ts_spread(times, n);
    return TS_OK;
}

/* Copies what the benchmark measured into a copy of the row, compares with the oracle, and adds
 * it. */
static enum ts_status add_measured(struct study_run *run, const struct study_row *row,
                                   const struct bench_row *measured,
                                   const struct device_numbers *device)
{
    const struct bench_case *which = &measured->which;
    struct study_row added = *row;
    added.device = device ? "CUDA" : "CPU";
    added.threads = device ? -1 : measured->threads;
    added.seconds = measured->seconds;
    added.fastest = measured->fastest;
    added.slowest = measured->slowest;
    added.spread = measured->spread;
    added.items = added.items > 0 ? added.items : (double)(which->nz * which->ny * which->nx);
    added.error = NAN;
    if (run->request->compare) {
        const struct bench_error error = run->request->compare(which, device);
        added.error = error.distance;
        if (error.distance > error.allowed)
            return ts_diag_error(
                run->diag, TS_RUN_FAILED,
                &(struct diag_site){.code = "study-result", .stage = which->stage->name},
                "with %s on %s, its result is %.3g of the largest value away from the oracle; %.3g "
                "is allowed",
                which->parameters, added.device, error.distance, error.allowed);
    }
    return ts_study_add(run, &added);
}

static bool refused(enum ts_status status)
{
    return status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

enum ts_status ts_study_stage(struct study_run *run, const struct study_row *row,
                              const struct bench_case *which)
{
    struct bench_row measured;
    struct bench_case given = *which;
    struct ts_diag *refusals = ts_diag_create();
    enum ts_status status = refusals ? TS_OK : ts_diag_no_memory(run->diag, sizeof measured);
    given.given = run->given.values ? &run->given : NULL;
    if (status == TS_OK && run->devices.on_cpu) {
        status = ts_bench_cpu(&given, 1, run->threads, run->request->runs, refusals, &measured);
        if (status == TS_OK)
            status = add_measured(run, row, &measured, NULL);
    }
#ifdef TS_HAVE_CUDA
    if ((status == TS_OK || refused(status)) && run->devices.device) {
        const struct cuda_ceilings none = {0};
        status = ts_bench_cuda(&given, 1, false, run->devices.device, &none, run->request->runs,
                               refusals, &measured);
        if (status == TS_OK)
            status = add_measured(run, row, &measured, run->devices.device);
    }
#endif
    if (status != TS_OK && !refused(status) && refusals && ts_diag_count(refusals) > 0) {
        const struct ts_diag_record *record = ts_diag_get(refusals, ts_diag_count(refusals) - 1);
        ts_diag_error(run->diag, status,
                      &(struct diag_site){.code = "study-failed", .stage = which->stage->name},
                      "%s", record->message);
    }
    ts_diag_destroy(refusals);
    return refused(status) ? TS_OK : status;
}

/* ---- findings -------------------------------------------------------------------------------- */

const struct study_row *ts_study_find(const struct table_rows *rows, const char *device,
                                      const char *subject, const char *method, int64_t x)
{
    const struct study_row *row = rows->rows, *found = NULL;
    for (int i = 0; i < rows->n; i++)
        if (!strcmp(row[i].device, device) && !strcmp(row[i].subject, subject) &&
            !strcmp(row[i].method, method) && (x < 0 || row[i].x == x))
            found = &row[i];
    return found;
}

double ts_study_ratio(const struct table_rows *rows, const char *device, const char *subject,
                      const char *slow, const char *fast, int64_t x)
{
    const struct study_row *a = ts_study_find(rows, device, subject, slow, x),
                           *b = ts_study_find(rows, device, subject, fast, x);
    return a && b && a->x == b->x ? a->seconds / b->seconds : (double)NAN;
}
