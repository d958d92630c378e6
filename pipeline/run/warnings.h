/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the warnings of a run in its output, so that whoever reads a result a year later sees what
 * the user saw.
 */
#ifndef PIPELINE_RUN_WARNINGS_H
#define PIPELINE_RUN_WARNINGS_H

#include "io/hdf5/hdf5_write.h"
#include "io/scan/result_warnings.h"
#include "pipeline/plan/plan.h"

/* Writes the warnings of the diag to the list of io/scan/result_warnings.h, sorted by bytes and
   each once. Omits the sentence of a warning that may name files, and warnings about the machine,
   such as too little space. Returns TS_RUN_FAILED if memory is out or the file cannot be
   written. */
enum ts_status ts_warnings_write(const struct ts_plan *plan, struct hdf5_writer *writer,
                                 struct ts_diag *diag);

#endif
