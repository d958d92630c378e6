/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed pixel data is a sequence of fragments, and a frame is one of them or several. This
 * finds out which, and joins the fragments of a frame. Source: DICOM PS3.5 A.4 (encapsulation),
 * PS3.3 C.7.6.3.1.8 (extended offset table).
 */
#ifndef IO_DICOM_HEADER_DICOM_FRAGMENTS_H
#define IO_DICOM_HEADER_DICOM_FRAGMENTS_H

#include "io/dicom_header/dicom_scan_state.h"

enum { DICOM_ITEM_HEADER_BYTES = 8 };

/* Walks offset table and fragments of the pixel data, moves the walk behind them, and fills
 * pixel_offset, pixel_bytes and `streams` of the file. It refuses the file if the items are broken,
 * or if they cannot be assigned to its frames. */
void ts_dicom_walk_fragments(struct scan *scan, struct dicom_walk *walk);
/* Returns the bytes of a stream without the headers of its fragments. */
int64_t ts_dicom_stream_bytes(const struct dicom_stream *stream);
/* Copies the first n bytes of a stream, or all if it has fewer. Returns how many; 0 if they cannot
 * be read. */
size_t ts_dicom_stream_start(struct dicom_reader *reader, const struct dicom_stream *stream,
                             unsigned char *out, size_t n);
/* Moves the fragments of a stream together, whose `stream->bytes` bytes the caller has read.
 * Returns false if they are not the fragments that the walk has seen. */
bool ts_dicom_stream_join(const struct dicom_stream *stream, unsigned char *bytes);

#endif
