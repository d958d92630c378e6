/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes the scan in a file, NXtomo or Data Exchange, for `tomostage info`.
 */
#ifndef IO_SCAN_HDF5_SCAN_H
#define IO_SCAN_HDF5_SCAN_H

#include <stdio.h>

#include "core/json.h"
#include "io/hdf5/hdf5_list.h"
#include "io/source/source.h"

enum scan_format { SCAN_NONE, SCAN_NXTOMO, SCAN_EXCHANGE };

/* Texts are "" where there are none. */
struct hdf5_scan {
    enum scan_format format;
    char refused[1024]; /* why a chain could not read it as it is; then nothing below is known. "":
                           it can */
    int64_t n_projections, n_flats, n_darks, n_invalid, n_alignment;
    int64_t rows, columns;    /* size of the detector */
    double row_mm, column_mm; /* distances of neighboring rows and columns; 0: not in the file */
    double low, high;         /* range of the angles, in degrees */
    char angle_unit[256];     /* as the file names it */
    bool half;                /* the field of view is half of the object */
    char rotation_column[64]; /* position of the rotation axis, in columns */
};

/* Finds out from the listing whether the file is a scan; a result of this program may be NXtomo
 * alone. */
void ts_hdf5_scan_look(const struct hdf5_listing *listing, struct hdf5_scan *scan);
/* Opens the scan as an input that gives nothing but its path; no pixel is read. */
enum ts_status ts_hdf5_scan_open(const char *path, struct hdf5_scan *scan, struct ts_diag *diag);
/* Opens the source that a chain with these parameters would open. Where the file is refused,
 * *source stays NULL, `refused` says why, and TS_OK is returned; TS_RUN_FAILED means that no one
 * could tell. */
enum ts_status ts_hdf5_scan_try(const struct source_format *format, struct param_set *set,
                                struct source **source, char *refused, size_t size,
                                struct ts_diag *diag);
void ts_hdf5_scan_print(const struct hdf5_scan *scan, FILE *stream);
void ts_hdf5_scan_json(const struct hdf5_scan *scan, struct json *json); /* an object */

#endif
