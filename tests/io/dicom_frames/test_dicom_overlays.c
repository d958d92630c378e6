/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits beside the value, such as overlays, and values that do not end at the lowest bit: compressed
 * frames give the values of native ones. The frames are those of slice 0 of the fixture.
 */
#include <criterion/criterion.h>
#include <openjpeg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS, FRAME_BYTES = 4096 };

#define JPEG_LOSSLESS "1.2.840.10008.1.2.4.70"
#define JPEG_LS "1.2.840.10008.1.2.4.80"
#define JPEG_2000_EXACT "1.2.840.10008.1.2.4.90"
#define JPEG_2000 "1.2.840.10008.1.2.4.91"

/* dcmcjpls and dcmcjpeg made these: of the values with 12 bits a sample (dcmcjpeg less 1000), and
 * of 16 value + column % 3 with 16. */
static const unsigned char jpeg_ls_12[] = {
    255, 216, 255, 247, 0,  11,  12,  0,  7,   0,   5,   1,   1,   17,  0,   255, 218, 0,
    8,   1,   1,   0,   0,  0,   0,   0,  0,   0,   0,   158, 6,   86,  141, 161, 103, 210,
    153, 31,  10,  135, 36, 165, 231, 98, 114, 193, 33,  97,  192, 144, 174, 70,  82,  106,
    33,  43,  17,  19,  25, 31,  21,  73, 76,  143, 133, 67,  144, 255, 217, 0};
static const unsigned char jpeg_12[] = {
    255, 216, 255, 224, 0,   16,  74,  70,  73,  70,  0,   1,   1,   0,   0,   1,   0,
    1,   0,   0,   255, 195, 0,   11,  12,  0,   7,   0,   5,   1,   1,   17,  0,   255,
    196, 0,   23,  0,   1,   1,   1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   8,   9,   6,   12,  255, 218, 0,   8,   1,   1,   0,   1,   0,   0,
    231, 255, 0,   105, 180, 218, 109, 61,  43,  129, 192, 224, 112, 105, 93,  174, 215,
    107, 183, 74,  250, 125, 62,  159, 90,  90,  15,  65,  232, 61,  7,   210, 209, 74,
    41,  69,  40,  166, 150, 144, 210, 26,  67,  72,  127, 255, 255, 217};
static const unsigned char jpeg_ls_16[] = {
    255, 216, 255, 247, 0,   11,  16,  0,   7,   0,   5,   1,   1,   17,  0,   255, 248,
    0,   13,  1,   255, 255, 0,   18,  0,   67,  1,   20,  0,   64,  255, 218, 0,   8,
    1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   159, 224, 102, 22,  151, 218, 87,
    105, 109, 40,  24,  249, 247, 10,  244, 114, 4,   152, 99,  103, 212, 43,  146, 199,
    146, 65,  139, 159, 48,  173, 75,  28,  72,  134, 38,  124, 66,  177, 44,  105, 32,
    24,  121, 239, 10,  180, 177, 132, 120, 97,  103, 180, 42,  146, 197, 128, 255, 217};
static const unsigned char jpeg_16[] = {
    255, 216, 255, 224, 0,   16,  74,  70,  73, 70,  0,   1,   1,   0,   0,   1,   0,   1,   0,
    0,   255, 195, 0,   11,  16,  0,   7,   0,  5,   1,   1,   17,  0,   255, 196, 0,   23,  0,
    1,   1,   1,   1,   0,   0,   0,   0,   0,  0,   0,   0,   0,   0,   0,   0,   12,  13,  10,
    15,  255, 218, 0,   8,   1,   1,   0,   1,  0,   0,   231, 207, 237, 49,  105, 139, 75,  154,
    99,  165, 7,   0,   184, 5,   191, 206, 1,  210, 131, 180, 93,  162, 236, 231, 104, 233, 65,
    244, 47,  161, 124, 243, 232, 116, 161, 65, 198, 131, 141, 6,   234, 14,  58,  80,  162, 131,
    69,  6,   137, 245, 20,  29,  40,  82,  17, 164, 35,  72,  58,  144, 143, 255, 255, 217};

struct memory {
    unsigned char bytes[FRAME_BYTES];
    size_t at, length;
};

static OPJ_SIZE_T put_bytes(void *bytes, OPJ_SIZE_T n, void *user)
{
    struct memory *memory = user;
    cr_assert(memory->at + n <= FRAME_BYTES);
    memcpy(memory->bytes + memory->at, bytes, n);
    memory->at += n;
    memory->length = memory->at > memory->length ? memory->at : memory->length;
    return n;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T n, void *user)
{
    ((struct memory *)user)->at += (size_t)n;
    return n;
}

static OPJ_BOOL seek_to(OPJ_OFF_T offset, void *user)
{
    ((struct memory *)user)->at = (size_t)offset;
    return OPJ_TRUE;
}

/* Compresses the samples as one JPEG 2000 frame. */
static void compress(const int *samples, int precision, bool is_signed, bool lossy,
                     struct memory *out)
{
    opj_cparameters_t parameters;
    opj_image_cmptparm_t component = {.dx = 1,
                                      .dy = 1,
                                      .w = FIXTURE_COLUMNS,
                                      .h = FIXTURE_ROWS,
                                      .prec = (OPJ_UINT32)precision,
                                      .sgnd = is_signed};
    opj_image_t *image = opj_image_create(1, &component, OPJ_CLRSPC_GRAY);
    opj_codec_t *codec = opj_create_compress(OPJ_CODEC_J2K);
    opj_stream_t *stream = opj_stream_create(FRAME_BYTES, OPJ_FALSE);
    *out = (struct memory){.at = 0};
    image->x1 = FIXTURE_COLUMNS;
    image->y1 = FIXTURE_ROWS;
    for (int i = 0; i < PIXELS; i++)
        image->comps[0].data[i] = samples[i];
    opj_set_default_encoder_parameters(&parameters);
    parameters.numresolution = 2;
    parameters.irreversible = lossy;
    parameters.tcp_numlayers = 1;
    parameters.tcp_rates[0] = 0;
    parameters.cp_disto_alloc = 1;
    opj_stream_set_write_function(stream, put_bytes);
    opj_stream_set_skip_function(stream, skip_bytes);
    opj_stream_set_seek_function(stream, seek_to);
    opj_stream_set_user_data(stream, out, NULL);
    cr_assert(opj_setup_encoder(codec, &parameters, image) &&
              opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
              opj_end_compress(codec, stream));
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    opj_image_destroy(image);
}

/* Opens one slice with these frame and bits, and returns its values; NULL where it is refused. */
static int16_t *read_slice(struct dicom_fixture *f, int stored, int high, bool is_signed,
                           struct ts_diag *diag, enum ts_dtype *dtype)
{
    char folder[64], path[96];
    struct source *source = NULL;
    void *data = NULL;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/1.dcm", folder);
    ts_fixture_us(f, 0x00280101, (uint16_t)stored);
    ts_fixture_us(f, 0x00280102, (uint16_t)high);
    ts_fixture_us(f, 0x00280103, is_signed);
    ts_fixture_text(f, 0x00281052, "DS", "0");
    ts_fixture_write(f, path);
    ts_fixture_clear(f);
    if (ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag) == TS_OK) {
        data = ts_test_read_all(source, diag);
        *dtype = source->image.dtype;
        source->ops->close(source);
    }
    ts_test_remove_folder(folder);
    return data;
}

static void expect_values(const int16_t *data, int offset, int tolerance, const char *what)
{
    cr_assert_not_null(data, "%s", what);
    for (int i = 0; i < PIXELS; i++) {
        const int wanted = ts_fixture_stored(i % FIXTURE_COLUMNS, i / FIXTURE_COLUMNS, 0) + offset;
        cr_assert(abs((uint16_t)data[i] - (uint16_t)wanted) <= tolerance,
                  "%s: pixel %d is %d, not %d", what, i, data[i], wanted);
    }
}

/* The bits of row i beside the value, in a cell of 16 bits. */
static int dirt_of(int i, int stored, int high)
{
    return (i * 2654435 & 0xFFFF) & ~(((1 << stored) - 1) << (high + 1 - stored)) & 0xFFFF;
}

Test(dicom_overlays, jpeg_2000_is_masked_as_native_pixels_are)
{
    static const struct {
        int stored, high, precision;
        bool is_signed, encoded_signed, lossy, dirty;
        bool own; /* it is read with its own bits, and a warning says so */
    } rows[] = {
        {12, 11, 16, false, false, false, true, false},
        {12, 13, 16, false, false, false, true, false},
        {12, 15, 16, false, false, false, true, false},
        {12, 15, 16, false, true, false, true, false},
        {12, 11, 16, true, false, false, true, false},
        {12, 15, 16, true, true, false, true, false},
        {12, 11, 14, false, false, false, true, false},
        {12, 11, 12, false, false, false, false, false},
        {12, 15, 12, false, false, false, false, false},
        {16, 15, 12, false, false, false, false, true},
        {12, 11, 16, false, false, true, false, true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int samples[PIXELS];
        char what[32];
        static struct memory frame;
        struct dicom_fixture f;
        enum ts_dtype dtype;
        struct ts_diag *diag = ts_diag_create();
        const int high = rows[r].high < rows[r].precision ? rows[r].high : rows[r].precision - 1;
        const int stored = rows[r].stored < rows[r].precision ? rows[r].stored : rows[r].precision;
        const int offset = rows[r].is_signed ? -2048 : 0;
        snprintf(what, sizeof what, "row %zu", r);
        for (int i = 0; i < PIXELS; i++) {
            const int value =
                ts_fixture_stored(i % FIXTURE_COLUMNS, i / FIXTURE_COLUMNS, 0) + offset;
            const int bits = (value & ((1 << stored) - 1)) << (high + 1 - stored),
                      dirt = rows[r].dirty
                                 ? dirt_of(i, stored, high) & ((1 << rows[r].precision) - 1)
                                 : 0;
            samples[i] = rows[r].encoded_signed ? (int16_t)(bits | dirt) : bits | dirt;
        }
        compress(samples, rows[r].precision, rows[r].encoded_signed, rows[r].lossy, &frame);
        ts_fixture_init(&f, 0);
        ts_fixture_encapsulate(&f, rows[r].lossy ? JPEG_2000 : JPEG_2000_EXACT, frame.bytes,
                               frame.length);
        int16_t *data =
            read_slice(&f, rows[r].stored, rows[r].high, rows[r].is_signed, diag, &dtype);
        expect_values(data, offset, rows[r].lossy ? 3 : 0, what);
        bool warned = false;
        for (size_t i = 0; i < ts_diag_count(diag); i++)
            warned |= strstr(ts_diag_get(diag, i)->message, "is read with its own") != NULL;
        cr_expect_eq(warned, rows[r].own, "%s", what);
        free(data);
        ts_diag_destroy(diag);
    }
}

Test(dicom_overlays, jpeg_and_jpeg_ls_are_masked_as_native_pixels_are)
{
    static const struct {
        const char *name, *syntax;
        const unsigned char *frame;
        size_t bytes;
        int stored, high, offset;
    } rows[] = {
        {"JPEG-LS, 16 bits, High Bit 15", JPEG_LS, jpeg_ls_16, sizeof jpeg_ls_16, 12, 15, 0},
        {"JPEG, 16 bits, High Bit 15", JPEG_LOSSLESS, jpeg_16, sizeof jpeg_16, 12, 15, 0},
        {"JPEG-LS, 12 bits", JPEG_LS, jpeg_ls_12, sizeof jpeg_ls_12, 12, 11, 0},
        {"JPEG, 12 bits", JPEG_LOSSLESS, jpeg_12, sizeof jpeg_12, 12, 11, -1000},
        {"JPEG-LS, 12 bits, High Bit 15", JPEG_LS, jpeg_ls_12, sizeof jpeg_ls_12, 12, 15, 0},
        {"JPEG, 12 bits, High Bit 15", JPEG_LOSSLESS, jpeg_12, sizeof jpeg_12, 12, 15, -1000},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct dicom_fixture f;
        enum ts_dtype dtype;
        struct ts_diag *diag = ts_diag_create();
        ts_fixture_init(&f, 0);
        ts_fixture_encapsulate(&f, rows[r].syntax, rows[r].frame, rows[r].bytes);
        int16_t *data = read_slice(&f, rows[r].stored, rows[r].high, false, diag, &dtype);
        expect_values(data, rows[r].offset, 0, rows[r].name);
        free(data);
        ts_diag_destroy(diag);
    }
}
