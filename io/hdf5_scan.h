/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tomostage info` says of a file that holds a scan: NXtomo or Data Exchange.
 */
#ifndef IO_HDF5_SCAN_H
#define IO_HDF5_SCAN_H

#include <stdio.h>

#include "io/hdf5_list.h"
#include "pipeline/json.h"

/* Texts live in the listing's arena. */
struct hdf5_scan {
    const char *format, *state; /* "NXtomo", "Data Exchange", and in a sentence; NULL: the file holds no scan */
    const char *refused;        /* why a chain could not read it as it is; then nothing below is known. NULL: it can */
    int64_t n_projections, n_flats, n_darks, n_invalid, n_alignment;
    int64_t rows, columns;       /* of the detector */
    double row_mm, column_mm;    /* distances of neighboring rows and columns; 0: not in the file */
    double low, high;            /* of the angles, in degrees */
    const char *angle_unit;      /* as the file names it; NULL: it does not */
    const char *rotation_column; /* position of the rotation axis, in columns; NULL: not in the file */
};

/* Opens the scan as an input does that says nothing but its path; no pixel is read. */
enum ts_status ts_hdf5_scan_find(const char *path, const struct hdf5_listing *listing, struct hdf5_scan *scan,
                                 struct ts_diag *diag);
void ts_hdf5_scan_print(const struct hdf5_scan *scan, FILE *stream);
void ts_hdf5_scan_json(const struct hdf5_scan *scan, struct json *json); /* an object */

#endif
