/* SPDX-License-Identifier: Apache-2.0
 *
 * A window says which value is drawn black and which white. The user gives center and width, or it is found from the
 * values that are shown; pixels that are no measurements have no part in it.
 */
#ifndef PIPELINE_PREVIEW_PREVIEW_WINDOW_H
#define PIPELINE_PREVIEW_PREVIEW_WINDOW_H

#include "pipeline/preview/preview_image.h"

enum preview_windows { PREVIEW_AUTO, PREVIEW_PERCENTILES, PREVIEW_FULL, PREVIEW_LEVEL };

struct preview_window {
    enum preview_windows kind;
    double center, width; /* PREVIEW_LEVEL, in the unit of the values */
};

/* Reads "auto", "percentiles", "full" or CENTER/WIDTH, where the width is positive. Returns false for anything else. */
bool ts_preview_window_parse(const char *text, struct preview_window *window);
/* Finds low, high and window_name of an image from its planes. `auto` is the window of soft tissue (40/400) for HU that
 * reach into it, all values of a single picture, and else the 1st to the 99th percentile (nearest rank). An image
 * without any finite value gets 0 to 0. Returns TS_RUN_FAILED where memory is out. */
enum ts_status ts_preview_window_find(const struct preview_window *window, struct preview_image *image,
                                      struct ts_diag *diag);

#endif
