/* SPDX-License-Identifier: Apache-2.0
 *
 * Each answer is computed from the table and the context when it is asked for. Nothing is stored,
 * so a context that is prepared again cannot disagree with an older answer.
 */
#include "stages/engine/traits.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct ts_image *ts_stage_input(const struct stage_context *context, int input)
{
    return input == 0 ? &context->in : context->references[input - 1];
}

struct stage_tolerance ts_stage_tolerance(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const char *method = ts_param_choice_name(context->set, "method");
    for (const struct stage_method_tolerance *at = stage->method_tolerances;
         method && at && at->method; at++)
        if (!strcmp(at->method, method))
            return at->tolerance;
    return stage->tolerance;
}

struct stage_reach ts_stage_reach(const struct stage_context *context)
{
    return context->stage->reach ? context->stage->reach(context) : (struct stage_reach){0};
}

struct stage_slices ts_stage_reads(const struct stage_context *context, int64_t first, int64_t end)
{
    const int64_t halo = ts_stage_reach(context).halo;
    return context->stage->reads ? context->stage->reads(context, first, end)
                                 : (struct stage_slices){first - halo, end + halo};
}

int64_t ts_stage_most_slices(const struct stage_context *context)
{
    const int64_t in = context->in.axes[0].n, out = context->out.axes[0].n;
    return in > out ? in : out;
}

int ts_stage_rounds(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    if (!reduction)
        return 0;
    return reduction->rounds ? reduction->rounds(context) : 1;
}

bool ts_stage_streams(const struct stage_context *context, int reference)
{
    return context->stage->streams_with_input && context->references[reference] &&
           context->stage->streams_with_input(context, reference);
}

bool ts_stage_reduces_slices(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    return reduction && reduction->per_slice && reduction->per_slice(context);
}

bool ts_stage_reduces_volume(const struct stage_context *context, int input)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    if (!reduction || !ts_stage_input(context, input) ||
        (input == 0 && ts_stage_reduces_slices(context)))
        return false;
    struct stage_context probe = *context;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++)
        if (reduction->partial_bytes(&probe, input) > 0)
            return true;
    return false;
}

bool ts_stage_reduces_volumes(const struct stage_context *context)
{
    bool reduces = false;
    for (int input = 0; input < STAGE_INPUTS; input++)
        reduces |= ts_stage_reduces_volume(context, input);
    return reduces;
}

bool ts_stage_finds_axes(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    return reduction && reduction->finds_axes && ts_stage_reduces_volumes(context);
}

void ts_stage_slices(const struct stage_context *context, int input, const struct ts_image *images,
                     int64_t first, int64_t n, struct ts_image slices[STAGE_INPUTS])
{
    slices[0] = ts_image_slices(&images[0], first, n);
    for (int i = 0; input == 0 && i < STAGE_REFERENCES; i++)
        if (ts_stage_streams(context, i))
            slices[1 + i] = ts_image_slices(&images[1 + i], first, n);
}

bool ts_stage_has_state(const struct stage_context *context)
{
    return context->stage->reduction || context->stage->tables;
}

int ts_stage_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES],
                    int *n_map)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    struct stage_table more[STAGE_TABLES];
    const int n = reduction && reduction->tables ? reduction->tables(context, tables) : 0;
    const int n_more = context->stage->tables ? context->stage->tables(context, more) : 0;
    assert(n + n_more <= STAGE_TABLES);
    for (int i = 0; i < n_more; i++)
        tables[n + i] = more[i];
    if (n_map)
        *n_map = n_more;
    return n + n_more;
}

bool ts_stage_masks(const struct stage_context *context)
{
    return context->stage->masks && context->stage->masks(context);
}

bool ts_stage_takes_invalid(const struct stage_context *context)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    const bool aware = context->stage->validity > VALIDITY_SPREADS;
    bool takes = context->in.masked && context->stage->map && !aware;
    for (int input = 0; !aware && reduction && !reduction->order_free && input < STAGE_INPUTS;
         input++) {
        const struct ts_image *image = ts_stage_input(context, input);
        takes |= image && image->masked &&
                 (ts_stage_reduces_volume(context, input) ||
                  (input == 0 && ts_stage_reduces_slices(context)));
    }
    return takes;
}

bool ts_stage_mixes_labels(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const char *interpolation = ts_param_choice_name(context->set, "interpolation");
    if (context->in.labels == 0 || !stage->map || stage->validity == VALIDITY_MOVES ||
        (stage->traits & TRAIT_ENDS_LABELS))
        return false;
    return !(stage->traits & TRAIT_KEEPS_LABELS) ||
           (interpolation && strcmp(interpolation, "nearest") != 0 &&
            strcmp(interpolation, "labels") != 0);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Counts the work of a stage from the shapes of its images alone, so that a new stage needs no line
 * here. */

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

/* Returns the passes over pixels and views in a reconstruction; an iterative one makes two in each
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
