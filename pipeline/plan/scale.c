/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans a chain for other machines and prints a table of its predictions.
 */
#include "pipeline/plan/scale.h"

#include <string.h>

enum { GIGA = 1000000000, BUDGET_PERCENT = 60, GPU_BUDGET_PERCENT = 80 };

/* Stages choose their methods by the numbers of the device. The code has run only on an H200, so a
   device that is not here is planned as one. */
static const struct device_numbers h200 = {.major = 9,
                                           .minor = 0,
                                           .code = 90,
                                           .multiprocessors = 132,
                                           .threads = 2048,
                                           .shared_bytes = 228 << 10,
                                           .block_shared_bytes = 227 << 10,
                                           .l2_bytes = 60 << 20,
                                           .double_ratio = 2};

int64_t ts_scale_most(const struct machine *machine)
{
    return machine->nodes * (machine->gpus > 0 ? machine->gpus : machine->ranks);
}

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/* Gives the plan the processors, the memory and the device of one rank. */
static void move_plan(struct ts_plan *plan, const struct machine *machine,
                      const struct rates *rates, const struct scale_row *row)
{
    const double gib = 1 << 30;
    plan->n_ranks = (int)row->ranks;
    plan->as_devices = machine->gpus > 0 && row->nodes == 1;
    plan->n_devices = 1;
    plan->rank = 0;
    plan->writer_threads = (int)machine->cores;
    plan->threads = (int)at_least_one(machine->cores / row->on_node);
    plan->budget_bytes =
        (int64_t)(machine->memory * gib / 100 * BUDGET_PERCENT / (double)row->on_node);
    plan->cuda = NULL;
    plan->cuda_driver = 0;
    plan->device = "cpu";
    plan->gpu_budget_bytes = 0;
    if (machine->gpus == 0)
        return;
    if (strcmp(plan->cuda_devices[0].name, rates->device) != 0)
        plan->cuda_devices[0] = h200;
    memcpy(plan->cuda_devices[0].name, rates->device, sizeof rates->device);
    plan->cuda_devices[0].memory_bytes = (size_t)(machine->gpu_memory * gib);
    plan->cuda = plan->cuda_devices;
    plan->device = "cuda:0";
    plan->gpu_budget_bytes = (int64_t)plan->cuda_devices[0].memory_bytes / 100 * GPU_BUDGET_PERCENT;
}

/* Returns the rates of one rank; the devices of a node share its bus. */
static struct rates rates_of(const struct machine *machine, const struct rates *rates,
                             const struct scale_row *row)
{
    struct rates own = *rates;
    own.values[RATE_WRITE] = machine->disk_write * GIGA;
    if (machine->gpus > 0)
        own.values[RATE_UPLOAD] = own.values[RATE_DOWNLOAD] =
            GIGA * fmin(machine->pcie, machine->pcie_node / (double)row->on_node);
    return own;
}

enum ts_status ts_scale_predict(struct ts_plan *plan, const struct machine *machine,
                                const struct rates *rates, int64_t ranks, struct scale_row *row,
                                struct ts_diag *diag)
{
    const int64_t room = ts_scale_most(machine) / machine->nodes;
    *row = (struct scale_row){.ranks = ranks, .on_node = ranks < room ? ranks : room};
    row->nodes = (ranks + row->on_node - 1) / row->on_node;
    const double threads = (double)at_least_one(machine->cores / row->on_node);
    const struct predict_links links = {
        .on_node = (int)row->on_node,
        .crowd = fmax(1, (double)row->on_node * threads / (double)machine->cores),
        .launch_seconds = machine->gpus > 0 && row->nodes == 1 ? 0 : machine->launch,
        .read = machine->disk_read * GIGA,
        .exchange = machine->gpus > 0 ? INFINITY : machine->exchange * GIGA,
        .network = machine->network * GIGA};
    const struct rates own = rates_of(machine, rates, row);
    struct ts_diag *refusals = ts_diag_create();
    if (!refusals)
        return ts_diag_no_memory(diag, sizeof own);
    move_plan(plan, machine, rates, row);
    enum ts_status status = TS_OK;
    if (ts_plan_work_out(plan, refusals) != TS_OK) {
        const char *message = ts_diag_get(refusals, 0)->message;
        row->refusal = ts_arena_text(plan->arena, message, strlen(message));
        status = row->refusal ? TS_OK : ts_diag_no_memory(diag, strlen(message));
    } else {
        status = ts_predict(plan, &own, &links, &row->prediction, diag);
    }
    row->node_bytes = plan->memory_bytes * row->on_node;
    row->gpu_bytes = plan->gpu_bytes;
    if (status == TS_OK && !row->refusal)
        ts_predict_bound_text(plan, &row->prediction, row->bound, sizeof row->bound);
    ts_diag_destroy(refusals);
    return status;
}
