/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tables `histogram` writes depends on its reference and labels: a list of all of them, in the order of the file,
 * is filtered. Distances are sums and maxima over the bins of the difference of two cumulative shares.
 */
#include "stages/histogram/histogram_tables.h"

#include <math.h>

#include "stages/values/scope.h"

int ts_histogram_table(bool reference, int table)
{
    const int distances = TABLE_LABEL_COUNTS - TABLE_REFERENCE;
    return table >= TABLE_LABEL_COUNTS && !reference ? table - distances : table;
}

int ts_histogram_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *doc;
    } texts[] = {
        [TABLE_COUNTS] = {"counts", "values in each bin"},
        [TABLE_EDGES] = {"edges", "edges of the bins, one more than bins; the last bin holds its upper edge"},
        [TABLE_UNDERFLOW] = {"underflow", "values below the first edge"},
        [TABLE_OVERFLOW] = {"overflow", "values above the last edge"},
        [TABLE_NAN] = {"nan", "values that are not numbers"},
        [TABLE_REFERENCE] = {"reference_counts", "values of the reference in each bin"},
        [TABLE_DISTANCES] = {"distances", "total variation and Kolmogorov-Smirnov distance to the reference, as "
                                          "shares; values outside the range count at its nearer end"},
        [TABLE_WASSERSTEIN] = {"wasserstein", "1-Wasserstein distance to the reference, in values; values outside the "
                                              "range count at its nearer end"},
        [TABLE_LABEL_COUNTS] = {"label_counts", "values under each label in each bin"},
        [TABLE_LABEL_UNDERFLOW] = {"label_underflow", "values under each label below the first edge"},
        [TABLE_LABEL_OVERFLOW] = {"label_overflow", "values under each label above the last edge"},
        [TABLE_LABEL_NAN] = {"label_nan", "values under each label that are not numbers"},
        [TABLE_OTHER_COUNTS] = {"other_counts", "values in each bin whose label is not one of 0 to n_labels - 1"},
        [TABLE_OTHER_OUTSIDE] = {"other_outside", "values with such a label below the first edge, above the last one, "
                                                  "and not numbers"},
    };
    const struct histogram_params *params = context->params;
    const bool reference = context->references[HISTOGRAM_REFERENCE - 1] != NULL;
    const bool labels = context->references[HISTOGRAM_LABELS - 1] != NULL;
    const struct {
        enum ts_axis_kind kind;
        int64_t n;
    } axes[TABLES] = {
        [TABLE_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_EDGES] = {TS_AXIS_BIN, params->bins + 1},
        [TABLE_REFERENCE] = {TS_AXIS_BIN, params->bins},
        [TABLE_DISTANCES] = {TS_AXIS_ITEM, DISTANCES},
        [TABLE_LABEL_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_OTHER_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_OTHER_OUTSIDE] = {TS_AXIS_ITEM, BINS_EXTRA_SLOTS},
    };
    int n = 0;
    for (int i = 0; i < TABLES; i++) {
        const bool of_labels = i >= TABLE_LABEL_COUNTS, of_reference = i >= TABLE_REFERENCE && !of_labels;
        const bool in_values = i == TABLE_EDGES || i == TABLE_WASSERSTEIN, real = in_values || i == TABLE_DISTANCES;
        if ((of_labels && !labels) || (of_reference && !reference))
            continue;
        out[n] = ts_scope_table(context, texts[i].name, texts[i].doc, real ? TS_F64 : TS_U64, in_values);
        if (of_labels && i < TABLE_OTHER_COUNTS)
            ts_scope_axis(&out[n], TS_AXIS_ITEM, params->n_labels);
        if (axes[i].n > 0)
            ts_scope_axis(&out[n], axes[i].kind, axes[i].n);
        n++;
    }
    return n;
}

void ts_histogram_compare(const struct bins *bins, const uint64_t *a, const uint64_t *a_outside, const uint64_t *b,
                          const uint64_t *b_outside, double distances[DISTANCES], double *wasserstein)
{
    uint64_t n_a = a_outside[0] + a_outside[1], n_b = b_outside[0] + b_outside[1];
    for (int64_t bin = 0; bin < bins->n; bin++) {
        n_a += a[bin];
        n_b += b[bin];
    }
    const double of_a = (double)n_a, of_b = (double)n_b;
    uint64_t below_a = a_outside[0], below_b = b_outside[0];
    double gap = fabs((double)below_a / of_a - (double)below_b / of_b), largest = gap, variation = gap;
    double area =
        gap * bins->step / 2; /* the values of a bin lie in its middle, so a gap reaches from middle to middle */
    for (int64_t bin = 0; bin < bins->n; bin++) {
        below_a += a[bin];
        below_b += b[bin];
        gap = fabs((double)below_a / of_a - (double)below_b / of_b);
        largest = fmax(largest, gap);
        variation += fabs((double)a[bin] / of_a - (double)b[bin] / of_b);
        area += gap * (bin + 1 < bins->n ? bins->step : bins->step / 2);
    }
    variation += fabs((double)a_outside[1] / of_a - (double)b_outside[1] / of_b);
    const bool known = n_a > 0 && n_b > 0;
    distances[DISTANCE_TOTAL_VARIATION] = known ? variation / 2 : (double)NAN;
    distances[DISTANCE_KOLMOGOROV_SMIRNOV] = known ? largest : (double)NAN;
    *wasserstein = known ? area : (double)NAN;
}
