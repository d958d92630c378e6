/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM RLE frames. The first three bytes choose the number of pixels and the bytes of one; the
 * frame follows. Both blocks are of the exact size, so that AddressSanitizer sees every byte too
 * far.
 */
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_rle.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char error[200];
    if (bytes < 4)
        return 0;
    const size_t pixels = data[0] | (size_t)(data[1] & 0x0F) << 8, cell = 1 + (data[2] & 3);
    unsigned char *cells = malloc(pixels * cell ? pixels * cell : 1), *frame = malloc(bytes - 3);
    if (!cells || !frame)
        abort();
    memcpy(frame, data + 3, bytes - 3);
    (void)ts_dicom_rle_decode(frame, bytes - 3, cells, pixels, cell, error, sizeof error);
    free(frame);
    free(cells);
    return 0;
}
