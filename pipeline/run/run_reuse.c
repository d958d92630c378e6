/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that takes images from an earlier result reads them in place of computing them, and holds the inputs against
 * the digests that the result recorded. An input of which nothing is computed is read for that alone, before anything
 * else, so that a changed file is found early; no path or time of a file would prove as much.
 */
#include <stdlib.h>
#include <string.h>

#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run.h"

enum { PROVE_BYTES = 8 << 20 };

struct proving {
    struct run *run;
    int32_t node;
};

/* Returns true for a slice of the record that must be read yet. */
static bool is_missing(const void *user, int64_t volume, int64_t z)
{
    const struct proving *proving = user;
    const struct ts_plan *plan = proving->run->plan;
    const struct source *source = plan->nodes[proving->node].source;
    const int64_t k = volume * source->n_slices + z;
    return plan->reuse->inputs[proving->node].read[k] && !*source->slices[ts_source_number(source, k)].pixel_sha256;
}

static enum ts_status check_stop(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct proving *proving = user;
    (void)slab;
    (void)diag;
    return atomic_load(&proving->run->state->stop) ? TS_STOPPED : TS_OK;
}

/* Reads the slices that are missing, those that follow one another at once. */
static enum ts_status read_missing(struct run *run, int32_t node)
{
    struct source *source = run->plan->nodes[node].source;
    struct proving proving = {run, node};
    const size_t bytes = ts_slice_bytes(&source->image);
    const int64_t ahead = ts_plan_read_ahead(run->plan, node),
                  most = bytes < PROVE_BYTES ? (int64_t)(PROVE_BYTES / bytes) : 1;
    const struct source_walk walk = {.source = source,
                                     .most = ahead > 0 && ahead < most ? ahead : most,
                                     .wants = is_missing,
                                     .take = check_stop,
                                     .user = &proving};
    return ts_source_walk(&walk, run->diag);
}

static enum ts_status refuse(const struct run *run, int32_t node, const char *what)
{
    const char *path = run->plan->reuse->path;
    ts_diag_error(run->diag, TS_BAD_INPUT,
                  &(struct diag_site){.code = "inputs-differ", .stage = run->plan->nodes[node].label},
                  "%s than the one that %s was computed from", what, path);
    return ts_diag_hint(run->diag,
                        "`tomostage verify %s --inputs PATH` names what changed; without --resume-from everything is "
                        "computed",
                        path);
}

/* The same slices of pixels are other values where another padding value leaves other pixels out. */
static enum ts_status compare(const struct run *run, int32_t node)
{
    const struct plan_reused_input *input = &run->plan->reuse->inputs[node];
    const struct source *source = run->plan->nodes[node].source;
    int64_t padding = 0;
    bool whole = true; /* the same slices were read */
    for (int64_t k = 0; k < ts_source_total(source); k++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, k)];
        const char *now = slice->pixel_sha256, *then = input->digests[k];
        char what[64];
        padding += *then ? slice->padding_count : 0;
        whole &= *now || !*then;
        snprintf(what, sizeof what, "slice %lld has other pixels", (long long)k);
        if (*now && *then && strcmp(now, then) != 0)
            return refuse(run, node, what);
    }
    const bool differs = whole && input->padding_count >= 0 && padding != input->padding_count;
    return differs ? refuse(run, node, "it has another number of padding pixels") : TS_OK;
}

static enum ts_status prove(struct run *run, bool read)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; run->plan->reuse && status == TS_OK && i < run->plan->n_sources; i++) {
        if (!run->plan->reuse->inputs[i].digests || (run->plan->nodes[i].run_slices > 0) != read)
            continue;
        status = read_missing(run, i);
        if (status == TS_OK)
            status = compare(run, i);
    }
    return status;
}

enum ts_status ts_run_prove_unread(struct run *run)
{
    return prove(run, false);
}

enum ts_status ts_run_prove_read(struct run *run)
{
    return prove(run, true);
}
