/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases are images of floats, because every published way is written for one type, and floats need
 * no other one for their sums.
 */
#include "lab/study/box_study.h"

#include <math.h>

#include "stages/filters/box.h"

static bool affordable(const struct box_line *line, int64_t pixels, int64_t radius)
{
    return (double)pixels * pow(2.0 * (double)radius + 1, line->additions) <= 0x1p30;
}

enum ts_status ts_box_study_line(struct study_run *run, const struct study_row *row,
                                 const struct box_line *line, int64_t slices, int64_t side,
                                 int64_t radius)
{
    struct study_row named = *row;
    struct bench_case which = {.stage = ts_stage_find("box"),
                               .dtype = TS_F32,
                               .values = BENCH_CT,
                               .nz = slices,
                               .ny = side,
                               .nx = side};
    const bool on_cpu = line->method ? line->cpu : line->way.map != NULL;
    enum ts_status status = TS_OK;
    snprintf(named.method, sizeof named.method, "%s", line->name);
    snprintf(which.parameters, sizeof which.parameters, "radius=%lld method=%s", (long long)radius,
             line->method ? line->method : "auto");
    if (!line->method) {
        const bool there =
            line->way.cuda || (on_cpu && affordable(line, slices * side * side, radius));
        return there ? ts_study_way(run, &named, &which, &line->way) : TS_OK;
    }
    if (on_cpu && affordable(line, slices * side * side, radius))
        status = ts_study_stage_on(run, &named, &which, false);
    return status == TS_OK && line->cuda ? ts_study_stage_on(run, &named, &which, true) : status;
}
