/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM files that DCMTK and OpenJPEG decode: JPEG, JPEG-LS, JPEG 2000. These libraries are not
 * instrumented; their overruns of the heap are found all the same, because their allocations are
 * AddressSanitizer's.
 */
#include "tests/fuzz/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes <= FUZZ_INPUT_MAX)
        fuzz_frame(data, bytes, true);
    return 0;
}
