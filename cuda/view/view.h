/* SPDX-License-Identifier: Apache-2.0
 *
 * A viewer's part on a CUDA device: copies of the images that are shown, and the kernel that draws
 * pictures of them (cuda/view/picture.h), to host memory or into a pixel buffer object of OpenGL. A
 * viewer belongs to one thread, which is the thread of the OpenGL context if there is one. If this
 * build has no CUDA code, ts_cuda_view_create refuses and nothing else can be reached.
 */
#ifndef CUDA_VIEW_VIEW_H
#define CUDA_VIEW_VIEW_H

#include "cuda/device/session.h"
#include "cuda/view/picture.h"

struct cuda_view;

/* A viewer has the image that is shown, and the slice that a stage makes of it while a slider is
 * moved. */
enum view_image { VIEW_WHOLE, VIEW_MADE, VIEW_IMAGES };

/* The program with windows calls these. */
#pragma GCC visibility push(default)
/* Creates a viewer on a device; fork workers before. `diag` receives the errors of all later
 * calls. */
enum ts_status ts_cuda_view_create(const struct device_numbers *device, struct ts_diag *diag,
                                   struct cuda_view **view);
/* NULL does nothing. */
void ts_cuda_view_destroy(struct cuda_view *view);
/* Makes room for an image that replaces the one before. TS_RUN_FAILED (code cuda-memory) if it does
 * not fit. */
enum ts_status ts_cuda_view_image(struct cuda_view *view, enum view_image which,
                                  const struct ts_image *image);
/* Copies slices from host memory to the image on the device; z_first is their index in the whole
 * image. */
enum ts_status ts_cuda_view_slices(struct cuda_view *view, enum view_image which,
                                   const struct ts_image *slices);
/* Runs a stage that was prepared for this device and the image VIEW_WHOLE, as far as slice z of its
 * output needs it, and writes that slice to VIEW_MADE, which has room for one. No pixel passes
 * through the host. */
enum ts_status ts_cuda_view_make(struct cuda_view *view, const struct stage_context *context,
                                 int64_t z);
/* Copies bytes of an image, starting at `offset`, to the host, such as a sample under the pointer
 * or a slice to be counted. */
enum ts_status ts_cuda_view_read(struct cuda_view *view, enum view_image which, size_t offset,
                                 size_t bytes, void *to);
/* Draws a picture to host memory, 4 bytes a pixel. The `data` of its panes point into
 * images[which].data on the host; the device's copy is drawn. */
enum ts_status ts_cuda_view_draw(struct cuda_view *view, const struct view_picture *picture,
                                 const struct ts_image images[VIEW_IMAGES], void *pixels);
/* Registers a pixel buffer object of the calling thread's OpenGL context in place of the one
 * before; 0: none from now on. TS_RUN_FAILED if this device does not draw OpenGL. */
enum ts_status ts_cuda_view_buffer(struct cuda_view *view, unsigned buffer);
/* Draws a picture into that buffer, which has 4 bytes a pixel. OpenGL may use it when this
 * returns. */
enum ts_status ts_cuda_view_draw_buffer(struct cuda_view *view, const struct view_picture *picture,
                                        const struct ts_image images[VIEW_IMAGES]);
/* Copies bytes of a run's device memory to the host, after all that the run has enqueued there. The
 * run's thread calls it. */
enum ts_status ts_cuda_view_fetch(void *to, const void *from, size_t bytes, struct ts_diag *diag);
#pragma GCC visibility pop

#endif
