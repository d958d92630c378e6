/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes PNG, 8 bits a sample, through libpng's simplified API, which returns errors instead of jumping. Not
 * through its png_image_write_to_file: on failure that removes whatever the path names, a device too.
 */
#include "io/file/png.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/whole_file.h"

static enum ts_status write_png(const char *path, int64_t width, int64_t height, png_uint_32 format, const void *pixels,
                                struct ts_diag *diag)
{
    enum { LONGEST_SIDE = 1 << 20 };
    const struct diag_site site = {.code = "png-write"};
    if (width < 1 || height < 1 || width > LONGEST_SIDE || height > LONGEST_SIDE)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "a picture of %lld x %lld pixels cannot be a PNG",
                             (long long)width, (long long)height);
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = (png_uint_32)width, .height = (png_uint_32)height, .format = format};
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    errno = 0;
    if (png_image_write_to_stdio(&image, file.stream, 0, pixels, 0, NULL))
        return ts_whole_file_close(&file, diag);
    const int error = errno;
    ts_whole_file_discard(&file);
    return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s could not be written: %s", path,
                         error ? strerror(error) : image.message);
}

enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag)
{
    return write_png(path, width, height, PNG_FORMAT_GRAY, pixels, diag);
}

enum ts_status ts_png_gray8(int64_t width, int64_t height, const uint8_t *pixels, void **bytes, size_t *n,
                            struct ts_diag *diag)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_GRAY};
    png_alloc_size_t most = PNG_IMAGE_PNG_SIZE_MAX(image);
    *bytes = malloc(most);
    *n = 0;
    if (!*bytes)
        return ts_diag_no_memory(diag, most);
    if (png_image_write_to_memory(&image, *bytes, &most, 0, pixels, 0, NULL)) {
        *n = most;
        return TS_OK;
    }
    free(*bytes);
    *bytes = NULL;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "png-write"},
                         "a picture of %lld x %lld pixels could not be made: %s", (long long)width, (long long)height,
                         image.message);
}

enum ts_status ts_png_write_rgba8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag)
{
    return write_png(path, width, height, PNG_FORMAT_RGBA, pixels, diag);
}
