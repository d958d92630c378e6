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
};

struct hdf5_guess ts_hdf5_guess(const struct hdf5_listing *listing);
/* Prints what it looks like, and the input to try; nothing where there is no data. */
void ts_hdf5_guess_print(const struct hdf5_guess *guess, const char *path, FILE *stream);
void ts_hdf5_guess_json(const struct hdf5_guess *guess, struct json *json); /* an object */

#endif
