/* SPDX-License-Identifier: Apache-2.0
 *
 * Line charts as SVG 1.1: panels with titled axes, linear or logarithmic, with lines, points, bands
 * or error bars, and a key below each panel. Benchmarks, studies and `tomostage plot` draw with it.
 */
#ifndef PROGRAM_SHOW_CHART_H
#define PROGRAM_SHOW_CHART_H

#include <stdio.h>

#include "core/diag.h"

enum { CHART_GRAY = -1, CHART_COLORS = 6 };
enum chart_spread { CHART_BAND, CHART_ERROR_BARS };

struct chart_line {
    const char *name; /* in the key; NULL: the line is not in the key */
    int color;        /* index of a color, modulo CHART_COLORS; CHART_GRAY: a line for comparison */
    bool dashed, points;
    int n;
    const double *x, *y; /* points with values that are not finite, or not above 0 on a logarithmic
                            axis, are left out */
    const double *low, *high; /* lower and upper values around each y; NULL: none */
    enum chart_spread spread; /* how low and high are drawn */
};

struct chart_axis {
    const char *title; /* with the unit */
    bool logarithmic;
    double low, high; /* the axis shows at least this range, and all lines */
};

struct chart_panel {
    const char *title;
    struct chart_axis x, y;
    const struct chart_line *lines;
    int n_lines;
};

struct chart {
    const char *title;
    const struct chart_panel *panels; /* row by row */
    int n_panels, columns;
};

/* Draws the chart. A failed write sets the stream's error indicator. */
void ts_chart_draw(const struct chart *chart, FILE *stream);
/* Writes the chart to a file. Returns TS_RUN_FAILED if it cannot be written (not-written), or
 * exists and must not be replaced (output-exists). */
enum ts_status ts_chart_write(const struct chart *chart, const char *path, bool replace,
                              struct ts_diag *diag);

#endif
