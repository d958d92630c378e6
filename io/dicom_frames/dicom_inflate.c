/* SPDX-License-Identifier: Apache-2.0
 *
 * libdeflate inflates, since frame and pixels lie in memory whole and their length is known.
 */
#include "io/dicom_frames/dicom_inflate.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ts_dicom_inflate_frame(const unsigned char *data, size_t bytes, unsigned char *cells, size_t cell_bytes,
                            char *error, size_t error_bytes)
{
    size_t got = 0;
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    unsigned char *buffer = malloc(cell_bytes + 1);
    const enum libdeflate_result result =
        inflater && buffer ? libdeflate_deflate_decompress(inflater, data, bytes, buffer, cell_bytes + 1, &got)
                           : LIBDEFLATE_INSUFFICIENT_SPACE;
    const bool whole = result == LIBDEFLATE_SUCCESS && got >= cell_bytes && got - cell_bytes <= (cell_bytes & 1);
    if (whole)
        memcpy(cells, buffer, cell_bytes);
    else if (!inflater || !buffer)
        snprintf(error, error_bytes, "no memory to inflate the %zu bytes of its pixels", cell_bytes);
    else if (result == LIBDEFLATE_BAD_DATA)
        snprintf(error, error_bytes, "the deflated frame is damaged");
    else
        snprintf(error, error_bytes, "the deflated frame does not hold the %zu bytes of its pixels", cell_bytes);
    free(buffer);
    libdeflate_free_decompressor(inflater);
    return whole;
}
