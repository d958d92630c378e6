/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `nifti`, which reads a volume from a NIfTI file: .nii, .nii.gz, or a
 * header .hdr whose values lie in the file .img beside it.
 */
#ifndef IO_VOLUME_NIFTI_H
#define IO_VOLUME_NIFTI_H

#include "io/source/source.h"

struct nifti_params {
    const char *nifti;
    int32_t quantity; /* enum ts_quantity */
    struct ts_numbers take, slices;
};

extern const struct source_format nifti_format;

#endif
