/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulation steps through a whole run without computing anything: pass by pass and slab by slab,
 * as pipeline/run/run_walk.c does. The plan counts memory with it, and predictions count work.
 */
#ifndef PIPELINE_PLAN_SIMULATION_H
#define PIPELINE_PLAN_SIMULATION_H

#include "pipeline/plan/plan.h"

/* A slab of a simulated run: slices [z, z + n) of the domain, and what ts_plan_step() says of each
 * node. */
struct simulated_slab {
    int rank, pass;
    int32_t domain;
    int64_t z, n;
    const struct plan_step *steps;
};

struct simulation {
    unsigned char **done; /* per node, nz bytes each, used if kept */
    struct plan_step *steps;
    int64_t *computed; /* per node, slices computed in the whole run; the caller counts them */
    /* per node, those of them that the previous slab did not have; a source still holds what it
       had */
    int64_t *fetched;
    struct spans *before; /* per node, the slices of the previous slab */
};

/* Allocates the memory of simulations of this plan. Returns false, with nothing allocated, if
   memory is out. */
bool ts_simulation_init(struct simulation *simulation, const struct ts_plan *plan);
void ts_simulation_clear(struct simulation *simulation, int32_t n_nodes);
/* Calls on_slab for every slab of the run, in the run's order, with z cut into slabs of so many
   slices. Goes through the devices of all ranks one after the other. */
void ts_simulation_run(const struct ts_plan *plan, struct simulation *simulation, int64_t slab,
                       void (*on_slab)(void *user, const struct simulated_slab *slab), void *user);

#endif
