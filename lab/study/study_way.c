/* SPDX-License-Identifier: Apache-2.0
 *
 * A way is timed as a copy of its stage. Its name stays, by which the oracle is found.
 */
#include "lab/study/study_way.h"

enum ts_status ts_study_stage_on(struct study_run *run, const struct study_row *row,
                                 const struct bench_case *which, bool cuda)
{
    const struct bench_devices all = run->devices;
    if (cuda)
        run->devices.on_cpu = false;
    else
        run->devices.device = NULL;
    const enum ts_status status = ts_study_stage(run, row, which);
    run->devices = all;
    return status;
}

enum ts_status ts_study_way(struct study_run *run, const struct study_row *row,
                            const struct bench_case *which, const struct study_way *way)
{
    struct stage stage = *which->stage;
    struct bench_case copy = *which;
    struct study_row named = *row;
    copy.stage = &stage;
    stage.tolerance = way->tolerance;
    snprintf(named.method, sizeof named.method, "%s", way->method);
    if (way->map) {
        stage.map = way->map;
        stage.scratch_bytes = NULL;
    } else
        stage.cuda = way->cuda;
    return ts_study_stage_on(run, &named, &copy, way->cuda != NULL);
}
