/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts are drawn as steps, once linear, and once logarithmic, where rare values show. Equalization maps each value to
 * the share of the values up to it, so this curve is drawn into the histogram of the image that a stage equalizes. It
 * is left out where the histogram has other values than the stage counted: those of several slices or volumes, each of
 * which has its own curve, those outside of a mask, or where the stage follows the histogram of another image.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"
#include "stages/engine/stage.h"

enum { POINTS = 2 * VALUE_BINS };
static const double empty_bin = 0.5; /* where an empty bin is drawn on a logarithmic axis */

struct steps {
    int n;
    double x[POINTS], counts[POINTS], logs[POINTS], curve[POINTS];
};

static void make_steps(const struct value_bins *bins, struct steps *steps)
{
    const int n = (int)(bins->last - bins->first + 1);
    int64_t most = 1, below = 0;
    for (int i = 0; i < n; i++)
        most = bins->counts[i] > most ? bins->counts[i] : most;
    for (int i = 0; i < n; i++)
        for (int end = 0; end < 2; end++) {
            below += end == 1 ? bins->counts[i] : 0;
            steps->x[steps->n] = (double)(bins->first + i + end) * bins->width;
            steps->counts[steps->n] = (double)bins->counts[i];
            steps->logs[steps->n] = fmax((double)bins->counts[i], empty_bin);
            steps->curve[steps->n++] = (double)below / (double)bins->n * (double)most;
        }
}

/* Returns true where the stage maps all values of an image by their own histogram. */
static bool equalizes_whole(const struct report_facts *facts, const struct report_stage *stage)
{
    const struct stage *known = ts_stage_find(stage->stage);
    const char *const others[] = {ts_report_value(facts, "%s/parameters/reference", stage->group),
                                  ts_report_value(facts, "%s/parameters/mask", stage->group)};
    bool whole = known && (known->traits & TRAIT_MAPS_BY_SHARES) &&
                 !strcmp(ts_report_value(facts, "%s/parameters/scope", stage->group), "volume");
    for (int i = 0; i < 2; i++)
        whole &= !*others[i] || !strcmp(others[i], "none");
    return whole;
}

/* Returns true where a stage equalizes this image, directly or after stages that pass images on as they are. */
static bool is_equalized(const struct report_facts *facts, const struct report_image *image)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *stage = &facts->stages[i], *from = stage;
        bool passes = image->source->n_volumes <= 1 && equalizes_whole(facts, stage);
        while (passes) {
            from = ts_report_stage(facts, from->input);
            if (from == image->stage)
                return true;
            const struct stage *known = from && from < stage ? ts_stage_find(from->stage) : NULL;
            passes = known && !known->map;
        }
    }
    return false;
}

static enum ts_status draw(const struct report_image *image, const struct steps *steps, bool logarithmic,
                           bool equalized, FILE *stream, struct ts_diag *diag)
{
    const struct chart_line lines[] = {
        {.name = "values in a bin", .n = steps->n, .x = steps->x, .y = logarithmic ? steps->logs : steps->counts},
        {.name = "equalization: the share of values up to here, 1 at its top",
         .color = 1,
         .n = steps->n,
         .x = steps->x,
         .y = steps->curve}};
    char across[96];
    snprintf(across, sizeof across, "value / %.80s", image->source->image.unit);
    const struct chart_panel panel = {
        .title = "",
        .x = {.title = across, .low = steps->x[0], .high = steps->x[steps->n - 1]},
        .y = {.title = logarithmic ? "values in a bin; empty bins at 0.5" : "values in a bin",
              .logarithmic = logarithmic,
              .low = logarithmic ? empty_bin : 0,
              .high = 1},
        .lines = lines,
        .n_lines = equalized && !logarithmic ? 2 : 1};
    const struct chart chart = {
        .title = logarithmic ? "Histogram, logarithmic" : "Histogram", .panels = &panel, .n_panels = 1};
    return ts_html_chart(stream, &chart, diag);
}

enum ts_status ts_report_histograms(const struct report_facts *facts, const struct report_image *image, FILE *stream,
                                    struct ts_diag *diag)
{
    if (image->bins.n == 0)
        return TS_OK;
    struct steps *steps = calloc(1, sizeof *steps);
    enum ts_status status = steps ? TS_OK : ts_diag_no_memory(diag, sizeof *steps);
    if (steps)
        make_steps(&image->bins, steps);
    const bool equalized = is_equalized(facts, image);
    fputs("<div class=\"charts\">\n", stream);
    for (int logarithmic = 0; status == TS_OK && logarithmic < 2; logarithmic++)
        status = draw(image, steps, logarithmic, equalized, stream, diag);
    fputs("</div>\n", stream);
    free(steps);
    return status;
}
