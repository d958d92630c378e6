/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one DICOM file as a series of one slice: the scan, the checks of the series, and the
 * decoding of its frame.
 */
#ifndef TESTS_FUZZ_FRAME_H
#define TESTS_FUZZ_FRAME_H

#include <stdbool.h>

#include "io/source/source.h"
#include "tests/fuzz/fuzz.h"

/* Opens the only series of fuzz_folder(); NULL where it is refused. */
struct source *fuzz_dicom_open(struct ts_diag *diag);
/* Decodes the frame where another library does that, or where this program's own code does. */
void fuzz_frame(const uint8_t *data, size_t bytes, bool by_library);

#endif
