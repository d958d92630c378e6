/* SPDX-License-Identifier: Apache-2.0
 *
 * MetaImage files: headers of text, with values behind them or in a file of their own. A header may
 * name `fuzz.raw`, which holds the input too.
 */
#include "io/volume/mha.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    if (bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fuzz.raw", data, bytes, path);
    fuzz_volume(&mha_format, "fuzz.mhd", data, bytes);
    return 0;
}
