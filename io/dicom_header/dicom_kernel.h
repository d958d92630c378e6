/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides which texts of Convolution Kernel (0018,1210) may reach an output, since a free text
 * could identify a patient.
 */
#ifndef IO_DICOM_HEADER_DICOM_KERNEL_H
#define IO_DICOM_HEADER_DICOM_KERNEL_H

#include <stdbool.h>

/* Returns true if the text has the form of a vendor's kernel: one or more values divided by
 * backslashes, each a word of the vendors' lists ("STANDARD", "BONEPLUS"), one or two letters
 * ("YA"), or at most three letters, digits and at most three letters ("B30f", "FC18", "Br40d",
 * "40"). */
bool ts_dicom_kernel_is_known(const char *text);

#endif
