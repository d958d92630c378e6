/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of transfer syntaxes. Those that are not read stand here for their names, which a
 * refusal states. The terms of the last column are those of PS3.3 C.7.6.1.1.5.1 (Lossy Image
 * Compression Method).
 */
#include "io/dicom_header/dicom_syntax.h"

#include <stddef.h>
#include <string.h>

#define JPEG "ISO_10918_1"
#define JPEG_LS "ISO_14495_1"
#define JPEG_2000 "ISO_15444_1"
#define HTJ2K "ISO_15444_15"

static const struct dicom_syntax_name names[] = {
    {"1.2.840.10008.1.2", "implicit VR little endian", DICOM_IMPLICIT_LE, NULL},
    {"1.2.840.10008.1.2.1", "explicit VR little endian", DICOM_EXPLICIT_LE, NULL},
    {"1.2.840.10008.1.2.2", "explicit VR big endian", DICOM_EXPLICIT_BE, NULL},
    {"1.2.840.10008.1.2.1.99", "deflated explicit VR little endian", DICOM_DEFLATED_LE, NULL},
    {"1.2.840.10008.1.2.5", "RLE lossless", DICOM_RLE, NULL},
    {"1.2.840.10008.1.2.8.1", "deflated image frame", DICOM_DEFLATED_FRAME, NULL},
    {"1.2.840.10008.1.2.4.50", "JPEG baseline", DICOM_JPEG_BASELINE, JPEG},
    {"1.2.840.10008.1.2.4.51", "JPEG extended", DICOM_JPEG_EXTENDED, JPEG},
    {"1.2.840.10008.1.2.4.53", "JPEG spectral selection", DICOM_JPEG_SPECTRAL, JPEG},
    {"1.2.840.10008.1.2.4.55", "JPEG full progression", DICOM_JPEG_PROGRESSIVE, JPEG},
    {"1.2.840.10008.1.2.4.57", "JPEG lossless", DICOM_JPEG_LOSSLESS, NULL},
    {"1.2.840.10008.1.2.4.70", "JPEG lossless, first-order prediction",
     DICOM_JPEG_LOSSLESS_FIRST_ORDER, NULL},
    {"1.2.840.10008.1.2.4.80", "JPEG-LS lossless", DICOM_JPEG_LS, NULL},
    {"1.2.840.10008.1.2.4.81", "JPEG-LS near-lossless", DICOM_JPEG_LS_NEAR, JPEG_LS},
    {"1.2.840.10008.1.2.4.90", "JPEG 2000 lossless", DICOM_JPEG_2000, NULL},
    {"1.2.840.10008.1.2.4.91", "JPEG 2000", DICOM_JPEG_2000, JPEG_2000},
    {"1.2.840.10008.1.2.4.201", "HTJ2K lossless", DICOM_JPEG_2000, NULL},
    {"1.2.840.10008.1.2.4.202", "HTJ2K lossless RPCL", DICOM_JPEG_2000, NULL},
    {"1.2.840.10008.1.2.4.203", "HTJ2K", DICOM_JPEG_2000, HTJ2K},
    {"1.2.840.10008.1.2.4.92", "JPEG 2000 multi-component lossless", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.93", "JPEG 2000 multi-component", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.100", "MPEG-2", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.102", "MPEG-4", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.110", "JPEG XL lossless", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.111", "JPEG XL recompression", DICOM_OTHER, NULL},
    {"1.2.840.10008.1.2.4.112", "JPEG XL", DICOM_OTHER, NULL},
};

const struct dicom_syntax_name *ts_dicom_syntax(const char *uid)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(uid, names[i].uid) == 0)
            return &names[i];
    return NULL;
}
