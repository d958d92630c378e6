/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fft.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "tests/support/local_stages.h"
#include "tests/support/stage_check.h"

TestSuite(fft);

Test(fft, lengths_have_small_factors)
{
    static const int64_t pairs[][2] = {{-3, 2},    {0, 2},     {1, 2},    {2, 2},
                                       {3, 4},     {7, 8},     {13, 16},  {33, 36},
                                       {511, 512}, {513, 540}, {97, 100}, {4097, 4320}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        cr_expect_eq(ts_fft_length(pairs[i][0]), pairs[i][1], "of %lld: %lld",
                     (long long)pairs[i][0], (long long)ts_fft_length(pairs[i][0]));
}

/* ---- against the definition ------------------------------------------------------------------ */

/* One complex line of n pairs, in double. */
static void line_reference(const double *in, int64_t n, int64_t step, int sign, double *out)
{
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < n; j++) {
            const double angle = sign * 2 * M_PI * (double)(j * k % n) / (double)n, c = cos(angle),
                         s = sin(angle);
            re += in[2 * j * step] * c - in[2 * j * step + 1] * s;
            im += in[2 * j * step] * s + in[2 * j * step + 1] * c;
        }
        out[2 * k] = re;
        out[2 * k + 1] = im;
    }
}

/* rows x columns pairs in place. */
static void transform_reference(double *data, int64_t rows, int64_t columns, bool two, int sign)
{
    double *line = malloc(2 * sizeof *line * (size_t)(rows > columns ? rows : columns));
    for (int64_t row = 0; row < rows; row++) {
        line_reference(data + 2 * row * columns, columns, 1, sign, line);
        for (int64_t i = 0; i < 2 * columns; i++)
            data[2 * row * columns + i] = line[i];
    }
    for (int64_t column = 0; two && column < columns; column++) {
        line_reference(data + 2 * column, rows, columns, sign, line);
        for (int64_t row = 0; row < rows; row++)
            for (int part = 0; part < 2; part++)
                data[2 * (row * columns + column) + part] = line[2 * row + part];
    }
    free(line);
}

static void check_shape(const struct fft_shape *shape)
{
    const int64_t rows = shape->rank == 2 ? shape->n[0] : 1, columns = shape->n[shape->rank - 1];
    const int64_t kept = shape->real ? columns / 2 + 1 : columns, one = rows * columns;
    const size_t n = (size_t)ts_fft_count(shape), n_spectrum = (size_t)ts_fft_spectrum_count(shape);
    cr_assert_eq((int64_t)n, one * shape->batch);
    cr_assert_eq((int64_t)n_spectrum, rows * kept * shape->batch);
    float *in = ts_memory_aligned((2 * n + 2) * sizeof *in),
          *out = ts_memory_aligned((2 * n_spectrum + 2) * sizeof *out);
    double *expected = malloc(2 * n * sizeof *expected);
    void *work = ts_memory_aligned(ts_fft_work_bytes(shape));
    struct ts_diag *diag = ts_diag_create();
    struct fft *fft;
    cr_assert_eq(ts_fft_create(shape, diag, &fft), TS_OK);
    for (size_t i = 0; i < 2 * n; i++)
        expected[i] = shape->real && i % 2 ? 0 : sin(1.7 * (double)i) + (i % 7 == 3);
    for (size_t i = 0; i < n; i++)
        if (shape->real)
            in[i] = (float)expected[2 * i];
        else
            out[2 * i] = (float)expected[2 * i], out[2 * i + 1] = (float)expected[2 * i + 1];
    const float guard = 3.25F;
    out[2 * n_spectrum] = in[n] = guard;
    for (int64_t b = 0; b < shape->batch; b++)
        transform_reference(expected + 2 * b * one, rows, columns, shape->rank == 2, -1);
    ts_fft_forward(fft, shape->real ? in : out, out, work);
    const double scale = sqrt((double)one);
    for (int64_t b = 0; b < shape->batch * rows; b++)
        for (int64_t i = 0; i < 2 * kept; i++)
            cr_assert_float_eq(out[2 * b * kept + i], expected[2 * b * columns + i], 3e-6 * scale,
                               "rank %d real %d n %lld row %lld at %lld", shape->rank, shape->real,
                               (long long)columns, (long long)b, (long long)i);
    ts_fft_inverse(fft, out, shape->real ? in : out, work);
    for (size_t i = 0; i < n; i++) {
        const double x = sin(1.7 * (double)(2 * i)) + (2 * i % 7 == 3);
        cr_assert_float_eq((shape->real ? in[i] : out[2 * i]) / (double)one, x, 1e-5);
    }
    cr_assert_eq(out[2 * n_spectrum], guard);
    cr_assert_eq(in[n], guard);
    ts_fft_destroy(fft);
    ts_diag_destroy(diag);
    free(in);
    free(out);
    free(expected);
    free(work);
}

Test(fft, agrees_with_the_definition)
{
    static const int64_t lengths[] = {2, 4, 6, 8, 10, 14, 30, 32, 54, 64, 100, 128, 154, 256, 360};
    static const int64_t planes[][2] = {{1, 2},   {2, 2},  {3, 4},  {5, 14},
                                        {16, 16}, {17, 6}, {8, 30}, {36, 20}};
    for (int real = 0; real < 2; real++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (int64_t batch = 1; batch < 6; batch += 2)
                check_shape(&(struct fft_shape){
                    .rank = 1, .real = real, .n = {lengths[i]}, .batch = batch});
        for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
            check_shape(&(struct fft_shape){
                .rank = 2, .real = real, .n = {planes[i][0], planes[i][1]}, .batch = 2});
    }
    for (int64_t n = 1; n < 40; n += 2)
        check_shape(&(struct fft_shape){.rank = 1, .n = {n}, .batch = 2});
}

/* ---- as stages find them --------------------------------------------------------------------- */

/* Pairs as their transform; real values as themselves again, n times as large. */
static void spectrum_reference(const struct stage_context *context, const double *in, double *out)
{
    const struct spectrum_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    for (int64_t i = 0; i < nz * ny * nx; i++)
        out[i] = params->real ? in[i] * (double)(params->plane ? ny * nx : nx) : in[i];
    for (int64_t z = 0; z < nz && !params->real; z++)
        transform_reference(out + z * ny * nx, ny, nx / 2, params->plane, -1);
}

TEST_ON_BOTH(fft, stages_find_the_transforms_they_asked_for)
{
    static const char *const texts[] = {"", "real=true", "plane=true", "real=true plane=true"};
    static const int64_t shapes[][3] = {{3, 5, 32}, {4, 16, 20}, {2, 1, 2}, {5, 30, 64}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            const struct stage_case which = {.assignments = texts[i],
                                             .nz = shapes[k][0],
                                             .ny = shapes[k][1],
                                             .nx = shapes[k][2]};
            n += ts_stage_check(&spectrum_stage, spectrum_reference, &which, 1);
        }
    cr_assert_eq(n, 16);
}
