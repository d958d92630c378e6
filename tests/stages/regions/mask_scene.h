/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks for the tests of the stages that take one, and the loop that compares such a stage with its
 * oracle, which is given what each voxel is and knows nothing of bits, types and slabs.
 */
#ifndef TESTS_STAGES_REGIONS_MASK_SCENE_H
#define TESTS_STAGES_REGIONS_MASK_SCENE_H

#include "tests/stages/regions/mask_oracle.h"
#include "tests/support/stage_run.h"

/* An image of zeros with balls and boxes of the values 1, 2 and 3, some of them with cavities, and
 * specks; spacing (2, 0.7, 0.5) mm; free(image.data). */
struct ts_image ts_test_mask_scene(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype,
                                   uint64_t seed);
/* Writes the output that is expected for the whole input, whose voxels are these. */
typedef void mask_oracle(const struct stage_context *context, const unsigned char *voxels,
                         double *out);
/* Fails unless the stage gives what the oracle does, and the same bytes in slabs of 1, 2, 3 and all
 * slices on 1, 2 and 3 threads. Values may differ by `tolerance` times the expected one. Returns
 * the number of voxels that are not 0. */
size_t ts_test_mask_agrees(const struct stage *stage, const char *assignments,
                           const struct ts_image *image, size_t label_offset, mask_oracle *oracle,
                           double tolerance);

#endif
