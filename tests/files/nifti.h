/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads reference volumes that other programs wrote as NIfTI-1, plain or gzip, and compares a
 * volume with them voxel by voxel, each where its header says that it lies in the patient.
 */
#ifndef TESTS_FILES_NIFTI_H
#define TESTS_FILES_NIFTI_H

#include "core/image.h"

struct nifti {
    int64_t n[4];      /* x, y, z, t */
    double spacing[4]; /* mm, and the unit of the header for t */
    double slope;      /* the scale of the header, 1 where it has none */
    bool has_affine;
    double affine[3][4]; /* of the sform: voxel (x, y, z, 1) to RAS, mm */
    float *values;       /* with the scale of the header applied; free() them */
};

/* Reads the file, or fails the test. Little-endian int16, uint16, float32 or float64. */
struct nifti ts_nifti_read(const char *path);
/* Compares volume t of the reference with an image of which `data` holds the values: every voxel of
 * the reference must lie within 0.02 voxels of one of the image, and have its value times `factor`,
 * up to `tolerance`. Returns the largest difference; fails the test otherwise. */
double ts_nifti_compare(const struct nifti *nifti, int64_t t, const struct ts_image *image,
                        const void *data, double factor, double tolerance, const char *name);

#endif
