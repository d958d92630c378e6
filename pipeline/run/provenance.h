/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes to the output all that is needed to make the same file again: the chain with every
 * resolved parameter, the program and its libraries, and the facts about each slice of the inputs.
 * It writes no path, user, host, date or patient.
 */
#ifndef PIPELINE_RUN_PROVENANCE_H
#define PIPELINE_RUN_PROVENANCE_H

#include "io/hdf5/hdf5_write.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/versions.h"

/* Writes the entry group with its title, default and program. Must be called before any image is
   written. */
enum ts_status ts_provenance_begin(const struct ts_plan *plan, struct hdf5_writer *writer);
/* Writes one node after the last pass: a source's slices, or a stage's NXprocess with parameters
 * and its n tables. */
enum ts_status ts_provenance_node(const struct ts_plan *plan, int32_t node,
                                  const struct stage_table *tables, int n_tables,
                                  struct hdf5_writer *writer, struct ts_diag *diag);
/* Writes the chain, the build, and the links to images that several names share. */
enum ts_status ts_provenance_end(const struct ts_plan *plan, struct hdf5_writer *writer,
                                 struct ts_diag *diag);

/* Lists what is recorded of the CUDA device of the plan: names of datasets with their texts.
 * Returns how many there are, 0 on the CPU. */
int ts_provenance_device(const struct ts_plan *plan, struct version versions[VERSIONS_MAX]);

#endif
