/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/mask_scene.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/support.h"

static void draw_body(struct ts_image *image, uint64_t *state)
{
    const int64_t n[3] = {image->axes[0].n, image->axes[1].n, image->axes[2].n};
    double middle[3], half[3];
    const bool box = ts_random_unit(state) < 0.3, hollow = ts_random_unit(state) < 0.5;
    const double value = 1 + floor(3 * ts_random_unit(state));
    for (int axis = 0; axis < 3; axis++) {
        middle[axis] = ts_random_unit(state) * (double)n[axis];
        half[axis] = 0.6 + ts_random_unit(state) * 0.3 * (double)n[axis];
    }
    for (int64_t z = 0; z < n[0]; z++)
        for (int64_t y = 0; y < n[1]; y++)
            for (int64_t x = 0; x < n[2]; x++) {
                const double a = fabs((double)z - middle[0]) / half[0],
                             b = fabs((double)y - middle[1]) / half[1],
                             c = fabs((double)x - middle[2]) / half[2];
                const double r = box ? fmax(a, fmax(b, c)) : sqrt(a * a + b * b + c * c);
                if (r <= 1)
                    ts_test_store(image->data, image->dtype, (size_t)((z * n[1] + y) * n[2] + x),
                                  hollow && r < 0.6 ? 0 : value);
            }
}

struct ts_image ts_test_mask_scene(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype,
                                   uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, ny, nx, dtype, VALUES_CONSTANT, 1);
    memset(image.data, 0, ts_image_bytes(&image));
    for (int i = 0; i < 6; i++)
        draw_body(&image, &seed);
    for (size_t i = 0; i < ts_image_count(&image); i++)
        if (ts_random_unit(&seed) < 0.03)
            ts_test_store(image.data, dtype, i, floor(4 * ts_random_unit(&seed)));
    return image;
}

size_t ts_test_mask_agrees(const struct stage *stage, const char *assignments,
                           const struct ts_image *image, size_t label_offset, mask_oracle *oracle,
                           double tolerance)
{
    const size_t n = ts_image_count(image);
    double *values = malloc(n * sizeof *values), *expected = malloc(n * sizeof *expected);
    void *bytes = NULL;
    size_t others = 0;
    ts_load_f64(values, image->data, image->dtype, n);
    for (int64_t slab = 0; slab < 4; slab++)
        for (int threads = 1; threads < 4; threads++) {
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, stage, assignments, image, NULL, slab, threads), TS_OK,
                         "%s {%s}", stage->name, assignments);
            const size_t size = ts_image_bytes(&run.out);
            if (!bytes) {
                unsigned char *voxels = ts_mask_oracle_voxels(
                    &run.context,
                    (const struct ts_numbers *)(const void *)((const char *)run.context.params +
                                                              label_offset),
                    values, image);
                oracle(&run.context, voxels, expected);
                free(voxels);
                bytes = malloc(size);
                memcpy(bytes, run.out.data, size);
                ts_load_f64(values, run.out.data, run.out.dtype, n);
                for (size_t i = 0; i < n; i++) {
                    others += values[i] != 0;
                    cr_assert(values[i] == expected[i] ||
                                  fabs(values[i] - expected[i]) <= tolerance * fabs(expected[i]),
                              "%s {%s} %s: voxel %zu is %.9g, expected %.9g", stage->name,
                              assignments, ts_dtype_name(image->dtype), i, values[i], expected[i]);
                }
            }
            cr_assert(!memcmp(bytes, run.out.data, size), "%s {%s}: slab %lld, %d threads",
                      stage->name, assignments, (long long)slab, threads);
            ts_test_run_clear(&run);
        }
    free(bytes);
    free(values);
    free(expected);
    return others;
}
