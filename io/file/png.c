/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes PNG, 8 bits a sample, through libpng's simplified API, which returns errors instead of jumping. Pictures
 * are compressed in memory and then committed as a whole.
 */
#include "io/file/png.h"

#include <png.h>
#include <stdlib.h>

#include "io/file/file_commit.h"

/* Compresses a picture into memory; the caller frees *bytes, NULL where that fails. */
static enum ts_status encode(int64_t width, int64_t height, png_uint_32 format, const void *pixels, void **bytes,
                             size_t *n, struct ts_diag *diag)
{
    enum { LONGEST_SIDE = 1 << 20 };
    const struct diag_site site = {.code = "png-write"};
    *bytes = NULL;
    *n = 0;
    if (width < 1 || height < 1 || width > LONGEST_SIDE || height > LONGEST_SIDE)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "a picture of %lld x %lld pixels cannot be a PNG",
                             (long long)width, (long long)height);
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = (png_uint_32)width, .height = (png_uint_32)height, .format = format};
    png_alloc_size_t most = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *room = malloc(most);
    if (!room)
        return ts_diag_no_memory(diag, most);
    if (png_image_write_to_memory(&image, room, &most, 0, pixels, 0, NULL)) {
        *bytes = room;
        *n = most;
        return TS_OK;
    }
    free(room);
    return ts_diag_error(diag, TS_RUN_FAILED, &site, "a picture of %lld x %lld pixels could not be made: %s",
                         (long long)width, (long long)height, image.message);
}

static enum ts_status write_png(const char *path, int64_t width, int64_t height, png_uint_32 format, const void *pixels,
                                struct ts_diag *diag)
{
    void *bytes;
    size_t n;
    enum ts_status status = encode(width, height, format, pixels, &bytes, &n, diag);
    if (status == TS_OK)
        status = ts_file_write(path, bytes, n, true, diag);
    free(bytes);
    return status;
}

enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag)
{
    return write_png(path, width, height, PNG_FORMAT_GRAY, pixels, diag);
}

enum ts_status ts_png_gray8(int64_t width, int64_t height, const uint8_t *pixels, void **bytes, size_t *n,
                            struct ts_diag *diag)
{
    return encode(width, height, PNG_FORMAT_GRAY, pixels, bytes, n, diag);
}

enum ts_status ts_png_write_rgba8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag)
{
    return write_png(path, width, height, PNG_FORMAT_RGBA, pixels, diag);
}
