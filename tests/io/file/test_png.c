/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures are read back with libpng: pixels of every kind, in one file and in memory, and what a
 * file states beside them.
 */
#include <criterion/criterion.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/png.h"

static void expect_pixels(const void *bytes, size_t n, int width, int height, png_uint_32 format,
                          const void *pixels)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    cr_assert(png_image_begin_read_from_memory(&image, bytes, n), "%s", image.message);
    cr_assert((int)image.width == width && (int)image.height == height && image.format == format);
    unsigned char *read = malloc(PNG_IMAGE_SIZE(image));
    cr_assert(read && png_image_finish_read(&image, NULL, read, 0, NULL), "%s", image.message);
    cr_expect(!memcmp(read, pixels, PNG_IMAGE_SIZE(image)), "%d x %d of format %u", width, height,
              format);
    free(read);
}

Test(png, pixels_are_those_that_were_written)
{
    static const int sizes[][2] = {{1, 1}, {1, 7}, {300, 1}, {37, 23}, {512, 130}};
    static const struct {
        enum png_kind kind;
        png_uint_32 format;
    } kinds[] = {{PNG_GRAY8, PNG_FORMAT_GRAY}, {PNG_RGBA8, PNG_FORMAT_RGBA}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct png_picture picture = {
                .width = sizes[i][0], .height = sizes[i][1], .kind = kinds[k].kind};
            const size_t bytes =
                (size_t)picture.width * (size_t)picture.height * ts_png_pixel_bytes(picture.kind);
            unsigned char *pixels = malloc(bytes);
            void *file;
            size_t n;
            cr_assert(pixels);
            for (size_t j = 0; j < bytes; j++)
                pixels[j] = (unsigned char)(j * j / 5 + (j & 3 ? 0 : 200));
            cr_assert_eq(ts_png_encode(&picture, pixels, &file, &n), 0);
            expect_pixels(file, n, sizes[i][0], sizes[i][1], kinds[k].format, pixels);
            free(file);
            free(pixels);
        }
}

/* libpng's simple reader makes 16 bits linear; the whole one gives them as they are. */
Test(png, of_16_bits_states_its_comment_and_the_size_of_a_pixel)
{
    static const unsigned char pixels[] = {0, 0, 1, 2, 255, 255, 128, 7, 0, 255, 255, 0};
    const struct png_picture picture = {.width = 3,
                                        .height = 2,
                                        .kind = PNG_GRAY16,
                                        .pixel_mm = {0.5, 0.25},
                                        .comment = "black is 0"};
    void *bytes;
    size_t n;
    cr_assert_eq(ts_png_encode(&picture, pixels, &bytes, &n), 0);
    FILE *file = fmemopen(bytes, n, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    cr_assert(file && info);
    if (setjmp(png_jmpbuf(png)))
        cr_assert_fail("libpng cannot read it");
    png_init_io(png, file);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    cr_assert(png_get_image_width(png, info) == 3 && png_get_image_height(png, info) == 2);
    cr_assert(png_get_bit_depth(png, info) == 16 &&
              png_get_color_type(png, info) == PNG_COLOR_TYPE_GRAY);
    for (size_t y = 0; y < 2; y++)
        cr_expect(!memcmp(png_get_rows(png, info)[y], pixels + 6 * y, 6));
    png_textp texts;
    int n_texts;
    png_get_text(png, info, &texts, &n_texts);
    cr_assert_eq(n_texts, 1);
    cr_expect(!strcmp(texts[0].key, "Comment") && !strcmp(texts[0].text, "black is 0"));
    cr_expect(png_get_x_pixels_per_meter(png, info) == 2000 &&
              png_get_y_pixels_per_meter(png, info) == 4000);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    free(bytes);
}

Test(png, a_picture_without_pixels_or_too_large_is_refused)
{
    static const int64_t sizes[][2] = {
        {0, 4}, {4, 0}, {PNG_LONGEST_SIDE + 1, 1}, {1, PNG_LONGEST_SIDE + 1}};
    const uint8_t pixel = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ts_diag *diag = ts_diag_create();
        void *bytes;
        size_t n;
        cr_expect_eq(ts_png_gray8(sizes[i][0], sizes[i][1], &pixel, &bytes, &n, diag),
                     TS_RUN_FAILED);
        cr_expect(!bytes && n == 0 && !strcmp(ts_diag_get(diag, 0)->code, "png-write"));
        ts_diag_destroy(diag);
    }
}
