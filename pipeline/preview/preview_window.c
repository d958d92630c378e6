/* SPDX-License-Identifier: Apache-2.0
 *
 * Percentiles are taken of all planes of an image together, so that the same gray is the same value in each of them.
 * Of very large planes evenly spread values are sorted, because millions of values fix a percentile well enough.
 */
#include "pipeline/preview/preview_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

enum { MOST_VALUES = 1 << 22, PERCENT = 100 };

static const double soft_center_hu = 40, soft_width_hu = 400;

bool ts_preview_window_parse(const char *text, struct preview_window *window)
{
    static const char *const names[] = {
        [PREVIEW_AUTO] = "auto", [PREVIEW_PERCENTILES] = "percentiles", [PREVIEW_FULL] = "full"};
    for (int i = 0; i < PREVIEW_LEVEL; i++)
        if (!strcmp(text, names[i])) {
            *window = (struct preview_window){.kind = (enum preview_windows)i};
            return true;
        }
    char rest;
    window->kind = PREVIEW_LEVEL;
    return sscanf(text, "%lf/%lf%c", &window->center, &window->width, &rest) == 2 && isfinite(window->center) &&
           isfinite(window->width) && window->width > 0;
}

/* Copies the finite values of the planes, or every few of them. */
static size_t gather(const struct preview_image *image, float *out)
{
    size_t total = 0, n = 0, at = 0;
    for (int i = 0; i < image->n_planes; i++)
        total += (size_t)(image->planes[i].rows * image->planes[i].columns);
    const size_t step = total / MOST_VALUES + 1;
    for (int i = 0; i < image->n_planes; i++)
        for (int64_t k = 0; k < image->planes[i].rows * image->planes[i].columns; k++)
            if (at++ % step == 0 && isfinite(image->planes[i].values[k]))
                out[n++] = image->planes[i].values[k];
    return n;
}

static void set(struct preview_image *image, double low, double high, const char *name)
{
    image->low = low;
    image->high = high;
    image->window_name = name;
}

enum ts_status ts_preview_window_find(const struct preview_window *window, struct preview_image *image,
                                      struct ts_diag *diag)
{
    if (window->kind == PREVIEW_LEVEL) {
        set(image, window->center - window->width / 2, window->center + window->width / 2, "given");
        return TS_OK;
    }
    float *sorted = malloc((MOST_VALUES + 1) * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, (MOST_VALUES + 1) * sizeof *sorted);
    const size_t n = gather(image, sorted);
    qsort(sorted, n, sizeof *sorted, ts_compare_floats);
    const double least = n > 0 ? (double)sorted[0] : 0, most = n > 0 ? (double)sorted[n - 1] : 0;
    const double low = n > 0 ? (double)sorted[(n - 1) / PERCENT] : 0;
    const double high = n > 0 ? (double)sorted[n - 1 - (n - 1) / PERCENT] : 0;
    free(sorted);
    const double soft_low = soft_center_hu - soft_width_hu / 2, soft_high = soft_center_hu + soft_width_hu / 2;
    const bool is_auto = window->kind == PREVIEW_AUTO;
    if (is_auto && image->image.quantity == TS_HU && least < soft_center_hu && most > soft_low)
        set(image, soft_low, soft_high, "soft tissue");
    else if (window->kind == PREVIEW_FULL || (is_auto && image->is_picture) || low == high)
        set(image, least, most, "full range");
    else
        set(image, low, high, "1st to 99th percentile");
    return TS_OK;
}
