/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the description of an image in a result makes sense, since a file may have been
 * edited after this program wrote it. It demands only what every version of the writer guarantees.
 */
#ifndef IO_FILE_RESULT_CHECK_H
#define IO_FILE_RESULT_CHECK_H

#include "core/image.h"

/* Checks the geometry (origin finite, directions orthonormal, right-handed or left-handed, the step
 * between slices along their normal and as long as their spacing), the axes (units, spacings) and
 * the unit of the values. Returns NULL if all is well, else a text about the fault, with the
 * record's code in *code: result-geometry, result-spacing or result-units. */
const char *ts_result_wrong(const struct ts_image *image, const char **code);

#endif
