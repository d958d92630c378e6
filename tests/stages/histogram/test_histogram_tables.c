/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of the CPU give the same counts, so that a result does not show which of them ran.
 * What shows it is the last table that a method filled, which stays in its partial: of a strip of
 * columns, of a part of the image, of all pixels, of every second pixel, or none. On a CUDA device
 * it is the kernel that was launched last.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/session.h"
#include "stages/histogram/histogram.h"
#include "tests/support/stage_run.h"

enum { NZ = 3, NY = 90, NX = 1300, PIXELS = NZ * NY * NX, POISON = 0xA5, MOST_SLOTS = 1003 };

/* True for the pixels that the last table of the method counts. A table of lane-private is that of
 * odd pixels. */
static bool in_last_table(enum histogram_method method, size_t i)
{
    switch (method) {
    case HISTOGRAM_SUB:
        return i % NX >= NX / HISTOGRAM_STRIP_COLUMNS * HISTOGRAM_STRIP_COLUMNS;
    case HISTOGRAM_SHARED:
        return i >= PIXELS / HISTOGRAM_PART_PIXELS * HISTOGRAM_PART_PIXELS;
    case HISTOGRAM_LANE_PRIVATE:
        return i % VALUE_COUNTS_LEAST_LANES == VALUE_COUNTS_LEAST_LANES - 1;
    default:
        return true;
    }
}

/* Reduces the image by the method, and returns its partial, whose memory was poisoned before. */
static void *partial_of(const struct ts_image *in, const char *assignments)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, assignments, in, NULL, 0, 1), TS_OK, "{%s}",
                 assignments);
    const size_t bytes = histogram_stage.reduction->partial_bytes(&run.context, 0);
    void *partial = malloc(bytes);
    memset(partial, POISON, bytes);
    histogram_stage.reduction->reduce(&run.context, 0, in, partial);
    ts_test_run_clear(&run);
    return partial;
}

/* tables: those of `every` lanes side by side, the last of which is looked at. */
static void expect_table(enum histogram_method method, const struct ts_image *in, double low,
                         const uint32_t *tables, size_t n_slots, size_t every, const char *what)
{
    uint32_t expected[MOST_SLOTS] = {0};
    double *values = malloc(PIXELS * sizeof *values);
    ts_load_f64(values, in->data, in->dtype, PIXELS);
    for (size_t i = 0; i < PIXELS; i++)
        expected[(size_t)(values[i] - low)] += in_last_table(method, i);
    free(values);
    for (size_t slot = 0; slot < n_slots; slot++)
        cr_assert_eq(tables[slot * every + every - 1], expected[slot],
                     "{%s} slot %zu: %u instead of %u", what, slot,
                     tables[slot * every + every - 1], expected[slot]);
}

static void make_image(struct ts_image *in, enum ts_dtype dtype)
{
    *in = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 5);
    for (size_t i = 0; i < PIXELS; i++) {
        const uint32_t value = (uint32_t)(i * 2654435761u >> 24) % 200 + (i % NX > 1000 ? 50 : 0);
        if (dtype == TS_U8)
            ((uint8_t *)in->data)[i] = (uint8_t)value;
        else if (dtype == TS_U16)
            ((uint16_t *)in->data)[i] = (uint16_t)value;
        else
            ((float *)in->data)[i] = (float)value;
    }
}

static const struct {
    const char *name;
    enum histogram_method method;
} tabled[] = {{"sub-histogram", HISTOGRAM_SUB},
              {"shared", HISTOGRAM_SHARED},
              {"occupancy", HISTOGRAM_OCCUPANCY}};

Test(histogram, a_method_fills_its_own_tables)
{
    for (size_t m = 0; m < sizeof tabled / sizeof *tabled; m++) {
        struct ts_image in;
        char text[96];
        make_image(&in, TS_U8);
        snprintf(text, sizeof text, "bins=250 range=0,250 method=%s", tabled[m].name);
        struct value_counts *values = partial_of(&in, text);
        expect_table(tabled[m].method, &in, 0, (const uint32_t *)(values->counts + values->n_keys),
                     values->n_keys, 1, text);
        free(values);
        free(in.data);
        make_image(&in, TS_F32);
        struct bin_counts *bins = partial_of(&in, text);
        cr_assert_eq(bins->n_slots, 250 + BINS_EXTRA_SLOTS);
        expect_table(tabled[m].method, &in, -1, (const uint32_t *)(bins->slots + bins->n_slots),
                     bins->n_slots, 1, text);
        free(bins);
        free(in.data);
    }
}

Test(histogram, global_fills_no_table)
{
    struct ts_image in;
    make_image(&in, TS_U8);
    struct value_counts *values = partial_of(&in, "method=global");
    const unsigned char *tables = (const unsigned char *)(values->counts + values->n_keys);
    for (size_t i = 0; i < values->n_keys * sizeof(uint32_t); i++)
        cr_assert_eq(tables[i], POISON);
    free(values);
    free(in.data);
}

/* sampled opens lanes for the range of the values that it finds, and lane-private has them for
 * every value. */
Test(histogram, lanes_and_samples_of_16_bits)
{
    struct ts_image in;
    make_image(&in, TS_U16);
    struct value_counts *lanes = partial_of(&in, "method=lane-private"),
                        *sampled = partial_of(&in, "method=sampled");
    cr_assert_eq(lanes->lane_high, 0);
    expect_table(HISTOGRAM_LANE_PRIVATE, &in, 0, (const uint32_t *)(lanes->counts + lanes->n_keys),
                 MOST_SLOTS, VALUE_COUNTS_LEAST_LANES, "lane-private");
    cr_assert(sampled->lane_high >= 249 && sampled->lane_high < 1000, "%u", sampled->lane_high);
    free(lanes);
    free(sampled);
    free(in.data);
}

/* Those whose kernels have the same name are told apart by the type for which one of them has
 * another. */
Test(histogram, a_method_launches_its_own_kernel_on_cuda)
{
    static const struct {
        const char *method, *kernel;
        enum ts_dtype dtype;
    } launched[] = {{"global", "count_global", TS_F32},
                    {"sub-histogram", "merging of tables", TS_F32},
                    {"shared", "count_shared", TS_F32},
                    {"occupancy", "count_occupancy", TS_F32},
                    {"warp-tagged", "count_warp_tagged", TS_F32},
                    {"shared", "count_shared", TS_U8},
                    {"lane-private", "count_8", TS_U8},
                    {"sampled", "count_16", TS_U16}};
    ts_test_begin_cuda();
    for (size_t i = 0; i < sizeof launched / sizeof *launched; i++) {
        struct ts_image in;
        struct stage_run run;
        char text[96];
        make_image(&in, launched[i].dtype);
        snprintf(text, sizeof text, "%s method=%s",
                 launched[i].dtype == TS_F32  ? "bins=250 range=0,250"
                 : launched[i].dtype == TS_U8 ? "limits=dtype bins=256"
                                              : "limits=dtype bins=65536",
                 launched[i].method);
        cr_assert_eq(ts_test_run(&run, &histogram_stage, text, &in, NULL, 0, 1), TS_OK, "{%s}",
                     text);
        cr_assert(!strncmp(ts_cuda_last_launched(), launched[i].kernel, strlen(launched[i].kernel)),
                  "{%s}: %s", text, ts_cuda_last_launched());
        ts_test_run_clear(&run);
        free(in.data);
    }
    ts_test_end_cuda();
}
