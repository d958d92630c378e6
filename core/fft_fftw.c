/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes Fourier transforms through FFTW (M. Frigo and S. G. Johnson, Proc. IEEE 93, 2005).
 * FFTW's planner is not made for threads, so a lock guards it. Transforms themselves are
 * thread-safe and take no lock.
 */
#ifdef TS_FFT_FFTW
#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

struct fft {
    fftwf_plan forward, inverse;
    bool real;
};

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

size_t ts_fft_bytes(const struct fft_shape *shape)
{
    const int64_t lengths = shape->n[0] + (shape->rank == 2 ? shape->n[1] : 0);
    return (64 << 10) + 64 * (size_t)lengths;
}

size_t ts_fft_work_bytes(const struct fft_shape *shape)
{
    (void)shape;
    return 0;
}

/* FFTW_ESTIMATE looks only at the alignment of the arrays and whether they are the same, not at
 * their values. */
static void plan_complex(struct fft *fft, const struct fft_shape *shape)
{
    static _Alignas(64) fftwf_complex place;
    const int n[2] = {(int)shape->n[0], (int)shape->n[1]}, batch = (int)shape->batch;
    const int distance = (int)(ts_fft_count(shape) / shape->batch);
    fft->forward = fftwf_plan_many_dft(shape->rank, n, batch, &place, NULL, 1, distance, &place,
                                       NULL, 1, distance, FFTW_FORWARD, FFTW_ESTIMATE);
    fft->inverse = fftwf_plan_many_dft(shape->rank, n, batch, &place, NULL, 1, distance, &place,
                                       NULL, 1, distance, FFTW_BACKWARD, FFTW_ESTIMATE);
}

static void plan_real(struct fft *fft, const struct fft_shape *shape)
{
    static _Alignas(64) float samples[16];
    static _Alignas(64) fftwf_complex spectrum;
    const int n[2] = {(int)shape->n[0], (int)shape->n[1]}, batch = (int)shape->batch;
    const int apart = (int)(ts_fft_count(shape) / shape->batch),
              spectra_apart = (int)(ts_fft_spectrum_count(shape) / shape->batch);
    fft->forward = fftwf_plan_many_dft_r2c(shape->rank, n, batch, samples, NULL, 1, apart,
                                           &spectrum, NULL, 1, spectra_apart, FFTW_ESTIMATE);
    fft->inverse = fftwf_plan_many_dft_c2r(shape->rank, n, batch, &spectrum, NULL, 1, spectra_apart,
                                           samples, NULL, 1, apart, FFTW_ESTIMATE);
}

enum ts_status ts_fft_create(const struct fft_shape *shape, struct ts_diag *diag,
                             struct fft **result)
{
    struct fft *fft = calloc(1, sizeof *fft);
    *result = NULL;
    if (!fft)
        return ts_diag_no_memory(diag, sizeof *fft);
    fft->real = shape->real;
    pthread_mutex_lock(&planner);
    (shape->real ? plan_real : plan_complex)(fft, shape);
    pthread_mutex_unlock(&planner);
    if (!fft->forward || !fft->inverse) {
        ts_fft_destroy(fft);
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "fft-plan"},
                             "FFTW makes no plan for transforms of %lld samples",
                             (long long)(ts_fft_count(shape) / shape->batch));
    }
    *result = fft;
    return TS_OK;
}

void ts_fft_destroy(struct fft *fft)
{
    if (!fft)
        return;
    pthread_mutex_lock(&planner);
    if (fft->forward)
        fftwf_destroy_plan(fft->forward);
    if (fft->inverse)
        fftwf_destroy_plan(fft->inverse);
    pthread_mutex_unlock(&planner);
    free(fft);
}

void ts_fft_forward(const struct fft *fft, float *in, float *out, void *work)
{
    (void)work;
    if (fft->real)
        fftwf_execute_dft_r2c(fft->forward, in, (fftwf_complex *)out);
    else
        fftwf_execute_dft(fft->forward, (fftwf_complex *)in, (fftwf_complex *)out);
}

void ts_fft_inverse(const struct fft *fft, float *in, float *out, void *work)
{
    (void)work;
    if (fft->real)
        fftwf_execute_dft_c2r(fft->inverse, (fftwf_complex *)in, out);
    else
        fftwf_execute_dft(fft->inverse, (fftwf_complex *)in, (fftwf_complex *)out);
}

static char library_name[32];

/* Takes "fftw-3.3.10-sse2-avx" without the parts that say what it was built for. */
static void find_name(void)
{
    const char *version = strncmp(fftwf_version, "fftw-", 5) ? fftwf_version : fftwf_version + 5;
    snprintf(library_name, sizeof library_name, "FFTW %.*s", (int)strcspn(version, "-"), version);
}

const char *ts_fft_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_name);
    return library_name;
}
#endif
