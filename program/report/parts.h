/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write the parts of the page, in the order in which it has them. Each writes its
 * own section, and nothing where the result has nothing for it. Failed writes set the stream's
 * error indicator.
 */
#ifndef PROGRAM_REPORT_PARTS_H
#define PROGRAM_REPORT_PARTS_H

#include <stdio.h>

#include "program/report/images.h"

/* Shows the images with their planes, the sliders and the histograms. TS_RUN_FAILED where memory is
 * out. */
enum ts_status ts_report_slices(const struct report_facts *facts,
                                const struct report_images *images, FILE *stream,
                                struct ts_diag *diag);
/* Shows the residuals of iterative stages and the tables of all stages. TS_BAD_INPUT where one
 * cannot be read. */
enum ts_status ts_report_tables(const struct report_facts *facts, FILE *stream,
                                struct ts_diag *diag);
/* Shows time, bytes and memory of the run, from the profile. TS_RUN_FAILED where memory is out. */
enum ts_status ts_report_timing(const struct report_facts *facts, FILE *stream,
                                struct ts_diag *diag);

#endif
