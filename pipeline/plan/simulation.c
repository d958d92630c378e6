/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of passes, domains and slabs, which everything follows that counts work or memory
 * before a run.
 */
#include "pipeline/plan/simulation.h"

#include <stdlib.h>
#include <string.h>

void ts_simulation_clear(struct simulation *simulation, int32_t n_nodes)
{
    for (int32_t i = 0; simulation->done && i < n_nodes; i++)
        free(simulation->done[i]);
    free(simulation->done);
    free(simulation->steps);
    free(simulation->computed);
    free(simulation->fetched);
    free(simulation->before);
}

bool ts_simulation_init(struct simulation *simulation, const struct ts_plan *plan)
{
    const size_t n = (size_t)plan->n_nodes;
    *simulation = (struct simulation){.done = calloc(n, sizeof *simulation->done),
                                      .steps = calloc(n, sizeof *simulation->steps),
                                      .computed = calloc(n, sizeof *simulation->computed),
                                      .fetched = calloc(n, sizeof *simulation->fetched),
                                      .before = calloc(n, sizeof *simulation->before)};
    bool complete = simulation->done && simulation->steps && simulation->computed &&
                    simulation->fetched && simulation->before;
    for (size_t i = 0; complete && i < n; i++)
        complete =
            (simulation->done[i] = calloc(1, (size_t)plan->nodes[i].out.axes[0].n + 1)) != NULL;
    if (!complete)
        ts_simulation_clear(simulation, plan->n_nodes);
    return complete;
}

/* Runs the slabs of device `part`, of the `parts` devices of all ranks. */
static void run_domain(const struct ts_plan *plan, struct simulation *simulation,
                       struct simulated_slab *now, int part, int parts, int64_t slab,
                       void (*on_slab)(void *user, const struct simulated_slab *slab), void *user)
{
    const int64_t nz = plan->nodes[now->domain].out.axes[0].n;
    for (int64_t round_z = 0; round_z < nz; round_z += slab * parts) {
        now->n = ts_plan_slab_of(part, nz, round_z, slab, &now->z);
        if (now->n == 0)
            return;
        ts_plan_step(plan, now->pass, now->domain, now->z, now->n, simulation->done,
                     simulation->steps);
        on_slab(user, now);
    }
}

void ts_simulation_run(const struct ts_plan *plan, struct simulation *simulation, int64_t slab,
                       void (*on_slab)(void *user, const struct simulated_slab *slab), void *user)
{
    struct simulated_slab now = {.steps = simulation->steps};
    const int parts = plan->n_ranks * plan->n_devices;
    int64_t most = 1; /* A part has a slab only if there are at least as many slices as parts. */
    for (int32_t i = 0; i < plan->n_nodes; i++)
        most = plan->nodes[i].out.axes[0].n > most ? plan->nodes[i].out.axes[0].n : most;
    for (int part = 0; part < parts && part < most; part++) {
        now.rank = part % plan->n_ranks; /* the rounds of a rank go to its devices in turn */
        for (int32_t i = 0; i < plan->n_nodes; i++)
            memset(simulation->done[i], 0, (size_t)plan->nodes[i].out.axes[0].n);
        for (now.pass = 0; now.pass < plan->n_passes; now.pass++)
            for (now.domain = 0; now.domain < plan->n_nodes; now.domain++)
                if (ts_plan_pass_uses(plan, now.pass, now.domain))
                    run_domain(plan, simulation, &now, part, parts, slab, on_slab, user);
    }
}
