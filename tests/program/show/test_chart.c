/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of values at the ends of the range of doubles, and of values that lie close together: a
 * few ticks, each with a label of its own.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/chart.h"

TestSuite(chart);

/* Draws two points and returns the picture, which the caller frees. */
static char *draw(double low, double high, bool logarithmic)
{
    const double x[] = {0, 1}, y[] = {low, high};
    const struct chart_line line = {.n = 2, .x = x, .y = y};
    const struct chart_panel panel = {
        .title = "",
        .x = {.title = "x"},
        .y = {.title = "y", .logarithmic = logarithmic, .low = low, .high = high},
        .lines = &line,
        .n_lines = 1};
    const struct chart chart = {.title = "", .panels = &panel, .n_panels = 1};
    char *svg = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&svg, &n);
    ts_chart_draw(&chart, stream);
    cr_assert_eq(fclose(stream), 0);
    return svg;
}

/* Counts the labels of the upright axis, and checks that no two that follow each other are
 * equal. */
static int count_labels(const char *svg, double low, double high)
{
    static const char before[] = "text-anchor='end'>";
    char last[64] = "";
    int n = 0;
    for (const char *at = svg; (at = strstr(at, before)); n++) {
        char label[64];
        at += strlen(before);
        snprintf(label, sizeof label, "%.*s", (int)strcspn(at, "<"), at);
        cr_assert_str_neq(label, last, "%g to %g", low, high);
        strcpy(last, label);
    }
    return n;
}

Test(chart, has_few_ticks_whatever_the_values)
{
    const double ranges[][2] = {{0, 1},
                                {16777216, 16777216},
                                {16777216, nextafter(16777216, 2e7)},
                                {1e6, 1e6 + 1e-6},
                                {-1e6, nextafter(-1e6, 0)},
                                {1e-3, nextafter(1e-3, 1)},
                                {1e-20, 1.0000001e-20},
                                {0, 1e-40},
                                {0, DBL_TRUE_MIN},
                                {-DBL_MAX, DBL_MAX},
                                {-1e300, 1e300},
                                {0, 3e38},
                                {NAN, NAN},
                                {INFINITY, -INFINITY},
                                {1, INFINITY},
                                {0, 0}};
    for (size_t i = 0; i < 2 * sizeof ranges / sizeof *ranges; i++) {
        const double *range = ranges[i / 2];
        char *svg = draw(range[0], range[1], i % 2);
        const int n = count_labels(svg, range[0], range[1]);
        cr_expect(n >= 1 && n <= (i % 2 ? 700 : 12), "%d labels of %g to %g", n, range[0],
                  range[1]);
        cr_expect(!strstr(svg, "nan") && !strstr(svg, "inf"), "%g to %g: %s", range[0], range[1],
                  svg);
        free(svg);
    }
}
