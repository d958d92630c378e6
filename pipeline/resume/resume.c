/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides what a plan takes from an earlier result. Demands are followed backwards from what must be computed, the
 * stages without a match, and from the images that are written: an image that the result holds is read, and what it was
 * made of is not looked at. So each branch starts at its latest saved image.
 */
#include "pipeline/resume/resume.h"

#include <stdlib.h>
#include <string.h>

#include "core/tomostage.h"
#include "pipeline/plan/plan_sweep.h"
#include "pipeline/plan/simulation.h"
#include "pipeline/resume/resume_search.h"
#include "pipeline/run/run_search.h"

/* ---- what must be computed ----------------------------------------------------------------------- */

static void compute(struct resume *resume, int32_t index);

/* Finds where the image of a node comes from. */
static void need_image(struct resume *resume, int32_t index)
{
    const int32_t node = resume->plan->nodes[index].image_node;
    if (node < resume->plan->n_sources || resume->computed[node])
        return;
    if (resume->match[node] < 0 || !ts_resume_image(resume, node))
        compute(resume, node);
}

static void compute(struct resume *resume, int32_t index)
{
    const struct plan_node *node = &resume->plan->nodes[index];
    if (resume->computed[index])
        return;
    resume->computed[index] = true;
    for (int input = 0; input < STAGE_INPUTS; input++)
        if (node->inputs[input] >= 0)
            need_image(resume, node->inputs[input]);
}

/* Fills `computed`, and opens the images that are taken. */
static void decide(struct resume *resume)
{
    const struct ts_plan *plan = resume->plan;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if (resume->match[i] < 0 || !ts_resume_tables(resume, i))
            compute(resume, i);
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if (plan->nodes[i].dataset)
            need_image(resume, i);
}

/* ---- telling the plan ---------------------------------------------------------------------------- */

/* Takes the axes that stages found, so that those after them are resolved and can be compared. Returns true where that
 * is new to the plan. */
static bool take_axes(struct resume *resume)
{
    bool any = false;
    for (int32_t i = resume->plan->n_sources; i < resume->plan->n_nodes; i++) {
        const struct plan_node *node = &resume->plan->nodes[i];
        struct plan_reused *reused = &resume->reuse.nodes[i];
        if (reused->taken || resume->match[i] < 0 || !ts_stage_finds_axes(&node->context))
            continue;
        reused->taken = ts_resume_tables(resume, i);
        any |= reused->taken;
    }
    return any;
}

/* Puts the decision in what the plan is given, and returns how many stages are taken. An input on which none of them
 * depends may have changed. */
static int32_t put(struct resume *resume)
{
    const struct ts_plan *plan = resume->plan;
    bool needed[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES] = {false};
    int32_t n = 0;
    for (int32_t i = plan->n_nodes - 1; i >= plan->n_sources; i--) {
        resume->reuse.nodes[i].taken = !resume->computed[i];
        n += !resume->computed[i];
        needed[i] |= !resume->computed[i];
        for (int input = 0; needed[i] && input < STAGE_INPUTS; input++)
            if (plan->nodes[i].inputs[input] >= 0)
                needed[plan->nodes[i].inputs[input]] = true;
    }
    for (int32_t i = 0; i < plan->n_sources; i++)
        if (!needed[i])
            resume->reuse.inputs[i].digests = NULL;
    resume->reuse.decided = true;
    return n;
}

static bool any_image(const struct resume *resume)
{
    bool any = false;
    for (int32_t i = 0; i < resume->plan->n_nodes; i++)
        any |= resume->reuse.nodes[i].saved && !resume->computed[i];
    return any;
}

/* Returns true where a stage makes an image of its own. Else all images of the chain are those of its inputs, and only
 * tables can be taken. */
static bool makes_images(const struct ts_plan *plan)
{
    bool any = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        any |= plan->nodes[i].image_node >= plan->n_sources;
    return any;
}

static enum ts_status refuse(const struct resume *resume, struct ts_diag *diag)
{
    const char *path = resume->recorded.path;
    if (resume->label)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "resume-nothing"},
                      "the run cannot start from %s: %s: %s%s%s", path, resume->label, resume->why,
                      *resume->unfit ? "; " : "", resume->unfit);
    else
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "resume-nothing"},
                      "the run cannot start from %s: %s", path,
                      *resume->unfit ? resume->unfit : "it holds no image of a stage of the chain");
    return ts_diag_hint(diag, "without --resume-from everything is computed");
}

/* Says from where the run starts, and why not from later on. */
static void tell(const struct resume *resume, int32_t n_taken, struct ts_diag *diag)
{
    char images[512] = "";
    for (int32_t i = 0; i < resume->plan->n_nodes; i++) {
        const size_t used = strlen(images);
        if (resume->reuse.nodes[i].saved && !resume->computed[i])
            snprintf(images + used, sizeof images - used, "%s%s", used > 0 ? ", " : "", resume->plan->nodes[i].label);
    }
    ts_diag_note(diag, &(struct diag_site){.code = "resumed"},
                 "%d of %d stages are taken from %s, which has %s%s%s%s%s%s%s%s", (int)n_taken,
                 (int)(resume->plan->n_nodes - resume->plan->n_sources), resume->recorded.path,
                 *images ? "the image of " : "their tables", images, resume->label ? "; not taken is " : "",
                 resume->label ? resume->label : "", resume->label ? ": " : "", resume->label ? resume->why : "",
                 *resume->unfit ? "; " : "", resume->unfit);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static void note_reads(void *user, const struct simulated_slab *slab)
{
    const struct resume *resume = user;
    const struct ts_plan *plan = resume->plan;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct source *source = plan->nodes[i].source;
        const int64_t volumes = ts_source_total(source) / source->n_slices;
        for (int s = 0; s < slab->steps[i].todo.n; s++)
            for (int64_t z = slab->steps[i].todo.at[s].first; z < slab->steps[i].todo.at[s].end; z++)
                for (int64_t v = 0; v < volumes; v++)
                    resume->reuse.inputs[i].read[v * source->n_slices + z] = true;
    }
}

/* Notes which slices a run reads that takes nothing: the record of the inputs has their digests. */
static bool find_reads(struct resume *resume)
{
    const struct ts_plan *plan = resume->plan;
    struct simulation simulation;
    bool complete = ts_simulation_init(&simulation, plan);
    if (!complete)
        return false;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const size_t n = (size_t)ts_source_total(plan->nodes[i].source);
        bool *read = ts_arena_alloc(resume->arena, n * sizeof *read);
        complete &= read != NULL;
        if (read)
            memset(read, 0, n * sizeof *read);
        resume->reuse.inputs[i].read = read;
    }
    if (complete)
        ts_simulation_run(plan, &simulation, plan->slab_slices, note_reads, resume);
    ts_simulation_clear(&simulation, plan->n_nodes);
    return complete;
}

static void release(struct plan_reuse *reuse)
{
    struct resume *resume = (struct resume *)reuse;
    for (int32_t i = 0; reuse->nodes && i < resume->plan->n_nodes; i++) {
        if (reuse->nodes[i].saved)
            reuse->nodes[i].saved->ops->close(reuse->nodes[i].saved);
        free(reuse->nodes[i].valid);
    }
    free(reuse->nodes);
    ts_recorded_close(&resume->recorded);
    ts_arena_destroy(resume->old.arena);
    ts_arena_destroy(resume->arena);
    free(resume);
}

static enum ts_status create(struct ts_plan *plan, struct resume **result, struct ts_diag *diag)
{
    const size_t n = (size_t)plan->n_nodes;
    struct resume *resume = calloc(1, sizeof *resume);
    *result = resume;
    if (!resume)
        return ts_diag_no_memory(diag, sizeof *resume);
    resume->plan = plan;
    resume->reuse.release = release;
    resume->arena = ts_arena_create();
    resume->old.arena = ts_arena_create();
    resume->reuse.nodes = calloc(n, sizeof *resume->reuse.nodes);
    if (resume->arena && resume->old.arena) {
        resume->match = ts_arena_alloc(resume->arena, n * sizeof *resume->match);
        resume->computed = ts_arena_alloc(resume->arena, n * sizeof *resume->computed);
    }
    if (!resume->reuse.nodes || !resume->match || !resume->computed || !find_reads(resume))
        return ts_diag_no_memory(diag, n * sizeof *resume->reuse.nodes);
    memset(resume->computed, 0, n * sizeof *resume->computed);
    return TS_OK;
}

static enum ts_status open(struct resume *resume, const char *path, struct ts_diag *diag)
{
    const char *own = ts_arena_text(resume->arena, path, strlen(path));
    if (!own)
        return ts_diag_no_memory(diag, strlen(path));
    enum ts_status status = ts_hdf5_verify(own, &resume->proof, diag);
    if (status == TS_OK)
        status = ts_recorded_open(own, NULL, 0, &resume->recorded, diag);
    if (status == TS_OK)
        status = ts_plan_expand(&resume->old, resume->recorded.chain, diag);
    resume->reuse.path = own;
    return status;
}

/* Matches, until the axes that were found let no further stage be compared. */
static enum ts_status match(struct resume *resume, struct ts_diag *diag)
{
    enum ts_status status = ts_resume_match(resume, diag);
    while (status == TS_OK && take_axes(resume)) {
        status = ts_plan_reuse_take(resume->plan, &resume->reuse, diag);
        if (status == TS_OK)
            status = ts_resume_match(resume, diag);
    }
    return status;
}

/* Finds what can be taken. `label` and `why` say what cannot. */
static enum ts_status find(struct ts_plan *plan, const char *path, struct resume **result, struct ts_diag *diag)
{
    enum ts_status status = create(plan, result, diag);
    plan->reuse = *result ? &(*result)->reuse : NULL; /* which frees it, and takes nothing yet */
    if (status == TS_OK)
        status = open(*result, path, diag);
    if (status == TS_OK)
        status = match(*result, diag);
    if (status == TS_OK)
        decide(*result);
    return status;
}

enum ts_status ts_plan_resume(struct ts_plan *plan, const char *path, struct ts_diag *diag)
{
    struct resume *resume;
    enum ts_status status = find(plan, path, &resume, diag);
    if (status != TS_OK)
        return status;
    if (!any_image(resume) && makes_images(plan))
        return refuse(resume, diag);
    const int32_t n = put(resume);
    status = ts_plan_reuse_take(plan, &resume->reuse, diag);
    if (status == TS_OK)
        status = ts_resume_warnings(resume, diag);
    if (status == TS_OK)
        tell(resume, n, diag);
    return status;
}

/* Takes what can be taken for the stages before a search, and else leaves all to be computed. */
static enum ts_status prepare(const void *path, struct ts_plan *plan, struct ts_diag *diag)
{
    struct resume *resume;
    const enum ts_status status = find(plan, path, &resume, diag);
    if (status != TS_OK)
        return status;
    (void)put(resume);
    for (int32_t i = 0; i < plan->n_sources; i++)
        resume->reuse.inputs[i].digests = NULL;
    return ts_plan_reuse_take(plan, &resume->reuse, diag);
}

enum ts_status ts_resume_search(struct ts_chain *chain, const struct ts_options *options, const char *path,
                                struct ts_diag *diag)
{
    const struct search_prepare from = {prepare, path};
    return ts_run_search(chain, options, path ? &from : NULL, diag);
}
