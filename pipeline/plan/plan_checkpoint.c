/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that is stepped through without computing anything shows how many bytes its checkpoint will have.
 */
#include "pipeline/plan/plan_checkpoint.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/timing.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/simulation.h"
#include "pipeline/ranks/ranks.h"

/* Returns the path of a checkpoint beside the output, or NULL where there is no output. */
static const char *beside_output(const struct ts_plan *plan)
{
    const struct chain_output *output = &plan->chain->output;
    const char *path = output->path ? output->path : output->n_sinks > 0 ? output->sinks[0].path : "";
    int length = (int)strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length > 0 ? ts_arena_printf(plan->arena, "%.*s.checkpoint", length, path) : NULL;
}

/* Takes the memory and the threads from the first run, as far as the options do not state them. */
static void take_budget(struct ts_plan *plan, const struct ts_options *options)
{
    char path[PATH_MAX];
    long long memory;
    int threads, writer, on_host;
    const int now = ts_ranks().on_host;
    snprintf(path, sizeof path, "%s/" PLAN_CHECKPOINT_RUN, plan->checkpoint.folder);
    FILE *file = fopen(path, "re");
    const bool read = file && fscanf(file, PLAN_CHECKPOINT_BUDGET, &memory, &threads, &writer, &on_host) == 4;
    if (file)
        fclose(file);
    if (!read || memory <= 0 || threads <= 0 || writer <= 0 || on_host <= 0)
        return;
    if (options->memory_bytes == 0)
        plan->budget_bytes = now > on_host ? memory / now * on_host : memory;
    if (options->threads > 0)
        return;
    plan->threads = now > on_host && plan->threads < threads ? plan->threads : threads;
    plan->writer_threads = writer;
}

void ts_plan_take_checkpoint(struct ts_plan *plan, const struct ts_options *options, struct ts_diag *diag)
{
    const bool wanted = options->checkpoint || options->resume || options->time_limit_s > 0;
    if (!wanted || plan->chain->part)
        return;
    plan->checkpoint = (struct plan_checkpoint){
        .folder = options->checkpoint ? ts_arena_text(plan->arena, options->checkpoint, strlen(options->checkpoint))
                                      : beside_output(plan),
        .resume = options->resume,
        .ends = options->time_limit_s > 0 ? ts_seconds() + options->time_limit_s : 0};
    if (options->checkpoint && !plan->checkpoint.folder)
        ts_diag_no_memory(diag, strlen(options->checkpoint));
    if (plan->checkpoint.folder && plan->checkpoint.resume)
        take_budget(plan, options);
}

bool ts_plan_stores(const struct ts_plan *plan, const struct plan_step *steps, int32_t node)
{
    const struct plan_node *of = &plan->nodes[node];
    return !ts_plan_reader(of) && of->image_node == node && steps[node].todo.n > 0 &&
           (of->keep || steps[node].demanded);
}

struct measured {
    const struct ts_plan *plan;
    int64_t bytes;
};

static void measure(void *user, const struct simulated_slab *slab)
{
    struct measured *measured = user;
    for (int32_t i = 0; i < measured->plan->n_nodes; i++) {
        const struct ts_image *out = &measured->plan->nodes[i].out;
        const struct spans *todo = &slab->steps[i].todo;
        for (int s = 0; ts_plan_stores(measured->plan, slab->steps, i) && s < todo->n; s++)
            measured->bytes +=
                (todo->at[s].end - todo->at[s].first) * (int64_t)(ts_slice_bytes(out) + ts_valid_bytes(out));
    }
}

int64_t ts_plan_checkpoint_bytes(const struct ts_plan *plan)
{
    struct measured measured = {.plan = plan};
    struct simulation simulation;
    if (!ts_simulation_init(&simulation, plan))
        return -1;
    ts_simulation_run(plan, &simulation, plan->slab_slices, measure, &measured);
    ts_simulation_clear(&simulation, plan->n_nodes);
    return measured.bytes * plan->n_volumes;
}
