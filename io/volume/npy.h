/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `npy`, which reads an array that numpy.save wrote: a volume, or a sinogram
 * whose angles the chain gives.
 */
#ifndef IO_VOLUME_NPY_H
#define IO_VOLUME_NPY_H

#include "io/source/angle_unit.h"
#include "io/source/source_beam.h"

struct npy_params {
    const char *npy;
    struct ts_texts axes;
    struct ts_numbers spacing, angles;
    double theta_start, theta_stop;
    bool endpoint;
    int32_t angle_unit; /* enum angle_unit, of theta_start and theta_stop */
    int32_t quantity;   /* enum ts_quantity */
    BEAM_FIELDS;
    struct ts_numbers take, slices;
};

extern const struct source_format npy_format;

#endif
