/* SPDX-License-Identifier: Apache-2.0
 *
 * Images have the same diffusion weighting although a header rounds their gradients slice by slice,
 * and many gradients are near to one another. Where nothing else fits, the weightings of a volume
 * may differ by 1 %.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "io/dicom_series/dicom_weightings.h"
#include "tests/support/support.h"

enum { POSITIONS = 3, SIDE = 8, VOLUMES = SIDE * SIDE * SIDE };

static struct dicom_file file;

/* Makes the images of one volume for each gradient of a grid whose points are `step` apart, in
 * order along the normal, the volumes at each position in an order of their own. Those behind the
 * first position are off by up to `off`. */
static struct dicom_series make(double step, double off, struct dicom_image **images)
{
    struct dicom_image *all = calloc((size_t)POSITIONS * VOLUMES, sizeof *all);
    uint64_t random = 11;
    cr_assert_not_null(all);
    for (int i = 0; i < POSITIONS * VOLUMES; i++) {
        const int position = i / VOLUMES, volume = (i * (2 * position + 1)) % VOLUMES;
        const int at[3] = {volume % SIDE, volume / SIDE % SIDE, volume / (SIDE * SIDE)};
        all[i] = (struct dicom_image){.file = &file,
                                      .frame = i,
                                      .have_gradient = true,
                                      .b_value = 1000 + 1000 * (volume % 2),
                                      .temporal_position = NAN,
                                      .instance_number = volume,
                                      .along_mm = 2 * position};
        for (int k = 0; k < 3; k++) {
            const double random_part =
                (double)(ts_random_next(&random) >> 11) / (double)(UINT64_C(1) << 53);
            all[i].gradient[k] =
                0.5 + step * at[k] + (position > 0 ? off * (2 * random_part - 1) : 0);
        }
        images[i] = &all[i];
    }
    return (struct dicom_series){.images = images, .n_images = (size_t)POSITIONS * VOLUMES};
}

/* Every image gets the order of the image of its volume at the first position, and others that are
 * near get others. */
Test(dicom_weightings, a_rounded_gradient_is_the_nearest_of_the_first_position)
{
    static const struct {
        double step, off;
        bool joined;
    } rows[] = {{2e-4, 9e-5, true},
                {1e-5, 4e-6, true},
                {0.05, 9e-4, true},
                {0.05, 0, true},
                {0.05, 3e-3, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        static struct dicom_image *images[POSITIONS * VOLUMES];
        double order[VOLUMES];
        struct dicom_series series = make(rows[r].step, rows[r].off, images);
        cr_assert_not(ts_dicom_order_weightings(&series), "row %zu", r);
        cr_assert_not(series.no_memory);
        int differ = 0;
        for (int i = 0; i < POSITIONS * VOLUMES; i++) {
            const int volume = (int)images[i]->instance_number;
            if (i < VOLUMES)
                order[volume] = images[i]->weighting_order;
            differ += images[i]->weighting_order != order[volume];
        }
        cr_expect_eq(differ == 0, rows[r].joined, "row %zu: %d images have another order", r,
                     differ);
        free(images[0]);
    }
}

/* Two images of a volume, whose b-values and gradients differ. */
Test(dicom_weightings, of_a_volume_may_differ_by_one_percent_where_nothing_else_fits)
{
    static const struct {
        double first, b, off;
        bool without, same, roughly;
    } rows[] = {
        {1000, 1000, 0, false, true, true},        {1000, 1000, 9.9e-4, false, true, true},
        {1000, 1000, 1.1e-3, false, false, true},  {1000, 1000, 9.9e-3, false, false, true},
        {1000, 1000, 1.1e-2, false, false, false}, {1000, 1000.5, 0, false, false, true},
        {1000, 1009.9, 0, false, false, true},     {1000, 990.1, 9.9e-3, false, false, true},
        {1000, 1010.1, 0, false, false, false},    {1000, 989.9, 0, false, false, false},
        {1000, 1000, 0, true, false, false},       {NAN, NAN, 0, false, true, true},
        {NAN, 0, 0, false, false, false},          {0, NAN, 0, false, false, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct dicom_image first = {.b_value = rows[r].first,
                                    .have_gradient = true,
                                    .gradient = {0.6, 0, 0.8}},
                           second = {.b_value = rows[r].b,
                                     .have_gradient = !rows[r].without,
                                     .gradient = {0.6, rows[r].off, 0.8}},
                           *images[] = {&first, &second};
        const struct dicom_series series = {.images = images, .n_images = 2};
        cr_expect_eq(ts_dicom_same_weighting(&series, 1, 2, false), rows[r].same, "row %zu", r);
        cr_expect_eq(ts_dicom_same_weighting(&series, 1, 2, true), rows[r].roughly, "row %zu", r);
        cr_expect(ts_dicom_same_weighting(&series, 2, 1, false),
                  "row %zu: they are volumes of their own", r);
    }
}
