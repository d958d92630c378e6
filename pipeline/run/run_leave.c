/* SPDX-License-Identifier: Apache-2.0
 *
 * How the outputs of a slab leave for the file. One process hands them to its writer. Those of several ranks go to rank
 * 0 in rising z, round by round, and all ranks take part together: nothing else is sent meanwhile, and a rank that has
 * failed says so in place of what it owes.
 */
#include "pipeline/ranks/ranks.h"
#include "pipeline/run/run.h"

/* Returns true where outputs hold the node's image, and this pass writes it. */
static bool is_written(const struct run *run, int32_t i, int32_t domain)
{
    const struct plan_node *node = &run->plan->nodes[i];
    return run->survey < 0 && node->domain == domain && ts_run_holds(run, i) &&
           ts_plan_writes(run->plan, run->pass, i) && (run->volume == 0 || node->by_volume);
}

/* Returns the slice of an output at which slice z of the node's image stands. */
static int64_t place_of(const struct run *run, int32_t i, int64_t z)
{
    const struct plan_node *node = &run->plan->nodes[i];
    const int64_t place = node->by_volume ? run->volume : node->value;
    return z + (place > 0 ? place * node->out.axes[0].n : 0);
}

/* Counts the outputs of which this pass writes slices. */
static int count_written(const struct run *run, int32_t domain)
{
    int n = 0;
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        n += is_written(run, i, domain);
    return n;
}

/* Sends slices of the outputs to where they are written, and keeps which of their pixels are valid. */
static enum ts_status write_own(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++) {
        if (!is_written(run, i, domain))
            continue;
        struct ts_image slices = ts_run_view(run, i, z, n);
        if (plan->on_slices && run->volume == 0 && plan->nodes[i].leader == i)
            status = plan->on_slices(plan->slices_user, i, &slices);
        slices.z_first = place_of(run, i, z);
        if (status == TS_OK)
            status = run->back_end->write(run, i, &slices);
        if (status == TS_OK)
            status = ts_run_save_valid(run, i, &slices);
    }
    return status;
}

/* Writes the slabs that the other ranks have computed in this round. They are taken in every case. */
static enum ts_status write_others(struct run *run, int32_t domain, int64_t round, enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n;
    for (int rank = 1; plan->rank == 0 && rank < plan->n_ranks; rank++) {
        int64_t z;
        const int64_t n = ts_plan_slab_of(rank, nz, round, plan->slab_slices, &z);
        for (int32_t i = 0; n > 0 && i < plan->n_nodes; i++) {
            if (!is_written(run, i, domain))
                continue;
            struct ts_image slices = plan->nodes[i].out;
            slices.z_first = place_of(run, i, z);
            status = ts_run_receive(run, rank, i, &slices, status);
        }
    }
    return status;
}

/* The slabs of all ranks leave that were computed in the round of a slab number. Where the back end has only enqueued
 * its work this is an earlier round, so that the device has the later ones to work on meanwhile. All ranks call it
 * together, whatever their status is. */
static enum ts_status let_leave(struct run *run, int32_t domain, int64_t slab_number, enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    const int64_t round = (slab_number - run->first_slab) * plan->slab_slices * plan->n_ranks;
    int64_t z;
    const int64_t n = ts_plan_slab_of(plan->rank, plan->nodes[domain].out.axes[0].n, round, plan->slab_slices, &z);
    run->owed = plan->rank > 0 && n > 0 ? count_written(run, domain) : 0;
    if (status == TS_OK && n > 0)
        status = run->back_end->leave ? run->back_end->leave(run, slab_number) : write_own(run, domain, z, n);
    ts_run_send_failure(run);
    return write_others(run, domain, round, status);
}

/* Returns how many rounds after its own a slab leaves. A device that is about to begin a slab needs the memory of the
 * one that it began PLAN_RING slabs before. */
static int64_t rounds_behind(const struct run *run)
{
    return run->back_end->leave ? PLAN_RING * run->plan->n_devices - 1 : 0;
}

enum ts_status ts_run_write_slab(struct run *run, int32_t domain, int64_t z, int64_t n, enum ts_status status)
{
    const bool enqueues = run->plan->n_ranks == 1 || run->back_end->leave;
    const int64_t behind = rounds_behind(run);
    if (enqueues && status == TS_OK && n > 0)
        status = write_own(run, domain, z, n);
    if (status == TS_OK && n > 0)
        status = run->back_end->end_slab(run);
    if (run->plan->n_ranks > 1 && run->slab_number - behind >= run->first_slab)
        status = let_leave(run, domain, run->slab_number - behind, status);
    return status;
}

enum ts_status ts_run_write_rest(struct run *run, int32_t domain, enum ts_status status)
{
    const int64_t behind = rounds_behind(run);
    if (run->plan->n_ranks == 1 || behind == 0)
        return status;
    status = ts_ranks_agree(status);
    if (status != TS_OK)
        return status;
    for (int64_t slab = run->slab_number - behind; slab < run->slab_number; slab++)
        if (slab >= run->first_slab)
            status = let_leave(run, domain, slab, status);
    return status;
}
