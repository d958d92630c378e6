/* SPDX-License-Identifier: Apache-2.0
 *
 * This names the NeXus application definition that a result follows, so that programs which know definitions find in it
 * what they look for.
 */
#ifndef PIPELINE_RUN_NEXUS_DEFINITION_H
#define PIPELINE_RUN_NEXUS_DEFINITION_H

#include "io/hdf5/hdf5_write.h"
#include "pipeline/plan/plan.h"

/* Returns true where the last image is a volume of X-ray, neutron or electron tomography, which is written as
 * NXtomoproc. */
bool ts_nexus_is_tomography(const struct ts_plan *plan);
/* Writes what NXtomoproc asks for beyond the image and the processes. Call it after all of them; it does nothing where
 * the last image is no such volume. Returns the writer's status. */
enum ts_status ts_nexus_definition(const struct ts_plan *plan, struct hdf5_writer *writer);

#endif
