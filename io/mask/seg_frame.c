/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of 1 bit follow each other without a gap where they are not compressed, so that one begins within a byte. Some
 * writers fill up the last byte of each; the number of bytes then tells of it, unless there are only a few frames.
 */
#include "io/dicom_frames/dicom_cells.h"
#include "io/mask/seg.h"

size_t ts_seg_frame_bytes(const struct seg *seg)
{
    const size_t n = (size_t)(seg->rows * seg->columns);
    /* A decoder gives each bit a byte, which are packed where they stand. What is read may begin and end in a word. */
    return (seg->in_fragments && seg->bits == 1 ? n : (n * (size_t)seg->bits + 7) / 8) + 4;
}

bool ts_seg_read_frame(struct region_file *file, const struct seg *seg, int64_t number, unsigned char *pixels,
                       int *shift)
{
    const int64_t bits = seg->rows * seg->columns * seg->bits;
    const int64_t first = number * (seg->padded ? (bits + 7) / 8 * 8 : bits);
    *shift = (int)(first % 8);
    const size_t before = seg->words ? (size_t)(first / 8 % 2) : 0, n = (size_t)((*shift + bits + 7) / 8);
    const size_t all = seg->words ? (before + n + 1) / 2 * 2 : n;
    if (!ts_dicom_read(&file->scan.reader, seg->pixel_offset + first / 8 - (int64_t)before, pixels, all))
        return false;
    if (seg->words)
        ts_dicom_turn_words(pixels, before, n);
    return true;
}
