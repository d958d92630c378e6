/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenJPEG reads from memory through three functions of ours and decodes a frame as a whole to
 * 32-bit integers, which become cells. It is strict: a codestream that ends too early is damaged,
 * and so is one that it warns of, since a slice with a wrong part would look like any other.
 */
#include "io/dicom_frames/dicom_jpeg_2000.h"

#include <openjpeg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory_stream {
    const unsigned char *data;
    size_t bytes, at;
};

struct messages {
    char *text;
    size_t size;
};

static OPJ_SIZE_T read_bytes(void *out, OPJ_SIZE_T n, void *user)
{
    struct memory_stream *stream = user;
    const size_t left = stream->bytes - stream->at;
    const size_t here = n < left ? n : left;
    if (here == 0)
        return (OPJ_SIZE_T)-1; /* the end */
    memcpy(out, stream->data + stream->at, here);
    stream->at += here;
    return here;
}

static OPJ_BOOL seek_to(OPJ_OFF_T offset, void *user)
{
    struct memory_stream *stream = user;
    if (offset < 0 || (size_t)offset > stream->bytes)
        return OPJ_FALSE;
    stream->at = (size_t)offset;
    return OPJ_TRUE;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T n, void *user)
{
    struct memory_stream *stream = user;
    const OPJ_OFF_T left = (OPJ_OFF_T)(stream->bytes - stream->at);
    if (n < 0 || left == 0)
        return -1;
    const OPJ_OFF_T here = n < left ? n : left;
    stream->at += (size_t)here;
    return here;
}

/* Keeps the first message, whose consequences the others are. */
static void keep_message(const char *message, void *user)
{
    const struct messages *messages = user;
    if (messages->text[0] == '\0')
        snprintf(messages->text, messages->size, "the JPEG 2000 frame is damaged: %.*s",
                 (int)strcspn(message, "\n"), message);
}

void ts_dicom_jpeg_2000_prepare(void)
{
    unsetenv("OPJ_NUM_THREADS");
}

/* Copies the values to cells. Returns false if one is negative and may not be. */
static bool copy_values(const OPJ_INT32 *values, size_t n, bool is_signed, int cell_bytes,
                        unsigned char *cells)
{
    OPJ_INT32 any = 0;
    for (size_t i = 0; i < n; i++)
        any |= values[i];
    if (any < 0 && !is_signed)
        return false;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < cell_bytes; k++)
            cells[i * (size_t)cell_bytes + (size_t)k] =
                (unsigned char)((OPJ_UINT32)values[i] >> 8 * k);
    return true;
}

static bool take_image(const struct dicom_frame_form *form, struct dicom_codestream *stream,
                       bool is_signed, const opj_image_t *image, unsigned char *cells, char *error,
                       size_t error_bytes)
{
    const opj_image_comp_t *values = image->comps;
    const size_t n = (size_t)form->rows * (size_t)form->columns;
    if (image->numcomps != 1 || values->w != (OPJ_UINT32)form->columns ||
        values->h != (OPJ_UINT32)form->rows || values->prec != (OPJ_UINT32)stream->precision ||
        !values->data) {
        snprintf(error, error_bytes,
                 "the JPEG 2000 frame decodes to another size than its header states");
        return false;
    }
    const bool masked =
        stream->precision > form->bits_stored; /* so that the sign is a bit beside the value */
    if (copy_values(values->data, n, is_signed || masked, form->bits_allocated / 8, cells))
        return true;
    stream->code = "pixel-sign";
    snprintf(error, error_bytes,
             "the JPEG 2000 frame has negative values, Pixel Representation says unsigned");
    return false;
}

static bool dicom_jpeg_2000_decode(opj_codec_t *codec, opj_stream_t *input, opj_image_t **image)
{
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    return opj_setup_decoder(codec, &parameters) && opj_decoder_set_strict_mode(codec, OPJ_TRUE) &&
           opj_read_header(input, codec, image) && opj_decode(codec, input, *image) &&
           opj_end_decompress(codec, input);
}

bool ts_dicom_jpeg_2000_decode(const struct dicom_frame_form *form, struct dicom_codestream *stream,
                               bool is_signed, const unsigned char *data, size_t bytes,
                               unsigned char *cells, char *error, size_t error_bytes)
{
    struct memory_stream memory = {data + stream->start, bytes - stream->start, 0};
    struct messages messages = {error, error_bytes};
    opj_image_t *image = NULL;
    error[0] = '\0';
    opj_codec_t *codec = opj_create_decompress(OPJ_CODEC_J2K);
    opj_stream_t *input = opj_stream_create(
        memory.bytes < OPJ_J2K_STREAM_CHUNK_SIZE ? memory.bytes : OPJ_J2K_STREAM_CHUNK_SIZE,
        OPJ_TRUE);
    bool ok = codec && input;
    if (ok) {
        opj_set_error_handler(codec, keep_message, &messages);
        opj_set_warning_handler(codec, keep_message, &messages);
        opj_stream_set_read_function(input, read_bytes);
        opj_stream_set_seek_function(input, seek_to);
        opj_stream_set_skip_function(input, skip_bytes);
        opj_stream_set_user_data(input, &memory, NULL);
        opj_stream_set_user_data_length(input, memory.bytes);
        ok = dicom_jpeg_2000_decode(codec, input, &image) && error[0] == '\0';
    }
    if (!ok && error[0] == '\0')
        snprintf(error, error_bytes, "the JPEG 2000 frame cannot be decoded");
    ok = ok && take_image(form, stream, is_signed, image, cells, error, error_bytes);
    if (image)
        opj_image_destroy(image);
    if (input)
        opj_stream_destroy(input);
    if (codec)
        opj_destroy_codec(codec);
    return ok;
}

size_t ts_dicom_jpeg_2000_bytes(size_t pixels)
{
    /* It holds the image, the coefficients of its tile, and each code block, of 4 x 4 pixels at
     * least. */
    return pixels * (2 * sizeof(OPJ_INT32) + 16);
}

const char *ts_dicom_jpeg_2000_version(void)
{
    return opj_version();
}
