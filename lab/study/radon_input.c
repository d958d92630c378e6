/* SPDX-License-Identifier: Apache-2.0
 *
 * The study radon-input: projections organized by their input against those organized by their
 * output, over size. By input (method row-fan-in of radon), a block takes rows of the image and
 * projects them, pixel by pixel, into a vector of floor(sqrt(2) n) detector pixels, and the vectors
 * are joined by halving, since float atomics would add in another order each time. By output (ray;
 * joseph on the CPU), a thread follows a ray and writes one sum. Beside them stand the methods that
 * radon uses today for many slices. One slice, and 16 of them; results are held against radon's
 * oracle.
 */
#include <math.h>

#include "lab/study/study_rows.h"

enum { VIEWS = 180, MOST_SIDE = 2048, STACK = 16, MOST_STACK_SIDE = 1024 };

static const char *const methods[] = {"row-fan-in", "joseph", "ray", "stack", "tensor-split"};

static enum ts_status measure_side(struct study_run *run, int64_t side, int64_t slices)
{
    enum ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < sizeof methods / sizeof *methods; i++) {
        struct study_row row = {.x = side, .number = NAN};
        struct bench_case which = {.stage = ts_stage_find("radon"),
                                   .dtype = TS_F32,
                                   .values = BENCH_CT,
                                   .nz = slices,
                                   .ny = side,
                                   .nx = side};
        snprintf(row.subject, sizeof row.subject, slices == 1 ? "1 slice" : "%lld slices",
                 (long long)slices);
        snprintf(row.method, sizeof row.method, "%s", methods[i]);
        snprintf(which.parameters, sizeof which.parameters, "views=%d detectors=%lld method=%s",
                 VIEWS, (long long)(M_SQRT2 * (double)side), methods[i]);
        status = ts_study_stage(run, &row, &which);
    }
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    const int64_t most = run->request->most;
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n && sides[i] <= MOST_SIDE; i++)
        status = measure_side(run, sides[i], 1);
    for (int i = 0; status == TS_OK && i < n && sides[i] <= MOST_STACK_SIDE; i++)
        if (most == 0 || STACK * sides[i] * sides[i] <= most)
            status = measure_side(run, sides[i], STACK);
    return status;
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

/* Compares by input with by output for one slice, and with the fastest of all for 16. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    static const struct {
        const char *device, *output;
    } sides[] = {{"CPU", "joseph"}, {"CUDA", "ray"}};
    const char *between = "";
    for (size_t i = 0; i < 2; i++) {
        const struct study_row *input =
            ts_study_find(rows, sides[i].device, "1 slice", "row-fan-in", -1);
        if (!input)
            continue;
        fprintf(stream,
                "%s%s, one slice of %lld squared: by output (%s) is %.1f times as fast as by input",
                between, sides[i].device, (long long)input->x, sides[i].output,
                ts_study_ratio(rows, sides[i].device, "1 slice", "row-fan-in", sides[i].output,
                               input->x));
        between = "; ";
    }
    const struct study_row *input = ts_study_find(rows, "CUDA", "16 slices", "row-fan-in", -1),
                           *fastest = NULL;
    for (size_t i = 0; input && i < sizeof methods / sizeof *methods; i++) {
        const struct study_row *row =
            ts_study_find(rows, "CUDA", "16 slices", methods[i], input->x);
        fastest = row && (!fastest || row->seconds < fastest->seconds) ? row : fastest;
    }
    if (fastest)
        fprintf(
            stream,
            "; CUDA, 16 slices of %lld squared: the fastest, %s, is %.1f times as fast as by input",
            (long long)fastest->x, fastest->method, input->seconds / fastest->seconds);
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "radon by input and by output, 180 views",
                         "side of the slice (pixels)", path, diag);
}

const struct study ts_radon_input_study = {
    .name = "radon-input",
    .sentence = "projections organized by rows of the image against projections organized by rays",
    .heading = "180 views of square slices with sqrt(2) n detector pixels. row-fan-in works by "
               "input: rows are projected into vectors\nthat fan in; joseph (CPU), ray, stack and "
               "tensor-split (CUDA) work by output.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found =
        "by input, rows of an image fill vectors that must be joined, and by output every ray is "
        "one thread's sum and nothing is joined: the rule for many threads is to turn scattering "
        "by input into gathering by output (J. A. Stratton et al., Algorithm and Data Optimization "
        "Techniques for Scaling to Massively Threaded Systems, IEEE Computer 45, 2012)",
    .finding = finding,
};
