/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile shows what a run did: as a table for people, as a picture with a lane for each part, and as a file for
 * programs that show traces.
 */
#ifndef PIPELINE_RUN_PROFILE_H
#define PIPELINE_RUN_PROFILE_H

#include "core/diag.h"
#include "core/trace.h"

/* Writes a table of the parts: how long each was busy (stretches of several threads at once count once), how long its
 * threads worked in all, its bytes and their rate while it was busy. */
void ts_profile_print(const struct trace *trace, FILE *stream);
/* Checks before the run that both files can be written. Returns TS_RUN_FAILED (not-written) where one cannot. */
enum ts_status ts_profile_check(const char *name, struct ts_diag *diag);
/* Writes NAME.svg, a picture (SVG 1.1) with a lane for each part, and NAME.json, the stretches in Chrome's trace event
 * format, which Perfetto shows. Files of these names are replaced. Returns TS_RUN_FAILED where one cannot be written
 * (not-written). */
enum ts_status ts_profile_write(const struct trace *trace, const char *name, struct ts_diag *diag);

#endif
