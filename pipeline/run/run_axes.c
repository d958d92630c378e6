/* SPDX-License-Identifier: Apache-2.0
 *
 * Some axes are known only while a chain runs: a reduction finds them (stages/engine/stage.h:
 * finds_axes), and the stages after it are resolved again from the chain's own values. Memory is
 * planned and allocated by then, so sizes must not change.
 */
#include "pipeline/run/run.h"
#ifdef TS_HAVE_CUDA
#include "cuda/device/driver.h"
#endif

/* Sizes from which the memory of a stage was planned. */
struct sizes {
    struct ts_image out;
    struct stage_reach reach;
    int rounds;
    bool by_slice;
    size_t scratch, reduced, device, host;
    struct fft_shape transforms[2][STAGE_TRANSFORMS]; /* on the CPU; on the device */
};

static struct sizes sizes_of(const struct ts_plan *plan, int32_t i)
{
    const struct stage_context *context = &plan->nodes[i].context;
    const struct stage *stage = context->stage;
    struct sizes sizes = {.out = context->out,
                          .reach = ts_stage_reach(context),
                          .rounds = ts_stage_rounds(context),
                          .by_slice = ts_stage_reduces_slices(context)};
    if (plan->nodes[i].run_slices > 0)
        sizes.scratch = ts_driver_scratch_bytes(context, plan->nodes[i].run_slices);
    if (stage->transforms)
        stage->transforms(context, sizes.transforms[0]);
    sizes.reduced = ts_stage_reduced_bytes(context, ts_plan_reduced_slices(plan, i));
#ifdef TS_HAVE_CUDA
    if (plan->cuda && stage->cuda) {
        if (stage->cuda->transforms)
            stage->cuda->transforms(context, sizes.transforms[1]);
        sizes.device = ts_cuda_driver_bytes(context, ts_plan_reduced_slices(plan, i));
        sizes.host = ts_cuda_driver_host_bytes(context, ts_plan_reduced_slices(plan, i));
    }
#endif
    return sizes;
}

static bool same_transforms(const struct fft_shape *a, const struct fft_shape *b)
{
    bool same = true;
    for (int i = 0; i < STAGE_TRANSFORMS; i++)
        same = same && a[i].rank == b[i].rank && a[i].real == b[i].real && a[i].n[0] == b[i].n[0] &&
               a[i].n[1] == b[i].n[1] && a[i].batch == b[i].batch;
    return same;
}

static bool same_sizes(const struct sizes *planned, const struct sizes *found)
{
    return ts_image_same_layout(&planned->out, &found->out) &&
           planned->reach.halo == found->reach.halo &&
           planned->reach.border == found->reach.border &&
           planned->reach.constant == found->reach.constant && planned->rounds == found->rounds &&
           planned->by_slice == found->by_slice && planned->scratch >= found->scratch &&
           planned->reduced == found->reduced && planned->device == found->device &&
           planned->host == found->host &&
           same_transforms(planned->transforms[0], found->transforms[0]) &&
           same_transforms(planned->transforms[1], found->transforms[1]);
}

/* Gives a stage's driver the node's context, after it was prepared again. */
static enum ts_status renew(struct run *run, int32_t i)
{
    return run->fleet ? run->fleet->renew(run, i)
                      : ts_driver_renew(run->nodes[i].driver, &run->plan->nodes[i].context);
}

/* Resolves a stage again whose input has other axes than planned. */
static enum ts_status resolve_again(struct run *run, int32_t i)
{
    struct ts_plan *plan = &run->own;
    const struct sizes planned = sizes_of(plan, i);
    const enum ts_status status = ts_plan_resolve(plan, i, run->diag);
    if (status != TS_OK)
        return status;
    const struct sizes found = sizes_of(plan, i);
    if (!same_sizes(&planned, &found))
        return ts_diag_error(run->diag, TS_RUN_FAILED,
                             &(struct diag_site){.code = "found-sizes",
                                                 .span = plan->nodes[i].set.span,
                                                 .stage = plan->nodes[i].label},
                             "it would need other sizes than were planned, with the axes that an "
                             "earlier stage found");
    return renew(run, i);
}

static enum ts_status take_axes(struct run *run, int32_t i)
{
    struct plan_node *node = &run->own.nodes[i];
    const enum ts_status status =
        ts_stage_find_axes(&node->context, ts_stage_reduced_result(ts_run_reduced(run, i)));
    node->out = node->context.out;
    return status == TS_OK ? renew(run, i) : status;
}

enum ts_status ts_run_find_axes(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const int pass = run->pass + 1;
    enum ts_status status = TS_OK;
    bool any = false;
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        any |= node->axes_pass == pass;
        if (node->reused)
            continue;
        if (node->input_axes_pass == pass)
            status = resolve_again(run, i);
        else if (node->axes_pass == pass)
            status = take_axes(run, i);
    }
    return status == TS_OK && any ? ts_run_open_outputs(run, pass) : status;
}
