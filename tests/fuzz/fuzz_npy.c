/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of NumPy: the text of a dictionary, with values behind it.
 */
#include "io/volume/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes <= FUZZ_INPUT_MAX)
        fuzz_volume(&npy_format, "fuzz.npy", data, bytes);
    return 0;
}
