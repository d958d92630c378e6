/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/mask_bits.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/mask_scene.h"

TestSuite(mask_bits);

/* Processes and devices may have any slices of a volume, and their totals come in any order. */
Test(mask_bits, partials_join_in_any_order)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
    struct ts_image image = ts_test_mask_scene(8, 5, 70, TS_U8, 2);
    const struct stage_context context = {.in = image};
    const struct ts_numbers all = {0};
    const struct mask_values values = ts_mask_values(TS_U8, &all);
    const size_t bytes = ts_mask_volume_bytes(&context, 0);
    struct mask_volume *whole = malloc(bytes), *total = malloc(bytes), *partial = malloc(bytes);
    memset(whole, 0xFF, bytes);
    ts_mask_volume_reduce(&image, values, whole);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        for (int k = 0; k < 4; k++) {
            const struct ts_image slices = ts_image_slices(&image, 2 * orders[i][k], 2);
            memset(k == 0 ? total : partial, 0xFF, bytes);
            ts_mask_volume_reduce(&slices, values, k == 0 ? total : partial);
            if (k > 0)
                ts_mask_volume_merge(&context, 0, total, partial);
        }
        cr_assert_eq(total->first, 0);
        cr_assert_eq(total->end, 8);
        cr_assert(!memcmp(total->bits, whole->bits, bytes - sizeof *whole), "order %zu", i);
    }
    free(whole);
    free(total);
    free(partial);
    free(image.data);
}

/* Bits become bytes again, also where a row ends within a word and within 8 bits. */
Test(mask_bits, bits_and_bytes_are_the_same)
{
    for (int64_t nx = 1; nx < 200; nx += 9) {
        struct ts_image image = ts_test_mask_scene(1, 3, nx, TS_F32, (uint64_t)nx);
        const struct mask_grid grid = ts_mask_grid(&image);
        const struct ts_numbers all = {0};
        uint64_t *bits = malloc(ts_mask_bytes(&grid, 1));
        uint8_t *bytes = malloc((size_t)nx + 1);
        ts_mask_load(&image, 0, ts_mask_values(TS_F32, &all), bits);
        for (int64_t y = 0; y < 3; y++) {
            bytes[nx] = 0xAA;
            ts_mask_store(bits + y * grid.n_words, nx, bytes);
            for (int64_t x = 0; x < nx; x++)
                cr_assert_eq(bytes[x], ((const float *)image.data)[y * nx + x] != 0);
            cr_assert_eq(bytes[nx], 0xAA);
        }
        free(bits);
        free(bytes);
        free(image.data);
    }
}
