/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `hdf5`, which reads any dataset with three axes that the chain names.
 * Such a file states nothing about its meaning in a way that all programs share, so the parameters
 * give the order of axes, spacing and quantity.
 */
#ifndef IO_SCAN_HDF5_SOURCE_H
#define IO_SCAN_HDF5_SOURCE_H

#include "io/scan/projections.h"

struct hdf5_params {
    const char *hdf5;
    const char *path;
    struct ts_texts axes;
    struct ts_numbers spacing;
    const char *angles; /* path, "": theta_start and theta_stop */
    int32_t angle_unit; /* enum angle_unit */
    THETA_FIELDS;
    int32_t quantity; /* enum ts_quantity */
    BEAM_FIELDS;
    struct ts_numbers slices, drop_views;
    const char *allow; /* folder; "": none */
};

extern const struct source_format hdf5_format;

#endif
