/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/masked.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/support.h"

static bool leaves_out(enum masked_pixels which, int64_t z, size_t i, int64_t nx, uint64_t *state)
{
    const bool quarter = ts_random_next(state) % 4 == 0;
    if (which != MASKED_SOME)
        return which == MASKED_ALL;
    switch (z % 4) {
    case 0:
        return quarter;
    case 1:
        return true;
    case 2:
        return false;
    default:
        return i >= (size_t)nx;
    }
}

void ts_test_mask(struct ts_image *image, enum masked_pixels which, double hidden, uint64_t seed)
{
    const size_t n = ts_slice_count(image);
    image->masked = true;
    image->valid = calloc((size_t)image->axes[0].n, ts_valid_bytes(image));
    cr_assert(image->valid);
    for (int64_t z = 0; z < image->axes[0].n; z++)
        for (size_t i = 0; i < n; i++) {
            if (leaves_out(which, z, i, image->axes[2].n, &seed))
                ts_test_store((char *)ts_slice_data(image, z), image->dtype, i, hidden);
            else
                ts_slice_valid(image, z)[i / 64] |= UINT64_C(1) << i % 64;
        }
}

bool ts_test_is_valid(const struct ts_image *image, int64_t z, size_t i)
{
    return ts_valid_at(ts_slice_valid(image, z), i);
}

size_t ts_test_valid_values(const struct ts_image *image, const struct ts_image *mask, int64_t z,
                            int64_t n, double **values)
{
    const size_t count = ts_slice_count(image), element = ts_dtype_bytes(image->dtype);
    size_t taken = 0;
    *values = malloc((size_t)n * count * sizeof **values + 1);
    for (int64_t at = z; at < z + n; at++)
        for (size_t i = 0; i < count; i++) {
            double chosen = 1;
            if (mask)
                ts_load_f64(&chosen,
                            (const char *)ts_slice_data(mask, at) + i * ts_dtype_bytes(mask->dtype),
                            mask->dtype, 1);
            ts_load_f64(*values + taken, (const char *)ts_slice_data(image, at) + i * element,
                        image->dtype, 1);
            taken += (!image->masked || ts_test_is_valid(image, at, i)) && chosen != 0;
        }
    return taken;
}
