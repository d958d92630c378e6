/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames become the slices of a source of their own, whose ring of workers decodes them ahead of their use. Frames
 * are mostly asked for in their order, so that the next ones are announced.
 */
#include "io/mask/seg_decode.h"

#include <stdlib.h>

#include "io/dicom_frames/dicom_source.h"

enum { THREADS = 4, AHEAD = 8 };

struct seg_decoder {
    struct dicom_source source;
    struct dicom_image *images;
};

/* Packs n pixels of a byte each to bits in place: each byte of bits stands before the bytes that it is made of. */
static void pack(unsigned char *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool set = pixels[i] != 0;
        if (i % 8 == 0)
            pixels[i / 8] = 0;
        pixels[i / 8] |= (unsigned char)(set << i % 8);
    }
}

enum ts_status ts_seg_decoder_create(struct region_file *file, const struct seg *seg, struct seg_decoder **out,
                                     struct ts_diag *diag)
{
    const size_t n = (size_t)seg->claimed_frames;
    struct seg_decoder *decoder = *out = calloc(1, sizeof *decoder);
    if (!decoder)
        return ts_diag_no_memory(diag, sizeof *decoder);
    struct dicom_source *source = &decoder->source;
    source->labels = true;
    source->bits = seg->bits == 1;
    decoder->images = calloc(n, sizeof *decoder->images);
    source->frames = calloc(n, sizeof *source->frames);
    source->base = (struct source){
        .image = {.rank = 3,
                  .axes = {{.kind = TS_AXIS_Z, .n = (int64_t)n},
                           {.kind = TS_AXIS_Y, .n = seg->rows},
                           {.kind = TS_AXIS_X, .n = seg->columns}},
                  .dtype = seg->bits == 16 ? TS_U16 : TS_U8},
        .n_slices = (int64_t)n,
        .n_volumes = 1,
        .slices = calloc(n, sizeof *source->base.slices),
        .no_digests = true,
    };
    source->cell_bytes = (size_t)ts_dicom_frame_bytes(&file->file);
    if (!decoder->images || !source->frames || !source->base.slices)
        return ts_diag_no_memory(diag, n * sizeof *decoder->images);
    for (size_t i = 0; i < n; i++) {
        decoder->images[i] = (struct dicom_image){
            .file = &file->file, .frame = (int64_t)i, .rows = (int)seg->rows, .columns = (int)seg->columns};
        source->frames[i] =
            (struct dicom_frame){.image = &decoder->images[i], .cells = ts_dicom_cells(&file->file), .slope = 1};
    }
    return TS_OK;
}

enum ts_status ts_seg_decoder_read(struct seg_decoder *decoder, int64_t number, unsigned char *pixels,
                                   struct ts_diag *diag)
{
    struct source *source = &decoder->source.base;
    enum ts_status status = ts_dicom_ring_start(source, THREADS, AHEAD, diag);
    if (status == TS_OK)
        status = ts_dicom_ring_read(source, number, 1, pixels, diag);
    if (status == TS_OK && number + 1 < source->n_slices)
        ts_dicom_ring_prefetch(source, number + 1, 1);
    if (status == TS_OK && decoder->source.bits)
        pack(pixels, ts_slice_count(&source->image));
    return status;
}

size_t ts_seg_decoder_bytes(const struct seg_decoder *decoder)
{
    const size_t frames = (size_t)decoder->source.base.n_slices;
    return ts_dicom_ring_bytes(&decoder->source, THREADS, AHEAD) +
           frames * (sizeof *decoder->images + sizeof *decoder->source.frames + sizeof *decoder->source.base.slices);
}

void ts_seg_decoder_destroy(struct seg_decoder *decoder)
{
    if (!decoder)
        return;
    ts_dicom_ring_end(&decoder->source);
    free(decoder->images);
    free(decoder->source.frames);
    free(decoder->source.base.slices);
    free(decoder);
}
