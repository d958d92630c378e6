/* SPDX-License-Identifier: Apache-2.0
 *
 * Each view's rows through tests/stages/projection/filter_oracle.c, then to the pixels, times the
 * view's share of half a turn. (z, view, detector) -> (z, y, x).
 */
#include "tests/stages/projection/fbp_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/backproject_oracle.h"
#include "tests/stages/projection/fan_fbp_oracle.h"
#include "tests/stages/projection/filter_oracle.h"

void ts_fbp_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct reconstruction_params *params = context->params;
    const struct ts_axis *views = &context->in.axes[1], *detectors = &context->in.axes[2];
    const int64_t nz = context->in.axes[0].n, pixels = params->rows * params->columns;
    const size_t count = ts_image_count(&context->in);
    if (context->in.beam.kind != TS_BEAM_PARALLEL) {
        ts_fan_fbp_oracle(context, in, out);
        return;
    }
    double *filtered = malloc(count * sizeof *filtered);
    ts_filter_rows_oracle(params->filter, params->cutoff,
                          detectors->spacing > 0 ? detectors->spacing : 1, in, nz * views->n,
                          detectors->n, filtered);
    memset(out, 0, (size_t)(nz * pixels) * sizeof *out);
    for (int64_t z = 0; z < nz; z++)
        for (int64_t v = 0; v < views->n; v++)
            ts_linear_view_oracle(context, filtered + (z * views->n + v) * detectors->n,
                                  ts_view_degree_oracle(views, v), ts_view_weight_oracle(views, v),
                                  out + z * pixels);
    free(filtered);
}
