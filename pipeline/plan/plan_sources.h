/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens what a chain names as its inputs.
 */
#ifndef PIPELINE_PLAN_PLAN_SOURCES_H
#define PIPELINE_PLAN_PLAN_SOURCES_H

#include "pipeline/plan/plan.h"

/* Fills the nodes of the sources. Where `input` reads a range of slices, flats and darks that say none of their own
 * have that range, and their set says so: TS_BAD_CHAIN (slices-follow) where they have not as many slices as it. */
enum ts_status ts_plan_open_sources(struct ts_plan *plan, struct ts_diag *diag);

#endif
