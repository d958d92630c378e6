/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the parameters of a chain that depend on pixels, such as the box of a region
 * (stages/engine/stage.h: struct stage_search). The stages before it, and at their end one that
 * searches, form a separate chain, which is planned and run for its tables; the values found are
 * written into the chain as if they had been given there. So a plan knows every size before it
 * runs, and the recorded chain needs no search. Stages are searched in list order, because a box
 * that was found changes the images after it. So the stages before a search run twice, and their
 * input is read twice. Their image is not kept from the first time, because the box may let the
 * plan cut the volume differently, and it may not fit into memory.
 */
#include "pipeline/run/run_search.h"

#include <string.h>

#include "core/arena.h"
#include "core/arguments.h"
#include "pipeline/run/run.h"

struct search {
    const char *stage;                /* that searches */
    const struct ts_options *options; /* options of the run that follows */
    const struct stage_search *search;
    struct param_set *set; /* of the stage whose parameters are searched */
    const struct search_prepare *prepare;
    double *memory;
};

/* Copies values to the parameters of the same names in the stage that searches. */
static void take_params(struct param_set *to, const struct param_set *from)
{
    for (size_t i = 0; i < to->n_params; i++) {
        size_t other;
        if (!ts_param_find(from->params, from->n_params, to->params[i].name, &other))
            continue;
        memcpy(ts_param_field(to, i), ts_param_field(from, other),
               ts_param_bytes(to->params[i].kind));
        to->spans[i] = from->spans[other];
        to->given |= (from->given >> other & 1) << i;
    }
}

/* Makes the chain of the stages before stage `index` and of the one that searches, which has its
   name in messages. */
static bool make_part(const struct ts_chain *chain, int32_t index, struct ts_chain *part)
{
    const struct chain_stage *of = &chain->stages[index];
    struct stage *by = ts_arena_copy(chain->arena, of->stage->search->by, 1, sizeof *by);
    struct chain_stage *stages =
        ts_arena_copy(chain->arena, chain->stages, (size_t)index + 1, sizeof *stages);
    void *values = ts_arena_alloc(chain->arena, of->stage->search->by->params_bytes + 1);
    if (!by || !stages || !values)
        return false;
    by->name = of->stage->name;
    memset(values, 0, by->params_bytes);
    stages[index].stage = by;
    stages[index].name = NULL;
    stages[index].set = (struct param_set){.params = by->params,
                                           .n_params = by->n_params,
                                           .values = values,
                                           .span = of->set.span,
                                           .owner = by->name,
                                           .version = of->set.version};
    ts_params_init(&stages[index].set);
    take_params(&stages[index].set, &of->set);
    *part = *chain;
    part->stages = stages;
    part->n_stages = index + 1;
    part->output = (struct chain_output){.path = NULL};
    part->part = true;
    part->sweep.n = 0; /* it is behind */
    return true;
}

static enum ts_status take_tables(void *user, const struct stage_context *context,
                                  const struct stage_table *tables, int n)
{
    const struct search *search = user;
    return search->search->found(search->set, context, tables, n, search->memory);
}

/* Passes on how far the search is. Its start and end are not events of the run that follows. */
static void on_event(void *user, const struct ts_event *event)
{
    const struct search *search = user;
    struct ts_event of_search = *event;
    of_search.search = search->stage;
    if (event->kind == TS_EVENT_PROGRESS || event->kind == TS_EVENT_ITERATION)
        search->options->on_event(search->options->user, &of_search);
}

static enum ts_status run_part(const struct ts_chain *part, struct search *search,
                               struct ts_diag *diag)
{
    struct ts_options options = ts_options_known(search->options);
    struct ts_plan *plan = NULL;
    options.on_event = options.on_event ? on_event : NULL;
    options.user = search;
    options.profile = NULL;
    enum ts_status status = ts_plan_create(part, &options, &plan, diag);
    if (status == TS_OK)
        status = ts_plan_refuse_volumes(plan, plan->n_nodes - 1, diag);
    if (status == TS_OK && search->prepare)
        status = search->prepare->call(search->prepare->user, plan, diag);
    if (status == TS_OK) {
        struct run_options of_run = plan->options;
        of_run.on_tables = take_tables;
        of_run.tables_user = search;
        status = ts_run(plan, &of_run, plan->state, diag);
    }
    ts_plan_destroy(plan);
    return status;
}

/* The run repeats the warnings of the search, so the search reports them only if it fails. */
static enum ts_status search_stage(struct ts_chain *chain, int32_t index,
                                   const struct ts_options *options,
                                   const struct search_prepare *prepare, struct ts_diag *diag)
{
    struct chain_stage *stage = &chain->stages[index];
    struct search search = {.stage = stage->stage->name,
                            .options = options,
                            .search = stage->stage->search,
                            .set = &stage->set,
                            .prepare = prepare};
    struct ts_chain part;
    struct ts_diag *apart = ts_diag_create();
    search.memory = ts_arena_alloc(chain->arena, STAGE_SEARCH_NUMBERS * sizeof *search.memory);
    enum ts_status status = apart && search.memory && make_part(chain, index, &part)
                                ? run_part(&part, &search, apart)
                                : ts_diag_no_memory(diag, sizeof part);
    if (status != TS_OK && apart)
        ts_diag_append(diag, apart);
    ts_diag_destroy(apart);
    return status;
}

static bool is_needed(const struct chain_stage *stage)
{
    return stage->stage->search && stage->stage->search->needed(&stage->set);
}

enum ts_status ts_run_search(struct ts_chain *chain, const struct ts_options *options,
                             const struct search_prepare *prepare, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < chain->n_stages; i++)
        if (is_needed(&chain->stages[i]) &&
            (chain->sweep.n == 0 || i < chain->sweep.stage)) /* else the plan refuses */
            status = search_stage(chain, i, options, prepare, diag);
    return status;
}

enum ts_status ts_chain_search(struct ts_chain *chain, const struct ts_options *options,
                               struct ts_diag *diag)
{
    return ts_arguments_lack(diag, "chain", chain) ? TS_BAD_CHAIN
                                                   : ts_run_search(chain, options, NULL, diag);
}
