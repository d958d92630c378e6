/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes DICOM segmentations and structure sets for tests, good ones and broken ones: first as a
 * stream of elements with sequences in them, then as whole objects.
 */
#ifndef TESTS_FILES_REGION_FIXTURE_H
#define TESTS_FILES_REGION_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REGION_DEPTH = 80 };

struct region_stream {
    unsigned char *bytes;
    size_t n;
    bool implicit, undefined; /* VR; lengths of sequences and items */
    bool big_endian;
    size_t open[REGION_DEPTH];
    size_t data_set; /* where it begins */
    int depth;
};

/* Begins a file of this SOP class. */
void ts_region_begin(struct region_stream *stream, const char *sop_class, bool implicit,
                     bool undefined);
void ts_region_put(struct region_stream *stream, uint32_t tag, const char *vr, const void *bytes,
                   size_t n);
/* Puts a text, padded to an even length. */
void ts_region_put_text(struct region_stream *stream, uint32_t tag, const char *vr,
                        const char *text);
void ts_region_put_us(struct region_stream *stream, uint32_t tag, unsigned value);
/* Opens a sequence with this tag, or an item with 0, and closes the innermost of them. */
void ts_region_open_level(struct region_stream *stream, uint32_t tag);
void ts_region_close_level(struct region_stream *stream);
/* Writes the file and frees the stream. */
void ts_region_save(struct region_stream *stream, const char *path);

struct seg_fixture_frame {
    double position_mm[3];
    int segment;
    const unsigned char *pixels; /* rows x columns, 0 or 1, or a value of 8 bits */
};

/* How pixels are stored: as they are; in RLE, bits packed or a byte each; deflated frames; a
 * deflated data set; in RLE, but called JPEG-LS; in JPEG 2000; as they are in a big-endian file, in
 * bytes or in words. */
enum seg_pixels {
    SEG_PLAIN,
    SEG_RLE,
    SEG_RLE_BYTES,
    SEG_DEFLATED_FRAMES,
    SEG_DEFLATED_SET,
    SEG_JPEG_LS,
    SEG_JPEG_2000,
    SEG_BIG_BYTES,
    SEG_BIG_WORDS
};

struct seg_fixture {
    int rows, columns, n_frames,
        n_segments; /* segments are 1, 2, ... with the labels "segment 1", ... */
    double orientation[6], spacing_mm[2];
    double between_mm;    /* 0: not stated */
    const char *type;     /* BINARY, FRACTIONAL, LABELMAP */
    const char *position; /* in place of every frame's; NULL: its own */
    int claimed_frames;   /* 0: n_frames */
    int claimed_bytes;    /* of pixel data; 0: all */
    int claimed_rows;     /* 0: rows */
    bool implicit, undefined;
    bool padded; /* SEG_PLAIN: each frame of bits begins with a byte */
    enum seg_pixels coding;
    const char *frame_of_reference; /* NULL: not stated */
    bool background;                /* segment 0 is listed too, before the others */
    int factor;              /* LABELMAP: pixels have 16 bits, each value times this; 0: 8 bits */
    const int *numbers;      /* of the segments; NULL: 1, 2, ... */
    const int *padding;      /* Pixel Padding Value; NULL: not stated */
    const char *photometric; /* NULL: MONOCHROME2 */
};

void ts_seg_write(const struct seg_fixture *fixture, const struct seg_fixture_frame *frames,
                  const char *path);

struct contour_fixture {
    int roi;              /* regions are 1, 2, ... with the names "region 1", ... */
    const double *points; /* x, y and z in mm */
    size_t n;
    const char *text;   /* in place of the points; NULL: them */
    const char *type;   /* NULL: CLOSED_PLANAR */
    const char *offset; /* Contour Offset Vector; NULL: none */
    int64_t claimed;    /* Number of Contour Points; 0: n */
};

/* The contours stand in the order of their regions. Regions state the frame of reference, or NULL:
 * none. */
void ts_rtstruct_write(const struct contour_fixture *contours, size_t n, int n_rois, bool implicit,
                       bool undefined, const char *frame_of_reference, const char *path);

#endif
