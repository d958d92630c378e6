/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a plan, and what the machine has where they leave it open.
 */
#include "pipeline/plan/plan_options.h"

#include <string.h>

#include "core/available.h"
#include "pipeline/plan/plan_checkpoint.h"
#include "pipeline/plan/plan_choose.h"
#include "pipeline/ranks/ranks.h"

enum { MOST_THREADS = 1024 };

/* Ranks that may use the same processors share them. The writer of rank 0 has them all: it compresses what all ranks of
 * all machines compute, and they wait for it. */
static void share_processors(struct ts_plan *plan)
{
    const int share = ts_ranks().processors, all = ts_processors();
    plan->threads = plan->writer_threads = all < MOST_THREADS ? all : MOST_THREADS;
    if (share > 0 && share < plan->threads)
        plan->threads = share;
}

/* Returns 60 % of the memory that is available, and 1 GiB where the system does not report it, for all ranks of this
 * machine. */
static int64_t default_budget(void)
{
    const int64_t available = ts_memory_available();
    return (available > 0 ? available / 10 * 6 : (int64_t)1 << 30) / ts_ranks().on_host;
}

/* Ranks cut z alike, so all of them take the fewest threads and the least memory that one of them has. */
static enum ts_status take_ranks(struct ts_plan *plan)
{
    const struct ranks ranks = ts_ranks();
    int64_t least[] = {plan->threads, plan->budget_bytes}, writer[] = {plan->writer_threads, 0};
    plan->rank = ranks.number;
    plan->n_ranks = ranks.count;
    enum ts_status status = ts_ranks_least(TS_OK, least);
    if (status == TS_OK)
        status = ts_ranks_least(TS_OK, writer);
    plan->threads = (int)least[0];
    plan->budget_bytes = least[1];
    plan->writer_threads = (int)writer[0];
    return status;
}

struct ts_options ts_plan_known_options(const struct ts_options *given)
{
    struct ts_options options = {.size = sizeof options};
    memcpy(&options, given, given->size > 0 && given->size < sizeof options ? given->size : sizeof options);
    return options;
}

enum ts_status ts_plan_take_options(struct ts_plan *plan, const struct ts_options *options, struct ts_diag *diag)
{
    share_processors(plan);
    if (options->threads > 0)
        plan->threads = plan->writer_threads = options->threads;
    plan->budget_bytes = options->memory_bytes > 0 ? options->memory_bytes : default_budget();
    ts_plan_take_checkpoint(plan, options, diag);
    plan->force = options->force;
    plan->on_event = options->on_event;
    plan->user = options->user;
    plan->profile = options->profile ? ts_arena_text(plan->arena, options->profile, strlen(options->profile)) : NULL;
    plan->trace = plan->profile ? ts_trace_create() : NULL;
    if (options->profile && !plan->trace)
        ts_diag_no_memory(diag, strlen(options->profile));
    if (plan->threads > MOST_THREADS)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "threads"},
                      "%d threads are more than the limit of %d", plan->threads, MOST_THREADS);
    ts_plan_load_rates(plan, options->rates);
    return take_ranks(plan);
}
