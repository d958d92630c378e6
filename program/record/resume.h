/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this room share: an earlier result, and the plan that takes from it. Each node
 * of the plan may have a match, a node of the chain that the result recorded. Sources and stages
 * are counted as in the plan.
 */
#ifndef PROGRAM_RECORD_RESUME_H
#define PROGRAM_RECORD_RESUME_H

#include "io/hdf5/hdf5_verify.h"
#include "pipeline/plan/plan_reuse.h"
#include "program/record/made.h"

struct resume {
    struct plan_reuse reuse; /* comes first, because the plan gets a pointer to it */
    struct arena *arena;
    struct ts_plan *plan;
    struct recorded recorded;
    struct hdf5_proof proof;
    struct ts_plan old; /* only its chain, with a stage for each value of a sweep */
    /* for each node of the plan: the matching node of the recorded chain, or -1 */
    int32_t *match;
    bool *computed;    /* for each node of the plan: the run computes it */
    char why[1024];    /* why the first node without a match has none */
    const char *label; /* label of that node; NULL: all match */
    char unfit[1024];  /* why a saved image was not taken; "": none was refused */
};

/* Fills `match`, why and label. A stage with parameters derived from axes that a run finds does not
   match until the plan knows these axes. Returns an error if memory is out or the result cannot be
   read. */
enum ts_status ts_resume_match(struct resume *resume, struct ts_diag *diag);
/* Returns the node of the recorded chain that computes the image of one of its nodes, or that sets
   its axes. Skips stages that pass their input through, such as `save`, as a plan does. */
int32_t ts_resume_origin(const struct ts_chain *chain, int32_t node, bool of_axes);

/* A search reads pixels before a plan is made, for example for the box of a region; it can use
   saved images. */
/* Does what ts_chain_search() does, and lets the stages before a search start from the result at
   `path` (NULL: none) if possible. Does not compare the pixels of the inputs: the run that follows
   does. */
enum ts_status ts_resume_search(struct ts_chain *chain, const struct ts_options *options,
                                const char *path, struct ts_diag *diag);

#endif
