/* SPDX-License-Identifier: Apache-2.0
 *
 * Residuals over iterations (SVG 1.1): a line for the median slice and a band from the least to the largest.
 */
#include "pipeline/cli/residual_plot.h"

#include <math.h>
#include <stdlib.h>

#include "core/svg.h"
#include "core/text_file.h"

enum { LEFT = 70, TOP = 40, WIDTH = 640, HEIGHT = 360, RIGHT = 20, BOTTOM = 50, LEGEND = 18 };

static const char *const colors[] = {"#2a5fa5", "#c0503c", "#2a7f3f", "#8a5fa5"};

/* Of the slices that were not done before an iteration; n 0: there are none. */
struct spread {
    int64_t n;
    float least, median, largest;
};

struct axes {
    double low, high; /* powers of ten at the ends */
    int64_t iterations;
};

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* room: for a number of each slice. */
static struct spread spread_of(const struct residual_curve *curve, int64_t iteration, float *room)
{
    struct spread spread = {0};
    for (int64_t z = 0; z < curve->slices; z++) {
        const float value = curve->values[z * curve->iterations + iteration];
        if (value > 0 && isfinite(value))
            room[spread.n++] = value;
    }
    if (spread.n == 0)
        return spread;
    qsort(room, (size_t)spread.n, sizeof *room, compare_floats);
    spread.least = room[0];
    spread.median = room[(spread.n - 1) / 2];
    spread.largest = room[spread.n - 1];
    return spread;
}

/* Whole powers of ten around all values. */
static struct axes axes_of(const struct residual_curve *curves, int n)
{
    struct axes axes = {INFINITY, -INFINITY, 1};
    for (int c = 0; c < n; c++) {
        axes.iterations = curves[c].iterations > axes.iterations ? curves[c].iterations : axes.iterations;
        for (int64_t i = 0; i < curves[c].slices * curves[c].iterations; i++)
            if (curves[c].values[i] > 0 && isfinite(curves[c].values[i])) {
                axes.low = fmin(axes.low, floor(log10((double)curves[c].values[i])));
                axes.high = fmax(axes.high, ceil(log10((double)curves[c].values[i])));
            }
    }
    if (!(axes.low < axes.high)) {
        axes.high = isfinite(axes.high) ? axes.high : 0;
        axes.low = axes.high - 1;
    }
    return axes;
}

static double x_of(const struct axes *axes, int64_t iteration)
{
    return LEFT + (double)WIDTH * (double)iteration / (double)(axes->iterations > 1 ? axes->iterations - 1 : 1);
}

static double y_of(const struct axes *axes, double value)
{
    return TOP + HEIGHT * (axes->high - log10(value)) / (axes->high - axes->low);
}

static void write_axes(FILE *file, const struct axes *axes)
{
    const int64_t every = (axes->iterations + 9) / 10;
    for (double power = axes->low; power <= axes->high; power++) {
        const int last = power < axes->high ? 9 : 1;
        for (int k = 1; k <= last; k++) {
            const double value = k * pow(10, power), y = y_of(axes, value);
            fprintf(file, "<path d='M%d %.1fh%d' stroke='%s' stroke-width='0.5'/>", LEFT, y, WIDTH,
                    k == 1 ? "#bbb" : "#eee");
            if (k == 1 || (axes->high - axes->low < 3 && (k == 2 || k == 5)))
                fprintf(file, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 6, y + 4, value);
        }
    }
    for (int64_t i = 0; i < axes->iterations; i += every)
        fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%lld</text>\n", x_of(axes, i), TOP + HEIGHT + 16,
                (long long)i);
    fprintf(file,
            "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='black' stroke-width='0.7'/>\n"
            "<text x='%d' y='%d' text-anchor='middle'>iterations</text>\n"
            "<text transform='translate(16 %d) rotate(-90)' text-anchor='middle'>residual ||b - A x|| / ||b|| "
            "after them</text>\n",
            LEFT, TOP, WIDTH, HEIGHT, LEFT + WIDTH / 2, TOP + HEIGHT + 38, TOP + HEIGHT / 2);
}

/* spreads: of each iteration. */
static void write_curve(FILE *file, const struct axes *axes, const struct residual_curve *curve,
                        const struct spread *spreads, int index)
{
    const char *color = colors[(size_t)index % (sizeof colors / sizeof *colors)];
    int64_t n = 0;
    while (n < curve->iterations && spreads[n].n > 0)
        n++;
    fprintf(file, "<path fill='%s' fill-opacity='0.2' d='", color);
    for (int64_t i = 0; i < n; i++)
        fprintf(file, "%c%.1f %.1f", i ? 'L' : 'M', x_of(axes, i), y_of(axes, (double)spreads[i].largest));
    for (int64_t i = n; i-- > 0;)
        fprintf(file, "L%.1f %.1f", x_of(axes, i), y_of(axes, (double)spreads[i].least));
    fprintf(file, "'/>\n<path fill='none' stroke='%s' stroke-width='1.5' d='", color);
    for (int64_t i = 0; i < n; i++)
        fprintf(file, "%c%.1f %.1f", i ? 'L' : 'M', x_of(axes, i), y_of(axes, (double)spreads[i].median));
    fprintf(file, "'/>\n<text x='%d' y='%d' text-anchor='end' fill='%s'>", LEFT + WIDTH - 8, TOP + LEGEND * (index + 1),
            color);
    ts_svg_text(file, curve->name);
    if (curve->slices > 1)
        fprintf(file, ", %lld slices: median, least to largest", (long long)curve->slices);
    fprintf(file, "</text>\n");
}

static void write_chart(FILE *file, const struct residual_curve *curves, struct spread *const *spreads, int n)
{
    const struct axes axes = axes_of(curves, n);
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
            "<text x='%d' y='20' font-size='14'>residuals of iterative reconstruction</text>\n",
            LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, LEFT);
    write_axes(file, &axes);
    for (int c = 0; c < n; c++)
        write_curve(file, &axes, &curves[c], spreads[c], c);
    fprintf(file, "</svg>\n");
}

/* NULL where memory is out. */
static struct spread *spreads_of(const struct residual_curve *curve)
{
    struct spread *spreads = malloc((size_t)curve->iterations * sizeof *spreads);
    float *room = malloc((size_t)curve->slices * sizeof *room);
    for (int64_t i = 0; spreads && room && i < curve->iterations; i++)
        spreads[i] = spread_of(curve, i, room);
    if (!room) {
        free(spreads);
        spreads = NULL;
    }
    free(room);
    return spreads;
}

enum ts_status ts_residual_plot(const char *path, bool replace, const struct residual_curve *curves, int n,
                                struct ts_diag *diag)
{
    struct spread *spreads[RESIDUAL_CURVES] = {0};
    enum ts_status status = TS_OK;
    for (int c = 0; c < n && status == TS_OK; c++) {
        spreads[c] = spreads_of(&curves[c]);
        if (!spreads[c])
            status = ts_diag_no_memory(diag, (size_t)curves[c].iterations * sizeof *spreads[c]);
    }
    if (status == TS_OK) {
        FILE *file = ts_text_file_open(path, replace, diag);
        if (file)
            write_chart(file, curves, spreads, n);
        status = file ? ts_text_file_close(file, path, diag) : TS_RUN_FAILED;
    }
    for (int c = 0; c < n; c++)
        free(spreads[c]);
    return status;
}
