/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `nrrd`, which reads a volume from a NRRD file: .nrrd with its values after the
 * header, or a header .nhdr that names the file of its values.
 */
#ifndef IO_VOLUME_NRRD_H
#define IO_VOLUME_NRRD_H

#include "io/source/source.h"

struct nrrd_params {
    const char *nrrd;
    int32_t quantity; /* enum ts_quantity */
    struct ts_numbers slices;
};

extern const struct source_format nrrd_format;

#endif
