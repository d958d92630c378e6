/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/pictures.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/png.h"

/* False where there is none. */
static bool find_folder(char *folder, size_t size)
{
    const char *named = getenv("TOMOSTAGE_PICTURES");
    char program[4096] = "";
    if (named && *named) {
        snprintf(folder, size, "%s", named);
        return true;
    }
    if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0 || !strrchr(program, '/'))
        return false;
    strrchr(program, '/')[0] = '\0';
    snprintf(folder, size, "%s/pictures", program);
    return mkdir(folder, 0777) == 0 || (errno == EEXIST && access(folder, W_OK) == 0);
}

void ts_test_picture(const char *name, const double *values, size_t width, size_t height,
                     double low, double high)
{
    char folder[4096 + 16], path[4096 + 128];
    if (!find_folder(folder, sizeof folder))
        return;
    uint8_t *pixels = malloc(width * height);
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < width * height; i++)
        pixels[i] = (uint8_t)(255 * fmin(1, fmax(0, (values[i] - low) / (high - low))));
    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    cr_assert_eq(ts_png_write_gray8(path, (int64_t)width, (int64_t)height, pixels, diag), TS_OK,
                 "%s", path);
    ts_diag_destroy(diag);
    free(pixels);
}
