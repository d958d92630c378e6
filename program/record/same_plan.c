/* SPDX-License-Identifier: Apache-2.0
 *
 * A result holds its chain with every parameter resolved. The plan's parameters are resolved as
 * well, as far as headers tell; what only a run can know follows from the others.
 */
#include "program/record/same_plan.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_verify.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/plan/plan_sweep.h"
#include "program/record/inputs.h"

/* Returns the value as text; a value that was left out is empty. NULL where memory is out. */
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

bool ts_same_params(const struct param_set *planned, const struct param_set *recorded, int path,
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

bool ts_same_stage_params(const struct param_set *planned, const struct ts_chain *recorded,
                          int32_t stage, bool known, struct param_difference *difference)
{
    const struct param_set *other = &recorded->stages[stage].set;
    struct param_set set = *planned;
    if (recorded->sweep.n > 0 && stage >= recorded->sweep.stage && other->version == set.version)
        set.idle |= ~(set.given | other->given);
    return ts_same_params(&set, other, -1, known, difference);
}

void ts_param_difference_clear(struct param_difference *difference)
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

/* Returns true where the two chains, as they are written, have the same sources and stages and
 * sweep over as many values of the same parameter, whatever their parameters are. */
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

/* Compares chains of the same form, `recorded` with a stage for each value of a sweep as the plan
 * has them. */
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
                ? ts_same_params(&node->set, &recorded->sources[i].set,
                                 ts_chain_path_param(recorded->sources[i].format), true, difference)
                : ts_same_stage_params(&node->set, recorded, i - plan->n_sources, known,
                                       difference);
    }
    return same && ts_same_params(&sets[0], &sets[1], -1, true, difference);
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
    ts_param_difference_clear(&difference);
    return status;
}

/* Gives the recorded chain the paths of the plan's, which it borrows. */
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
    enum ts_status status = ts_hdf5_verify(path, &proof, diag);
    if (status == TS_OK)
        status = ts_recorded_open(path, NULL, 0, &recorded, diag);
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
