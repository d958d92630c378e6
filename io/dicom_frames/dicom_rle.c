/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes a frame of DICOM RLE. A frame is a header of 16 numbers (how many segments, where each
 * starts) and one PackBits segment for each byte of the cells, most significant first. A control
 * byte c means: 0..127, c + 1 bytes as they are; 129..255, the next byte 257 - c times; 128,
 * nothing. A segment ends with its n-th byte, and a byte of padding makes it even; some writers pad
 * each segment and then the frame, and some pad odd images to even before they encode them, so that
 * the last run has a byte too many.
 * Source: DICOM PS3.5 annex G.
 */
#include "io/dicom_frames/dicom_rle.h"

#include <stdio.h>
#include <string.h>

#include "io/dicom_header/dicom_elements.h"

enum { HEADER_BYTES = 64, MAX_SEGMENTS = 15, NO_OPERATION = 128 };

/* Returns true if the bytes behind the last run hold nothing: a single byte is no run, and two
 * zeros would be one pixel more, which no image of several columns has. */
static bool is_padding(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at == NO_OPERATION)
        at++;
    return end - at <= 1 || (end - at == 2 && at[0] == 0 && at[1] == 0);
}

/* Writes n bytes at out[0], out[stride], ...; returns how many the segment held, n + 1 if it holds
 * more. */
static size_t decode_segment(const unsigned char *at, const unsigned char *end, unsigned char *out,
                             size_t n, size_t stride)
{
    const size_t most = n + n % 2;
    size_t done = 0;
    while (done < n && at < end) {
        const unsigned control = *at++;
        if (control == NO_OPERATION)
            continue;
        const bool literal = control < NO_OPERATION;
        const size_t run = literal ? control + 1u : 257u - control;
        if (run > most - done)
            return n + 1;
        if ((size_t)(end - at) < (literal ? run : 1))
            return done;
        const size_t kept = run < n - done ? run : n - done;
        for (size_t i = 0; i < kept; i++)
            out[(done + i) * stride] = literal ? at[i] : *at;
        at += literal ? run : 1;
        done += kept;
    }
    return done == n && !is_padding(at, end) ? n + 1 : done;
}

bool ts_dicom_rle_decode(const unsigned char *frame, size_t frame_bytes, unsigned char *cells,
                         size_t n, size_t cell_bytes, char *error, size_t error_bytes)
{
    if (frame_bytes < HEADER_BYTES || cell_bytes > MAX_SEGMENTS ||
        ts_dicom_u32(frame, false) != cell_bytes) {
        snprintf(error, error_bytes, "the RLE header does not name %zu segments", cell_bytes);
        return false;
    }
    for (size_t segment = 0; segment < cell_bytes; segment++) {
        const size_t start = ts_dicom_u32(frame + 4 * (segment + 1), false);
        const size_t end =
            segment + 1 < cell_bytes ? ts_dicom_u32(frame + 4 * (segment + 2), false) : frame_bytes;
        if (start < HEADER_BYTES || start > end || end > frame_bytes) {
            snprintf(error, error_bytes, "RLE segment %zu lies outside of its frame", segment + 1);
            return false;
        }
        const size_t done = decode_segment(frame + start, frame + end,
                                           cells + (cell_bytes - 1 - segment), n, cell_bytes);
        if (done > n) {
            snprintf(error, error_bytes, "RLE segment %zu holds more than its %zu bytes",
                     segment + 1, n);
            return false;
        }
        if (done < n) {
            snprintf(error, error_bytes, "RLE segment %zu ends after %zu of %zu bytes", segment + 1,
                     done, n);
            return false;
        }
    }
    return true;
}
