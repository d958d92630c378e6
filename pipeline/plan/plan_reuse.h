/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan may take from an earlier result what its stages would compute again: images that were
 * saved, and what the result says of the stages before them. program/record decides what is the
 * same; here stands how a plan is told. A stage that is taken is resolved like any other, so that
 * shapes, units and the record of the run are those of a plan without it, but the run calls neither
 * its map nor its reduction.
 */
#ifndef PIPELINE_PLAN_PLAN_REUSE_H
#define PIPELINE_PLAN_PLAN_REUSE_H

#include "pipeline/plan/plan.h"

/* A plan takes this for one of its nodes. */
struct plan_reused {
    bool taken; /* the node's tables, and its image where a stage wants it, come from the result */
    struct source *saved; /* reads its image; NULL: no stage and no output wants it */
    int64_t
        saved_first; /* number of its first slice in `saved`, in which a sweep has several images */
    uint64_t *valid; /* of a masked image without invalid pixels, for which the file has no mask:
                        all bits are 1 */
    struct stage_table tables[STAGE_TABLES]; /* of all volumes */
    int n_tables;
};

/* A run must find this in an input, slice by slice in the order of its record. */
struct plan_reused_input {
    bool *read; /* whether a run that takes nothing reads the slice */
    const char *const
        *digests; /* of its pixels in the earlier run; "": it read none. NULL: nothing is taken */
    int64_t padding_count; /* of its pixels in the earlier run, which the same pixels with another
                            * padding value have not; -1: not recorded */
};

struct plan_reuse {
    /* All is taken that will be. Axes that were found count as known until then; from then on they
     * are found in the same pass as without, so that datasets are made in the same order and the
     * file has the same bytes. */
    bool decided;
    const char *path;                                   /* of the result */
    struct plan_reused *nodes;                          /* one for each node of the plan */
    struct plan_reused_input inputs[CHAIN_MAX_SOURCES]; /* one for each source */
    void (*release)(struct plan_reuse *reuse);          /* called by ts_plan_destroy */
};

/* Works the plan out again with what is taken. The plan owns `reuse` from the first call on, and
 * may be given it again with more. The records of the first time stay, and no new ones come but
 * errors. */
enum ts_status ts_plan_reuse_take(struct ts_plan *plan, struct plan_reuse *reuse,
                                  struct ts_diag *diag);

#endif
