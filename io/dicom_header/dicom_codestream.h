/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the header of one compressed frame, up to the first byte that only a decoder can judge, and
 * holds it against the header of the file. The bytes are in memory, so that the scan checks the
 * start of a frame and a worker each whole frame before its decoder sees it. Source: DICOM PS3.5 8
 * and annex G (RLE); ITU-T T.81 B.2 (JPEG), T.87 C.2 (JPEG-LS), T.800 A.5 and I.4 (JPEG 2000),
 * T.814 (HTJ2K).
 */
#ifndef IO_DICOM_HEADER_DICOM_CODESTREAM_H
#define IO_DICOM_HEADER_DICOM_CODESTREAM_H

#include <stddef.h>
#include <stdint.h>

#include "io/dicom_header/dicom_syntax.h"

/* The file's header says this of a frame. */
struct dicom_frame_form {
    enum dicom_syntax syntax;
    int rows, columns, samples_per_pixel, bits_allocated, bits_stored,
        precision; /* precision: as in dicom_file */
};

/* The frame says this of itself. */
struct dicom_codestream {
    int precision; /* bits of a value; 0 if the format states none */
    bool lossy;    /* it was compressed with loss; false if that cannot be told from its header */
    size_t start;  /* where the codestream begins: JPEG 2000 may be in the boxes of a JP2 file */
    const char *code; /* why it is refused, a literal; NULL: it is not */
    char text[256];
};

enum codestream_state {
    CODESTREAM_GOOD,
    CODESTREAM_BAD,  /* code and text say why */
    CODESTREAM_SHORT /* the header goes on behind these bytes */
};

/* Reads the first `bytes` of the `total` bytes of a frame. */
enum codestream_state ts_dicom_codestream(const struct dicom_frame_form *form,
                                          const unsigned char *data, size_t bytes, int64_t total,
                                          struct dicom_codestream *stream);
/* Returns the UID of the transfer syntax whose frames begin with these bytes, or NULL. One that
 * may have loss is named of those that differ in that alone, unless the header states that. */
const char *ts_dicom_codestream_syntax(const unsigned char *data, size_t bytes);

#endif
