/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds what may be a scan or a volume in an HDF5 file that follows no layout which tomostage knows.
 */
#ifndef IO_SCAN_HDF5_GUESS_H
#define IO_SCAN_HDF5_GUESS_H

#include <stdio.h>

#include "core/json.h"
#include "io/hdf5/hdf5_list.h"

/* Paths of datasets of the listing, which holds the texts; NULL: none was found. */
struct hdf5_guess {
    const struct hdf5_listed *data; /* the largest dataset with three axes of numbers */
    const char *image_key, *angles; /* with one value for each of its first axis */
    bool has_unit;                  /* the file names the unit of the angles */
    double pixel_mm;                /* what every dataset that is named a pixel size says; 0: none, or they differ */
    char refused[1024];             /* why a chain cannot read the data; "": it can */
};

/* Fills the guess. The data are opened as a chain would open them, and where they are refused, smaller ones are looked
 * at; where all are, the guess has the largest, and why they are refused. No pixel is read. TS_RUN_FAILED: a failure
 * that is not the file's (reported). */
enum ts_status ts_hdf5_guess(const struct hdf5_listing *listing, const char *path, struct hdf5_guess *guess,
                             struct ts_diag *diag);
/* Prints what it looks like, and the input to try or why there is none; nothing where there is no data. */
void ts_hdf5_guess_print(const struct hdf5_guess *guess, const char *path, FILE *stream);
void ts_hdf5_guess_json(const struct hdf5_guess *guess, struct json *json); /* an object */

#endif
