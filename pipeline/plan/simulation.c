/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of passes, domains and slabs, once for all that count something of a run before it begins.
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
}

bool ts_simulation_init(struct simulation *simulation, const struct ts_plan *plan)
{
    const size_t n = (size_t)plan->n_nodes;
    *simulation = (struct simulation){.done = calloc(n, sizeof *simulation->done),
                                      .steps = calloc(n, sizeof *simulation->steps),
                                      .computed = calloc(n, sizeof *simulation->computed)};
    bool complete = simulation->done && simulation->steps && simulation->computed;
    for (size_t i = 0; complete && i < n; i++)
        complete = (simulation->done[i] = calloc(1, (size_t)plan->nodes[i].out.axes[0].n + 1)) != NULL;
    if (!complete)
        ts_simulation_clear(simulation, plan->n_nodes);
    return complete;
}

void ts_simulation_run(const struct ts_plan *plan, struct simulation *simulation, int64_t slab,
                       void (*on_slab)(void *user, const struct simulated_slab *slab), void *user)
{
    for (int32_t i = 0; i < plan->n_nodes; i++)
        memset(simulation->done[i], 0, (size_t)plan->nodes[i].out.axes[0].n);
    for (int pass = 0; pass < plan->n_passes; pass++)
        for (int32_t domain = 0; domain < plan->n_nodes; domain++) {
            const int64_t nz = plan->nodes[domain].out.axes[0].n;
            if (!ts_plan_pass_uses(plan, pass, domain))
                continue;
            for (int64_t z = 0; z < nz; z += slab) {
                const struct simulated_slab now = {pass, domain, z, nz - z < slab ? nz - z : slab, simulation->steps};
                ts_plan_step(plan, pass, domain, z, now.n, simulation->done, simulation->steps);
                on_slab(user, &now);
            }
        }
}
