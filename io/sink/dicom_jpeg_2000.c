/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenJPEG encodes a frame as one tile with one quality layer, and writes it to memory through our
 * functions. The number of resolutions is limited: halving must not make the shorter side smaller
 * than one pixel.
 */
#include <openjpeg.h>
#include <stdlib.h>
#include <string.h>

#include "io/sink/dicom_pack.h"

struct memory_stream {
    unsigned char *data;
    size_t bytes, at, room;
};

/* Makes room for `bytes`, and for one more that makes the length even. */
static bool grow(struct memory_stream *stream, size_t bytes)
{
    if (bytes + 1 <= stream->room)
        return true;
    const size_t room = 2 * bytes + 4096;
    unsigned char *larger = realloc(stream->data, room);
    if (!larger)
        return false;
    memset(larger + stream->room, 0, room - stream->room);
    stream->data = larger;
    stream->room = room;
    return true;
}

static OPJ_SIZE_T write_bytes(void *data, OPJ_SIZE_T n, void *user)
{
    struct memory_stream *stream = user;
    if (!grow(stream, stream->at + n))
        return (OPJ_SIZE_T)-1;
    memcpy(stream->data + stream->at, data, n);
    stream->at += n;
    stream->bytes = stream->at > stream->bytes ? stream->at : stream->bytes;
    return n;
}

static OPJ_BOOL seek_to(OPJ_OFF_T offset, void *user)
{
    struct memory_stream *stream = user;
    if (offset < 0 || !grow(stream, (size_t)offset))
        return OPJ_FALSE;
    stream->at = (size_t)offset;
    return OPJ_TRUE;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T n, void *user)
{
    const struct memory_stream *stream = user;
    return seek_to((OPJ_OFF_T)stream->at + n, user) ? n : -1;
}

static void ignore(const char *message, void *user)
{
    (void)message;
    (void)user;
}

static opj_image_t *make_image(const struct dicom_pixels *pixels)
{
    opj_image_cmptparm_t form = {.dx = 1,
                                 .dy = 1,
                                 .w = (OPJ_UINT32)pixels->columns,
                                 .h = (OPJ_UINT32)pixels->rows,
                                 .prec = (OPJ_UINT32)pixels->bits,
                                 .sgnd = pixels->is_signed};
    opj_image_t *image = opj_image_create(1, &form, OPJ_CLRSPC_GRAY);
    if (!image)
        return NULL;
    image->x1 = (OPJ_UINT32)pixels->columns;
    image->y1 = (OPJ_UINT32)pixels->rows;
    for (size_t i = 0; i < pixels->rows * pixels->columns; i++)
        image->comps[0].data[i] =
            pixels->is_signed ? (int16_t)pixels->values[i] : pixels->values[i];
    return image;
}

static bool encode(const struct dicom_pixels *pixels, opj_codec_t *codec, opj_stream_t *output,
                   opj_image_t *image)
{
    const size_t side = pixels->rows < pixels->columns ? pixels->rows : pixels->columns;
    opj_cparameters_t parameters;
    opj_set_default_encoder_parameters(&parameters);
    parameters.tcp_numlayers = 1;
    parameters.cp_disto_alloc = 1;
    while (parameters.numresolution > 1 && side >> (parameters.numresolution - 1) == 0)
        parameters.numresolution--;
    opj_set_error_handler(codec, ignore, NULL);
    opj_set_warning_handler(codec, ignore, NULL);
    return opj_setup_encoder(codec, &parameters, image) &&
           opj_start_compress(codec, image, output) && opj_encode(codec, output) &&
           opj_end_compress(codec, output);
}

bool ts_dicom_pack_jpeg_2000(const struct dicom_pixels *pixels, unsigned char **out, size_t *bytes)
{
    struct memory_stream memory = {0};
    opj_image_t *image = make_image(pixels);
    opj_codec_t *codec = opj_create_compress(OPJ_CODEC_J2K);
    opj_stream_t *output = opj_stream_create(OPJ_J2K_STREAM_CHUNK_SIZE, OPJ_FALSE);
    bool done = image && codec && output;
    if (done) {
        opj_stream_set_write_function(output, write_bytes);
        opj_stream_set_seek_function(output, seek_to);
        opj_stream_set_skip_function(output, skip_bytes);
        opj_stream_set_user_data(output, &memory, NULL);
        done = encode(pixels, codec, output, image);
    }
    if (output)
        opj_stream_destroy(output);
    if (codec)
        opj_destroy_codec(codec);
    if (image)
        opj_image_destroy(image);
    if (!done) {
        free(memory.data);
        memory.data = NULL;
    }
    *out = memory.data;
    *bytes = (memory.bytes + 1) / 2 * 2;
    return done;
}
