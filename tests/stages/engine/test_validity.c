/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits of valid pixels on the CPU: marked by their values, counted, filled, and packed, against
 * loops over pixels.
 */
#include "stages/engine/validity.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/masked.h"
#include "tests/support/stage_run.h"

static const int64_t shapes[][3] = {{3, 5, 7}, {2, 1, 64},  {4, 8, 16},
                                    {1, 1, 1}, {5, 13, 11}, {2, 1, 65}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static double value_at(const struct ts_image *image, int64_t z, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)ts_slice_data(image, z) + i * ts_dtype_bytes(image->dtype),
                image->dtype, 1);
    return value;
}

static void check_marks(const struct ts_image *image, struct invalid_range range)
{
    struct ts_image marked = *image;
    uint64_t expected = 0;
    marked.masked = true;
    marked.valid = malloc((size_t)image->axes[0].n * ts_valid_bytes(&marked));
    ts_valid_mark(&marked, &range, 2);
    for (int64_t z = 0; z < image->axes[0].n; z++)
        for (size_t i = 0; i < ts_slice_count(image); i++) {
            const double value = value_at(image, z, i);
            const bool valid = !(value >= range.low && value <= range.high);
            cr_assert_eq(ts_test_is_valid(&marked, z, i), valid);
            expected += valid;
        }
    cr_assert_eq(ts_valid_count(&marked), expected); /* so the bits behind the last pixel are 0 */
    free(marked.valid);
}

Test(validity, marks_values_in_a_range)
{
    for (size_t s = 0; s < N_SHAPES; s++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            struct ts_image image = ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2],
                                                  (enum ts_dtype)dtype, VALUES_CT, s + 1);
            const double value = value_at(&image, 0, 0);
            check_marks(&image, (struct invalid_range){value, value});
            check_marks(&image, (struct invalid_range){value, value + 100});
            check_marks(&image, (struct invalid_range){(double)NAN, (double)NAN});
            if (dtype == TS_F32) { /* NaN is no value of a range */
                ((float *)image.data)[0] = NAN;
                check_marks(&image, (struct invalid_range){-INFINITY, INFINITY});
            }
            free(image.data);
        }
}

Test(validity, fills_invalid_pixels_alone)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
        struct ts_image image = ts_test_image(4, 9, 15, (enum ts_dtype)dtype, VALUES_RANDOM, 3),
                        filled;
        const size_t bytes = ts_image_bytes(&image);
        ts_test_mask(&image, MASKED_SOME, 7, 5);
        filled = image;
        filled.data = memcpy(malloc(bytes), image.data, bytes);
        ts_valid_fill(&filled, 42, 2);
        for (int64_t z = 0; z < 4; z++)
            for (size_t i = 0; i < ts_slice_count(&image); i++)
                cr_assert_eq(value_at(&filled, z, i),
                             ts_test_is_valid(&image, z, i) ? value_at(&image, z, i) : 42);
        free(filled.data);
        free(image.data);
        free(image.valid);
    }
}

/* Expects that reduce() is given the values of a slice that a loop over its pixels finds. */
static void check_packed(const struct stage *stage, const struct ts_image *image,
                         const struct ts_image *mask)
{
    const struct ts_image *const references[STAGE_REFERENCES] = {mask};
    struct param_set set;
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    ts_test_params(stage, "", &set);
    cr_assert_eq(ts_stage_prepare(stage, &set, image, references, 1, NULL, diag, &context), TS_OK);
    cr_assert(ts_stage_packs(&context, 0));
    void *memory = malloc(ts_stage_packed_bytes(&context));
    for (int64_t z = 0; z < image->axes[0].n; z++) {
        struct ts_image slices[STAGE_INPUTS] = {ts_image_slices(image, z, 1)}, packed[STAGE_INPUTS];
        double *expected;
        if (mask)
            slices[1] = ts_image_slices(mask, z, 1);
        ts_stage_pack(&context, 0, slices, memory, packed);
        const size_t n = ts_test_valid_values(image, mask, z, 1, &expected);
        cr_assert_eq(ts_image_count(&packed[0]), n);
        cr_assert_eq(packed[0].z_first, z);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(value_at(&packed[0], 0, i), expected[i]);
        free(expected);
    }
    free(memory);
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
}

Test(validity, packs_valid_values_in_their_order)
{
    for (size_t s = 0; s < N_SHAPES; s++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            const int64_t nz = shapes[s][0], ny = shapes[s][1], nx = shapes[s][2];
            struct ts_image image =
                ts_test_image(nz, ny, nx, (enum ts_dtype)dtype, VALUES_RANDOM, s + 1);
            struct ts_image mask = ts_test_image(nz, ny, nx, TS_U8, VALUES_RANDOM, s + 9);
            for (size_t i = 0; i < ts_image_count(&mask); i += 3)
                ((uint8_t *)mask.data)[i] = 0;
            check_packed(&statistics_stage, &image, &mask);
            ts_test_mask(&image, MASKED_SOME, 0, s);
            check_packed(&statistics_stage, &image, NULL);
            check_packed(&statistics_stage, &image, &mask);
            free(mask.data);
            free(image.data);
            free(image.valid);
        }
}

/* The stage's output with its bits, over slabs of three slices; free both. */
static struct ts_image masked_output(const struct stage *stage, const struct ts_image *image)
{
    struct param_set set;
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    ts_test_params(stage, "", &set);
    cr_assert_eq(ts_stage_prepare(stage, &set, image, NULL, 1, NULL, diag, &context), TS_OK);
    struct ts_image out = context.out;
    cr_assert(out.masked && !out.valid);
    out.data = malloc(ts_image_bytes(&out));
    out.valid = malloc((size_t)out.axes[0].n * ts_valid_bytes(&out));
    cr_assert_eq(ts_stage_apply(&context, image, &out, NULL, 3, NULL), TS_OK);
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    return out;
}

Test(validity, the_output_of_a_map_is_masked_as_its_input)
{
    struct ts_image image = ts_test_image(4, 6, 7, TS_U8, VALUES_RANDOM, 1);
    ts_test_mask(&image, MASKED_SOME, 0, 1);
    const struct ts_image out = masked_output(&invert_stage, &image);
    cr_assert(!memcmp(out.valid, image.valid, 4 * ts_valid_bytes(&image)));
    free(out.data);
    free(out.valid);
    free(image.data);
    free(image.valid);
}

Test(validity, moves_with_the_values)
{
    enum { NX = 71 };
    struct ts_image image = ts_test_image(4, 6, NX, TS_F32, VALUES_RANDOM, 1);
    ts_test_mask(&image, MASKED_SOME, 0, 1);
    ts_test_sinogram(&image);
    const struct ts_image out = masked_output(&flip_stage, &image);
    for (int64_t z = 0; z < 4; z++)
        for (size_t i = 0; i < ts_slice_count(&image); i++)
            cr_assert_eq(ts_test_is_valid(&out, z, i),
                         ts_test_is_valid(&image, z, i / NX * NX + NX - 1 - i % NX));
    free(out.data);
    free(out.valid);
    free(image.data);
    free(image.valid);
}
