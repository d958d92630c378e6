/* SPDX-License-Identifier: Apache-2.0
 *
 * This carries out one prepared stage on whole images in host memory.
 */
#ifndef STAGES_ENGINE_EXECUTE_H
#define STAGES_ENGINE_EXECUTE_H

#include "stages/engine/driver.h"
#include "stages/engine/prepare.h"
#include "stages/engine/traits.h"

/* Runs a prepared stage on whole images, for tests, the benchmark and small callers: every round over slabs of `slab`
 * slices (0: all), then the map into out->data, which the caller allocates (a stage without a map leaves it alone).
 * Writes out->axes where the stage finds axes. references[i] have data. *reduced (may be NULL) receives the state with
 * its tables; the caller destroys it. */
enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                              struct stage_reduced **reduced);

/* Runs the reductions of a driver's stage over the whole input, and then maps slice z of the output alone, into
 * out->data of one slice. `in` and `out` lie where the driver's device has its images; work may be enqueued when it
 * returns. For a stage that has a map and no references. */
enum ts_status ts_stage_apply_slice(struct stage_driver *driver, const struct ts_image *in, struct ts_image *out,
                                    int64_t z);

/* Sets images[0] to `in`, and images[1 + i] to reference i where it is given, with the first values of `in` as its
 * data. */
void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS]);

#endif
