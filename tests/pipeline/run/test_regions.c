/* SPDX-License-Identifier: Apache-2.0
 *
 * Regions in whole runs: a mask that the chain makes leaves pixels out of its image, later stages
 * count the others alone, and the file says which they are, whatever slabs and threads are.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { NZ = 11, NY = 13, NX = 17, INVALID = -2000, ABOVE = -50 };
static char folder[64], output[96];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(regions, .init = begin, .fini = end);

static struct ts_plan *make_plan(const struct memory_chain *memory, int threads)
{
    const struct ts_options options = {
        .device = ts_test_device ? "cuda" : "cpu", .threads = threads, .force = true};
    return ts_test_plan(memory, &options);
}

/* A CT, of which every seventh pixel is invalid where `masked` is set. */
static struct ts_image make_image(bool masked)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 3);
    for (size_t i = 0; masked && i < ts_image_count(&image); i += 7)
        ((int16_t *)image.data)[i] = INVALID;
    image.masked = masked;
    image.quantity = TS_HU;
    image.unit = "HU";
    return image;
}

static void check_output(const struct ts_image *image)
{
    size_t n, m;
    double *mask = ts_test_read_hdf5_at(output, "/entry/data/pixel_mask", &n),
           *values = ts_test_read_hdf5_at(output, "/entry/data/data", &m),
           *mean = ts_test_read_hdf5_at(output, "/entry/process_3_statistics/tables/mean", &m),
           sum = 0, counted = 0;
    cr_assert_eq(n, ts_image_count(image));
    for (size_t i = 0; i < n; i++) {
        const double value = ((const int16_t *)image->data)[i];
        const bool within = value > ABOVE; /* INVALID lies below */
        cr_assert_eq(mask[i], !within, "pixel %zu", i);
        cr_assert_eq(values[i], value);
        sum += within ? value : 0;
        counted += within;
    }
    cr_assert(counted > 0 && counted < (double)n);
    cr_assert_float_eq(mean[0], sum / counted, 1e-9);
    free(mask);
    free(values);
    free(mean);
}

TEST_ON_BOTH(regions, a_mask_leaves_pixels_out_of_what_follows)
{
    for (int masked = 0; masked < 2; masked++) {
        struct ts_image image = make_image(masked);
        struct memory_chain memory;
        unsigned char *first = NULL;
        size_t first_size = 0;
        memory_chain_init(&memory, &image, NULL, output);
        memory.invalid = (struct invalid_range){INVALID, INVALID};
        memory_chain_add(&memory, "threshold above=-50", "body");
        memory_chain_add(&memory, "apply_mask mask=body", NULL);
        memory.stages[1].input_node = 0;
        memory_chain_add(&memory, "statistics", NULL);
        for (int run = 0; run < 3; run++) {
            struct ts_plan *plan = make_plan(&memory, run == 2 ? 1 : 2);
            if (run == 1)
                cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
            ts_test_plan_run(plan);
            if (run != 1 || !ts_test_device)
                ts_test_same_file(output, &first, &first_size, "slabs and threads");
            check_output(&image);
            ts_plan_destroy(plan);
        }
        free(first);
        memory_chain_clear(&memory);
        free(image.data);
    }
}
