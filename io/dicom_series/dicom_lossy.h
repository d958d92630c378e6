/* SPDX-License-Identifier: Apache-2.0
 *
 * Images that were compressed with loss are read, and said to be so: as a warning, and in the
 * result. The header says it (Lossy Image Compression stays 01 for good, also if an image is stored
 * uncompressed later), or the frame itself. Source: DICOM PS3.3 C.7.6.1.1.5.
 */
#ifndef IO_DICOM_SERIES_DICOM_LOSSY_H
#define IO_DICOM_SERIES_DICOM_LOSSY_H

#include "io/dicom_series/dicom_series.h"

struct dicom_loss {
    size_t n_images; /* that were compressed with loss; 0: the texts are empty */
    /* as stated, of all of them; "mixed" if they differ, "" if none states one */
    const char *ratio, *method;
};

/* Says what loss the images of a series have. */
struct dicom_loss ts_dicom_loss(const struct dicom_series *series);

/* Return the text if it can be a method, and if all its values can be ratios; else "unrecognized".
 */
const char *ts_dicom_lossy_method(const char *text);
const char *ts_dicom_lossy_ratio(const char *text);

#endif
