/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes how a result was made as an RO-Crate of the Provenance Run Crate profile, with W3C PROV beside it.
 * Source: RO-Crate 1.1; Workflow Run RO-Crate profiles 0.5 (Leo et al., 2024); PROV-JSON (W3C member submission, 2013).
 */
#ifndef PIPELINE_CRATE_CRATE_H
#define PIPELINE_CRATE_CRATE_H

#include "io/file/staged.h"
#include "pipeline/crate/run_record.h"

/* Writes chain.yaml, prov.json and ro-crate-metadata.json into the folder, which must be absent or empty, or with
 * `force` an earlier crate that holds nothing else, and appears whole or not at all. `date` is the crate's
 * datePublished in ISO 8601; NULL leaves it out. Returns TS_RUN_FAILED where the folder cannot be used or written. In
 * every case ts_staged_clear ends `staged`; ts_staged_retract before it takes the crate back. */
enum ts_status ts_crate_write(const struct run_record *record, const char *folder, const char *date, bool force,
                              struct staged *staged, struct ts_diag *diag);

/* Write one of the files. */
void ts_crate_metadata(const struct run_record *record, const char *date, FILE *stream);
void ts_crate_prov(const struct run_record *record, FILE *stream);

#endif
