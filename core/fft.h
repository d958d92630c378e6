/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete Fourier transforms on the CPU, in single precision and in batches, through FFTW or
 * KissFFT, whichever the build chose (TOMOSTAGE_FFT). cuda/device/launch.h has the transforms of a
 * CUDA device.
 *
 *     forward: X[k] = sum over j of x[j] exp(-2 pi i j k / n)        inverse: the same with +;
 *              neither divides by n
 *
 * Rank 2 is n[0] rows of n[1] samples, row-major. Complex transforms work in place on pairs (real,
 * imaginary). Real transforms take n samples along the last axis and write n / 2 + 1 complex ones
 * to a different array; their inverse goes back and overwrites the spectrum. Plans are made from
 * the shape alone, without measuring, so that the same shape gives the same bytes in every run.
 */
#ifndef CORE_FFT_H
#define CORE_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/diag.h"

struct fft_shape {
    int rank;      /* 1 or 2 */
    bool real;     /* if true, the last n must be even */
    int64_t n[2];  /* sizes; rank 1 uses only n[0] */
    int64_t batch; /* number of transforms in a call, one after the other in memory; each call does
                    * exactly this many */
};

struct fft;

/* Return how many samples all transforms of one call have (real or complex, as the shape says), and
 * how many complex samples their spectra have. */
int64_t ts_fft_count(const struct fft_shape *shape);
int64_t ts_fft_spectrum_count(const struct fft_shape *shape);
/* Returns the smallest even length of at least n that has no prime factor above 5, since such
 * transforms are fast. */
int64_t ts_fft_length(int64_t n);

/* Return about how many bytes ts_fft_create allocates, and how many the work area has that each
 * thread passes to its calls. */
size_t ts_fft_bytes(const struct fft_shape *shape);
size_t ts_fft_work_bytes(const struct fft_shape *shape);

/* Plans transforms of this shape. Returns TS_RUN_FAILED if memory is out or the library makes no
 * plan (code fft-plan). */
enum ts_status ts_fft_create(const struct fft_shape *shape, struct ts_diag *diag, struct fft **fft);
void ts_fft_destroy(struct fft *fft); /* NULL does nothing */

/* Transform a batch, forward or back. Any number of threads may do so at once, each with its own
 * data and work area, which start on 64-byte boundaries. Complex transforms need in == out. */
void ts_fft_forward(const struct fft *fft, float *in, float *out, void *work);
void ts_fft_inverse(const struct fft *fft, float *in, float *out, void *work);

/* Returns the library's name and version, such as "FFTW 3.3.10" or "KissFFT 131". */
const char *ts_fft_library(void);

#endif
