/* SPDX-License-Identifier: Apache-2.0
 *
 * A run warns of counts that were cut off at a level and of zingers in views, and what it hints at
 * mends them.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/run/rows_scan.h"

TestSuite(rows_values);

static const struct scan disc = {3, 2, 30, 47.5, 180, 0.01};

/* Noiseless air, which has one value everywhere, is not cut off. */
Test(rows_values, that_were_cut_off_are_warned_of)
{
    static const struct {
        double level, noise; /* level: of 10000 in air */
        bool told, hint;
    } rows[] = {{9000, 0.01, true, false}, {9990, 0.01, true, false}, {20000, 0.01, false, false},
                {1e9, 0, false, false},    {10200, 0.02, true, true}, {9000, 0, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan scan = disc;
        scan.noise = rows[i].noise;
        char message[512], hint[512], level[32];
        struct ts_image image = ts_rows_light(scan, TS_COUNTS);
        float *values = image.data;
        for (int k = 0; k < NZ * VIEWS * N; k++)
            values[k] = fminf(values[k], (float)rows[i].level);
        ts_rows_run(image, "air detectors=4", "counts-piled", message, hint);
        snprintf(level, sizeof level, "are exactly %g,", rows[i].level);
        cr_expect_eq(strstr(message, level) != NULL, rows[i].told, "row %zu: %s", i, message);
        cr_expect_eq(*hint != '\0', rows[i].hint, "row %zu: %s", i, hint);
        if (*hint) /* it names the stage that takes them for bad ones */
            cr_expect(strstr(hint, "bad_pixels: {highest: 10200}"), "%s", hint);
    }
}

Test(rows_values, that_bad_pixels_fills_are_not_warned_of)
{
    static const char *const filled[] = {"bad_pixels highest=10200", "air detectors=4", "minus_log",
                                         NULL},
                             *const left[] = {"bad_pixels highest=12000", "air detectors=4",
                                              "minus_log", NULL};
    for (int i = 0; i < 2; i++) {
        struct scan scan = disc;
        scan.noise = 0.02;
        char message[512], hint[512];
        struct ts_image image = ts_rows_light(scan, TS_COUNTS);
        float *values = image.data;
        for (int k = 0; k < NZ * VIEWS * N; k++)
            values[k] = fminf(values[k], 10200);
        ts_rows_run_stages(image, i ? left : filled, "counts-piled", message, hint);
        cr_expect_eq(*message != '\0', i == 1, "%s", message);
    }
}

/* Counts of the disc, which are `most` in air, as integers of this type, which may overflow. */
static struct ts_image as_integers(double most, double noise, enum ts_dtype dtype)
{
    struct scan scan = disc;
    scan.noise = noise;
    struct ts_image image = ts_rows_light(scan, TS_COUNTS);
    const float *values = image.data;
    const size_t count = ts_image_count(&image);
    uint8_t *bytes = malloc(count);
    uint16_t *shorts = malloc(2 * count);
    for (size_t i = 0; i < count; i++) {
        shorts[i] = (uint16_t)(int64_t)(fmax(0, (double)values[i]) * most / 10000);
        bytes[i] = (uint8_t)shorts[i];
    }
    free(image.data);
    image.dtype = dtype;
    image.data = ts_dtype_bytes(dtype) == 1 ? (void *)bytes : (void *)shorts;
    free(ts_dtype_bytes(dtype) == 1 ? (void *)shorts : (void *)bytes);
    return image;
}

Test(rows_values, that_overflowed_are_warned_of)
{
    static const struct {
        double most, noise;
        enum ts_dtype dtype;
        const char *told;
    } rows[] = {{66000, 0.01, TS_U16, "of u16: counts that overflowed"},
                {90000, 0.01, TS_U16, "of u16: counts that overflowed"},
                {110000, 0.01, TS_U16, "of u16: counts that overflowed"},
                {50000, 0.01, TS_I16, "of i16: unsigned counts that are stored as signed"},
                {400, 0.01, TS_U8, "of u8: counts that overflowed"},
                {60000, 0.01, TS_U16, NULL},
                {30000, 0.01, TS_I16, NULL},
                {240, 0.01, TS_U8, NULL},
                {60000, 0, TS_U16, NULL}};
    static const char *const light[] = {
        "rescale range=-40000,66000 out_low=0.01 out_high=1 quantity=transmission", "minus_log",
        NULL};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[512], hint[512];
        ts_rows_run_stages(as_integers(rows[i].most, rows[i].noise, rows[i].dtype), light,
                           "counts-wrapped", message, hint);
        cr_expect_eq(*message != '\0', rows[i].told != NULL, "row %zu: %s", i, message);
        cr_expect(!rows[i].told || strstr(message, rows[i].told), "row %zu: %s", i, message);
    }
}

/* Edges of what no light passes are no overflow, and neither are gaps and saturated pixels. */
Test(rows_values, that_have_edges_are_not_said_to_overflow)
{
    for (int kind = 0; kind < 3; kind++) {
        char message[512], hint[512];
        struct ts_image image = as_integers(62000, 0.001, TS_U16);
        uint16_t *values = image.data;
        for (int64_t row = 0; row < NZ * VIEWS; row++)
            for (int64_t d = 30; d < 50; d++)
                values[row * N + d] = kind == 0   ? (uint16_t)(d == 30 || d == 49 ? 30000 : 200)
                                      : kind == 1 ? (uint16_t)(d % 2 ? 65535 : 300)
                                                  : (uint16_t)(d % 5 ? values[row * N + d] : 0);
        ts_rows_run(image, "air detectors=4", "counts-wrapped", message, hint);
        cr_expect_str_eq(message, "", "kind %d", kind);
    }
}

static struct ts_image with_zingers(enum ts_quantity quantity, int n, float light)
{
    struct ts_image image = ts_rows_light(disc, quantity);
    for (int i = 0; i < n; i++)
        ts_rows_view(&image, NZ / 2, 3 + 5 * (i % 20))[20 + 3 * (i % 7) + i / 20] =
            quantity == TS_LINE_INTEGRAL ? -logf(light) : light;
    return image;
}

Test(rows_values, that_are_zingers_are_warned_of_and_replaced)
{
    static const struct {
        int n;
        float light;
        bool told;
    } rows[] = {{1, 2, true}, {12, 5, true}, {40, 1.6F, true}, {0, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[512], hint[512], number[40], outliers[64];
        snprintf(number, sizeof number, "%d values of the middle slice", rows[i].n);
        ts_rows_run(with_zingers(TS_LINE_INTEGRAL, rows[i].n, rows[i].light), NULL, "views-zingers",
                    message, hint);
        cr_expect_eq(strstr(message, number) != NULL, rows[i].told, "row %zu: %s", i, message);
        cr_expect(!*hint, "outliers are looked for before the logarithm: %s", hint);
        ts_rows_run(with_zingers(TS_TRANSMISSION, rows[i].n, rows[i].light), "minus_log",
                    "views-zingers", message, hint);
        cr_expect_eq(strstr(message, number) != NULL, rows[i].told, "row %zu: %s", i, message);
        if (!*message)
            continue;
        double threshold;
        cr_assert_eq(sscanf(hint, "outliers: {threshold: %lf}", &threshold), 1, "%s", hint);
        snprintf(outliers, sizeof outliers, "outliers threshold=%g", threshold);
        const char *const stages[] = {outliers, "minus_log", NULL},
                          *const all[] = {outliers, "minus_log", "fbp", NULL},
                          *const clean[] = {"minus_log", "fbp", NULL};
        ts_rows_run_stages(with_zingers(TS_TRANSMISSION, rows[i].n, rows[i].light), stages,
                           "views-zingers", message, hint);
        cr_expect(!*message, "row %zu: %s", i, message);
        const double middle =
            ts_rows_middle(with_zingers(TS_TRANSMISSION, rows[i].n, rows[i].light), all);
        cr_expect_float_eq(middle, ts_rows_middle(ts_rows_light(disc, TS_TRANSMISSION), clean),
                           0.02 / disc.radius);
    }
}
