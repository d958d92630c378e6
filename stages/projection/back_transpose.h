/* SPDX-License-Identifier: Apache-2.0
 *
 * The transpose of what reconstruction.h computes: volume (z, y, x) to sinogram (z, view,
 * detector). A reconstruction is B F W, with W the weights of a fan's rows, F the filter and B a
 * backprojection by pixels. Its transpose is W F B': F and W are their own. In B' each pixel adds
 * its value to the detector pixels that B takes it from, with the same weights. That of `model:
 * joseph` without weights of angles is radon, and is not here.
 */
#ifndef STAGES_PROJECTION_BACK_TRANSPOSE_H
#define STAGES_PROJECTION_BACK_TRANSPOSE_H

#include "stages/engine/stage.h"

/* This is a table that no chain names. */
extern const struct stage back_transpose_stage;
extern const struct stage_cuda back_transpose_cuda;

/* Are functions of struct stage_transpose: the table, and its parameters for the transpose of a
 * resolved reconstruction, whose context must outlive it. */
const struct stage *ts_back_transpose_table(const struct stage_context *context);
enum ts_status ts_back_transpose_describe(const struct stage_context *context,
                                          struct param_set *set, struct stage_gather *gather,
                                          struct arena *arena);

/* Returns the context of the reconstruction, with which its functions are called, where `context`
 * is that of the transpose: messages and transforms are those of the latter. */
struct stage_context ts_back_transpose_forth(const struct stage_context *context);

#endif
