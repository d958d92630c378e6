/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/run/rows_scan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/disc_scan.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

struct ts_image ts_rows_scan(struct scan scan)
{
    struct ts_image image = ts_disc_scan(NZ, VIEWS, N, 0, scan.arc / VIEWS, TS_F32);
    uint64_t seed = 5;
    for (int64_t i = 0; i < (int64_t)ts_image_count(&image); i++) {
        const double theta = (double)(i / N % VIEWS) * scan.arc / VIEWS * M_PI / 180;
        const double s = (double)(i % N) - scan.center - scan.x * cos(theta) - scan.y * sin(theta);
        const double noise = 3.46 * (ts_random_unit(&seed) - 0.5) * scan.noise * 2 * scan.radius;
        ((float *)image.data)[i] =
            (float)(2 * sqrt(fmax(0, scan.radius * scan.radius - s * s)) + noise);
    }
    return image;
}

/* Returns the middle of what these stages make of an image, which is freed, in 1/detector. */
double ts_rows_middle(struct ts_image image, const char *const *stages)
{
    const double spacing = image.axes[2].spacing;
    for (int i = 0; stages[i]; i++) {
        char name[64];
        const char *space = strchr(stages[i], ' ');
        snprintf(name, sizeof name, "%.*s",
                 space ? (int)(space - stages[i]) : (int)strlen(stages[i]), stages[i]);
        struct ts_image next = ts_test_output(ts_stage_find(name), space ? space + 1 : "", &image);
        free(image.data);
        image = next;
    }
    const int64_t n = image.axes[2].n;
    const double value = (double)((const float *)image.data)[(n / 2) * n + n / 2] * spacing;
    free(image.data);
    return value;
}

/* A scan with its noise, as counts of 10000, as its transmission or as line integrals of that. */
struct ts_image ts_rows_light(struct scan scan, enum ts_quantity quantity)
{
    struct ts_image image = ts_rows_scan(scan);
    float *values = image.data;
    uint64_t seed = 9;
    for (int64_t i = 0; i < (int64_t)ts_image_count(&image); i++) {
        const double noise = scan.noise * 3.46 * (ts_random_unit(&seed) - 0.5);
        const double light = exp(-fmax(0, (double)values[i]) / scan.radius) + noise;
        values[i] = (float)(quantity == TS_COUNTS          ? rint(10000 * light)
                            : quantity == TS_LINE_INTEGRAL ? -log(fmax(1e-3, light))
                                                           : light);
    }
    image.quantity = quantity;
    return image;
}

/* Runs stages and fbp over the image, which is freed, and copies the message and the hint of the
 * code, "" without. */
void ts_rows_run_stages(struct ts_image image, const char *const *stages, const char *code,
                        char message[512], char hint[512])
{
    char folder[256], output[300];
    struct memory_chain memory;
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    memory_chain_init(&memory, &image, NULL, output);
    bool own = false; /* one of them is an fbp */
    for (; *stages; stages++) {
        memory_chain_add(&memory, *stages, NULL);
        own |= !strncmp(*stages, "fbp", 3);
    }
    if (!own)
        memory_chain_add(&memory, "fbp", NULL);
    const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    struct ts_diag *diag = ts_diag_create();
    cr_assert(plan);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    message[0] = hint[0] = '\0';
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (!strcmp(ts_diag_get(diag, i)->code, code)) {
            snprintf(message, 512, "%s", ts_diag_get(diag, i)->message);
            snprintf(hint, 512, "%s", ts_diag_get(diag, i)->hint ? ts_diag_get(diag, i)->hint : "");
        }
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    ts_test_remove_folder(folder);
    free(image.data);
}

/* Runs a stage, if any, and fbp. */
void ts_rows_run(struct ts_image image, const char *stage, const char *code, char message[512],
                 char hint[512])
{
    const char *stages[3] = {stage};
    if (image.quantity == TS_COUNTS || (stage && !strncmp(stage, "air ", 4)))
        stages[stage ? 1 : 0] = "minus_log";
    ts_rows_run_stages(image, stages, code, message, hint);
}

float *ts_rows_view(struct ts_image *image, int64_t z, int64_t view)
{
    return (float *)ts_slice_data(image, z) + view * image->axes[2].n;
}

/* Multiplies the light by what goes from one factor to another over the views. */
void ts_rows_change_beam(struct ts_image *image, double first, double last)
{
    for (int64_t z = 0; z < NZ; z++)
        for (int64_t v = 0; v < VIEWS; v++)
            for (int64_t d = 0; d < N; d++) {
                const double factor = first + (last - first) * (double)v / VIEWS;
                float *value = ts_rows_view(image, z, v) + d;
                *value = (float)(image->quantity == TS_TRANSMISSION ? (double)*value * factor
                                                                    : (double)*value - log(factor));
            }
}
