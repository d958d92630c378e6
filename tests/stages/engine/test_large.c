/* SPDX-License-Identifier: Apache-2.0
 *
 * Images past what 32 bits and a grid's second dimension count: one slice of more than 2^31 pixels,
 * and more than 65,535 slices. The device's bytes are the CPU's, whose indices have 64 bits
 * throughout.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/filters/box.h"
#include "stages/histogram/equalize.h"
#include "stages/histogram/histogram.h"
#include "stages/histogram/statistics.h"
#include "stages/intensity/invert.h"
#include "stages/intensity/window.h"
#include "tests/support/stage_run.h"

static const struct {
    const struct stage *stage;
    const char *assignments;
    bool many_slices_alone; /* one slice takes the CPU too long, or tests/pipeline/run/test_limits.c
                               does it */
    bool labels;            /* the image's values, as labels of itself */
} rows[] = {
    {&invert_stage, "", true},
    {&window_stage, "low=13 high=200 dtype=u8", true},
    {&box_stage, "radius=2", true},
    {&box_stage, "radius=9", true},
    {&histogram_stage, "bins=256 limits=dtype", true},
    {&histogram_stage, "bins=256 limits=dtype scope=slice", true},
    {&histogram_stage, "bins=100 range=3,250"},
    {&histogram_stage, "bins=100 range=3,250 scope=slice", true},
    {&histogram_stage, "bins=16 range=0,200 n_labels=9", .labels = true},
    {&statistics_stage, ""},
    {&statistics_stage, "scope=slice", true},
    {&equalize_stage, "", true},
    {&equalize_stage, "scope=slice", true},
};

/* Every 2^31 or 2^32 pixels further the values are others, and so are those of slices 65,536
 * apart. */
static void fill(struct ts_image *in)
{
    const size_t n = ts_image_count(in);
    uint8_t *values = in->data;
#pragma omp parallel for num_threads(8)
    for (size_t part = 0; part < (n >> 16) + 1; part++)
        for (size_t i = part << 16; i < n && i < (part + 1) << 16; i++)
            values[i] =
                (uint8_t)((i * UINT64_C(0x9E3779B97F4A7C15)) >> 57 ^ (i >> 25) ^ (i >> 31 & 64));
}

static void expect_tables(const struct stage_run *cpu, const struct stage_run *cuda,
                          const char *what)
{
    const struct stage_table *tables[2];
    const int n = cpu->reduced ? ts_stage_reduced_tables(cpu->reduced, &tables[0]) : 0;
    cr_assert_eq(n, cuda->reduced ? ts_stage_reduced_tables(cuda->reduced, &tables[1]) : 0, "%s",
                 what);
    for (int t = 0; t < n; t++) {
        const struct ts_image *expected = &tables[0][t].image, *is = &tables[1][t].image;
        cr_assert_eq(ts_image_bytes(is), ts_image_bytes(expected), "%s: %s", what,
                     tables[0][t].name);
        if (expected->dtype != TS_F64) {
            cr_assert(!memcmp(is->data, expected->data, ts_image_bytes(is)), "%s: %s", what,
                      tables[0][t].name);
            continue;
        }
        for (size_t i = 0; i < ts_image_count(is); i++) {
            const double a = ((const double *)is->data)[i], b = ((const double *)expected->data)[i];
            cr_assert(a == b || fabs(a - b) <= 1e-9 * fmax(1, fabs(b)),
                      "%s: %s %zu is %.17g, expected %.17g", what, tables[0][t].name, i, a, b);
        }
    }
}

static void expect_the_same(const struct stage *stage, const char *assignments,
                            const struct ts_image *in, bool labels)
{
    const struct device_numbers *device = ts_test_device;
    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, labels ? in : NULL};
    struct stage_run cpu, cuda;
    char what[160];
    snprintf(what, sizeof what, "%s {%s} of %lld x %lld x %lld", stage->name, assignments,
             (long long)in->axes[0].n, (long long)in->axes[1].n, (long long)in->axes[2].n);
    cr_assert_eq(ts_test_run_references(&cuda, stage, assignments, in, references, 0, 8), TS_OK,
                 "%s: %s", what,
                 ts_diag_count(cuda.diag) ? ts_diag_get(cuda.diag, 0)->message : "");
    ts_test_device = NULL;
    cr_assert_eq(ts_test_run_references(&cpu, stage, assignments, in, references, 0, 8), TS_OK,
                 "%s", what);
    ts_test_device = device;
    if (stage->map)
        cr_assert(!memcmp(cuda.out.data, cpu.out.data, ts_image_bytes(&cpu.out)), "%s", what);
    expect_tables(&cpu, &cuda, what);
    ts_test_run_clear(&cuda);
    ts_test_run_clear(&cpu);
}

/* Three images of the host, and what a stage takes of the device beside two. */
static void need_memory(size_t image_bytes)
{
    const size_t host = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
                 device = ts_test_device->memory_bytes;
    if (host > 4 * image_bytes && device > 5 * image_bytes)
        return;
    fprintf(
        stderr,
        "SKIPPED: %zu MiB of memory are free and the device has %zu MiB, for images of %zu MiB\n",
        host >> 20, device >> 20, image_bytes >> 20);
    cr_skip_test("too little memory");
}

Test(large, more_than_31_bits_of_pixels_and_16_of_slices_on_cuda)
{
    static const int64_t shapes[][3] = {{70000, 3, 5}, {1, 46349, 46349}};
    ts_test_begin_cuda();
    for (size_t shape = 0; shape < (ts_test_few() ? 1 : 2); shape++) {
        struct ts_image in = ts_test_image(1, 1, 1, TS_U8, VALUES_CONSTANT, 1);
        free(in.data);
        for (int axis = 0; axis < 3; axis++)
            in.axes[axis].n = shapes[shape][axis];
        need_memory(ts_image_bytes(&in));
        in.data = malloc(ts_image_bytes(&in));
        fill(&in);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (in.axes[0].n > 1 || !rows[i].many_slices_alone)
                expect_the_same(rows[i].stage, rows[i].assignments, &in, rows[i].labels);
        free(in.data);
    }
    ts_test_end_cuda();
}
