/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers of compressed frames: RLE, JPEG, JPEG-LS, JPEG 2000. The first eight bytes choose what
 * the file's header says; the frame follows, whole or cut, in a block of its exact size. What is
 * good must have the bits that a decoder gets room for.
 */
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_codestream.h"
#include "tests/fuzz/fuzz.h"

enum { FORM_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < FORM_BYTES)
        return 0;
    const size_t n = bytes - FORM_BYTES;
    const int bits = data[6] % 32 + 1;
    const struct dicom_frame_form form = {
        (enum dicom_syntax)(DICOM_RLE + data[0] % (DICOM_OTHER - DICOM_RLE)),
        data[1] | data[2] << 8,
        data[3] | data[4] << 8,
        1,
        bits > 16  ? 32
        : bits > 8 ? 16
                   : 8,
        bits};
    struct dicom_codestream stream;
    unsigned char *frame = malloc(n > 0 ? n : 1);
    if (!frame)
        abort();
    memcpy(frame, data + FORM_BYTES, n);
    const enum codestream_state state =
        ts_dicom_codestream(&form, frame, n, (int64_t)n + (data[7] & 1) * 1000, &stream);
    if (state == CODESTREAM_BAD ? !stream.code || !*stream.text
                                : stream.precision < 0 || stream.precision > form.bits_allocated)
        abort();
    if (state == CODESTREAM_GOOD && form.syntax == DICOM_JPEG_2000 &&
        (stream.precision > 16 || stream.start >= n))
        abort();
    free(frame);
    return 0;
}
