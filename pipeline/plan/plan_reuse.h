/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan may take from an earlier result what its stages would compute again: images that were
 * saved, and what the result says of the stages before them. program/record decides what is the
 * same; this says how the plan is told. A stage that is taken is resolved like any other, so that
 * shapes, units and the record of the run are those of a plan without it, but the run calls neither
 * its map nor its reduction.
 */
#ifndef PIPELINE_PLAN_PLAN_REUSE_H
#define PIPELINE_PLAN_PLAN_REUSE_H

#include "pipeline/plan/plan.h"

/* What a plan takes from an earlier result for one of its nodes. */
struct plan_reused {
    bool taken; /* the node's tables, and its image if a stage wants it, come from the result */
    /* the source that reads its image; NULL: no stage and no output wants it */
    struct source *saved;
    int64_t saved_first; /* number of its first slice in `saved`, which holds several images of a
                            sweep */
    /* bits of a masked image for which the file has no mask, because all pixels are valid: all are
       1 */
    uint64_t *valid;
    struct stage_table tables[STAGE_TABLES]; /* of all volumes */
    int n_tables;
};

/* What a run must find in an input, slice by slice in the order of its record. */
struct plan_reused_input {
    bool *read;                 /* slices that a run without reuse reads */
    const char *const *digests; /* digests of the slices' pixels in the earlier run; "": it did not
                                   read the slice. NULL: nothing is taken */
    /* number of padding pixels in the earlier run, which differs if the same pixels have another
       padding value; -1: not recorded */
    int64_t padding_count;
};

struct plan_reuse {
    /* Nothing more will be taken. Until then, axes that the earlier run found count as known;
       afterwards they are found in the same pass as without reuse, so that datasets are made in the
       same order and the file has the same bytes. */
    bool decided;
    const char *path;                                   /* of the result */
    struct plan_reused *nodes;                          /* one for each node of the plan */
    struct plan_reused_input inputs[CHAIN_MAX_SOURCES]; /* one for each source */
    void (*release)(struct plan_reuse *reuse);          /* called by ts_plan_destroy */
};

/* Works the plan out again with what is taken. The plan owns `reuse` from the first call on; later
   calls may pass it again with more. The records of the first time stay, and only errors are
   added. */
enum ts_status ts_plan_reuse_take(struct ts_plan *plan, struct plan_reuse *reuse,
                                  struct ts_diag *diag);

#endif
