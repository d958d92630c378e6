/* SPDX-License-Identifier: Apache-2.0
 *
 * One DICOM file as a series of one slice: the scan, the checks of the series, and the decoding of its frame.
 */
#ifndef TESTS_FUZZ_FRAME_H
#define TESTS_FUZZ_FRAME_H

#include <stdbool.h>

#include "tests/fuzz/fuzz.h"

/* Decodes the frame where another library does that, or where this program's own code does. */
void fuzz_frame(const uint8_t *data, size_t bytes, bool by_library);

#endif
