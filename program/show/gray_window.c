/* SPDX-License-Identifier: Apache-2.0
 *
 * The range is that of all values. For the percentiles of very large planes evenly spread values are sorted, at most 4
 * million: the rank of a percentile of so many random values has a standard error of 0.005 percent, and a gray level
 * stands for 0.4 percent of the window.
 */
#include "program/show/gray_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

enum { MOST_VALUES = 1 << 22, PERCENT = 100 };

static const double soft_center_hu = 40, soft_width_hu = 400;

bool ts_gray_window_parse(const char *text, struct gray_window_request *request)
{
    static const char *const names[] = {[GRAY_AUTO] = "auto", [GRAY_PERCENTILES] = "percentiles", [GRAY_FULL] = "full"};
    for (int i = 0; i < GRAY_LEVEL; i++)
        if (!strcmp(text, names[i])) {
            *request = (struct gray_window_request){.kind = (enum gray_windows)i};
            return true;
        }
    char rest;
    request->kind = GRAY_LEVEL;
    return sscanf(text, "%lf/%lf%c", &request->center, &request->width, &rest) == 2 && isfinite(request->center) &&
           isfinite(request->width) && request->width > 0;
}

static void find_range(const struct gray_values *planes, int n_planes, struct gray_window *window)
{
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (int i = 0; i < n_planes; i++)
        for (size_t k = 0; k < planes[i].n; k++) {
            const double value = (double)planes[i].values[k];
            least = isfinite(value) && value < least ? value : least;
            most = isfinite(value) && value > most ? value : most;
        }
    window->none = !(least <= most);
    window->least = least <= most ? least : 0;
    window->most = least <= most ? most : 0;
}

/* Copies the finite values of the planes, or every few of them. */
static size_t gather(const struct gray_values *planes, int n_planes, size_t step, float *out)
{
    size_t n = 0, at = 0;
    for (int i = 0; i < n_planes; i++)
        for (size_t k = 0; k < planes[i].n; k++)
            if (at++ % step == 0 && isfinite(planes[i].values[k]))
                out[n++] = planes[i].values[k];
    return n;
}

static enum ts_status set(struct gray_window *window, double low, double high, const char *name)
{
    window->low = low;
    window->high = high;
    window->name = name;
    return TS_OK;
}

static enum ts_status find_percentiles(const struct gray_values *planes, int n_planes, struct gray_window *window,
                                       struct ts_diag *diag)
{
    size_t total = 0;
    for (int i = 0; i < n_planes; i++)
        total += planes[i].n;
    const size_t step = total / MOST_VALUES + 1;
    float *sorted = malloc((total / step + 1) * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, (total / step + 1) * sizeof *sorted);
    const size_t n = gather(planes, n_planes, step, sorted);
    qsort(sorted, n, sizeof *sorted, ts_compare_floats);
    const double low = n > 0 ? (double)sorted[(n - 1) / PERCENT] : 0;
    const double high = n > 0 ? (double)sorted[n - 1 - (n - 1) / PERCENT] : 0;
    free(sorted);
    return low == high ? set(window, window->least, window->most, "full range")
                       : set(window, low, high, "1st to 99th percentile");
}

enum ts_status ts_gray_window_find(const struct gray_window_request *request, enum ts_quantity quantity,
                                   const struct gray_values *planes, int n_planes, struct gray_window *window,
                                   struct ts_diag *diag)
{
    const double soft_low = soft_center_hu - soft_width_hu / 2, soft_high = soft_center_hu + soft_width_hu / 2;
    find_range(planes, n_planes, window);
    if (request->kind == GRAY_LEVEL)
        return set(window, request->center - request->width / 2, request->center + request->width / 2, "given");
    if (request->kind == GRAY_FULL)
        return set(window, window->least, window->most, "full range");
    if (request->kind == GRAY_AUTO && quantity == TS_HU && window->least < soft_center_hu && window->most > soft_low)
        return set(window, soft_low, soft_high, "soft tissue");
    return find_percentiles(planes, n_planes, window, diag);
}
