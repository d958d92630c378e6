/* SPDX-License-Identifier: Apache-2.0
 *
 * A result holds its chain with every parameter resolved. The plan's parameters are resolved as far
 * as headers allow; what only a run can find follows from the others.
 */
#include "program/record/same_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/version.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/plan/plan_sweep.h"
#include "pipeline/run/provenance.h"
#include "program/record/inputs.h"
#include "program/record/resume.h"

/* A parameter that differs, with both values. */
struct param_difference {
    const char *owner, *name; /* name NULL: no parameter differs */
    char *planned, *recorded; /* owned */
    bool no_memory;           /* for the two texts */
};

/* Returns the value as text; "" if it was left out. NULL if memory is out. */
static char *value_text(const struct param_set *set, size_t i)
{
    const void *at = ts_param_field(set, i);
    const enum param_kind kind = set->params[i].kind;
    const bool empty = (kind == PARAM_TEXT && !*(const char *const *)at) ||
                       (kind == PARAM_REFERENCE && !((const struct ts_reference *)at)->name);
    const int length = empty ? 0 : ts_param_format(set, i, NULL, 0);
    char *text = length < 0 ? NULL : calloc(1, (size_t)length + 1);
    if (text && !empty)
        ts_param_format(set, i, text, (size_t)length + 1);
    return text;
}

/* Returns true if the parameters are the same, except number `path` (-1: none) and those that only
   a run can find; derived ones count if `known`, which says that the plan has resolved them. Else
   difference describes the first difference. */
static bool same_params(const struct param_set *planned, const struct param_set *recorded, int path,
                        bool known, struct param_difference *difference)
{
    for (size_t i = 0; i < planned->n_params; i++) {
        const bool derived = planned->params[i].derived && !(planned->given >> i & 1);
        if ((int)i == path || ts_param_is_idle(planned, i) ||
            (derived && (!known || !(recorded->given >> i & 1))))
            continue;
        char *texts[2] = {value_text(planned, i), value_text(recorded, i)};
        if (texts[0] && texts[1] && !strcmp(texts[0], texts[1])) {
            free(texts[0]);
            free(texts[1]);
            continue;
        }
        *difference = (struct param_difference){planned->owner, planned->params[i].name, texts[0],
                                                texts[1], !texts[0] || !texts[1]};
        return false;
    }
    return true;
}

/* Compares the planned parameters of a stage with those of a recorded one, whose chain is expanded
   (ts_plan_expand). Parameters that are derived from a swept value, and so vary with it, are not
   recorded; if the planned chain does not give them either, they follow from the rest. */
static bool same_stage_params(const struct param_set *planned, const struct ts_chain *recorded,
                              int32_t stage, bool known, struct param_difference *difference)
{
    const struct param_set *other = &recorded->stages[stage].set;
    struct param_set set = *planned;
    if (recorded->sweep.n > 0 && stage >= recorded->sweep.stage && other->version == set.version)
        set.idle |= ~(set.given | other->given);
    return same_params(&set, other, -1, known, difference);
}

static void param_difference_clear(struct param_difference *difference)
{
    free(difference->planned);
    free(difference->recorded);
    *difference = (struct param_difference){0};
}

/* ---- results that are there already ---------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Returns true if the two chains, as they are written, have the same sources and stages, whatever
   their parameters, and sweep the same parameter with equally many values. */
static bool same_form(const struct ts_chain *a, const struct ts_chain *b)
{
    bool same =
        a->version == b->version && a->n_sources == b->n_sources && a->n_stages == b->n_stages &&
        a->sweep.n == b->sweep.n &&
        (a->sweep.n == 0 || (a->sweep.stage == b->sweep.stage && a->sweep.param == b->sweep.param));
    for (int32_t i = 0; same && i < a->n_sources; i++)
        same = a->sources[i].format == b->sources[i].format &&
               same_text(a->sources[i].name, b->sources[i].name);
    for (int32_t i = 0; same && i < a->n_stages; i++)
        same = a->stages[i].stage == b->stages[i].stage &&
               a->stages[i].input_node == b->stages[i].input_node &&
               same_text(a->stages[i].name, b->stages[i].name);
    return same;
}

/* Compares chains of the same form; `recorded` has a stage for each value of a sweep, as the plan
   has. */
static bool same_values(const struct ts_plan *plan, const struct ts_chain *recorded,
                        struct param_difference *difference)
{
    struct ts_chain outputs[2] = {*plan->chain, *recorded};
    const struct param_set sets[2] = {ts_chain_output_set(&outputs[0]),
                                      ts_chain_output_set(&outputs[1])};
    bool same = true;
    for (int32_t i = 0; same && i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const bool known = node->input_axes_pass == 0 && node->set.resolved;
        same =
            i < plan->n_sources
                ? same_params(&node->set, &recorded->sources[i].set,
                              ts_chain_path_param(recorded->sources[i].format), true, difference)
                : same_stage_params(&node->set, recorded, i - plan->n_sources, known, difference);
    }
    return same && same_params(&sets[0], &sets[1], -1, true, difference);
}

static enum ts_status refuse_chain(const char *path, const struct param_difference *difference,
                                   struct ts_diag *diag)
{
    if (difference->no_memory)
        return ts_diag_no_memory(diag, sizeof *difference);
    if (difference->name)
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-other-chain"},
                      "%s exists, and was made by another chain: %s.%s is %s there, not %s", path,
                      difference->owner, difference->name, difference->recorded,
                      difference->planned);
    else
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-other-chain"},
                      "%s exists, and was made by a chain of other inputs or stages", path);
    return ts_diag_hint(diag, "remove it, or write to another folder");
}

static enum ts_status check_chain(const char *path, const struct ts_plan *plan,
                                  const struct recorded *recorded, struct ts_diag *diag)
{
    struct ts_plan old = {.arena = recorded->arena};
    struct param_difference difference = {0};
    if (!same_form(plan->given, recorded->chain))
        return refuse_chain(path, &difference, diag);
    enum ts_status status = ts_plan_expand(&old, recorded->chain, diag);
    if (status == TS_OK && !same_values(plan, old.chain, &difference))
        status = refuse_chain(path, &difference, diag);
    param_difference_clear(&difference);
    return status;
}

/* Lends the paths of the plan's chain to the recorded one. */
static void borrow_paths(struct ts_chain *recorded, const struct ts_chain *chain)
{
    for (int32_t i = 0; i < recorded->n_sources; i++) {
        const struct param_set *set = &recorded->sources[i].set;
        const size_t path = (size_t)ts_chain_path_param(recorded->sources[i].format);
        memcpy(ts_param_field(set, path), ts_param_field(&chain->sources[i].set, path),
               ts_param_bytes(set->params[path].kind));
    }
}

enum ts_status ts_same_as_planned(const char *path, const struct ts_plan *plan,
                                  char digest[DIGEST_TEXT_BYTES], struct ts_diag *diag)
{
    struct inputs_found found[CHAIN_MAX_SOURCES];
    struct recorded recorded = {0};
    struct hdf5_proof proof;
    const struct ts_context *context = plan->given->context;
    enum ts_status status = ts_hdf5_verify(ts_context_sandbox(context), path, &proof, diag);
    if (status == TS_OK)
        status = ts_recorded_open(context, path, NULL, 0, &recorded, diag);
    if (status == TS_OK)
        status = check_chain(path, plan, &recorded, diag);
    if (status == TS_OK) {
        borrow_paths(recorded.chain, plan->chain);
        status = ts_inputs_check(&recorded, found, diag);
    }
    if (status == TS_OK)
        memcpy(digest, proof.digest, DIGEST_TEXT_BYTES);
    ts_recorded_close(&recorded);
    return status;
}

/* ---- resume match ---------------------------------------------------------------------------- */

/* A stage matches one of the recorded chain where it is the same stage with the same parameters, as
 * both were resolved, where its inputs match, and where the same program computed it on the same
 * device. A source matches where its parameters, and all that the result recorded of it beside the
 * pixels, are the same. Where stages stand in the chain does not matter, so that one may be added
 * before a saved image. */

/* Notes why a node has no match, if it is the first such node. */
static bool same_plan_differs(struct resume *resume, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool same_plan_differs(struct resume *resume, const char *label, const char *format, ...)
{
    va_list arguments;
    if (resume->label)
        return false;
    resume->label = label;
    va_start(arguments, format);
    vsnprintf(resume->why, sizeof resume->why, format, arguments);
    va_end(arguments);
    return false;
}

static bool differs_in(struct resume *resume, const char *label,
                       struct param_difference *difference)
{
    same_plan_differs(resume, label, "%s is %.200s there, not %.200s", difference->name,
                      difference->recorded, difference->planned);
    param_difference_clear(difference);
    return false;
}

/* ---- the program and the device -------------------------------------------------------------- */

static bool same_version(struct resume *resume, const struct version *version)
{
    char field[64];
    ts_version_field(version, field);
    const char *there = ts_made_value(&resume->recorded.made, "provenance/%s", field);
    return !strcmp(there, version->text) ||
           same_plan_differs(resume, "the program", "%s is %.200s there, not %s", field, there,
                             version->text);
}

/* Returns true if this program, with the same libraries and the same kind of device, computed the
   result. */
static bool same_program(struct resume *resume)
{
    struct version versions[VERSIONS_MAX];
    bool same = true;
    const char *build = ts_made_value(&resume->recorded.made, "provenance/build");
    int n = ts_versions(versions);
    for (int i = 0; same && i < n; i++)
        same = same_version(resume, &versions[i]);
    if (same && strcmp(build, ts_build_text()) != 0)
        same = same_plan_differs(resume, "the program", "build is %.200s there, not %s", build,
                                 ts_build_text());
    n = same ? ts_provenance_device(resume->plan, versions) : 0;
    for (int i = 0; same && i < n; i++)
        same = same_version(resume, &versions[i]);
    return same;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Compares all that a source says of itself, in both directions. */
static bool same_attributes(struct resume *resume, const struct plan_node *node)
{
    static const char *const others[] = {"format", "grid", "slice_instance_hmac"};
    const struct made *made = &resume->recorded.made;
    const struct source *source = node->source;
    char group[256];
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!ts_inputs_is_of_folder(source->attributes[i].name) &&
            ts_inputs_attribute(&resume->recorded, node->label, &source->attributes[i]) !=
                INPUTS_FACT_SAME)
            return same_plan_differs(resume, node->label, "%s is another there",
                                     source->attributes[i].name);
    const size_t length = (size_t)snprintf(group, sizeof group, "inputs/%s/", node->label);
    for (size_t i = 0; i < made->n_facts; i++) {
        const char *name = made->facts[i].path + length;
        bool known = strncmp(made->facts[i].path, group, length) != 0 ||
                     ts_inputs_is_of_folder(name) || ts_inputs_is_of_values(name);
        for (size_t k = 0; !known && k < sizeof others / sizeof *others; k++)
            known = !strcmp(name, others[k]);
        for (size_t k = 0; !known && k < source->n_attributes; k++)
            known = !strcmp(name, source->attributes[k].name);
        if (!known)
            return same_plan_differs(resume, node->label, "%.100s stands there and not here", name);
    }
    return true;
}

/* Reads the digests of the pixels, with which the run compares the input. */
static enum ts_status read_digests(struct resume *resume, int32_t index, struct ts_diag *diag)
{
    const struct plan_node *node = &resume->plan->nodes[index];
    struct plan_reused_input *input = &resume->reuse.inputs[index];
    char path[300];
    size_t n;
    if (input->digests)
        return TS_OK;
    const char *count =
        ts_made_value(&resume->recorded.made, "inputs/%s/padding_count", node->label);
    if (sscanf(count, "%" SCNd64, &input->padding_count) != 1)
        input->padding_count = -1;
    snprintf(path, sizeof path, "/entry/inputs/%s/slice_pixel_sha256", node->label);
    const enum ts_status status =
        ts_hdf5_read_texts(resume->recorded.sandbox, resume->recorded.path, path, resume->arena,
                           &input->digests, &n, diag);
    if (status == TS_OK && n == (size_t)ts_source_total(node->source))
        return TS_OK;
    input->digests = NULL;
    if (status == TS_OK)
        same_plan_differs(resume, node->label, "it has %zu slices there, not %" PRId64, n,
                          ts_source_total(node->source));
    return status;
}

static enum ts_status match_source(struct resume *resume, int32_t index, struct ts_diag *diag)
{
    const struct plan_node *node = &resume->plan->nodes[index];
    const struct ts_chain *chain = resume->recorded.chain;
    struct param_difference difference = {0};
    struct inputs_found found = {0};
    int32_t other = 0;
    while (other < chain->n_sources && strcmp(chain->sources[other].name, node->label) != 0)
        other++;
    if (other == chain->n_sources || chain->sources[other].format != node->chain_source->format) {
        same_plan_differs(resume, node->label, "there is no such input there");
        return TS_OK;
    }
    const struct chain_source *source = &chain->sources[other];
    if (!same_params(&node->set, &source->set, ts_chain_path_param(source->format), true,
                     &difference)) {
        differs_in(resume, node->label, &difference);
        return TS_OK;
    }
    char grid[300];
    snprintf(grid, sizeof grid, "inputs/%s/grid", node->label);
    if (!ts_made_find(&resume->recorded.made, grid)) {
        same_plan_differs(resume, node->label,
                          "an older version made it, which does not record the grid of an input");
        return TS_OK;
    }
    enum ts_status status =
        ts_inputs_facts(&resume->recorded, node->source, node->label, &found, diag);
    if (status == TS_OK && found.facts)
        same_plan_differs(resume, node->label, "%s is not what was recorded there", found.facts);
    else if (status == TS_OK && same_attributes(resume, node))
        status = read_digests(resume, index, diag);
    resume->match[index] = resume->reuse.inputs[index].digests ? other : -1;
    return status;
}

/* ---- stages ---------------------------------------------------------------------------------- */

int32_t ts_resume_origin(const struct ts_chain *chain, int32_t node, bool of_axes)
{
    while (node >= chain->n_sources) {
        const struct chain_stage *of = &chain->stages[node - chain->n_sources];
        if (of->stage->map || (of_axes && of->stage->shape))
            break;
        node = of->input_node;
    }
    return node;
}

/* Returns true if an input of the plan is the same image, on the same axes, as a node of the
   recorded chain. */
static bool same_input(const struct resume *resume, int32_t own, int32_t other)
{
    const struct plan_node *node = &resume->plan->nodes[own];
    return resume->match[node->image_node] == ts_resume_origin(resume->old.chain, other, false) &&
           resume->match[node->axes_node] == ts_resume_origin(resume->old.chain, other, true);
}

/* Returns true if all inputs of a stage match those of the recorded one. */
static bool same_inputs(const struct resume *resume, const struct plan_node *node,
                        const struct chain_stage *old)
{
    int reference = 1;
    if (!same_input(resume, node->inputs[0], old->input_node))
        return false;
    for (size_t i = 0; i < old->set.n_params; i++) {
        const struct ts_reference *value = ts_param_field(&old->set, i);
        if (old->set.params[i].kind != PARAM_REFERENCE)
            continue;
        const int32_t own = node->inputs[reference++];
        if ((own < 0) != !value->name || (own >= 0 && !same_input(resume, own, value->node)))
            return false;
    }
    return true;
}

/* Returns true if the same code computed a recorded stage, on a device of the plan's kind. */
static bool same_device(struct resume *resume, const struct plan_node *node, int32_t stage)
{
    const struct made *made = &resume->recorded.made;
    const char *name = resume->old.chain->stages[stage].stage->name;
    const char *version = ts_made_value(made, "process_%d_%s/version", (int)stage + 1, name);
    if (strcmp(version, ts_version()) != 0)
        return same_plan_differs(resume, node->label, "version %.60s computed it there, not %s",
                                 version, ts_version());
    const struct stage_origin *origin = node->chain_stage->stage->origin;
    const char *plugin = ts_made_value(made, "process_%d_%s/plugin_sha256", (int)stage + 1, name);
    version = ts_made_value(made, "process_%d_%s/stage_version", (int)stage + 1, name);
    if (origin && (strcmp(version, origin->version) != 0 ||
                   strcmp(plugin, origin->sha256 ? origin->sha256 : "") != 0))
        return same_plan_differs(
            resume, node->label, "version %.60s of the stage computed it there%s", version,
            strcmp(version, origin->version) != 0 ? "" : ", from another library");
    /* Results of older versions also have a number: cuda:0. */
    const char *device = ts_made_value(made, "process_%d_%s/device", (int)stage + 1, name),
               *own = resume->plan->cuda ? "cuda" : "cpu";
    const size_t kind = strlen(own);
    if (strncmp(device, own, kind) != 0 || (device[kind] && device[kind] != ':'))
        return same_plan_differs(resume, node->label, "it was computed on %.60s there, not on %s",
                                 device, own);
    return true;
}

/* Notes how a recorded stage that takes the same images differs: one with the same name, or else
   any. */
static void tell_difference(struct resume *resume, const struct plan_node *node, const bool *used)
{
    const struct ts_chain *chain = resume->old.chain;
    const struct stage *other = NULL;
    struct param_difference difference = {0};
    for (int32_t j = 0; j < chain->n_stages; j++) {
        const struct chain_stage *old = &chain->stages[j];
        if ((old->stage->traits & TRAIT_KEEPS_IMAGE) || !same_inputs(resume, node, old))
            continue;
        if (old->stage == node->chain_stage->stage &&
            !same_stage_params(&node->set, chain, j, node->set.resolved, &difference)) {
            differs_in(resume, node->label, &difference);
            return;
        }
        other = other || used[j] ? other : old->stage;
    }
    if (other)
        same_plan_differs(resume, node->label, "%s stands there in its place", other->name);
    else
        same_plan_differs(resume, node->label, "there is none there that takes the same image");
}

static void match_stage(struct resume *resume, int32_t index, bool *used)
{
    const struct ts_plan *plan = resume->plan;
    const struct plan_node *node = &plan->nodes[index];
    const struct ts_chain *chain = resume->old.chain;
    struct param_difference difference = {0};
    bool inputs_match = true;
    for (int i = 0; i < STAGE_INPUTS; i++)
        inputs_match &=
            node->inputs[i] < 0 || resume->match[plan->nodes[node->inputs[i]].image_node] >= 0;
    if (!inputs_match || node->input_axes_pass > 0)
        return;
    for (int32_t j = 0; j < chain->n_stages; j++) {
        const struct chain_stage *old = &chain->stages[j];
        if (used[j] || old->stage != node->chain_stage->stage || !same_inputs(resume, node, old))
            continue;
        if (!same_stage_params(&node->set, chain, j, node->set.resolved, &difference)) {
            param_difference_clear(&difference);
        } else if (same_device(resume, node, j)) {
            resume->match[index] = chain->n_sources + j;
            used[j] = true;
            return;
        } else {
            return;
        }
    }
    tell_difference(resume, node, used);
}

enum ts_status ts_resume_match(struct resume *resume, struct ts_diag *diag)
{
    const struct ts_plan *plan = resume->plan;
    bool used[CHAIN_MAX_STAGES] = {false};
    enum ts_status status = TS_OK;
    resume->label = NULL;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        resume->match[i] = -1;
    if (!same_program(resume))
        return TS_OK;
    for (int32_t i = 0; status == TS_OK && i < plan->n_sources; i++)
        status = match_source(resume, i, diag);
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++)
        match_stage(resume, i, used);
    return status;
}
