/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the residuals of the iterative reconstructions in a result as the lines of a chart, which
 * `tomostage plot` and the report draw.
 */
#ifndef PROGRAM_REPORT_RESIDUALS_H
#define PROGRAM_REPORT_RESIDUALS_H

#include "core/arena.h"
#include "program/show/chart.h"

enum { RESIDUALS_MOST = 16 };

struct residuals {
    struct chart_line lines[RESIDUALS_MOST];
    const char *shown[RESIDUALS_MOST]; /* "DATASET: ROWS x COLUMNS", in printable form */
    int n;
};

/* Reads every table `residual` of the file. The arena holds the lines. Returns TS_BAD_INPUT if the
   file cannot be read or has none (hdf5-no-table). */
enum ts_status ts_residuals_read(const char *path, struct arena *arena, struct residuals *residuals,
                                 struct ts_diag *diag);

#endif
