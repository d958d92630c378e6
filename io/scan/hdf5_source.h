/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `hdf5`: any dataset with three axes that the chain names.
 */
#ifndef IO_SCAN_HDF5_SOURCE_H
#define IO_SCAN_HDF5_SOURCE_H

#include "io/source/source.h"

struct hdf5_params {
    const char *hdf5;
    const char *path;
    struct ts_texts axes;
    struct ts_numbers spacing;
    const char *angles; /* path, "": theta_start and theta_stop */
    int32_t angle_unit; /* enum angle_unit */
    double theta_start, theta_stop;
    bool endpoint;
    int32_t quantity;                    /* enum ts_quantity */
    int32_t beam;                        /* enum ts_beam_kind */
    double source_axis, source_detector; /* mm */
    int32_t angle_sense;                 /* enum angle_sense */
    double angle_offset;                 /* degrees */
    struct ts_numbers slices;
};

extern const struct source_format hdf5_format;

#endif
