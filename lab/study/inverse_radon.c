/* SPDX-License-Identifier: Apache-2.0
 *
 * The study inverse-radon: Fourier reconstruction against filtered backprojection, time and error
 * over size. A slice of n x n pixels is reconstructed from 1.6 n views of n detector pixels. fbp
 * adds up 1.6 n^3 samples, and fourier transforms and spreads 1.6 n rows, which takes n^2 log n
 * operations. Times are those of `tomostage bench`. The error is that of the phantom shepp-logan,
 * whose line integrals are known in closed form: the root mean square of the difference from its
 * pixels within the circle that all views see, as a share of the phantom's range. It is worked out
 * on the device that is timed, and stage by stage the result is also held against the oracle.
 */
#include <math.h>
#include <stdlib.h>

#include "cuda/device/driver.h"
#include "datasets/phantom.h"
#include "lab/study/study_rows.h"
#include "stages/engine/driver.h"
#include "stages/geometry/beam.h"

enum { MOST_CPU_SIDE = 2048, MOST_SIDE = 4096, LINES = 4 };
#define PHANTOM_RANGE_HU 2000.0

struct method {
    const char *name, *stage, *parameters;
};
static const struct method methods[] = {{"fbp", "fbp", ""},
                                        {"fbp, tensor-split", "fbp", "method=tensor-split"},
                                        {"fourier, linear", "fourier", "interpolation=linear"},
                                        {"fourier, sinc", "fourier", "interpolation=sinc"}};

static struct phantom_options options_of(int64_t side)
{
    return (struct phantom_options){
        .nx = side, .ny = side, .nz = 1, .spacing_x_mm = 1, .spacing_y_mm = 1, .spacing_z_mm = 1};
}

/* Fills a sinogram with what the phantom's detector pixels see, each of which is as wide as LINES
 * rays. */
static void fill_sinogram(const struct phantom *phantom, struct ts_image *sinogram, int threads)
{
    const int64_t n_views = sinogram->axes[1].n, n = sinogram->axes[2].n;
    const struct phantom_options options = options_of(n);
    const struct ts_axis *views = &sinogram->axes[1], *detector = &sinogram->axes[2];
#pragma omp parallel for num_threads(threads)
    for (int64_t v = 0; v < n_views; v++)
        for (int64_t d = 0; d < n; d++) {
            const double theta = (views->first + (double)v * views->spacing) * (M_PI / 180);
            double sum = 0;
            for (int i = 0; i < LINES; i++) {
                const double at = (double)d + ((double)i + 0.5) / LINES - 0.5;
                sum += ts_phantom_integral(phantom, &options, theta,
                                           detector->first + at * detector->spacing, 0);
            }
            ((float *)sinogram->data)[v * n + d] = (float)(sum / LINES);
        }
}

/* Returns the root mean square of the differences within the circle, as a share of the phantom's
 * range; NAN where memory is out. */
static double rms_error(const struct phantom *phantom, const float *slice, int64_t side)
{
    const struct phantom_options options = options_of(side);
    double *truth = malloc((size_t)(side * side) * sizeof *truth), sum = 0;
    const double middle = 0.5 * (double)(side - 1);
    int64_t n = 0;
    if (!truth)
        return NAN;
    ts_phantom_render(phantom, &options, 0, truth);
    for (int64_t i = 0; i < side * side; i++) {
        const double difference = (double)slice[i] - (truth[i] - PHANTOM_AIR_HU);
        const int64_t y = i / side, x = i % side;
        if (hypot((double)y - middle, (double)x - middle) > middle)
            continue;
        sum += difference * difference;
        n++;
    }
    free(truth);
    return sqrt(sum / (double)n) / PHANTOM_RANGE_HU;
}

/* Reconstructs the phantom on the device (NULL: the CPU) and works out the error. TS_BAD_CHAIN: the
 * device does not have the method. */
static enum ts_status measure_error(const struct study_run *run, const struct bench_case *which,
                                    const struct ts_image *sinogram,
                                    const struct device_numbers *device, struct ts_diag *diag,
                                    double *error)
{
    const struct phantom *phantom = ts_phantom_find("shepp-logan");
    struct bench_stage ready;
    enum ts_status status = ts_bench_prepare(&ready, which, sinogram, run->threads, device, diag);
    struct ts_image out = ready.context.out;
    out.data = status == TS_OK ? malloc(ts_image_bytes(&out)) : NULL;
    if (status == TS_OK && !out.data)
        status = ts_diag_no_memory(diag, ts_image_bytes(&out));
    if (status == TS_OK) {
        const struct ts_image *const references[STAGE_REFERENCES] = {NULL};
#ifdef TS_HAVE_CUDA
        if (device)
            status = ts_cuda_apply(&ready.context, sinogram, &out, references, 0, NULL);
        else
#endif
            status = ts_stage_apply(&ready.context, sinogram, &out, references, 0, NULL);
    }
    if (status == TS_OK)
        *error = rms_error(phantom, out.data, which->nx);
    free(out.data);
    ts_bench_stage_clear(&ready);
    return status;
}

/* Adds the rows of one side on the one device that takes part now. */
static enum ts_status measure_side(struct study_run *run, int64_t side)
{
    struct bench_case which = {.stage = &fbp_stage,
                               .dtype = TS_F32,
                               .values = BENCH_CT,
                               .nz = 1,
                               .ny = 8 * side / 5,
                               .nx = side};
    struct ts_image sinogram = ts_bench_image(&which);
    enum ts_status status =
        sinogram.data ? TS_OK : ts_diag_no_memory(run->diag, ts_image_bytes(&sinogram));
    if (status == TS_OK)
        fill_sinogram(ts_phantom_find("shepp-logan"), &sinogram, run->threads);
    for (size_t i = 0; status == TS_OK && i < sizeof methods / sizeof *methods; i++) {
        struct study_row row = {
            .subject = "shepp-logan", .x = side, .items = (double)(side * side)};
        struct ts_diag *refusals = ts_diag_create();
        snprintf(row.method, sizeof row.method, "%s", methods[i].name);
        which.stage = ts_stage_find(methods[i].stage);
        snprintf(which.parameters, sizeof which.parameters, "%s", methods[i].parameters);
        status = measure_error(run, &which, &sinogram, run->devices.device, refusals, &row.number);
        if (status == TS_OK)
            status = ts_study_stage(run, &row, &which);
        else if (status == TS_BAD_CHAIN)
            status = TS_OK;
        else
            ts_diag_error(run->diag, status,
                          &(struct diag_site){.code = "study-failed", .stage = which.stage->name},
                          "the phantom was not reconstructed on %s",
                          run->devices.device ? "CUDA" : "the CPU");
        ts_diag_destroy(refusals);
    }
    free(sinogram.data);
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    const struct bench_devices all = run->devices;
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    enum ts_status status = TS_OK;
    run->devices.device = NULL;
    for (int i = 0; status == TS_OK && all.on_cpu && i < n && sides[i] <= MOST_CPU_SIDE; i++)
        status = measure_side(run, sides[i]);
    run->devices.device = all.device;
    run->devices.on_cpu = false;
    for (int i = 0; status == TS_OK && all.device && i < n && sides[i] <= MOST_SIDE; i++)
        status = measure_side(run, sides[i]);
    run->devices = all;
    return status;
}

static const struct table_column columns[] = {
    STUDY_ROW_COLUMNS("side", "side"),
    {"rms", "RMS", COLUMN_REAL, STUDY_ROW_AT(number), 9, 3, 100, "%"}};

static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const devices[] = {"CPU", "CUDA"}, *const subject = "shepp-logan";
    const char *between = "";
    for (size_t i = 0; i < 2; i++) {
        const struct study_row *fbp = ts_study_find(rows, devices[i], subject, "fbp", -1),
                               *fourier =
                                   ts_study_find(rows, devices[i], subject, "fourier, linear", -1);
        if (!fbp || !fourier)
            continue;
        fprintf(stream,
                "%s%s, %lld squared: fourier is %.1f times as fast as fbp, and its RMS error is "
                "%.3f %% against %.3f %%",
                between, devices[i], (long long)fbp->x,
                ts_study_ratio(rows, devices[i], subject, "fbp", "fourier, linear", fbp->x),
                100 * fourier->number, 100 * fbp->number);
        between = "; ";
    }
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot_numbers(rows, "a slice from 1.6 n views of n detector pixels",
                                 "side n of the slice (pixels)",
                                 "RMS error of the phantom, as a share of its range", path, diag);
}

const struct study ts_inverse_radon_study = {
    .name = "inverse-radon",
    .own_data = true,
    .sentence = "Fourier reconstruction against filtered backprojection: time and error over size",
    .heading = "A slice of n x n pixels from 1.6 n views of n detector pixels, all with the ramp. "
               "RMS: difference from the phantom shepp-logan\nwithin the circle that all views "
               "see, as a share of its range.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "gridding takes n^2 log n operations in place of the n^3 of backprojection, and its "
             "images are as good (J. D. O'Sullivan, A Fast Sinc Function Gridding Algorithm for "
             "Fourier Inversion in Computer Tomography, IEEE Trans. Med. Imaging 4, 1985)",
    .finding = finding,
};
