/* SPDX-License-Identifier: Apache-2.0
 *
 * circle keeps the inside of a circle around the rotation center, and sets all pixels outside to
 * one value, since not every view sees the corners of a slice. circle.c has the rule. The function
 * below turns it into a span of columns for each row, for both devices, so that they agree on every
 * pixel.
 */
#ifndef STAGES_SCAN_CIRCLE_H
#define STAGES_SCAN_CIRCLE_H

#include "stages/engine/stage.h"

struct circle_params {
    double ratio, value;
};

/* Columns [first, end) of a row are inside. */
struct circle_span {
    int32_t first, end;
};

/* Writes the spans of all rows. */
void ts_circle_spans(const struct stage_context *context, struct circle_span *spans);

#endif
