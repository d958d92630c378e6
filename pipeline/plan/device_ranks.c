/* SPDX-License-Identifier: Apache-2.0
 *
 * One rank a device is the rule: rank number i of a machine takes its device i. A launcher that shows each rank a
 * device of its own, as Slurm does, shows it as number 0 to all of them, so that ranks know a device by its address.
 */
#include "pipeline/plan/device_ranks.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/ranks/ranks.h"
#ifdef TS_HAVE_CUDA
#include "cuda/device/session.h"
#endif

void ts_device_ranks_widen(const struct ts_plan *plan, struct device_choice *choice)
{
    if (plan->n_ranks > 1 && choice->n == 1 && choice->indices[0] < 0)
        choice->n = 0;
}

int ts_device_ranks_deal(const struct ts_plan *plan, int indices[CUDA_MAX_DEVICES], int n, bool single)
{
    const struct ranks ranks = ts_ranks();
    int own[CUDA_MAX_DEVICES];
    if (plan->n_ranks == 1 || n == 0)
        return n;
    const int share = single || n < ranks.on_host ? 1 : n / ranks.on_host;
    for (int i = 0; i < share; i++)
        own[i] = indices[(ranks.local * share + i) % n];
    memcpy(indices, own, (size_t)share * sizeof *own);
    return share;
}

/* Returns how many ranks of this machine compute on this rank's first device. */
static int count_sharers(const struct ts_plan *plan)
{
    char address[RANKS_TEXT + 1] = "";
#ifdef TS_HAVE_CUDA
    if (plan->cuda && !ts_cuda_pci_address(plan->cuda, address, sizeof address))
        snprintf(address, sizeof address, "device %d", plan->cuda->index);
#endif
    return ts_ranks_alike(plan->cuda ? address : "");
}

/* Returns a number that ranks with devices of one model have in common; 0 for the CPU. */
static int64_t model_of(const struct ts_plan *plan)
{
    const struct device_numbers *device = plan->cuda;
    uint64_t hash = 0xCBF29CE484222325;
    if (!device)
        return 0;
    for (const char *at = device->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001B3; /* FNV-1a */
    const int numbers[] = {device->major, device->minor, device->multiprocessors, device->code, plan->n_devices};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = (hash ^ (uint64_t)numbers[i]) * 0x100000001B3;
    return (int64_t)(hash >> 1 | 1);
}

static enum ts_status refuse(const struct ts_plan *plan, struct ts_diag *diag)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-devices"},
                  "the %d ranks do not have the same number of devices of one model: this one has %d (%s)",
                  plan->n_ranks, plan->n_devices, plan->cuda ? plan->cuda->name : "the CPU");
    return ts_diag_hint(diag, "ask for GPUs of one model, as many for each rank, or take --device cpu");
}

enum ts_status ts_device_ranks_agree(struct ts_plan *plan, bool automatic, bool budget_given, enum ts_status status,
                                     struct ts_diag *diag)
{
    int64_t model[] = {model_of(plan), -model_of(plan)};
    if (plan->n_ranks == 1)
        return status;
    status = ts_ranks_least(status, model);
    if (status != TS_OK)
        return status;
    const int sharers = count_sharers(plan);
    int64_t numbers[] = {plan->gpu_budget_bytes / (budget_given ? 1 : sharers), -sharers};
    status = ts_ranks_least(TS_OK, numbers);
    plan->gpu_budget_bytes = numbers[0];
    if (status != TS_OK)
        return status;
    const bool differ = model[0] != -model[1];
    if (differ && !automatic)
        return refuse(plan, diag);
    if (plan->cuda && differ)
        ts_plan_decline(plan, "not every rank has a CUDA device of one model", diag);
    else if (plan->cuda && automatic && numbers[1] < -1)
        ts_plan_decline(plan, "there are more ranks than CUDA devices", diag);
    return TS_OK;
}
