/* SPDX-License-Identifier: Apache-2.0
 *
 * The transfer syntaxes of DICOM: which way pixels are stored, and what decodes them. Source: DICOM
 * PS3.6 A (UIDs), PS3.5 A.
 */
#ifndef IO_DICOM_HEADER_DICOM_SYNTAX_H
#define IO_DICOM_HEADER_DICOM_SYNTAX_H

#include <stdbool.h>

enum dicom_syntax {
    /* pixels as they are, in one element */
    DICOM_IMPLICIT_LE,
    DICOM_EXPLICIT_LE,
    DICOM_EXPLICIT_BE,
    DICOM_DEFLATED_LE, /* the data set is one deflate stream */
    /* compressed frames in fragments: of this program's own decoders */
    DICOM_RLE,
    DICOM_DEFLATED_FRAME,
    /* of OpenJPEG */
    DICOM_JPEG_2000, /* and HTJ2K */
    /* of DCMTK */
    DICOM_JPEG_BASELINE,
    DICOM_JPEG_EXTENDED,
    DICOM_JPEG_SPECTRAL,
    DICOM_JPEG_PROGRESSIVE,
    DICOM_JPEG_LOSSLESS,
    DICOM_JPEG_LOSSLESS_FIRST_ORDER,
    DICOM_JPEG_LS,
    DICOM_JPEG_LS_NEAR,
    DICOM_OTHER /* not read */
};

struct dicom_syntax_name {
    const char *uid, *name;
    enum dicom_syntax syntax;
    const char
        *method; /* term of Lossy Image Compression Method; NULL if frames are to have no loss */
};

/* Returns the row of a UID, or NULL if the standard has no such transfer syntax for images. */
const struct dicom_syntax_name *ts_dicom_syntax(const char *uid);

/* Returns true if pixel data is a sequence of fragments, which a decoder must make pixels of. */
static inline bool dicom_is_compressed(enum dicom_syntax syntax)
{
    return syntax > DICOM_DEFLATED_LE;
}
/* Returns true if DCMTK decodes the frames. */
static inline bool dicom_needs_dcmtk(enum dicom_syntax syntax)
{
    return syntax >= DICOM_JPEG_BASELINE && syntax < DICOM_OTHER;
}

#endif
