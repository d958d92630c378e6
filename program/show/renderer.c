/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU draws rows in as many threads as it may use; the device's part is in cuda/view/view.cu.
 */
#include "program/show/renderer.h"

enum ts_status ts_renderer_create(struct renderer *renderer, const struct device_numbers *device,
                                  int threads, struct ts_diag *diag)
{
    *renderer = (struct renderer){.threads = threads};
    return device ? ts_cuda_view_create(device, diag, &renderer->cuda) : TS_OK;
}

void ts_renderer_destroy(struct renderer *renderer)
{
    ts_cuda_view_destroy(renderer->cuda);
    *renderer = (struct renderer){0};
}

enum ts_status ts_renderer_image(struct renderer *renderer, enum view_image which,
                                 const struct ts_image *image)
{
    renderer->images[which] = *image;
    return renderer->cuda ? ts_cuda_view_image(renderer->cuda, which, image) : TS_OK;
}

enum ts_status ts_renderer_slices(struct renderer *renderer, enum view_image which,
                                  const struct ts_image *slices)
{
    return renderer->cuda ? ts_cuda_view_slices(renderer->cuda, which, slices) : TS_OK;
}

enum ts_status ts_renderer_draw(struct renderer *renderer, const struct view_picture *picture,
                                void *pixels)
{
    uint32_t *out = pixels;
    if (renderer->cuda)
        return ts_cuda_view_draw(renderer->cuda, picture, renderer->images, pixels);
#pragma omp parallel for num_threads(renderer->threads) schedule(static)
    for (int32_t y = 0; y < picture->height; y++)
        for (int32_t x = 0; x < picture->width; x++)
            out[(int64_t)y * picture->width + x] = ts_view_pixel(picture, picture->colors, x, y);
    return TS_OK;
}
