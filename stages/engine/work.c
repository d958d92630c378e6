/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the work of a stage from the shapes of its images alone, so that a new stage needs no line
 * here.
 */
#include "stages/engine/work.h"

#include <math.h>

#include "stages/engine/traits.h"

bool ts_stage_reduces(const struct stage_context *context)
{
    return context->stage->reduction &&
           (ts_stage_reduces_slices(context) || ts_stage_reduces_volume(context, 0));
}

double ts_stage_work_bytes(const struct stage_context *context, double mapped, double reduced)
{
    const double in = (double)ts_image_bytes(&context->in), most = fmax(mapped, reduced);
    double bytes = reduced * in;
    for (int i = 0; i < STAGE_REFERENCES; i++)
        bytes += context->references[i] ? most * (double)ts_image_bytes(context->references[i]) : 0;
    return bytes +
           (context->stage->map ? mapped * (in + (double)ts_image_bytes(&context->out)) : 0);
}

/* Returns the passes over pixels and views in a reconstruction; an iterative one makes two an
 * iteration, forth and back. */
static double steps_of(const struct stage_context *context)
{
    size_t i;
    const struct stage *stage = context->stage;
    const struct param *param = ts_param_find(stage->params, stage->n_params, "iterations", &i);
    return param ? 2 * (double)*(const int64_t *)((const char *)context->params + param->offset)
                 : 1;
}

double ts_stage_work_samples(const struct stage_context *context)
{
    const struct ts_image *in = &context->in, *out = &context->out;
    const double pixels = (double)ts_image_count(out);
    if (out->rank == 3 && in->axes[1].kind == TS_AXIS_Y && out->axes[1].kind == TS_AXIS_VIEW)
        return pixels * (double)(in->axes[1].n > in->axes[2].n ? in->axes[1].n : in->axes[2].n);
    if (ts_image_is_sinogram(in) && out->rank == 3 && out->axes[1].kind == TS_AXIS_Y)
        return pixels * (double)in->axes[1].n * steps_of(context);
    return NAN;
}
