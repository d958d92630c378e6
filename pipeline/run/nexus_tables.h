/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes the tables of a stage as one NXdata group, which viewers plot without being told how: a histogram over
 * its bins, a curve of residuals, a number for each slice.
 */
#ifndef PIPELINE_RUN_NEXUS_TABLES_H
#define PIPELINE_RUN_NEXUS_TABLES_H

#include "io/hdf5/hdf5_write.h"
#include "stages/engine/stage.h"

/* Writes n tables, with their values on the host, into the new group `process`/tables. Nothing is written where n is 0.
 * Returns the writer's status. */
enum ts_status ts_nexus_tables(const struct stage_table *tables, int n, const char *process, struct hdf5_writer *writer,
                               struct ts_diag *diag);

#endif
