/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM files that DCMTK decodes: JPEG lossless and JPEG-LS. DCMTK is not instrumented; its overruns of the heap are
 * found all the same, because its allocations are AddressSanitizer's.
 */
#include "tests/fuzz/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes <= FUZZ_INPUT_MAX)
        fuzz_frame(data, bytes, true);
    return 0;
}
