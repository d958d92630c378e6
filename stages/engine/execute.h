/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage on whole images, and all that the runner, the tests and the benchmark need to carry one out.
 */
#ifndef STAGES_ENGINE_EXECUTE_H
#define STAGES_ENGINE_EXECUTE_H

#include "stages/engine/driver.h"
#include "stages/engine/prepare.h"
#include "stages/engine/traits.h"

/* Whole images at once, for tests, benchmark and small callers: prepares nothing, runs every round over slabs of
 * `slab` slices (0: all), then the map into out->data (allocated by the caller; ignored for pass-through stages).
 * out->axes follow where the stage finds them. references[i] have data. *reduced (may be NULL) receives the state with
 * its tables; the caller destroys it. */
enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                              struct stage_reduced **reduced);

/* images[0]: in; images[1 + i]: reference i where it is given, with the first values of `in` for its own. */
void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS]);

#endif
