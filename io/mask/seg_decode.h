/* SPDX-License-Identifier: Apache-2.0
 *
 * This decodes the compressed frames of a segmentation, in the sandboxed workers that decode images.
 */
#ifndef IO_MASK_SEG_DECODE_H
#define IO_MASK_SEG_DECODE_H

#include "io/mask/seg.h"

struct seg_decoder;

/* Makes a decoder of all frames in the pixel data of the file, which outlives it. TS_RUN_FAILED where memory is out. */
enum ts_status ts_seg_decoder_create(struct region_file *file, const struct seg *seg, struct seg_decoder **decoder,
                                     struct ts_diag *diag);
/* Reads frame `number`: of 1 bit a pixel packed to bits, else cells in the order of this machine. `pixels` has the
 * bytes of ts_seg_frame_bytes. TS_BAD_INPUT where the frame is damaged, TS_RUN_FAILED where no worker can be started.
 */
enum ts_status ts_seg_decoder_read(struct seg_decoder *decoder, int64_t number, unsigned char *pixels,
                                   struct ts_diag *diag);
/* Returns the bytes that it holds and its workers need. */
size_t ts_seg_decoder_bytes(const struct seg_decoder *decoder);
/* Ends the workers. NULL does nothing. */
void ts_seg_decoder_destroy(struct seg_decoder *decoder);

#endif
