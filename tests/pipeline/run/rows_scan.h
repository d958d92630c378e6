/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans of a disc, and runs over them, for tests of what a run says of rows.
 */
#ifndef TESTS_PIPELINE_RUN_ROWS_SCAN_H
#define TESTS_PIPELINE_RUN_ROWS_SCAN_H

#include "core/image.h"

enum { NZ = 3, VIEWS = 120, N = 96 };

/* Discs of value 1 in every slice: the column and row of the center, and the radius, in detector
 * pixels. */
struct scan {
    double x, y, radius, center, arc, noise;
};

/* Line integrals, with noise as a share of the most that is seen. free(image.data) */
struct ts_image ts_rows_scan(struct scan scan);
/* Such a scan with its noise, as counts of 10000, as its transmission or as line integrals of that.
 */
struct ts_image ts_rows_light(struct scan scan, enum ts_quantity quantity);
float *ts_rows_view(struct ts_image *image, int64_t z, int64_t view);
/* Multiplies the light by what goes from one factor to another over the views. */
void ts_rows_change_beam(struct ts_image *image, double first, double last);
/* Returns the middle of what these stages make of an image, which is freed, in 1/detector. */
double ts_rows_middle(struct ts_image image, const char *const *stages);
/* Runs stages and fbp over the image, which is freed, and copies the message and the hint of the
 * code, "" without. */
void ts_rows_run_stages(struct ts_image image, const char *const *stages, const char *code,
                        char message[512], char hint[512]);
/* Runs a stage, if any, minus_log after counts and after `air`, and fbp. */
void ts_rows_run(struct ts_image image, const char *stage, const char *code, char message[512],
                 char hint[512]);

#endif
