/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of a stage: slabs are padded out of any parts that hold the slices needed, and a
 * driver can run again.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/driver.h"
#include "tests/support/local_stages.h"
#include "tests/support/stage_check.h"

enum { NZ = 7, NY = 3, NX = 5, SLAB = 3, N_PARTS = 3, CONSTANT = 17 };

/* Every slice of the padded slab is the slice that the border's rule names, or the constant. */
static void expect_padded(const struct ts_image *whole, const struct ts_image *padded, int64_t halo,
                          enum ts_border border)
{
    const size_t bytes = ts_slice_bytes(whole);
    unsigned char outside[NY * NX];
    memset(outside, CONSTANT, sizeof outside);
    for (int64_t k = 0; k < padded->axes[0].n; k++) {
        const int64_t from = ts_border_index(padded->z_first + k, NZ, border);
        const void *expected = from < 0 ? outside : ts_slice_data(whole, from);
        cr_assert(!memcmp(ts_slice_data(padded, k), expected, bytes),
                  "border %d, halo %lld, slice %lld of slab %lld", (int)border, (long long)halo,
                  (long long)k, (long long)padded->z_first);
    }
}

static enum ts_status collect_by_copies(struct stage_driver *driver, void *to,
                                        const void *const *from, int n, size_t slice_bytes)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++)
        status =
            driver->calls->copy(driver, (char *)to + (size_t)i * slice_bytes, from[i], slice_bytes);
    return status;
}

/* `collects`: slices are collected, as a device does. */
static void check_border(const char *name, enum ts_border border, int64_t halo, bool collects)
{
    static const int64_t ends[N_PARTS + 1] = {0, 2, 5, NZ};
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 1), parts[N_PARTS],
                    padded;
    struct ts_diag *diag = ts_diag_create();
    struct param_set set;
    struct stage_context context;
    struct stage_driver *driver;
    char assignments[64];
    snprintf(assignments, sizeof assignments, "by=%lld border=%s constant=%d", (long long)halo,
             name, CONSTANT);
    ts_test_params(&shift_stage, assignments, &set);
    cr_assert_eq(ts_stage_prepare(&shift_stage, &set, &image, NULL, 1, NULL, diag, &context),
                 TS_OK);
    cr_assert_eq(ts_driver_create(&context, SLAB, NULL, &driver), TS_OK);
    struct stage_driver_calls calls = *driver->calls;
    calls.collect = collects ? collect_by_copies : NULL;
    driver->calls = &calls;
    for (int i = 0; i < N_PARTS; i++)
        parts[i] = ts_image_slices(&image, ends[i], ends[i + 1] - ends[i]);
    for (int64_t z = 0; z + SLAB <= NZ; z++) {
        cr_assert_eq(ts_driver_pad(driver, parts, N_PARTS, z, SLAB, &padded), TS_OK);
        cr_assert_eq(padded.z_first, z - halo);
        cr_assert_eq(padded.axes[0].n, SLAB + 2 * halo);
        expect_padded(&image, &padded, halo, border);
    }
    /* A part that holds all of it is not copied. */
    if (halo <= 2) {
        cr_assert_eq(ts_driver_pad(driver, &image, 1, 2, SLAB, &padded), TS_OK);
        cr_assert_eq(padded.data, ts_slice_data(&image, 2 - halo));
    }
    ts_driver_destroy(driver);
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    free(image.data);
}

Test(driver, pads_out_of_parts)
{
    static const char *const names[] = {"reflect", "mirror", "nearest", "constant", "wrap"};
    static const int64_t halos[] = {1, 2, 4, 9};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t h = 0; h < sizeof halos / sizeof *halos; h++)
            for (int collects = 0; collects < 2; collects++)
                check_border(names[i], (enum ts_border)i, halos[h], collects);
}

static enum ts_status feed(void *from, int input, int64_t z, int64_t n,
                           struct ts_image slices[STAGE_INPUTS])
{
    cr_assert_eq(input, 0);
    slices[0] = ts_image_slices(from, z, n);
    return TS_OK;
}

/* Totals, results and tables of the first run leave nothing behind. */
Test(driver, runs_again_after_a_restart)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_RANDOM, 2);
    const struct stage *stage = ts_stage_find("statistics");
    struct ts_diag *diag = ts_diag_create();
    struct param_set set;
    struct stage_context context;
    struct stage_driver *driver;
    double means[2];
    ts_test_params(stage, "percentiles=50", &set);
    cr_assert_eq(ts_stage_prepare(stage, &set, &image, NULL, 2, NULL, diag, &context), TS_OK);
    cr_assert_eq(ts_driver_create(&context, 2, NULL, &driver), TS_OK);
    for (int run = 0; run < 2; run++) {
        const struct stage_table *tables;
        cr_assert_eq(ts_driver_reduce(driver, feed, &image), TS_OK);
        const int n = ts_stage_reduced_tables(driver->reduced, &tables);
        for (int i = 0; i < n; i++) {
            if (!strcmp(tables[i].name, "mean"))
                means[run] = *(const double *)tables[i].image.data;
            if (!strcmp(tables[i].name, "count"))
                cr_assert_eq(*(const uint64_t *)tables[i].image.data, NZ * NY * NX);
        }
        cr_assert_eq(ts_driver_restart(driver), TS_OK);
    }
    cr_assert_eq(means[0], means[1]);
    ts_driver_destroy(driver);
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    free(image.data);
}
