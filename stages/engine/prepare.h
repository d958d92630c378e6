/* SPDX-License-Identifier: Apache-2.0
 *
 * From a table, parameters and an input to a stage that can be carried out.
 */
#ifndef STAGES_ENGINE_PREPARE_H
#define STAGES_ENGINE_PREPARE_H

#include "stages/engine/stage.h"

/* Prepares *context for this input: checks every value against its row (codes parameter-range, parameter-choice), then
 * resolve() on set->values and shape(); references by row order. `set`, `in` and the references must outlive it.
 * TS_BAD_CHAIN with records in diag where the stage refuses (axes, dtype, quantity, beam included). device NULL: the
 * CPU; a chosen method that the device cannot run is refused. */
enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set, const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES], int threads,
                                const struct device_numbers *device, struct ts_diag *diag,
                                struct stage_context *context);
/* Calls shape() again after the last round of a reduction that finds_axes. TS_RUN_FAILED (code found-shape) where more
 * than numbers of axes differs. */
enum ts_status ts_stage_find_axes(struct stage_context *context, const void *result);

#endif
