/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM files that the project's own code decodes: raw pixels in three encodings, deflated data
 * sets and frames, RLE.
 */
#include "tests/fuzz/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes <= FUZZ_INPUT_MAX)
        fuzz_frame(data, bytes, false);
    return 0;
}
