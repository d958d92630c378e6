/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the room share this: an earlier result beside the plan that takes from it. A node of
 * the plan is matched by a node of the chain that the result recorded, sources and stages counted
 * as the plan counts its own.
 */
#ifndef PROGRAM_RECORD_RESUME_H
#define PROGRAM_RECORD_RESUME_H

#include "io/hdf5/hdf5_verify.h"
#include "pipeline/plan/plan_reuse.h"
#include "program/record/made.h"

struct resume {
    struct plan_reuse reuse; /* first: what the plan is given */
    struct arena *arena;
    struct ts_plan *plan;
    struct recorded recorded;
    struct hdf5_proof proof;
    struct ts_plan old; /* its chain alone, with a stage for each value of a sweep */
    int32_t *match;     /* for each node of the plan the node of the recorded chain, or -1 */
    bool *computed;     /* for each node of the plan: the run computes it */
    char why[1024];     /* why the first node without a match has none */
    const char *label;  /* of that node; NULL: all match */
    char unfit[1024];   /* why a saved image was not taken; "": none was tried in vain */
};

/* Fills `match`, why and label. What is derived from axes that a run finds is compared once the
 * plan knows them; until then it does not match. Returns an error where memory is out or the result
 * cannot be read. */
enum ts_status ts_resume_match(struct resume *resume, struct ts_diag *diag);
/* Returns the node of the recorded chain that computes the image of one of its nodes, or that sets
 * its axes: stages that pass their input through, such as `save`, are skipped as a plan skips
 * them. */
int32_t ts_resume_origin(const struct ts_chain *chain, int32_t node, bool of_axes);

/* A search looks in the pixels before a plan is made, for the box of a region for example; it can
 * use saved images. */
/* Does what ts_chain_search() does, and lets the stages before a search start from the result at
 * `path` (NULL: none) where that can be. The pixels of the inputs are not compared: the run that
 * follows does so. */
enum ts_status ts_resume_search(struct ts_chain *chain, const struct ts_options *options,
                                const char *path, struct ts_diag *diag);

#endif
