/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms through KissFFT (M. Borgerding), for builds that must not link FFTW. Only its
 * complex transform of one line is used, which keeps no state while it works. A real line of n
 * samples is read as n / 2 complex ones z: with Z their transform, E and O those of the even and
 * odd samples and w = exp(-2 pi i k / n),
 *
 *     E[k] = (Z[k] + conj Z[n/2 - k]) / 2,   O[k] = (Z[k] - conj Z[n/2 - k]) / 2i,
 *     X[k] = E[k] + w O[k].
 */
#ifdef TS_FFT_KISSFFT
#include <complex.h>
#include <kiss_fft.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

typedef float complex sample;

struct fft {
    struct fft_shape shape;
    int64_t n_rows,
        n_columns; /* size of one transform in samples, real or complex as shape.real says */
    kiss_fft_cfg row[2],
        column[2]; /* [0] is forward, [1] is inverse; column is NULL if the rank is 1 */
    sample *turns; /* the factors w for k = 0 .. n / 2; NULL if samples are complex */
};

size_t ts_fft_bytes(const struct fft_shape *shape)
{
    const int64_t lengths = shape->n[0] + (shape->rank == 2 ? shape->n[1] : 0);
    return 4096 + 4 * sizeof(sample) * (size_t)lengths;
}

size_t ts_fft_work_bytes(const struct fft_shape *shape)
{
    const int64_t columns = shape->n[shape->rank - 1], rows = shape->rank == 2 ? shape->n[0] : 0;
    return sizeof(sample) * (size_t)(columns > rows ? columns + 1 : rows);
}

static kiss_fft_cfg configure(int64_t n, bool inverse)
{
    return kiss_fft_alloc((int)n, inverse, NULL, NULL);
}

enum ts_status ts_fft_create(const struct fft_shape *shape, struct ts_diag *diag,
                             struct fft **result)
{
    struct fft *fft = calloc(1, sizeof *fft);
    *result = NULL;
    if (!fft)
        return ts_diag_no_memory(diag, sizeof *fft);
    fft->shape = *shape;
    fft->n_rows = shape->rank == 2 ? shape->n[0] : 1;
    fft->n_columns = shape->n[shape->rank - 1];
    const int64_t half = fft->n_columns / 2;
    bool complete = true;
    for (int inverse = 0; complete && inverse < 2; inverse++) {
        fft->row[inverse] = configure(shape->real ? half : fft->n_columns, inverse == 1);
        fft->column[inverse] = shape->rank == 2 ? configure(fft->n_rows, inverse == 1) : NULL;
        complete = fft->row[inverse] && (shape->rank == 1 || fft->column[inverse]);
    }
    if (complete && shape->real) {
        fft->turns = malloc((size_t)(half + 1) * sizeof *fft->turns);
        for (int64_t k = 0; fft->turns && k <= half; k++) {
            const double angle = -2 * M_PI * (double)k / (double)fft->n_columns;
            fft->turns[k] = (float)cos(angle) + (float)sin(angle) * I;
        }
        complete = fft->turns != NULL;
    }
    if (!complete) {
        ts_fft_destroy(fft);
        return ts_diag_no_memory(diag, ts_fft_bytes(shape));
    }
    *result = fft;
    return TS_OK;
}

void ts_fft_destroy(struct fft *fft)
{
    if (!fft)
        return;
    for (int inverse = 0; inverse < 2; inverse++) {
        kiss_fft_free(fft->row[inverse]);
        kiss_fft_free(fft->column[inverse]);
    }
    free(fft->turns);
    free(fft);
}

static void transform_line(kiss_fft_cfg line, sample *data, int64_t n, sample *work)
{
    kiss_fft(line, (const kiss_fft_cpx *)data, (kiss_fft_cpx *)work);
    memcpy(data, work, (size_t)n * sizeof *data);
}

static void transform_columns(const struct fft *fft, int inverse, sample *data, int64_t n_columns,
                              sample *work)
{
    for (int64_t column = 0; fft->column[inverse] && column < n_columns; column++) {
        kiss_fft_stride(fft->column[inverse], (const kiss_fft_cpx *)(data + column),
                        (kiss_fft_cpx *)work, (int)n_columns);
        for (int64_t row = 0; row < fft->n_rows; row++)
            data[row * n_columns + column] = work[row];
    }
}

static void real_forward(const struct fft *fft, const float *in, sample *out, sample *work)
{
    const int64_t half = fft->n_columns / 2;
    kiss_fft(fft->row[0], (const kiss_fft_cpx *)in, (kiss_fft_cpx *)work);
    work[half] = work[0];
    for (int64_t k = 0; k <= half; k++) {
        const sample mirrored = conjf(work[half - k]), even = work[k] + mirrored,
                     odd = work[k] - mirrored;
        out[k] = 0.5F * even - 0.5F * I * (fft->turns[k] * odd);
    }
}

static void real_inverse(const struct fft *fft, const sample *in, float *out, sample *work)
{
    const int64_t half = fft->n_columns / 2;
    for (int64_t k = 0; k < half; k++) {
        const sample first = k == 0 ? crealf(in[0]) : in[k],
                     last = k == 0 ? crealf(in[half]) : in[half - k];
        const sample mirrored = conjf(last);
        work[k] = first + mirrored + I * (conjf(fft->turns[k]) * (first - mirrored));
    }
    kiss_fft(fft->row[1], (const kiss_fft_cpx *)work, (kiss_fft_cpx *)out);
}

void ts_fft_forward(const struct fft *fft, float *in, float *out, void *work)
{
    const int64_t spectrum = fft->shape.real ? fft->n_columns / 2 + 1 : fft->n_columns;
    for (int64_t i = 0; i < fft->shape.batch; i++) {
        sample *first = (sample *)out + i * fft->n_rows * spectrum;
        for (int64_t row = 0; row < fft->n_rows; row++)
            if (fft->shape.real)
                real_forward(fft, in + (i * fft->n_rows + row) * fft->n_columns,
                             first + row * spectrum, work);
            else
                transform_line(fft->row[0], first + row * spectrum, spectrum, work);
        transform_columns(fft, 0, first, spectrum, work);
    }
}

void ts_fft_inverse(const struct fft *fft, float *in, float *out, void *work)
{
    const int64_t spectrum = fft->shape.real ? fft->n_columns / 2 + 1 : fft->n_columns;
    for (int64_t i = 0; i < fft->shape.batch; i++) {
        sample *first = (sample *)in + i * fft->n_rows * spectrum;
        transform_columns(fft, 1, first, spectrum, work);
        for (int64_t row = 0; row < fft->n_rows; row++)
            if (fft->shape.real)
                real_inverse(fft, first + row * spectrum,
                             out + (i * fft->n_rows + row) * fft->n_columns, work);
            else
                transform_line(fft->row[1], first + row * spectrum, spectrum, work);
    }
}

const char *ts_fft_library(void)
{
    return "KissFFT " TS_FFT_KISSFFT;
}
#endif
