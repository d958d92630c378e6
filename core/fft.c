/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the part of fft.h that both libraries (fft_fftw.c, fft_kissfft.c) share: sizes that
 * follow from the shape.
 */
#include "core/fft.h"

int64_t ts_fft_count(const struct fft_shape *shape)
{
    return shape->batch * shape->n[0] * (shape->rank == 2 ? shape->n[1] : 1);
}

int64_t ts_fft_spectrum_count(const struct fft_shape *shape)
{
    const int64_t rows = shape->rank == 2 ? shape->n[0] : 1, last = shape->n[shape->rank - 1];
    return shape->batch * rows * (shape->real ? last / 2 + 1 : last);
}

int64_t ts_fft_length(int64_t n)
{
    for (int64_t length = n < 2 ? 2 : n + n % 2;; length += 2) {
        int64_t rest = length;
        for (int64_t factor = 2; factor <= 5; factor++)
            while (rest % factor == 0)
                rest /= factor;
        if (rest == 1)
            return length;
    }
}
