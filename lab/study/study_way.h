/* SPDX-License-Identifier: Apache-2.0
 *
 * A way is a published form of a stage that the stage itself does not have, such as a kernel of
 * lab/cuda. It is the stage with its parameters, checks and oracle, and with other code in place of
 * its own, so that a way is prepared, timed and checked as the stage is.
 */
#ifndef LAB_STUDY_STUDY_WAY_H
#define LAB_STUDY_STUDY_WAY_H

#include "lab/study/study_rows.h"

struct study_way {
    const char *method;
    /* The code that takes the place of the stage's, on the device that it is for; the other one has
     * no row. */
    const struct stage_cuda *cuda;
    enum ts_status (*map)(const struct stage_context *, const struct ts_image *in,
                          struct ts_image *out, void *scratch);
    struct stage_tolerance tolerance;
};

/* Times the case with the code of the way, and adds a row; as ts_study_stage(). */
enum ts_status ts_study_way(struct study_run *run, const struct study_row *row,
                            const struct bench_case *which, const struct study_way *way);
/* Times the case as the stage has it, on one device alone. */
enum ts_status ts_study_stage_on(struct study_run *run, const struct study_row *row,
                                 const struct bench_case *which, bool cuda);

#endif
