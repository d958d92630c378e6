/* SPDX-License-Identifier: Apache-2.0
 *
 * `auto` plans the chain for the device and for the CPU and compares the predictions. Starting a CUDA device takes a
 * good part of a second, so short runs end earlier on the CPU. The reason that a result records is the same for any
 * times, so that its bytes do not depend on the number of threads or on what was measured.
 */
#include "pipeline/plan/plan_choose.h"

#include <string.h>

#include "pipeline/plan/predict.h"

/* ---- rates -------------------------------------------------------------------------------------- */

/* Copies the newest error's message into the plan's arena. */
static const char *message_of(struct ts_plan *plan, const struct ts_diag *diag)
{
    const char *message = ts_diag_get(diag, ts_diag_count(diag) - 1)->message;
    return ts_arena_text(plan->arena, message, strlen(message));
}

void ts_plan_load_rates(struct ts_plan *plan, const char *path)
{
    struct ts_diag *diag = ts_diag_create();
    struct rates *rates = path ? ts_arena_alloc(plan->arena, sizeof *rates) : NULL;
    plan->no_prediction = path ? "out of memory" : "no rates are kept";
    if (diag && rates && ts_rates_load(path, rates, diag) == TS_OK)
        plan->rates = rates;
    else if (diag && rates)
        plan->no_prediction = message_of(plan, diag);
    ts_diag_destroy(diag);
}

void ts_plan_predict(struct ts_plan *plan)
{
    struct ts_diag *diag = plan->rates ? ts_diag_create() : NULL;
    struct prediction *prediction = diag ? ts_arena_alloc(plan->arena, sizeof *prediction) : NULL;
    if (prediction && ts_predict(plan, plan->rates, NULL, prediction, diag) == TS_OK) {
        plan->prediction = prediction;
        plan->no_prediction = NULL;
    } else if (prediction) {
        plan->no_prediction = message_of(plan, diag);
    }
    ts_diag_destroy(diag);
}

/* ---- auto --------------------------------------------------------------------------------------- */

/* A CUDA device to which a plan can return. */
struct chosen {
    const char *device;
    int64_t budget;
};

static void return_to(struct ts_plan *plan, const struct chosen *chosen)
{
    plan->cuda = plan->cuda_devices;
    plan->device = chosen->device;
    plan->device_note = NULL;
    plan->gpu_budget_bytes = chosen->budget;
}

/* The plan is worked out on the device. Leaves it on the CPU where it is predicted to be done earlier there, else on
 * the device; it must be worked out again in both cases. `scratch` takes records that nobody reads. */
static void take_earlier(struct ts_plan *plan, struct ts_diag *scratch)
{
    const struct chosen chosen = {plan->device, plan->gpu_budget_bytes};
    struct prediction there, here;
    if (ts_predict(plan, plan->rates, NULL, &there, scratch) != TS_OK)
        return;
    ts_plan_decline(plan, "predicted to be done first", NULL);
    const bool both =
        ts_plan_work_out(plan, scratch) == TS_OK && ts_predict(plan, plan->rates, NULL, &here, scratch) == TS_OK;
    if (both && here.seconds <= there.seconds) {
        plan->device_times =
            ts_arena_printf(plan->arena, "%.2f s against %.2f s on %s, of which %.2f s start it", here.seconds,
                            there.seconds, chosen.device, plan->rates->values[RATE_CUDA_START]);
        return;
    }
    return_to(plan, &chosen);
    if (both)
        plan->device_times = ts_arena_printf(plan->arena, "predicted to be done first: %.2f s against %.2f s on cpu",
                                             there.seconds, here.seconds);
}

/* The chain cannot run on the device, which `message` explains. Leaves the plan on the CPU where it can run there. */
static void take_cpu_if_it_can(struct ts_plan *plan, const char *message, struct ts_diag *scratch, struct ts_diag *diag)
{
    const struct chosen chosen = {plan->device, plan->gpu_budget_bytes};
    ts_plan_decline(plan, ts_arena_text(plan->arena, message, strlen(message)), NULL);
    if (ts_plan_work_out(plan, scratch) == TS_OK)
        ts_plan_decline(plan, plan->device_note, diag);
    else
        return_to(plan, &chosen);
}

enum ts_status ts_plan_work_out_auto(struct ts_plan *plan, struct ts_diag *diag)
{
    struct ts_diag *there = ts_diag_create(), *here = ts_diag_create();
    enum ts_status status = TS_OK;
    /* The records of a try are lost, so the plan is made again into diag. */
    bool again = !there || !here || plan->rates;
    const bool predicts = plan->rates && plan->n_ranks == 1; /* ranks may have measured other rates */
    if (there && here && ts_plan_work_out(plan, there) != TS_OK) {
        take_cpu_if_it_can(plan, ts_diag_get(there, 0)->message, here, diag);
        again = true;
    } else if (there && here && predicts) {
        take_earlier(plan, here);
    }
    if (again || ts_diag_count(there) > 0)
        status = ts_plan_work_out(plan, diag);
    ts_diag_destroy(there);
    ts_diag_destroy(here);
    return status;
}
