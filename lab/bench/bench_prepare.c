/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepares the stage of a case as a plan would, and works out from it what its row is measured by:
 * the bytes that it must move, and the samples that it reads along rays or views.
 */
#include <math.h>

#include "cuda/device/driver.h"
#include "lab/bench/bench.h"
#include "stages/engine/driver.h"
#include "stages/engine/traits.h"

/* Rows in each slice of the references that the benchmark gives where a stage requires them. */
enum { FRAMES = 16 };

/* Refuses a choice that plays no part: it would be timed under a name that is not its own. */
static enum ts_status refuse_idle(const struct param_set *set, struct ts_diag *diag)
{
    for (size_t i = 0; i < set->n_params; i++)
        if (set->params[i].kind == PARAM_CHOICE && (set->given >> i & 1) &&
            ts_param_is_idle(set, i))
            return ts_param_error(set, set->params[i].name, "no-benchmark", diag,
                                  "it plays no part here");
    return TS_OK;
}

enum ts_status ts_bench_prepare(struct bench_stage *ready, const struct bench_case *which,
                                const struct ts_image *in, int threads,
                                const struct device_numbers *device, struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    *ready = (struct bench_stage){.which = *which, .arena = ts_arena_create()};
    if (!ready->arena)
        return ts_diag_no_memory(diag, stage->params_bytes);
    const struct ts_image *references[STAGE_REFERENCES] = {NULL};
    enum ts_status status = ts_bench_load(&ready->set, which, ready->arena, diag);
    ready->in = in ? *in : ts_bench_describe_image(which);
    ready->frames = ready->in;
    ready->frames.axes[1].n = ready->in.axes[1].n < FRAMES ? ready->in.axes[1].n : FRAMES;
    for (size_t i = 0, reference = 0; i < stage->n_params && reference < STAGE_REFERENCES; i++)
        if (stage->params[i].kind == PARAM_REFERENCE)
            references[reference++] = ready->set.given >> i & 1   ? &ready->in
                                      : stage->params[i].required ? &ready->frames
                                                                  : NULL;
    if (status == TS_OK)
        status = ts_stage_prepare(stage, &ready->set, &ready->in, references, threads, device, diag,
                                  &ready->context);
    return status == TS_OK ? refuse_idle(&ready->set, diag) : status;
}

enum ts_status ts_bench_apply(struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, struct stage_reduced **reduced)
{
    struct ts_image images[STAGE_INPUTS];
    const struct ts_image *references[STAGE_REFERENCES];
    ts_stage_inputs_alike(context, in, images);
    for (int i = 0; i < STAGE_REFERENCES; i++)
        references[i] = images[1 + i].data ? &images[1 + i] : NULL;
    return context->device ? ts_cuda_apply(context, in, out, references, 0, reduced)
                           : ts_stage_apply(context, in, out, references, 0, reduced);
}

void ts_bench_stage_clear(struct bench_stage *ready)
{
    ts_arena_destroy(ready->arena);
    ready->arena = NULL;
}

/* Returns the method that ran; NULL where the stage has none, or where it plays no part. */
static const char *method_of(const struct bench_stage *ready)
{
    const struct stage *stage = ready->context.stage;
    size_t i;
    const struct param *method = ts_param_find(stage->params, stage->n_params, "method", &i);
    if (!method || method->kind != PARAM_CHOICE || ts_param_is_idle(&ready->set, i))
        return NULL;
    return ts_param_choice_name(&ready->set, "method");
}

/* Returns the bytes that a stage moves, in all of its image. */
static double bytes_of(const struct stage_context *context)
{
    const bool passes_on = !context->stage->map;
    return ts_stage_work_bytes(context, passes_on ? 0 : 1,
                               passes_on || ts_stage_reduces(context) ? 1 : 0);
}

void ts_bench_describe(struct bench_row *row, const struct bench_stage ready[], int n)
{
    *row =
        (struct bench_row){.which = ready->which, .total_seconds = NAN, .error = {.distance = NAN}};
    for (int i = 0; i < n; i++)
        row->bytes += bytes_of(&ready[i].context);
    row->name = n > 1 ? "chain" : ready->context.stage->name;
    row->method = n > 1 ? NULL : method_of(ready);
    row->cpu_only = n > 1 ? NULL : ready->context.stage->cpu_only;
    row->samples = n > 1 ? (double)NAN : ts_stage_work_samples(&ready->context);
}
