/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms of a volume of which several processes count a part each, on devices: the joined
 * totals have the bins and the counts of one process, though a device makes bins of its counts
 * before they leave it. The totals are made here.
 */
#include "stages/histogram/histogram.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/prepare.h"
#include "stages/engine/reduce.h"
#include "tests/support/stage_run.h"

enum { NZ = 7, CUT = 3 };

static const struct device_numbers device = {.major = 9, .code = 90, .multiprocessors = 132};

struct part {
    struct param_set set;
    struct stage_context context;
    struct stage_reduced *reduced;
};

static void part_init(struct part *part, const char *params, const struct ts_image *in, bool joined,
                      struct ts_diag *diag)
{
    ts_test_params(&histogram_stage, params, &part->set);
    cr_assert_eq(ts_stage_prepare(&histogram_stage, &part->set, in, NULL, 1,
                                  joined ? &device : NULL, diag, &part->context),
                 TS_OK);
    part->context.joined = joined;
    cr_assert_eq(ts_stage_reduced_create(&part->context, NZ, &part->reduced), TS_OK);
}

static void part_clear(struct part *part)
{
    ts_stage_reduced_destroy(part->reduced);
    ts_test_params_clear(&part->set);
}

/* Adds slices to a total as a device brings it to the host. */
static void add(struct part *part, const struct ts_image *slices)
{
    if (!ts_histogram_binned(&part->context, 0)) {
        ts_stage_reduced_add(part->reduced, 0, slices);
        return;
    }
    struct histogram_binned *total = ts_stage_reduced_total(part->reduced, 0);
    total->bins = ts_histogram_bins(&part->context);
    struct bin_counts *counts = calloc(1, ts_bin_counts_bytes(total->bins.n));
    ts_bin_counts_of(counts, &total->bins, slices);
    memcpy(total->slots, counts->slots,
           ((size_t)total->bins.n + BINS_EXTRA_SLOTS) * sizeof *total->slots);
    free(counts);
}

static void expect_same_tables(const struct part *part, const struct part *whole,
                               const char *params)
{
    const struct stage_table *tables, *expected;
    const int n = ts_stage_reduced_tables(part->reduced, &tables);
    cr_assert_eq(ts_stage_reduced_tables(whole->reduced, &expected), n);
    for (int t = 0; t < n; t++)
        cr_assert_eq(memcmp(tables[t].image.data, expected[t].image.data,
                            ts_image_bytes(&expected[t].image)),
                     0, "histogram {%s}: %s", params, expected[t].name);
}

Test(histogram, totals_of_devices_are_joined)
{
    static const struct {
        const char *params;
        bool binned;
    } rows[] = {
        {"bins=32", false}, {"bins=32 range=-900,700", true}, {"bins=256 limits=dtype", true}};
    struct ts_image in = ts_test_image(NZ, 5, 9, TS_I16, VALUES_RANDOM, 1);
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct part whole, first, second;
        const struct ts_image slices[] = {ts_image_slices(&in, 0, CUT),
                                          ts_image_slices(&in, CUT, NZ - CUT)};
        part_init(&whole, rows[i].params, &in, false, diag);
        part_init(&first, rows[i].params, &in, true, diag);
        part_init(&second, rows[i].params, &in, true, diag);
        cr_assert_eq(ts_histogram_binned(&first.context, 0), rows[i].binned, "%s", rows[i].params);
        ts_stage_reduced_add(whole.reduced, 0, &in);
        add(&first, &slices[0]);
        add(&second, &slices[1]);
        ts_stage_reduced_join(first.reduced, 0, ts_stage_reduced_sum(second.reduced, 0));
        cr_assert_eq(ts_stage_reduced_finish(whole.reduced), TS_OK);
        cr_assert_eq(ts_stage_reduced_finish(first.reduced), TS_OK);
        expect_same_tables(&first, &whole, rows[i].params);
        part_clear(&whole);
        part_clear(&first);
        part_clear(&second);
    }
    ts_diag_destroy(diag);
    free(in.data);
}

/* Slices are whole on one device, and what is not joined may have any bins. */
Test(histogram, devices_make_bins_of_what_they_have_whole)
{
    struct ts_image in = ts_test_image(NZ, 5, 9, TS_I16, VALUES_RANDOM, 1);
    struct ts_diag *diag = ts_diag_create();
    struct part slices, volume;
    part_init(&slices, "bins=32 scope=slice", &in, true, diag);
    part_init(&volume, "bins=32", &in, true, diag);
    cr_assert(ts_histogram_binned(&slices.context, 0));
    volume.context.joined = false;
    cr_assert(ts_histogram_binned(&volume.context, 0));
    part_clear(&slices);
    part_clear(&volume);
    ts_diag_destroy(diag);
    free(in.data);
}
