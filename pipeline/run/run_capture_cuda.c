/* SPDX-License-Identifier: Apache-2.0
 *
 * A run in a CUDA graph: if the stream of the caller's arrays is being captured, the run is set up
 * as always, on streams of its own, and the walk then enqueues on the caller's stream and waits for
 * nothing. What the graph uses stays as it is until the run is destroyed. Checks of values, which
 * the host would have to read, are left out, as operators leave them out. Built only with CUDA.
 */
#include <stdlib.h>

#include "pipeline/run/run_cuda.h"
#include "pipeline/run/run_kept.h"

struct run_captured {
    struct run_captured *next;
    struct cuda_session *session;
    int32_t n;
    struct stage_driver *drivers[];
};

/* ---- what can be captured -------------------------------------------------------------------- */

/* Returns the stream among those of the caller's arrays that is being captured, and sets *all if
   every array has it. Returns NULL if there is none. */
static struct CUstream_st *captured_stream(const struct run *run, bool *all)
{
    struct CUstream_st *streams[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES],
        *captured = NULL;
    int n = 0;
    for (int32_t i = 0; i < run->plan->n_sources; i++)
        if (ts_plan_lies_in_memory(run->plan, i))
            streams[n++] = run->plan->nodes[i].source->resident_stream;
    for (int k = 0; k < run->options->n_takers; k++)
        if (ts_run_takes_on_device(&run->options->takers[k]))
            streams[n++] = run->options->takers[k].array.cuda_stream;
    for (int k = 0; !captured && k < n; k++)
        if (streams[k] && ts_cuda_captures(streams[k]))
            captured = streams[k];
    *all = true;
    for (int k = 0; k < n; k++)
        *all &= streams[k] == captured;
    return captured;
}

/* Returns why the host has to do something between the stages, whatever they are; NULL: it need
   not. */
static const char *refusal_of_run(const struct run *run, bool all_streams)
{
    const struct ts_plan *plan = run->plan;
    if (!all_streams)
        return "has an array whose stream is another one than that which is captured";
    if (plan->chain->output.path || plan->chain->output.n_sinks > 0)
        return "writes a file";
    if (run->options->profile || run->options->checkpoint.folder || plan->reuse)
        return "has a profile, a checkpoint or an earlier result";
    if (plan->n_devices > 1 || plan->n_ranks > 1 || plan->n_volumes > 1)
        return "has several devices, processes or volumes";
    for (int k = 0; k < run->options->n_takers; k++)
        if (!ts_run_stays_there(&run->options->takers[k]))
            return "has an image that goes to host memory";
    if (!run->options->kept || !run->options->kept->executed)
        return "was not executed before, which loads its kernels";
    return NULL;
}

/* The same of a node. */
static const char *refusal_of_node(const struct ts_plan *plan, int32_t i)
{
    const struct plan_node *node = &plan->nodes[i];
    const struct stage_context *context = &node->context;
    if (node->out.masked)
        return "has invalid pixels, whose bits come from the host";
    if (i < plan->n_sources)
        return ts_plan_lies_in_memory(plan, i) ? NULL : "is not in the memory of the device";
    const struct stage *stage = context->stage;
    const struct stage_reduction *reduction = stage->reduction;
    struct stage_table tables[STAGE_TABLES];
    const bool finds = reduction && (reduction->finds_axes || ts_stage_reduces_slices(context) ||
                                     (reduction->feeds_map && ts_stage_reduces_volumes(context)));
    if (finds && !ts_cuda_driver_stays(context))
        return "needs the host for what it finds in all pixels before it maps them";
    if ((stage->tables && stage->tables(context, tables) > 0) ||
        (reduction && reduction->tables && reduction->tables(context, tables) > 0))
        return "leaves a table, which is on the host";
    return NULL;
}

enum ts_status ts_run_cuda_ask_capture(struct run *run)
{
    bool all;
    const struct diag_site site = {.code = "run-capture"};
    struct CUstream_st *stream = captured_stream(run, &all);
    if (!stream)
        return TS_OK;
    const char *wrong = refusal_of_run(run, all);
    if (wrong)
        return ts_diag_error(run->diag, TS_BAD_CHAIN, &site,
                             "its stream is being captured in a graph, and the run %s", wrong);
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const struct plan_node *node = &run->plan->nodes[i];
        wrong = refusal_of_node(run->plan, i);
        if (wrong)
            return ts_diag_error(run->diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "run-capture",
                                                     .span = node->set.span,
                                                     .stage = node->label},
                                 "its stream is being captured in a graph, and it %s", wrong);
    }
    run->captured = stream;
    run->capture_mode = ts_cuda_capture_begin();
    return TS_OK;
}

/* ---- capturing ------------------------------------------------------------------------------- */

enum ts_status ts_run_cuda_begin_capture(struct run *run)
{
    struct device *device = run->back;
    if (!run->captured)
        return TS_OK;
    enum ts_status status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    ts_cuda_lend(device->session, run->captured, run->diag);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        if (run->nodes[i].driver)
            status = ts_cuda_driver_follow(run->nodes[i].driver);
    return status;
}

/* Takes over what the graph uses. */
static enum ts_status keep_captured(struct run *run)
{
    struct device *device = run->back;
    const size_t n = (size_t)run->plan->n_nodes;
    struct run_captured *captured = calloc(1, sizeof *captured + n * sizeof *captured->drivers);
    if (!captured)
        return ts_diag_no_memory(run->diag, n * sizeof *captured->drivers);
    captured->session = device->session;
    device->session = NULL;
    ts_cuda_return_pinned(captured->session); /* the pieces of staging are the next run's */
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        captured->drivers[captured->n++] = run->nodes[i].driver;
        run->nodes[i].driver = NULL;
    }
    captured->next = run->options->kept->captured;
    run->options->kept->captured = captured;
    return TS_OK;
}

enum ts_status ts_run_cuda_end_capture(struct run *run, enum ts_status status)
{
    const struct device *device = run->back;
    if (device && device->session)
        ts_cuda_lend_end(device->session);
    if (status == TS_OK)
        status = keep_captured(run);
    return status;
}

void ts_run_captured_destroy(struct run_captured *captured)
{
    if (!captured) /* a run on the CPU does not start the driver */
        return;
    const int before = ts_cuda_current();
    struct ts_diag *quiet = ts_diag_create();
    for (struct run_captured *next; captured; captured = next) {
        next = captured->next;
        struct cuda_session *session = captured->session;
        ts_cuda_make_current(ts_cuda_session_device(session)->index);
        /* the diag of the execution may be gone */
        ts_cuda_lend(session, ts_cuda_stream(session, CUDA_COMPUTE), quiet);
        for (int32_t i = 0; i < captured->n; i++)
            ts_driver_destroy(captured->drivers[i]);
        ts_cuda_session_destroy(session);
        free(captured);
    }
    ts_diag_destroy(quiet);
    ts_cuda_make_current(before);
}
