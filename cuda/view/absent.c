/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the viewer's CUDA side in builds without it. Creating a viewer refuses, so the other
 * calls, which are here for the linker, are never reached.
 */
#include "cuda/view/view.h"

enum ts_status ts_cuda_view_create(const struct device_numbers *device, struct ts_diag *diag,
                                   struct cuda_view **view)
{
    (void)device;
    *view = NULL;
    return ts_cuda_refuse(diag);
}

void ts_cuda_view_destroy(struct cuda_view *view)
{
    (void)view;
}

enum ts_status ts_cuda_view_image(struct cuda_view *view, enum view_image which,
                                  const struct ts_image *image)
{
    (void)view, (void)which, (void)image;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_slices(struct cuda_view *view, enum view_image which,
                                   const struct ts_image *slices)
{
    (void)view, (void)which, (void)slices;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_make(struct cuda_view *view, const struct stage_context *context,
                                 int64_t z)
{
    (void)view, (void)context, (void)z;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_read(struct cuda_view *view, enum view_image which, size_t offset,
                                 size_t bytes, void *to)
{
    (void)view, (void)which, (void)offset, (void)bytes, (void)to;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_draw(struct cuda_view *view, const struct view_picture *picture,
                                 const struct ts_image images[VIEW_IMAGES], void *pixels)
{
    (void)view, (void)picture, (void)images, (void)pixels;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_buffer(struct cuda_view *view, unsigned buffer)
{
    (void)view, (void)buffer;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_draw_buffer(struct cuda_view *view, const struct view_picture *picture,
                                        const struct ts_image images[VIEW_IMAGES])
{
    (void)view, (void)picture, (void)images;
    return TS_RUN_FAILED;
}

enum ts_status ts_cuda_view_fetch(void *to, const void *from, size_t bytes, struct ts_diag *diag)
{
    (void)to, (void)from, (void)bytes;
    return ts_cuda_refuse(diag);
}
