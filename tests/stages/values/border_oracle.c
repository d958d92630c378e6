/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/values/border_oracle.h"

#include <stdlib.h>

int64_t ts_border_oracle(int64_t i, int64_t n, enum ts_border border)
{
    if (i >= 0 && i < n)
        return i;
    if (border == BORDER_CONSTANT)
        return -1;
    int64_t at = i < 0 ? 0 : n - 1, direction = i < 0 ? -1 : 1;
    for (int64_t left = i < 0 ? -i : i - (n - 1); left > 0; left--) {
        const int64_t next = at + direction;
        if (next >= 0 && next < n)
            at = next;
        else if (border == BORDER_WRAP)
            at = next < 0 ? n - 1 : 0;
        else if (border == BORDER_REFLECT)
            direction = -direction;
        else if (border == BORDER_MIRROR && n > 1) {
            direction = -direction;
            at += direction;
        }
    }
    return at;
}

double *ts_border_pad_oracle(const struct ts_image *image, const double *in, int64_t rz, int64_t ry,
                             int64_t rx, enum ts_border border, double constant)
{
    const int64_t nz = image->axes[0].n, ny = image->axes[1].n, nx = image->axes[2].n;
    double *padded =
               malloc((size_t)((nz + 2 * rz) * (ny + 2 * ry) * (nx + 2 * rx)) * sizeof *padded),
           *next = padded;
    int64_t *at_x = malloc((size_t)(nx + 2 * rx) * sizeof *at_x);
    for (int64_t x = -rx; x < nx + rx; x++)
        at_x[x + rx] = ts_border_oracle(x, nx, border);
    for (int64_t z = -rz; z < nz + rz; z++)
        for (int64_t y = -ry; y < ny + ry; y++) {
            const int64_t k = ts_border_oracle(z, nz, border), j = ts_border_oracle(y, ny, border);
            for (int64_t x = 0; x < nx + 2 * rx; x++)
                *next++ =
                    k < 0 || j < 0 || at_x[x] < 0 ? constant : in[(k * ny + j) * nx + at_x[x]];
        }
    free(at_x);
    return padded;
}
