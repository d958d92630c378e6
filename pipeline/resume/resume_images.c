/* SPDX-License-Identifier: Apache-2.0
 *
 * A saved image stands for the image of a stage only where reading it gives the very values that the stage would
 * compute: with the type of the plan, so not where floats were stored as halves, on the axes of the plan to the last
 * bit, and with the same pixels invalid.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_bytes.h"
#include "io/scan/result.h"
#include "io/source/source_slices.h"
#include "pipeline/resume/resume.h"

/* ---- tables -------------------------------------------------------------------------------------- */

static bool read_table(struct resume *resume, int32_t node, struct stage_table *table, struct ts_diag *diag)
{
    const int32_t stage = resume->match[node] - resume->recorded.chain->n_sources;
    char path[256];
    table->image = ts_plan_table_of_all(resume->plan, node, &table->image);
    const size_t bytes = ts_image_bytes(&table->image);
    table->image.data = ts_arena_alloc(resume->arena, bytes > 0 ? bytes : sizeof(double));
    snprintf(path, sizeof path, "/entry/process_%d_%s/tables/%s", (int)stage + 1,
             resume->old.chain->stages[stage].stage->name, table->name);
    return table->image.data && ts_hdf5_read_values(resume->recorded.path, path, &table->image, diag) == TS_OK;
}

bool ts_resume_tables(struct resume *resume, int32_t node)
{
    struct plan_reused *reused = &resume->reuse.nodes[node];
    struct ts_diag *apart = ts_diag_create();
    const int n = ts_stage_tables(&resume->plan->nodes[node].context, reused->tables, NULL);
    bool complete = apart != NULL;
    for (reused->n_tables = 0; complete && reused->n_tables < n; reused->n_tables += complete)
        complete = read_table(resume, node, &reused->tables[reused->n_tables], apart);
    ts_diag_destroy(apart);
    return complete;
}

/* ---- images -------------------------------------------------------------------------------------- */

static bool unfit(struct resume *resume, const char *name, const char *why)
{
    if (!*resume->unfit)
        snprintf(resume->unfit, sizeof resume->unfit, "the image '%.200s' there %.700s", name, why);
    return false;
}

/* Returns the name of the dataset that holds the image of a recorded stage, with the number of its value in a sweep (0
 * without), or NULL. */
static const char *dataset_of(const struct resume *resume, int32_t stage, int64_t *value)
{
    const struct ts_chain *given = resume->recorded.chain;
    const int32_t swept = given->sweep.stage, own = given->n_stages - swept;
    const bool behind = given->sweep.n > 0 && stage >= swept;
    const int32_t leader = behind ? swept + (stage - swept) % own : stage;
    const struct chain_stage *of = &given->stages[leader];
    *value = behind ? (stage - swept) / own : 0;
    const char *name = (of->stage->traits & TRAIT_KEEPS_IMAGE) ? of->name
                       : leader == given->n_stages - 1         ? "data"
                                                               : NULL;
    return name && ts_made_image(&resume->recorded.made, name) ? name : NULL;
}

static bool same_axes(const struct ts_image *a, const struct ts_image *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) {
        const struct ts_axis *x = &a->axes[d], *y = &b->axes[d];
        same = x->kind == y->kind && x->n == y->n && !strcmp(x->unit ? x->unit : "", y->unit ? y->unit : "");
        for (int64_t i = 0; same && i < x->n; i++)
            same = ts_axis_position(x, i) == ts_axis_position(y, i);
    }
    return same;
}

static bool same_geometry(const struct ts_image *a, const struct ts_image *b)
{
    bool same = a->has_geometry == b->has_geometry;
    for (int i = 0; same && a->has_geometry && i < 9; i++)
        same = a->direction[i] == b->direction[i] &&
               (i > 2 || (a->origin_mm[i] == b->origin_mm[i] && a->step_z_mm[i] == b->step_z_mm[i]));
    return same && a->beam.kind == b->beam.kind && a->beam.source_axis_mm == b->beam.source_axis_mm &&
           a->beam.source_detector_mm == b->beam.source_detector_mm;
}

/* Checks the open image against what the plan expects of a node, whose image it would be. */
static bool check_image(struct resume *resume, const struct source *source, const struct plan_node *node, int32_t stage,
                        const char *name)
{
    const struct ts_image *image = &source->image, *out = &node->out;
    const struct chain_sweep *sweep = &resume->recorded.chain->sweep;
    const bool swept = sweep->n > 0 && stage >= sweep->stage;
    const int64_t n = node->by_volume ? resume->plan->n_volumes : swept ? sweep->n : 1;
    if (resume->recorded.chain->output.dtype == CHAIN_F16 && out->dtype == TS_F32)
        return unfit(resume, name, "is stored as f16, which rounds its values");
    if (image->dtype != out->dtype || image->quantity != out->quantity || strcmp(image->unit, out->unit) != 0)
        return unfit(resume, name, "has values of another type or unit");
    if ((source->n_volumes > 1 ? source->n_volumes : 1) != n || !same_axes(image, out) || !same_geometry(image, out))
        return unfit(resume, name, "has other axes or another geometry than were planned");
    return out->masked || !image->masked ? true : unfit(resume, name, "has invalid pixels, which the plan has not");
}

/* Opens an image of the result, which must still be the file that was verified. */
static struct source *open_image(struct resume *resume, const char *name, struct ts_diag *diag)
{
    struct result_params params = {.proved = true};
    struct param_set set = {
        .params = result_format.params, .n_params = result_format.n_params, .values = &params, .owner = "resume"};
    struct source *source = NULL;
    ts_params_init(&set);
    params.result = resume->recorded.path;
    params.image = name;
    params.proved = true;
    if (ts_source_open(&result_format, &set, &source, diag) != TS_OK)
        return NULL;
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, "digest") && !strcmp(source->attributes[i].value, resume->proof.digest))
            return source;
    source->ops->close(source);
    return NULL;
}

/* Makes bits of valid pixels where the plan has a masked image, and the file no mask since all of them are. */
static bool make_valid(struct plan_reused *reused, const struct ts_image *out)
{
    const struct source *source = reused->saved;
    if (!out->masked || source->image.masked)
        return true;
    const size_t words = ts_valid_bytes(out) / sizeof(uint64_t), pixels = ts_slice_count(out);
    const size_t slices = (size_t)ts_source_total(source);
    reused->valid = calloc(slices * words, sizeof(uint64_t));
    for (size_t i = 0; reused->valid && i < slices * pixels; i++)
        reused->valid[i / pixels * words + i % pixels / 64] |= UINT64_C(1) << (i % pixels % 64);
    return reused->valid != NULL;
}

/* Tries the image that a recorded stage has left in the result; `keeper` has its axes. */
static bool try_image(struct resume *resume, int32_t node, const struct plan_node *keeper, int32_t stage)
{
    struct plan_reused *reused = &resume->reuse.nodes[node];
    int64_t value;
    const char *name = dataset_of(resume, stage, &value);
    struct ts_diag *apart = name ? ts_diag_create() : NULL;
    reused->saved = apart ? open_image(resume, name, apart) : NULL;
    if (apart && !reused->saved)
        unfit(resume, name, ts_diag_count(apart) > 0 ? ts_diag_get(apart, 0)->message : "has changed");
    ts_diag_destroy(apart);
    if (!reused->saved)
        return false;
    reused->saved_first = value * keeper->out.axes[0].n;
    if (check_image(resume, reused->saved, keeper, stage, name) && make_valid(reused, &resume->plan->nodes[node].out))
        return true;
    reused->saved->ops->close(reused->saved);
    reused->saved = NULL;
    return false;
}

/* Returns the node of the plan that a recorded one matches, or NULL. */
static const struct plan_node *matched_by(const struct resume *resume, int32_t recorded)
{
    for (int32_t i = 0; i < resume->plan->n_nodes; i++)
        if (resume->match[i] == recorded)
            return &resume->plan->nodes[i];
    return NULL;
}

bool ts_resume_image(struct resume *resume, int32_t node)
{
    const struct ts_chain *old = resume->old.chain;
    bool found = resume->reuse.nodes[node].saved != NULL;
    for (int32_t j = 0; !found && j < old->n_stages; j++) {
        const int32_t recorded = old->n_sources + j;
        const struct plan_node *keeper = ts_resume_origin(old, recorded, false) == resume->match[node]
                                             ? matched_by(resume, ts_resume_origin(old, recorded, true))
                                             : NULL;
        found = keeper && try_image(resume, node, keeper, j);
    }
    return found;
}
