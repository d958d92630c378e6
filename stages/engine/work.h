/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts the work of a prepared stage, in the unit in which stages of its kind have a steady
 * rate: bytes that it must move, or for projections and reconstructions the samples that it reads
 * along rays or views. The benchmark divides it by the time measured, and predictions divide it by
 * that rate.
 */
#ifndef STAGES_ENGINE_WORK_H
#define STAGES_ENGINE_WORK_H

#include "stages/engine/stage.h"

/* Returns true where the stage reduces its input. */
bool ts_stage_reduces(const struct stage_context *context);
/* Returns the bytes that the stage reads and writes at least, where `mapped` is the share of its
 * image that it maps and `reduced` that of its input that it reduces; 1 is all of it. References
 * are read in the same shares. */
double ts_stage_work_bytes(const struct stage_context *context, double mapped, double reduced);
/* Returns the number of values that the rays of a projection meet, or of pixels in views of a
 * reconstruction, in one map of the whole image; NAN for other stages. An iterative reconstruction
 * counts two passes an iteration. */
double ts_stage_work_samples(const struct stage_context *context);

#endif
