/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes cells of one compressed frame. A worker calls this, since the decoders of other libraries run in sandboxes
 * alone.
 */
#ifndef IO_DICOM_DICOM_DECOMPRESS_H
#define IO_DICOM_DICOM_DECOMPRESS_H

#include "io/dicom_frames/dicom_source.h"

/* Reads the frame of the job, checks its own header, and decodes it to little-endian cells of BitsAllocated. Returns
 * false with the reason in the reply. */
bool ts_dicom_decompress(const struct dicom_job *job, int fd, unsigned char *cells, struct dicom_reply *reply);

#endif
