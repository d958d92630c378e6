/* SPDX-License-Identifier: Apache-2.0
 *
 * A renderer draws pictures of images in host memory by the rule of cuda/view/picture.h: on the
 * CPU, or on a CUDA device, which then holds a copy of the images. Both give the same bytes.
 */
#ifndef PROGRAM_SHOW_RENDERER_H
#define PROGRAM_SHOW_RENDERER_H

#include "cuda/view/view.h"

struct renderer {
    struct ts_image images[VIEW_IMAGES]; /* borrowed, in host memory; data NULL: none */
    struct cuda_view *cuda;              /* NULL: the CPU draws */
    int threads;
};

/* Prepares a renderer that draws on a device; NULL: on the CPU. */
enum ts_status ts_renderer_create(struct renderer *renderer, const struct device_numbers *device,
                                  int threads, struct ts_diag *diag);
void ts_renderer_destroy(struct renderer *renderer);
/* Announces an image, whose memory must stay, and takes its slices if the device has none yet. */
enum ts_status ts_renderer_image(struct renderer *renderer, enum view_image which,
                                 const struct ts_image *image);
/* Announces that these slices have new values; z_first is relative to the whole image. */
enum ts_status ts_renderer_slices(struct renderer *renderer, enum view_image which,
                                  const struct ts_image *slices);
/* Draws an RGBA picture of width * height * 4 bytes. */
enum ts_status ts_renderer_draw(struct renderer *renderer, const struct view_picture *picture,
                                void *pixels);

#endif
