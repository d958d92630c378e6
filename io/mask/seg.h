/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads DICOM segmentations (PS3.3 A.51, C.8.20). Each frame is a plane of one segment: bits
 * (BINARY), parts of 255 or another maximum (FRACTIONAL), or, of all segments, their numbers
 * (LABELMAP).
 */
#ifndef IO_MASK_SEG_H
#define IO_MASK_SEG_H

#include "io/mask/mask_file.h"
#include "io/mask/region_file.h"

enum seg_coding { SEG_BINARY, SEG_FRACTIONAL, SEG_LABELS, SEG_UNKNOWN };

struct seg_frame {
    double position_mm[3], orientation[6], spacing_mm[2]; /* of rows, of columns; NaN: not stated */
    double between_mm, thickness_mm;
    int64_t segment; /* -1: not stated */
    int64_t number;  /* of the frame in the pixel data */
    int64_t slot;    /* which of the planes it is in */
};

struct seg {
    struct region *segments;
    size_t n_segments, segments_capacity;
    struct seg_frame shared, *frames;
    size_t n_frames, frames_capacity;
    int64_t claimed_frames, rows, columns, samples, bits, maximum;
    int64_t padding; /* Pixel Padding Value: the number of what is in no segment; -1: not stated */
    enum seg_coding coding;
    int64_t pixel_offset, pixel_bytes;
    bool met_pixels, words; /* words: bytes stand the other way round, in big-endian words */
    bool in_fragments;      /* frames are compressed */
    bool padded;            /* frames of bits begin with a byte each, as some writers have it */
    bool unsure;            /* it may be padded, or not */
    char frame_of_reference[DICOM_UID_MAX]; /* "": not stated */
};

/* Reads the header. False: refused, file->file.refusal says why. ts_seg_clear frees what it found
 * in either case. */
bool ts_seg_parse(struct region_file *file, struct seg *seg);
void ts_seg_clear(struct seg *seg);
/* Opens the segments that the request wants; takes the file, in any case. */
enum ts_status ts_seg_open_take(struct region_file *file, const struct mask_request *request,
                                struct mask_file **out);

#endif
