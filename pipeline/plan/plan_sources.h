/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens the inputs of a chain for a plan. Opening reads headers and no pixels, so that the plan, and with it
 * `tomostage check`, knows every shape and unit before anything is computed. The inputs are opened together because
 * flats and darks follow the range of slices of `input`.
 */
#ifndef PIPELINE_PLAN_PLAN_SOURCES_H
#define PIPELINE_PLAN_PLAN_SOURCES_H

#include "pipeline/plan/plan.h"

/* Fills the nodes of the sources. Where `input` reads a range of slices, flats and darks without a range of their own
 * get that range, which their set records. Returns TS_BAD_CHAIN (slices-follow) where they have another number of
 * slices than `input`. */
enum ts_status ts_plan_open_sources(struct ts_plan *plan, struct ts_diag *diag);

#endif
