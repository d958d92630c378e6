/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows are found before anything is drawn, since those of one image are the same in all of its planes. Names come
 * from files, and are escaped before they reach a terminal.
 */
#include "pipeline/preview/preview.h"

#include <stdlib.h>

#include "io/file/png.h"
#include "pipeline/preview/preview_sheet.h"

enum { NAME_BYTES = 2048, TEXT_BYTES = 256 };

static void print_planes(const struct preview_image *image, FILE *report)
{
    char name[NAME_BYTES], size[TEXT_BYTES], window[TEXT_BYTES];
    ts_text_escape(name, sizeof name, image->name);
    ts_preview_window_text(image, window, sizeof window);
    for (int i = 0; i < image->n_planes; i++) {
        const struct preview_plane *plane = &image->planes[i];
        ts_preview_size_text(plane, size, sizeof size);
        fprintf(report, "%s %s%sslice %lld", name, plane->name, *plane->name ? " " : "", (long long)plane->index);
        if (image->n_volumes > 1)
            fprintf(report, " of volume %lld", (long long)plane->volume);
        if (plane->volume_name)
            fprintf(report, " (%s)", plane->volume_name);
        fprintf(report, ": %s, %s\n", size, window);
    }
}

/* Finds one window for all planes of an image. A dataset that is a picture of its own is shown with all its values. */
static enum ts_status find_window(const struct gray_window_request *given, struct preview_image *image,
                                  struct ts_diag *diag)
{
    struct gray_values planes[PREVIEW_MONTAGE];
    struct gray_window_request request = *given;
    if (image->is_picture && request.kind == GRAY_AUTO)
        request.kind = GRAY_FULL;
    for (int i = 0; i < image->n_planes; i++)
        planes[i] = (struct gray_values){image->planes[i].values,
                                         (size_t)image->planes[i].rows * (size_t)image->planes[i].columns};
    return ts_gray_window_find(&request, image->image.quantity, planes, image->n_planes, &image->window, diag);
}

enum ts_status ts_preview_write(const struct preview_request *request, const struct preview_style *style,
                                const char *output, FILE *report, struct ts_diag *diag)
{
    struct preview_images images;
    struct preview_sheet sheet = {0};
    enum ts_status status = ts_preview_images(request, &images, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        status = find_window(&style->window, &images.at[i], diag);
    if (status == TS_OK)
        status = ts_preview_sheet(&images, style->plain, style->blocks, &sheet, diag);
    if (status == TS_OK)
        status = ts_png_write_gray8(output, sheet.width, sheet.height, sheet.gray, diag);
    for (size_t i = 0; i < images.n && status == TS_OK; i++)
        print_planes(&images.at[i], report);
    if (status == TS_OK && images.left_out > 0)
        fprintf(report, "%zu more images are in the file; --dataset shows one of them\n", images.left_out);
    free(sheet.gray);
    ts_preview_images_close(&images);
    return status;
}
