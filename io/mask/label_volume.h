/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens volumes of labels in NIfTI, NRRD, MetaImage, .npy and HDF5 files, which their own
 * formats read.
 */
#ifndef IO_MASK_LABEL_VOLUME_H
#define IO_MASK_LABEL_VOLUME_H

#include "io/mask/mask_file.h"

/* Opens the file by the format of this name: nifti, nrrd, mha, npy, result, or hdf5 with the
 * parameter `path`. */
enum ts_status ts_label_volume_open(const char *format, const struct mask_request *request,
                                    struct mask_file **out);

#endif
