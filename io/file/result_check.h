/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the description of an image, as a result holds it, makes sense: a file may have been edited since this
 * program wrote it. Only what every writer of this program guarantees is demanded.
 */
#ifndef IO_FILE_RESULT_CHECK_H
#define IO_FILE_RESULT_CHECK_H

#include "core/image.h"

/* Checks the geometry (origin finite, directions orthonormal and right-handed, the step between slices along their
 * normal and as long as their spacing), the axes (units, spacings) and the unit of the values. NULL where all is well,
 * else what is wrong, with the record's code in *code: result-geometry, result-spacing or result-units. */
const char *ts_result_wrong(const struct ts_image *image, const char **code);

#endif
