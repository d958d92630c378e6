/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `npy`, which reads an array that numpy.save wrote.
 */
#ifndef IO_VOLUME_NPY_H
#define IO_VOLUME_NPY_H

#include "io/source/source.h"

struct npy_params {
    const char *npy;
    int32_t quantity; /* enum ts_quantity */
    struct ts_numbers take, slices;
};

extern const struct source_format npy_format;

#endif
