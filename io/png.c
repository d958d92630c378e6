/* SPDX-License-Identifier: Apache-2.0
 *
 * 8-bit gray PNG through libpng's simplified API, which returns errors instead of jumping.
 */
#include "io/png.h"

#include <errno.h>
#include <png.h>
#include <string.h>

enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag)
{
    enum { LONGEST_SIDE = 1 << 20 };
    const struct diag_site site = {.code = "png-write"};
    if (width < 1 || height < 1 || width > LONGEST_SIDE || height > LONGEST_SIDE)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "a picture of %lld x %lld pixels cannot be a PNG",
                             (long long)width, (long long)height);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_GRAY};
    errno = 0;
    if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s could not be written: %s", path,
                             errno ? strerror(errno) : image.message);
    return TS_OK;
}
