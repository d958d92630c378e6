/* SPDX-License-Identifier: Apache-2.0
 *
 * Several devices in one run. Slabs are dealt out to them in turn, in rising z, by one thread,
 * which enqueues the work of a slab on its device and goes on to the next slab: devices compute
 * side by side, and what needs an order has that of one device without a lock. So the sources are
 * read and the writer is fed in rising z. A running total goes from device to device with the
 * slabs, and every device ends a reduction by itself: its bytes are those of one device, whatever
 * the reduction is.
 *
 * Halos are not exchanged. Each device computes those of its slabs, and an image that is kept whole
 * has a place on every device, of which each fills in what it needs.
 */
#include "pipeline/fleet/devices.h"

#include <stdlib.h>

enum ts_status ts_devices_use(struct run *run, int device)
{
    const struct run_device *at_hand = &run->devices[device];
    run->nodes = at_hand->nodes;
    run->done = at_hand->done;
    run->back = at_hand->back;
    if (run->device == device)
        return TS_OK;
    run->device = device;
    return run->back_end->use ? run->back_end->use(run) : TS_OK;
}

enum ts_status ts_devices_call(struct run *run, enum ts_status (*call)(struct run *run))
{
    enum ts_status status = TS_OK;
    for (int device = 0; call && status == TS_OK && device < run->plan->n_devices; device++) {
        status = ts_devices_use(run, device);
        if (status == TS_OK)
            status = call(run);
    }
    const enum ts_status back = ts_devices_use(run, 0);
    return status == TS_OK ? back : status;
}

void ts_devices_free(struct run *run)
{
    run->device = -1; /* in the caller's thread no device is selected yet */
    for (int device = 0; device < run->plan->n_devices; device++) {
        (void)ts_devices_use(run, device);
        if (run->back_end->settle)
            (void)run->back_end->settle(run);
    }
    for (int device = 0; device < run->plan->n_devices; device++) {
        (void)ts_devices_use(run, device);
        run->back_end->free(run);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

enum ts_status ts_devices_bring_total(struct run *run, int32_t node, int input)
{
    int *total = &run->results[node].totals[input];
    const int from = *total;
    *total = run->device;
    return from < 0 || from == run->device ? TS_OK
                                           : run->back_end->bring_total(run, from, node, input);
}

bool ts_devices_have_refused(const struct run *run, int32_t node)
{
    int64_t slice = -1;
    for (int device = 0; slice < 0 && device < run->plan->n_devices; device++)
        (void)ts_driver_refused(run->devices[device].nodes[node].driver, false, &slice);
    return slice >= 0;
}

enum ts_status ts_devices_refuse(struct run *run, int32_t node)
{
    const int at_hand = run->device;
    struct stage_driver *of_first = NULL;
    int64_t first = -1, z;
    enum ts_status status = TS_OK;
    for (int device = 0; status == TS_OK && device < run->plan->n_devices; device++) {
        (void)ts_devices_use(run, device);
        struct stage_driver *driver = run->nodes[node].driver;
        status = ts_driver_refused(driver, true, &z);
        if (z < 0 || (of_first && z > first))
            continue;
        of_first = driver;
        first = z;
    }
    (void)ts_devices_use(run, at_hand);
    return status == TS_OK && of_first ? ts_driver_refuse(of_first) : status;
}

static enum ts_status bring_totals(struct run *run, int32_t node)
{
    enum ts_status status = TS_OK;
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++)
        if (run->results[node].totals[input] >= 0)
            status = ts_devices_bring_total(run, node, input);
    return status;
}

/* Ending a round clears a device's total, so every device gets the total before the first one ends
   the round. */
enum ts_status ts_devices_finish_reduction(struct run *run, int32_t node)
{
    const int n = run->plan->n_devices;
    enum ts_status status = TS_OK;
    for (int device = 0; n > 1 && status == TS_OK && device < n; device++) {
        status = ts_devices_use(run, device);
        if (status == TS_OK)
            status = bring_totals(run, node);
    }
    for (int device = 0; status == TS_OK && device < n; device++) {
        const size_t n_records = ts_diag_count(run->diag);
        status = ts_devices_use(run, device);
        if (status == TS_OK)
            status = ts_driver_finish(run->nodes[node].driver);
        if (status == TS_OK && device > 0)
            ts_diag_forget(run->diag, n_records, NULL);
    }
    for (int input = 0; input < STAGE_INPUTS; input++)
        run->results[node].totals[input] = -1;
    const enum ts_status back = ts_devices_use(run, 0);
    return status == TS_OK ? back : status;
}

enum ts_status ts_devices_renew(struct run *run, int32_t node)
{
    enum ts_status status = TS_OK;
    for (int device = 0; status == TS_OK && device < run->plan->n_devices; device++) {
        status = ts_devices_use(run, device);
        if (status == TS_OK)
            status = ts_driver_renew(run->nodes[node].driver, &run->plan->nodes[node].context);
    }
    const enum ts_status back = ts_devices_use(run, 0);
    return status == TS_OK ? back : status;
}

/* ---- what each device knows of its slices ---------------------------------------------------- */

static void join_bits(unsigned char *to, const unsigned char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] |= from[i];
}

/* A row that a device has not filled in is 0. If several devices have filled in a row, of a slice
   that all needed, they have the same values. */
static enum ts_status join_tables(struct run *run)
{
    for (int32_t i = 0; run->device > 0 && i < run->plan->n_nodes; i++) {
        const struct stage_driver *first = run->devices[0].nodes[i].driver;
        const struct stage_reduced *own = ts_run_reduced(run, i);
        const struct stage_table *tables, *others;
        const int n = own ? ts_stage_reduced_tables(first->reduced, &tables) : 0;
        if (own)
            ts_stage_reduced_tables(own, &others);
        for (int t = 0; t < n; t++)
            join_bits(tables[t].image.data, others[t].image.data, ts_image_bytes(&tables[t].image));
    }
    return TS_OK;
}

enum ts_status ts_devices_join_tables(struct run *run)
{
    return ts_devices_call(run, join_tables);
}

enum ts_status ts_devices_fetch_saved(struct run *run, int32_t node, void *bits, size_t bytes)
{
    enum ts_status status = run->back_end->fetch(run, bits, run->nodes[node].saved, bytes);
    void *others = run->plan->n_devices > 1 ? malloc(bytes) : NULL;
    if (run->plan->n_devices > 1 && !others)
        return ts_diag_no_memory(run->diag, bytes);
    for (int device = 1; status == TS_OK && device < run->plan->n_devices; device++) {
        status = ts_devices_use(run, device);
        if (status == TS_OK)
            status = run->back_end->fetch(run, others, run->nodes[node].saved, bytes);
        if (status == TS_OK)
            join_bits(bits, others, bytes);
    }
    free(others);
    const enum ts_status back = ts_devices_use(run, 0);
    return status == TS_OK ? back : status;
}
