/* SPDX-License-Identifier: Apache-2.0
 *
 * Masked images for tests, and what an oracle is given of them: the valid values alone.
 */
#ifndef TESTS_SUPPORT_MASKED_H
#define TESTS_SUPPORT_MASKED_H

#include "stages/engine/validity.h"

/* Which pixels ts_test_mask makes invalid. */
enum masked_pixels {
    MASKED_SOME, /* in slice 0 a quarter, in slice 1 all, in slice 2 none, in slice 3 those after
                    the first row */
    MASKED_ALL,  /* all */
    MASKED_NONE  /* none */
};

/* Makes the image masked, with memory of its own for the bits; free(image->valid). The values of
 * invalid pixels become `hidden`, which a stage must not see. */
void ts_test_mask(struct ts_image *image, enum masked_pixels which, double hidden, uint64_t seed);
/* Returns true where pixel i of slice z is valid. */
bool ts_test_is_valid(const struct ts_image *image, int64_t z, size_t i);
/* Returns in *values the valid values of slices [z, z + n), where the mask (NULL: none) is not 0,
 * as doubles; free them. */
size_t ts_test_valid_values(const struct ts_image *image, const struct ts_image *mask, int64_t z,
                            int64_t n, double **values);

#endif
