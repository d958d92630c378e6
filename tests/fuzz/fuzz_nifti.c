/* SPDX-License-Identifier: Apache-2.0
 *
 * NIfTI files of both versions, as they are and in a gzip stream. The input stands for both files
 * of a pair: as fuzz.hdr it is opened, and as fuzz.img it has the values of a header that says that
 * they lie in another file.
 */
#include "io/volume/nifti.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fuzz.img", data, bytes, path);
    fuzz_volume(&nifti_format, "fuzz.hdr", data, bytes);
    return 0;
}
