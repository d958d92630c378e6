/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a file of regions on the default series of DICOM fixtures (tests/files/dicom_fixture.h), as
 * a chain does.
 */
#ifndef TESTS_FILES_MASK_OPEN_H
#define TESTS_FILES_MASK_OPEN_H

#include "io/source/source.h"
#include "pipeline/chain/chain.h"

struct mask_opened {
    char folder[128], path[160]; /* path: of the file that the test writes */
    struct ts_chain *chain;
    struct source *image, *mask;
    struct ts_diag *diag;
};

/* Makes the folder with the series in it, FIXTURE_SLICES slices, and opens that alone:
 * opened->image. */
void ts_mask_begin(struct mask_opened *opened, const char *name);
void ts_mask_end(struct mask_opened *opened);
/* Opens {mask: PATH, MORE} on {dicom: ..., IMAGE_MORE}; the texts begin with a comma or are "". */
enum ts_status ts_mask_open(struct mask_opened *opened, const char *image_more, const char *more);
/* Opens it so, fails the test unless every voxel has its label of `expected`, and the type is
 * `dtype`. */
void ts_mask_expect(struct mask_opened *opened, const char *image_more, const char *more,
                    const int32_t *expected, enum ts_dtype dtype);
/* Fails the test unless opening it, or reading it, is refused with this code. */
void ts_mask_refused(struct mask_opened *opened, const char *more, const char *code);

#endif
