/* SPDX-License-Identifier: Apache-2.0
 *
 * Studies are planned one after the other in this process, as `check` does it: headers are read, pixels only of a
 * result that is to be recognized. Each study has a list of messages of its own, so that none crowds out another's.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/batch/batch.h"
#include "pipeline/batch/finished.h"

void ts_batch_take_shard(struct batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->studies.n; i++)
        if (i % (size_t)batch->shards == (size_t)batch->shard - 1)
            batch->studies.items[n++] = batch->studies.items[i];
    batch->studies.n = n;
}

/* Divides among the jobs what the first plan would take, and the first one on a device of the device's memory. Returns
 * true where the plan has less now than it was made with. */
static bool share(struct batch *batch, const struct ts_plan *plan)
{
    struct ts_options *options = &batch->options;
    const bool first = !batch->shared, first_gpu = plan->cuda && !batch->gpu_shared;
    if (first) {
        options->threads = plan->threads > batch->jobs ? plan->threads / batch->jobs : 1;
        options->memory_bytes = plan->budget_bytes / batch->jobs;
    }
    if (first_gpu)
        options->gpu_memory_bytes = plan->gpu_budget_bytes / batch->jobs;
    batch->shared = true;
    batch->gpu_shared |= first_gpu;
    return (first || first_gpu) && batch->jobs > 1;
}

static enum ts_status create_plan(struct batch *batch, const struct ts_chain *chain, struct ts_plan **plan,
                                  struct ts_diag *diag)
{
    enum ts_status status = ts_plan_create(chain, &batch->options, plan, diag);
    if (status == TS_OK && share(batch, *plan)) {
        ts_plan_destroy(*plan);
        *plan = NULL;
        status = ts_plan_create(chain, &batch->options, plan, diag);
    }
    return status;
}

enum ts_status ts_batch_examine(struct batch *batch, struct batch_study *study, struct ts_diag *diag)
{
    struct stat found;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    const bool exists = lstat(study->output, &found) == 0;
    enum ts_status status = batch->load(study, &chain, diag);
    if (status == TS_OK && exists)
        status = ts_chain_search(chain, &batch->options, diag);
    if (status == TS_OK)
        status = create_plan(batch, chain, &plan, diag);
    if (status == TS_OK && exists)
        status = ts_finished_check(study->output, plan, study->digest, diag);
    if (status == TS_OK && exists)
        study->state = STUDY_FOUND;
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

void ts_batch_refuse_take(struct batch *batch, struct batch_study *study, enum study_state state, enum ts_status status,
                          struct ts_diag *diag)
{
    study->state = state;
    study->status = status;
    const char *message = diag ? ts_diag_first_error(diag) : NULL;
    if (message && !study->message)
        study->message = ts_arena_text(batch->studies.arena, message, strlen(message));
    ts_text_print(stderr, "", study->input);
    fputs(diag ? ":\n" : ":\ntomostage: error: out of memory\n", stderr);
    if (!diag) {
        study->message = "out of memory";
        return;
    }
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
}

static enum ts_status plan_study(struct batch *batch, struct batch_study *study, struct ts_diag *diag)
{
    struct stat found;
    if (batch->resume || lstat(study->output, &found) != 0)
        return ts_batch_examine(batch, study, diag);
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"}, "'%s' already exists",
                  study->output);
    return ts_diag_hint(diag, "--resume verifies results that are there and goes on with the others");
}

bool ts_batch_plan(struct batch *batch)
{
    bool clean = true;
    for (size_t i = 0; i < batch->studies.n; i++) {
        struct ts_diag *diag = ts_diag_create();
        const enum ts_status status = diag ? plan_study(batch, &batch->studies.items[i], diag) : TS_RUN_FAILED;
        if (status == TS_OK) {
            ts_diag_destroy(diag); /* its warnings come again from the run */
            continue;
        }
        ts_batch_refuse_take(batch, &batch->studies.items[i], STUDY_REFUSED, status, diag);
        clean = false;
    }
    return clean;
}
