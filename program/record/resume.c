/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides what a plan takes from an earlier result. Demands are followed backwards from what must
 * be computed (the stages without a match) and from the images that are written. If the result
 * holds an image, it is read, and nothing before it is needed. So each branch starts at its latest
 * saved image.
 */
#include "program/record/resume.h"

#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "include/tomostage.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/scan/result.h"
#include "io/source/source_slices.h"
#include "pipeline/plan/plan_sweep.h"
#include "pipeline/plan/simulation.h"
#include "pipeline/run/run_search.h"
#include "pipeline/run/warnings.h"

/* ---- images and tables of the result --------------------------------------------------------- */

/* A saved image replaces the image of a stage only if reading it gives exactly the values that the
   stage would compute: of the plan's type (so not if floats were stored as halves), on exactly the
   axes of the plan, and with the same pixels invalid. */

/* ---- tables ---------------------------------------------------------------------------------- */

static bool read_table(struct resume *resume, int32_t node, struct stage_table *table,
                       struct ts_diag *diag)
{
    const int32_t stage = resume->match[node] - resume->recorded.chain->n_sources;
    char path[256];
    table->image = ts_plan_table_of_all(resume->plan, node, &table->image);
    const size_t bytes = ts_image_bytes(&table->image);
    table->image.data = ts_arena_alloc(resume->arena, bytes > 0 ? bytes : sizeof(double));
    snprintf(path, sizeof path, "/entry/process_%d_%s/tables/%s", (int)stage + 1,
             resume->old.chain->stages[stage].stage->name, table->name);
    return table->image.data && ts_hdf5_read_values(resume->recorded.sandbox, resume->recorded.path,
                                                    path, &table->image, diag) == TS_OK;
}

/* Returns true if the tables of a matching stage could be read, or if it has none. */
static bool take_tables(struct resume *resume, int32_t node)
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

/* ---- images ---------------------------------------------------------------------------------- */

static bool unfit(struct resume *resume, const char *name, const char *why)
{
    if (!*resume->unfit)
        snprintf(resume->unfit, sizeof resume->unfit, "the image '%.200s' there %.700s", name, why);
    return false;
}

/* Returns the name of the dataset with the image of a recorded stage, and the index of the stage's
   value in a sweep (0 without one); NULL if there is none. */
static const char *dataset_of(const struct resume *resume, int32_t stage, int64_t *value)
{
    const struct ts_chain *given = resume->recorded.chain;
    const int32_t swept = given->sweep.stage, own = given->n_stages - swept;
    const bool behind = given->sweep.n > 0 && stage >= swept;
    const int32_t leader = behind ? swept + (stage - swept) % own : stage;
    const struct chain_stage *of = &given->stages[leader];
    *value = behind ? (stage - swept) / own : 0;
    const char *name = NULL;
    if (of->stage->traits & TRAIT_KEEPS_IMAGE)
        name = of->name;
    else if (leader == given->n_stages - 1)
        name = "data";
    return name && ts_made_image(&resume->recorded.made, name) ? name : NULL;
}

static bool same_axes(const struct ts_image *a, const struct ts_image *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) {
        const struct ts_axis *x = &a->axes[d], *y = &b->axes[d];
        same = x->kind == y->kind && x->n == y->n &&
               !strcmp(x->unit ? x->unit : "", y->unit ? y->unit : "");
        for (int64_t i = 0; same && i < x->n; i++)
            same = ts_axis_position(x, i) == ts_axis_position(y, i);
    }
    return same;
}

static bool same_geometry(const struct ts_image *a, const struct ts_image *b)
{
    bool same = a->has_geometry == b->has_geometry;
    for (int i = 0; same && a->has_geometry && i < 9; i++)
        same =
            a->direction[i] == b->direction[i] &&
            (i > 2 || (a->origin_mm[i] == b->origin_mm[i] && a->step_z_mm[i] == b->step_z_mm[i]));
    return same && a->beam.kind == b->beam.kind &&
           a->beam.source_axis_mm == b->beam.source_axis_mm &&
           a->beam.source_detector_mm == b->beam.source_detector_mm;
}

/* Checks an open image of the result against what the plan expects of a node's image. */
static bool check_image(struct resume *resume, const struct source *source,
                        const struct plan_node *node, int32_t stage, const char *name)
{
    const struct ts_image *image = &source->image, *out = &node->out;
    const struct chain_sweep *sweep = &resume->recorded.chain->sweep;
    const bool swept = sweep->n > 0 && stage >= sweep->stage;
    int64_t n = swept ? sweep->n : 1;
    if (node->by_volume)
        n = resume->plan->n_volumes;
    if (resume->recorded.chain->output.dtype == CHAIN_F16 && out->dtype == TS_F32)
        return unfit(resume, name, "is stored as f16, which rounds its values");
    if (image->dtype != out->dtype || image->quantity != out->quantity ||
        strcmp(image->unit, out->unit) != 0)
        return unfit(resume, name, "has values of another type or unit");
    if ((source->n_volumes > 1 ? source->n_volumes : 1) != n || !same_axes(image, out) ||
        !same_geometry(image, out))
        return unfit(resume, name, "has other axes or another geometry than were planned");
    return out->masked || !image->masked
               ? true
               : unfit(resume, name, "has invalid pixels, which the plan has not");
}

/* Opens an image of the result. The file must still be the one that was verified. */
static struct source *open_image(struct resume *resume, const char *name, struct ts_diag *diag)
{
    struct source *source = NULL;
    if (ts_result_open(resume->recorded.sandbox, resume->recorded.path, name, true, "resume",
                       &source, diag) != TS_OK)
        return NULL;
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, "digest") &&
            !strcmp(source->attributes[i].value, resume->proof.digest))
            return source;
    source->ops->close(source);
    return NULL;
}

/* Makes the bits of valid pixels, all set, if the plan's image is masked but the file has no mask,
   because all pixels are valid. */
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

/* Tries the image that the result holds of a recorded stage; `keeper` has its axes. */
static bool try_image(struct resume *resume, int32_t node, const struct plan_node *keeper,
                      int32_t stage)
{
    struct plan_reused *reused = &resume->reuse.nodes[node];
    int64_t value;
    const char *name = dataset_of(resume, stage, &value);
    struct ts_diag *apart = name ? ts_diag_create() : NULL;
    reused->saved = apart ? open_image(resume, name, apart) : NULL;
    if (apart && !reused->saved)
        unfit(resume, name,
              ts_diag_count(apart) > 0 ? ts_diag_get(apart, 0)->message : "has changed");
    ts_diag_destroy(apart);
    if (!reused->saved)
        return false;
    reused->saved_first = value * keeper->out.axes[0].n;
    if (check_image(resume, reused->saved, keeper, stage, name) &&
        make_valid(reused, &resume->plan->nodes[node].out))
        return true;
    reused->saved->ops->close(reused->saved);
    reused->saved = NULL;
    return false;
}

/* Returns the node of the plan that matches a recorded one, or NULL. */
static const struct plan_node *matched_by(const struct resume *resume, int32_t recorded)
{
    for (int32_t i = 0; i < resume->plan->n_nodes; i++)
        if (resume->match[i] == recorded)
            return &resume->plan->nodes[i];
    return NULL;
}

/* Opens an image of the result that is the image of this matching node. Returns false if none has
   the same values, axes and units. */
static bool take_image(struct resume *resume, int32_t node)
{
    const struct ts_chain *old = resume->old.chain;
    bool found = resume->reuse.nodes[node].saved != NULL;
    for (int32_t j = 0; !found && j < old->n_stages; j++) {
        const int32_t recorded = old->n_sources + j;
        const struct plan_node *keeper =
            ts_resume_origin(old, recorded, false) == resume->match[node]
                ? matched_by(resume, ts_resume_origin(old, recorded, true))
                : NULL;
        found = keeper && try_image(resume, node, keeper, j);
    }
    return found;
}

/* ---- warnings of the stages that are taken --------------------------------------------------- */

/* A result lists its warnings as "CODE: STAGE: SENTENCE" (pipeline/run/warnings.h). Warnings of
   sources and of the plan are given again, since sources are opened and read again. Those that
   stages gave while they ran are taken over. */

struct warning {
    const char *code, *stage, *sentence;
    /* of the stage's name, without what tells stages of one name apart: "box#2", "box[radius=2]" */
    size_t name_length;
};

/* Splits a text into its parts, in place. Returns false if it has fewer. */
static bool cut(char *text, struct warning *warning)
{
    char *stage = strstr(text, ": "), *sentence = stage ? strstr(stage + 2, ": ") : NULL;
    if (!sentence)
        return false;
    *stage = *sentence = '\0';
    *warning = (struct warning){text, stage + 2, sentence + 2, strcspn(stage + 2, "#[")};
    return true;
}

static bool is_of(const struct warning *warning, const char *stage)
{
    return strlen(stage) == warning->name_length &&
           !strncmp(stage, warning->stage, warning->name_length);
}

/* Returns true if a stage of this name was taken; sets *other if the result also has one that was
   not. */
static bool is_taken(const struct resume *resume, const struct warning *warning, bool *other)
{
    const struct ts_chain *old = resume->old.chain;
    const struct ts_plan *plan = resume->plan;
    bool any = false;
    *other = false;
    for (int32_t j = 0; j < old->n_stages; j++) {
        bool taken = false;
        for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
            taken |=
                !resume->computed[i] && resume->match[i] == resume->recorded.chain->n_sources + j;
        if (!is_of(warning, old->stages[j].stage->name))
            continue;
        any |= taken;
        *other |= !taken;
    }
    return any;
}

static bool is_there(const struct warning *warning, const struct ts_diag *diag)
{
    bool there = false;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        char sentence[4096];
        ts_text_escape(sentence, sizeof sentence, record->message);
        there |= record->severity == TS_WARNING && record->stage &&
                 !strcmp(record->stage, warning->stage) && record->code &&
                 !strcmp(record->code, warning->code) && !strcmp(sentence, warning->sentence);
    }
    return there;
}

/* Adds to diag the warnings that the taken stages gave while they ran. Returns TS_RUN_FAILED
   (resume-warnings) if it is not clear to which of several stages of one name a warning belongs. */
static enum ts_status take_warnings(struct resume *resume, struct ts_diag *diag)
{
    const char *const *texts;
    size_t n;
    enum ts_status status = ts_hdf5_read_texts(resume->recorded.sandbox, resume->recorded.path,
                                               WARNINGS_PATH, resume->arena, &texts, &n, diag);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct warning warning;
        bool other;
        char *text = ts_arena_text(resume->arena, texts[i], strlen(texts[i]));
        if (!text)
            return ts_diag_no_memory(diag, strlen(texts[i]));
        if (!cut(text, &warning) || !is_taken(resume, &warning, &other) || is_there(&warning, diag))
            continue;
        if (other) {
            ts_diag_error(diag, TS_RUN_FAILED,
                          &(struct diag_site){.code = "resume-warnings", .stage = warning.stage},
                          "%s warns of it (%s), and has another %.*s that is not taken: it does "
                          "not say of which",
                          resume->recorded.path, warning.code, (int)warning.name_length,
                          warning.stage);
            return ts_diag_hint(diag, "without --resume-from everything is computed");
        }
        ts_diag_warning(diag, &(struct diag_site){.code = warning.code, .stage = warning.stage},
                        "%s", warning.sentence);
    }
    return status;
}

/* ---- what must be computed ------------------------------------------------------------------- */

static void compute(struct resume *resume, int32_t index);

/* Finds where the image of a node comes from. */
static void need_image(struct resume *resume, int32_t index)
{
    const int32_t node = resume->plan->nodes[index].image_node;
    if (node < resume->plan->n_sources || resume->computed[node])
        return;
    if (resume->match[node] < 0 || !take_image(resume, node))
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

/* Decides which nodes are computed, and opens the images that are taken. */
static void decide(struct resume *resume)
{
    const struct ts_plan *plan = resume->plan;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if (resume->match[i] < 0 || !take_tables(resume, i))
            compute(resume, i);
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if (plan->nodes[i].dataset)
            need_image(resume, i);
}

/* ---- telling the plan ------------------------------------------------------------------------ */

/* Takes the axes that stages found, so that later stages can be resolved and compared. Returns true
   if the plan did not know them. */
static bool take_axes(struct resume *resume)
{
    bool any = false;
    for (int32_t i = resume->plan->n_sources; i < resume->plan->n_nodes; i++) {
        const struct plan_node *node = &resume->plan->nodes[i];
        struct plan_reused *reused = &resume->reuse.nodes[i];
        if (reused->taken || resume->match[i] < 0 || !ts_stage_finds_axes(&node->context))
            continue;
        reused->taken = take_tables(resume, i);
        any |= reused->taken;
    }
    return any;
}

/* Copies the decision to resume->reuse, which the plan is given, and returns how many stages are
 * taken. Inputs on which none of these depends may have changed. */
static int32_t resume_put(struct resume *resume)
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

/* Returns true if a stage makes an image of its own. Otherwise all images of the chain are those of
   its inputs, and only tables can be taken. */
static bool makes_images(const struct ts_plan *plan)
{
    bool any = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        any |= plan->nodes[i].image_node >= plan->n_sources;
    return any;
}

static enum ts_status resume_refuse(const struct resume *resume, struct ts_diag *diag)
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

/* Notes from where the run starts, and why not from a later stage. */
static void tell(const struct resume *resume, int32_t n_taken, struct ts_diag *diag)
{
    char images[512] = "";
    for (int32_t i = 0; i < resume->plan->n_nodes; i++) {
        const size_t used = strlen(images);
        if (resume->reuse.nodes[i].saved && !resume->computed[i])
            snprintf(images + used, sizeof images - used, "%s%s", used > 0 ? ", " : "",
                     resume->plan->nodes[i].label);
    }
    ts_diag_note(diag, &(struct diag_site){.code = "resumed"},
                 "%d of %d stages are taken from %s, which has %s%s%s%s%s%s%s%s", (int)n_taken,
                 (int)(resume->plan->n_nodes - resume->plan->n_sources), resume->recorded.path,
                 *images ? "the image of " : "their tables", images,
                 resume->label ? "; not taken is " : "", resume->label ? resume->label : "",
                 resume->label ? ": " : "", resume->label ? resume->why : "",
                 *resume->unfit ? "; " : "", resume->unfit);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void note_reads(void *user, const struct simulated_slab *slab)
{
    const struct resume *resume = user;
    const struct ts_plan *plan = resume->plan;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct source *source = plan->nodes[i].source;
        const int64_t volumes = ts_source_total(source) / source->n_slices;
        for (int s = 0; s < slab->steps[i].todo.n; s++)
            for (int64_t z = slab->steps[i].todo.at[s].first; z < slab->steps[i].todo.at[s].end;
                 z++)
                for (int64_t v = 0; v < volumes; v++)
                    resume->reuse.inputs[i].read[v * source->n_slices + z] = true;
    }
}

/* Finds which slices a run without reuse reads, since the record of the inputs has their
   digests. */
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
    const struct ts_context *context = resume->plan->given->context;
    const char *own = ts_arena_text(resume->arena, path, strlen(path));
    if (!own)
        return ts_diag_no_memory(diag, strlen(path));
    enum ts_status status = ts_hdf5_verify(ts_context_sandbox(context), own, &resume->proof, diag);
    if (status == TS_OK)
        status = ts_recorded_open(context, own, NULL, 0, &resume->recorded, diag);
    if (status == TS_OK)
        status = ts_plan_expand(&resume->old, resume->recorded.chain, diag);
    resume->reuse.path = own;
    return status;
}

/* Matches nodes, and again as long as axes that were found allow further stages to be compared. */
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
static enum ts_status resume_find(struct ts_plan *plan, const char *path, struct resume **result,
                                  struct ts_diag *diag)
{
    enum ts_status status = create(plan, result, diag);
    plan->reuse = *result ? &(*result)->reuse : NULL; /* which owns it; nothing is taken yet */
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
    if (ts_arguments_lack(diag, "plan, path", plan, path))
        return TS_BAD_CHAIN;
    enum ts_status status = resume_find(plan, path, &resume, diag);
    if (status != TS_OK)
        return status;
    if (!any_image(resume) && makes_images(plan))
        return resume_refuse(resume, diag);
    const int32_t n = resume_put(resume);
    status = ts_plan_reuse_take(plan, &resume->reuse, diag);
    if (status == TS_OK)
        status = take_warnings(resume, diag);
    if (status == TS_OK)
        tell(resume, n, diag);
    return status;
}

/* Takes what can be taken for the stages before a search; the rest is computed. */
static enum ts_status resume_prepare(const void *path, struct ts_plan *plan, struct ts_diag *diag)
{
    struct resume *resume;
    const enum ts_status status = resume_find(plan, path, &resume, diag);
    if (status != TS_OK)
        return status;
    (void)resume_put(resume);
    for (int32_t i = 0; i < plan->n_sources; i++)
        resume->reuse.inputs[i].digests = NULL;
    return ts_plan_reuse_take(plan, &resume->reuse, diag);
}

enum ts_status ts_resume_search(struct ts_chain *chain, const struct ts_options *options,
                                const char *path, struct ts_diag *diag)
{
    const struct search_prepare from = {resume_prepare, path};
    return ts_run_search(chain, options, path ? &from : NULL, diag);
}
