/* SPDX-License-Identifier: Apache-2.0
 *
 * This turns a stage's table, its parameters and an input into a stage that can be carried out.
 */
#ifndef STAGES_ENGINE_PREPARE_H
#define STAGES_ENGINE_PREPARE_H

#include "stages/engine/stage.h"

/* Prepares *context for this input: checks every value against its range (codes parameter-range,
 * parameter-choice), then calls resolve() on set->values and shape(). The references are in the
 * order of their parameters. `set`, `in` and the references must outlive the context. Returns
 * TS_BAD_CHAIN with records in diag if the stage refuses its parameters, or the axes, dtype,
 * quantity or beam of an image, or if `device` (NULL: the CPU) cannot run the chosen method. */
enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set,
                                const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES],
                                int threads, const struct device_numbers *device,
                                struct ts_diag *diag, struct stage_context *context);
/* Calls shape() again after the last round of a reduction that finds_axes. Returns TS_RUN_FAILED
 * (code found-shape) if anything other than `first` and `spacing` of axes changes. */
enum ts_status ts_stage_find_axes(struct stage_context *context, const void *result);
/* Does the same with what an earlier run found, from the tables that it left. */
enum ts_status ts_stage_recall_axes(struct stage_context *context,
                                    const struct stage_table *tables);

#endif
