/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures each stage in its benchmark's first case and default method, on one small slice and in
 * larger sizes: the largest gives the rate, and what the slice takes longer than that rate is the
 * time of a call. On the CPU sizes grow up to that of a run's slab while a run of the next one is
 * not too long: a small size would be slower than a run, because some stages compute slices side by
 * side. On a GPU the rate of a reconstruction is that of the slices by which one size is larger
 * than another: an iterative one weighs a single slice first, which is long beside a few iterations
 * of few slices and nothing beside a run. The types that a stage takes of 16-bit integers and
 * floats share one rate.
 */
#include <math.h>
#include <string.h>

#include "lab/bench/bench_rates.h"

struct size {
    int64_t nz, ny, nx;
};
static const struct size slice = {1, 128, 128}, cuda_large = {64, 512, 512},
                         cuda_larger = {192, 512, 512},
                         larger[] = {{16, 128, 128}, {16, 256, 256}, {32, 512, 512}};
/* The most seconds that a run of a larger size may take on the CPU. */
static const double most_seconds = 0.25;

struct sum {
    double work, seconds;
};

/* Takes the case without its method, so that the stage chooses. */
static bool default_case(const struct stage *stage, struct bench_case *which)
{
    char parameters[BENCH_MAX_CASES][256];
    if (ts_bench_parameters(stage, parameters) == 0)
        return false;
    which->stage = stage;
    which->values = BENCH_CT;
    snprintf(which->parameters, sizeof which->parameters, "%s", parameters[0]);
    char *method = strstr(which->parameters, "method=");
    if (method) {
        const char *rest = method + strcspn(method, " ");
        rest += strspn(rest, " ");
        memmove(method, rest, strlen(rest) + 1);
    }
    return true;
}

/* Returns false where the stage refuses the case. */
static bool time_case(struct bench_case *which, struct size size,
                      const struct device_numbers *device, int threads, struct bench_row *row)
{
    enum { RUNS = 3 };
    struct ts_diag *refusals = ts_diag_create();
    enum ts_status status = refusals ? TS_OK : TS_RUN_FAILED;
    which->nz = size.nz;
    which->ny = size.ny;
    which->nx = size.nx;
#ifdef TS_HAVE_CUDA
    if (status == TS_OK && device) {
        const struct cuda_ceilings none = {0};
        status = ts_bench_cuda(which, 1, false, device, &none, RUNS, refusals, row);
    }
#endif
    if (status == TS_OK && !device)
        status = ts_bench_cpu(which, 1, threads, RUNS, refusals, row);
    ts_diag_destroy(refusals);
    return status == TS_OK && row->seconds > 0;
}

static double work_of(const struct bench_row *row)
{
    return row->samples > 0 ? row->samples : row->bytes;
}

/* Work grows with the voxels, and that of projections also with the views. */
static double growth(const struct bench_row *row, struct size size)
{
    const struct bench_case *which = &row->which;
    const double voxels =
        (double)(size.nz * size.ny * size.nx) / (double)(which->nz * which->ny * which->nx);
    return voxels * (row->samples > 0 ? (double)size.ny / (double)which->ny : 1);
}

/* Times one type. Adds the work and the time of the largest size, and of the slice the time of a
 * call. */
static bool time_type(struct bench_case *which, const struct device_numbers *device, int threads,
                      struct sum *sum, double *call_seconds, bool *samples)
{
    struct bench_row row, best, more;
    if (!time_case(which, slice, device, threads, &row))
        return false;
    const double first = device ? row.total_seconds : row.seconds, first_work = work_of(&row);
    best = row;
    if (device && time_case(which, cuda_large, device, threads, &more))
        best = more;
    if (device && best.samples > 0 && time_case(which, cuda_larger, device, threads, &more) &&
        more.samples > best.samples && more.seconds > best.seconds) {
        more.samples -= best.samples;
        more.seconds -= best.seconds;
        best = more;
    }
    for (size_t i = 0; !device && i < sizeof larger / sizeof *larger; i++) {
        if (best.seconds * growth(&best, larger[i]) > most_seconds ||
            !time_case(which, larger[i], NULL, threads, &more))
            break;
        best = more;
    }
    *samples = best.samples > 0;
    sum->work += work_of(&best);
    sum->seconds += best.seconds;
    *call_seconds = fmax(*call_seconds, first - first_work * best.seconds / work_of(&best));
    return true;
}

enum ts_status ts_bench_rates_stages(const struct device_numbers *device, struct rates *rates,
                                     struct ts_diag *diag)
{
    const enum ts_dtype dtypes[] = {TS_U16, TS_F32};
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        struct bench_case which = {0};
        struct sum sum = {0};
        struct stage_rate rate = {.cuda = device != NULL};
        if ((!(*stage)->map && !(*stage)->reduction) || !default_case(*stage, &which))
            continue;
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
            which.dtype = dtypes[i];
            if ((*stage)->dtypes & TS_DTYPE_BIT(which.dtype))
                time_type(&which, device, rates->threads, &sum, &rate.call_seconds, &rate.samples);
        }
        if (sum.work <= 0)
            continue;
        snprintf(rate.stage, sizeof rate.stage, "%s", (*stage)->name);
        rate.per_second = sum.work / sum.seconds;
        if (!ts_rates_add(rates, &rate))
            return ts_diag_no_memory(diag, sizeof rate);
    }
    return TS_OK;
}
