/* SPDX-License-Identifier: Apache-2.0
 *
 * This prints the prediction of a plan, for `tomostage check`.
 */
#ifndef PIPELINE_PLAN_PREDICT_PRINT_H
#define PIPELINE_PLAN_PREDICT_PRINT_H

#include "core/json.h"
#include "pipeline/plan/plan.h"

/* Writes one line with the time and what bounds it, and one with the parts; or why nothing is predicted. */
void ts_predict_print(const struct ts_plan *plan, FILE *stream);
/* Writes the same as the member "prediction", or as "no_prediction" with the reason. */
void ts_predict_print_json(const struct ts_plan *plan, struct json *json);

#endif
