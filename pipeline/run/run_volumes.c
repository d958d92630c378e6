/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of several volumes carries its passes out for one after the other. The output's images grow from volume to
 * volume; the tables of each are copied here when it ends, since a driver forgets them when it is made ready for the
 * next one. In the output a table then has the axis of the volumes before its own.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run.h"

/* Allocates a node's tables of all volumes. */
static enum ts_status create_tables(struct run *run, int32_t i, const struct stage_table *tables, int n)
{
    for (int t = 0; t < n; t++) {
        struct stage_table *all = &run->results[i].tables[t];
        *all = tables[t];
        all->image = ts_plan_table_of_all(run->plan, i, &tables[t].image);
        all->image.data = calloc(1, ts_image_bytes(&all->image));
        if (!all->image.data)
            return ts_diag_no_memory(run->diag, ts_image_bytes(&all->image));
        run->results[i].n_tables++;
    }
    return TS_OK;
}

/* Copies the tables of the volume that has ended. Those of a node that is the same for all volumes are overwritten. */
static enum ts_status keep_tables(struct run *run, int32_t i)
{
    const struct run_result *result = &run->results[i];
    const struct stage_table *tables;
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    const int n = reduced ? ts_stage_reduced_tables(reduced, &tables) : 0;
    const int64_t place = run->plan->nodes[i].by_volume && !run->plan->nodes[i].series ? run->volume : 0;
    const enum ts_status status = run->volume == 0 ? create_tables(run, i, tables, n) : TS_OK;
    for (int t = 0; status == TS_OK && t < n; t++) {
        const size_t bytes = ts_image_bytes(&tables[t].image);
        memcpy((unsigned char *)result->tables[t].image.data + (size_t)place * bytes, tables[t].image.data, bytes);
    }
    return status;
}

int ts_run_tables(const struct run *run, int32_t i, const struct stage_table **tables)
{
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    const struct plan_reused *reused = run->plan->nodes[i].reused;
    *tables = reused ? reused->tables : run->results[i].tables;
    if (reused)
        return reused->n_tables;
    if (run->plan->n_volumes > 1)
        return run->results[i].n_tables;
    return reduced ? ts_stage_reduced_tables(reduced, tables) : 0;
}

/* Makes the device at hand ready for the next volume. What was reduced of all volumes stays. */
static enum ts_status restart(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        struct run_node *node = &run->nodes[i];
        node->n_parts = 0;
        if (node->done)
            memset(node->done, 0, (size_t)run->plan->nodes[i].out.axes[0].n);
        if (!node->driver)
            continue;
        node->driver->context.volume = run->plan->nodes[i].by_volume ? run->next_volume : 0;
        if (!run->plan->nodes[i].series)
            status = ts_driver_restart(node->driver);
    }
    return status;
}

enum ts_status ts_run_restart(struct run *run, int64_t volume)
{
    run->next_volume = volume;
    return ts_run_on_devices(run, restart);
}

enum ts_status ts_run_next_volume(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = keep_tables(run, i);
    return status == TS_OK ? ts_run_restart(run, run->volume + 1) : status;
}

void ts_run_free_tables(struct run *run)
{
    for (int32_t i = 0; run->results && i < run->plan->n_nodes; i++)
        for (int t = 0; t < run->results[i].n_tables; t++)
            free(run->results[i].tables[t].image.data);
}
