/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `nifti`, which reads a volume from a NIfTI file: .nii, .nii.gz, or a header
 * .hdr whose values are in the .img file beside it.
 */
#ifndef IO_VOLUME_NIFTI_H
#define IO_VOLUME_NIFTI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/image.h"
#include "io/source/source.h"

/* This is the header of a NIfTI file, of version 1 (348 bytes) or 2 (540 bytes), as numbers: one
 * table knows where each field stands in both versions, to read and to write it. Source: R. W. Cox
 * et al., NIfTI-1 (2004) and NIfTI-2 (2011) data formats, nifti.nimh.nih.gov. */

enum { NIFTI_1_BYTES = 348, NIFTI_2_BYTES = 540, NIFTI_TEXT_BYTES = 81, NIFTI_INTENT_BYTES = 16 };
/* Values of `units`: one of length, plus one of time. */
enum { NIFTI_METER = 1, NIFTI_MM = 2, NIFTI_MICRON = 3, NIFTI_LENGTHS = 7 };
enum { NIFTI_SECONDS = 8, NIFTI_MILLISECONDS = 16, NIFTI_MICROSECONDS = 24, NIFTI_TIMES = 56 };
/* A fourth axis that is not time has one of these units. */
enum { NIFTI_HZ = 32, NIFTI_PPM = 40, NIFTI_RADIANS = 48 };
/* The intent says that values are labels, or that those of several volumes belong together: the
 * codes from matrices to points, and colors. */
enum {
    NIFTI_LABEL = 1002,
    NIFTI_NEURONAME = 1003,
    NIFTI_GENMATRIX = 1004,
    NIFTI_QUATERNION = 1010,
    NIFTI_RGB_VECTOR = 2003,
    NIFTI_RGBA_VECTOR = 2004
};
/* A transform's code says that there is none, or one to the coordinates of the scanner. */
enum { NIFTI_UNKNOWN = 0, NIFTI_SCANNER = 1 };
/* After this text a header has the name of a fourth axis that is neither time nor echo nor
   b-value. */
#define NIFTI_VOLUMES_BY "; volumes by "
/* Greatest length of an axis in version 1. */
enum { NIFTI_1_LONGEST = 32767 };

/* Integers are held as double, which is exact for all files that can exist. */
struct nifti_header {
    int version;  /* 1 or 2 */
    bool swapped; /* its byte order is not that of the machine */
    bool pair;    /* the values are in a file of their own */
    double dim[8], intent_code, datatype, bits, pixdim[8], offset, slope, intercept, units;
    double first;              /* toffset: where the fourth axis begins */
    double qform, sform;       /* codes */
    double b, c, d, origin[3]; /* quaternion and offset of qform */
    double rows[12];           /* rows x, y and z of sform: voxel (i, j, k, 1) to RAS */
    char text[NIFTI_TEXT_BYTES];
    char intent[NIFTI_INTENT_BYTES]; /* intent_name: what the values are, which viewers show; it is
                                        not read */
};

/* Reads a header from the first bytes of a file. 32-bit floats become the shortest decimal number
   that rounds to them, so that 0.7 mm are 0.7, but for the scale, with which a background is
   exactly 0. Returns NULL, or what is wrong: a phrase such as "is no NIFTI file". */
const char *ts_nifti_decode(const unsigned char *bytes, size_t n, struct nifti_header *header);
/* Writes the header of its version in the machine's byte order, and four bytes that state that no
   extension follows. Returns the number of bytes, which is where the values begin. */
size_t ts_nifti_encode(const struct nifti_header *header, unsigned char bytes[NIFTI_2_BYTES + 4]);

/* Returns the code of an element type; 0 if NIfTI has none. */
int ts_nifti_datatype(enum ts_dtype dtype);

/* Finds the transform from voxel indices (i, j, k) to RAS in the header's unit, three rows of four.
   Returns false if the header has none. sform comes before qform. */
bool ts_nifti_transform(const struct nifti_header *header, double rows[3][4]);
/* Returns how far apart, in the header's unit, the header's two transforms place a voxel of the
   volume. Compares only places and directions: the qform gets the spacings of the sform. tolerance:
   by how much the rounding of floats may move them apart; *mirrored: one is the mirror image of the
   other. */
double ts_nifti_apart(const struct nifti_header *header, double *tolerance, bool *mirrored);
/* Sets both transforms of a header from one in mm. A sheared transform is only put in sform, since
   qform can only rotate. */
void ts_nifti_set_transform(struct nifti_header *header, const double rows[3][4]);

extern const struct source_format nifti_format;

#endif
