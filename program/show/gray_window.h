/* SPDX-License-Identifier: Apache-2.0
 *
 * A window says which value is drawn black and which white. The user gives center and width, or it is found from the
 * values that are shown; pixels that are no measurements are NaN and have no part in it.
 */
#ifndef PROGRAM_SHOW_GRAY_WINDOW_H
#define PROGRAM_SHOW_GRAY_WINDOW_H

#include "core/diag.h"

enum gray_windows { GRAY_AUTO, GRAY_PERCENTILES, GRAY_FULL, GRAY_LEVEL };

struct gray_window_request {
    enum gray_windows kind;
    double center, width; /* GRAY_LEVEL, in the unit of the values */
};

/* These are the values of one plane. */
struct gray_values {
    const float *values;
    size_t n;
};

struct gray_window {
    double low, high;   /* black and white */
    const char *name;   /* "soft tissue" */
    double least, most; /* of all finite values; both 0 where there is none */
    bool none;          /* there is none: nothing but invalid pixels, NaN or infinities */
};

/* Reads "auto", "percentiles", "full" or CENTER/WIDTH, where the width is positive. Returns false for anything else. */
bool ts_gray_window_parse(const char *text, struct gray_window_request *request);
/* Finds one window for all planes, so that the same gray is the same value in each of them. `auto` is the window of
 * soft tissue (40/400) for HU that reach into it, and else the 1st to the 99th percentile (nearest rank), or all values
 * where these two are equal. Returns TS_RUN_FAILED where memory is out. */
enum ts_status ts_gray_window_find(const struct gray_window_request *request, enum ts_quantity quantity,
                                   const struct gray_values *planes, int n_planes, struct gray_window *window,
                                   struct ts_diag *diag);

#endif
