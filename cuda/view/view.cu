/* SPDX-License-Identifier: Apache-2.0
 *
 * The viewer on a CUDA device: a thread draws one pixel by the rule of cuda/view/picture.h. It
 * reads one sample (four if it interpolates) and a byte of the overlay, and writes 4 bytes. Blocks
 * are 32 x 8, so that a warp reads and writes along a row. The color map is read from shared
 * memory, since neighbors have different levels.
 *
 * Each image has a session of its own, whose memory is freed when a different image replaces it.
 */
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" {
#include "cuda/device/driver.h"
#include "cuda/view/view.h"
}

extern "C" {
/* From cuda_gl_interop.h, which is not included because it needs the headers of OpenGL for one
 * integer type. */
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                         unsigned int buffer, unsigned int flags);
}

static const struct stage view_stage = {.name = "view"};

enum { BLOCK_X = 32, BLOCK_Y = 8, REGISTER_WRITE_DISCARD = 2 };

struct place {
    struct cuda_session *session;
    unsigned char *at; /* address on the device */
    size_t bytes;
    struct ts_image image; /* the image's description, without data */
};

struct cuda_view {
    const struct device_numbers *device;
    struct ts_diag *diag;
    struct place images[VIEW_IMAGES];
    struct place overlay, pixels; /* buffers for a picture of the present size */
    struct cudaGraphicsResource *buffer;
};

static __global__ void draw_pixels(const __grid_constant__ struct view_picture picture,
                                   uint32_t *pixels)
{
    __shared__ uint32_t colors[VIEW_COLORS];
    const int32_t x = (int32_t)(blockIdx.x * BLOCK_X + threadIdx.x),
                  y = (int32_t)(blockIdx.y * BLOCK_Y + threadIdx.y);
    const int thread = (int)(threadIdx.y * BLOCK_X + threadIdx.x);
    for (int i = thread; i < VIEW_COLORS; i += BLOCK_X * BLOCK_Y)
        colors[i] = picture.colors[i];
    __syncthreads();
    if (x < picture.width && y < picture.height)
        pixels[(int64_t)y * picture.width + x] = ts_view_pixel(&picture, colors, x, y);
}

static enum ts_status fold(const struct cuda_view *view, cudaError_t error, const char *what)
{
    return ts_cuda_fold(view->diag, "view", (int)error, what);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Makes sure that the place has this many bytes; one that already has them stays. */
static enum ts_status make_place(struct cuda_view *view, struct place *place, size_t bytes)
{
    if (place->session && place->bytes == bytes)
        return TS_OK;
    ts_cuda_session_destroy(place->session);
    *place = (struct place){};
    const enum ts_status status =
        ts_cuda_session_create(view->device, bytes, view->diag, &place->session);
    if (status != TS_OK)
        return status;
    place->bytes = bytes;
    place->at = (unsigned char *)ts_cuda_allocate(place->session, bytes);
    return place->at ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status copy(struct place *place, enum cuda_direction direction, void *to,
                           const void *from, size_t bytes)
{
    const enum ts_status status =
        ts_cuda_copy(place->session, CUDA_COMPUTE, direction, to, from, bytes);
    return status == TS_OK ? ts_cuda_wait(place->session, CUDA_COMPUTE) : status;
}

extern "C" enum ts_status ts_cuda_view_create(const struct device_numbers *device,
                                              struct ts_diag *diag, struct cuda_view **view)
{
    *view = (struct cuda_view *)calloc(1, sizeof **view);
    if (!*view)
        return ts_diag_no_memory(diag, sizeof **view);
    (*view)->device = device;
    (*view)->diag = diag;
    return TS_OK;
}

extern "C" void ts_cuda_view_destroy(struct cuda_view *view)
{
    if (!view)
        return;
    if (view->buffer)
        (void)cudaGraphicsUnregisterResource(view->buffer);
    for (int i = 0; i < VIEW_IMAGES; i++)
        ts_cuda_session_destroy(view->images[i].session);
    ts_cuda_session_destroy(view->overlay.session);
    ts_cuda_session_destroy(view->pixels.session);
    free(view);
}

extern "C" enum ts_status ts_cuda_view_image(struct cuda_view *view, enum view_image which,
                                             const struct ts_image *image)
{
    const enum ts_status status = make_place(view, &view->images[which], ts_image_bytes(image));
    view->images[which].image = *image;
    return status;
}

extern "C" enum ts_status ts_cuda_view_slices(struct cuda_view *view, enum view_image which,
                                              const struct ts_image *slices)
{
    struct place *place = &view->images[which];
    const size_t bytes = ts_slice_bytes(slices);
    return copy(place, CUDA_TO_DEVICE, place->at + (size_t)slices->z_first * bytes, slices->data,
                ts_image_bytes(slices));
}

extern "C" enum ts_status ts_cuda_view_read(struct cuda_view *view, enum view_image which,
                                            size_t offset, size_t bytes, void *to)
{
    struct place *place = &view->images[which];
    return copy(place, CUDA_TO_HOST, to, place->at + offset, bytes);
}

/* ---- a stage --------------------------------------------------------------------------------- */

extern "C" enum ts_status ts_cuda_view_make(struct cuda_view *view,
                                            const struct stage_context *context, int64_t z)
{
    struct place padded = {};
    struct stage_driver *driver = NULL;
    struct ts_image in = context->in, out = context->out;
    in.data = view->images[VIEW_WHOLE].at;
    out.data = view->images[VIEW_MADE].at;
    enum ts_status status = make_place(view, &padded, ts_driver_padded_bytes(context, 1) + 1);
    if (status == TS_OK)
        status = ts_cuda_driver_create(padded.session, context, 1, padded.at, &driver);
    if (status == TS_OK)
        status = ts_stage_apply_slice(driver, &in, &out, z);
    if (status == TS_OK)
        status = ts_cuda_wait(padded.session, CUDA_COMPUTE);
    ts_driver_destroy(driver);
    ts_cuda_session_destroy(padded.session);
    return status;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Returns the device address that corresponds to an address on the host. */
static const void *on_device(const struct cuda_view *view,
                             const struct ts_image images[VIEW_IMAGES], const void *data)
{
    for (int i = 0; i < VIEW_IMAGES; i++) {
        const size_t offset =
            (size_t)((const unsigned char *)data - (const unsigned char *)images[i].data);
        if (images[i].data && view->images[i].at && data >= images[i].data &&
            offset < view->images[i].bytes)
            return view->images[i].at + offset;
    }
    return NULL;
}

static enum ts_status view_launch(struct cuda_view *view, const struct view_picture *picture,
                                  const struct ts_image images[VIEW_IMAGES], uint32_t *pixels)
{
    struct view_picture there = *picture;
    const size_t n = (size_t)picture->width * (size_t)picture->height;
    enum ts_status status = make_place(view, &view->overlay, n);
    there.n_panes = 0;
    for (int i = 0; i < picture->n_panes; i++) {
        there.panes[there.n_panes] = picture->panes[i];
        there.panes[there.n_panes].data = on_device(view, images, picture->panes[i].data);
        there.n_panes += there.panes[there.n_panes].data != NULL;
    }
    if (status == TS_OK && picture->overlay) {
        there.overlay = view->overlay.at;
        status = ts_cuda_copy(view->overlay.session, CUDA_COMPUTE, CUDA_TO_DEVICE, view->overlay.at,
                              picture->overlay, n);
    }
    if (status != TS_OK)
        return status;
    const dim3 grid((unsigned)(picture->width + BLOCK_X - 1) / BLOCK_X,
                    (unsigned)(picture->height + BLOCK_Y - 1) / BLOCK_Y);
    draw_pixels<<<grid, dim3(BLOCK_X, BLOCK_Y), 0,
                  ts_cuda_stream(view->overlay.session, CUDA_COMPUTE)>>>(there, pixels);
    const struct stage_context context = {.stage = &view_stage, .diag = view->diag};
    status = ts_cuda_launched(&context, "draw_pixels");
    return status == TS_OK ? ts_cuda_wait(view->overlay.session, CUDA_COMPUTE) : status;
}

extern "C" enum ts_status ts_cuda_view_draw(struct cuda_view *view,
                                            const struct view_picture *picture,
                                            const struct ts_image images[VIEW_IMAGES], void *pixels)
{
    const size_t bytes = (size_t)picture->width * (size_t)picture->height * sizeof(uint32_t);
    enum ts_status status = make_place(view, &view->pixels, bytes);
    if (status == TS_OK)
        status = view_launch(view, picture, images, (uint32_t *)view->pixels.at);
    return status == TS_OK ? copy(&view->pixels, CUDA_TO_HOST, pixels, view->pixels.at, bytes)
                           : status;
}

extern "C" enum ts_status ts_cuda_view_buffer(struct cuda_view *view, unsigned buffer)
{
    if (view->buffer)
        (void)cudaGraphicsUnregisterResource(view->buffer);
    view->buffer = NULL;
    if (buffer == 0)
        return TS_OK;
    enum ts_status status = fold(view, cudaSetDevice(view->device->index), "choosing the device");
    return status == TS_OK
               ? fold(view,
                      cudaGraphicsGLRegisterBuffer(&view->buffer, buffer, REGISTER_WRITE_DISCARD),
                      "registering the buffer of OpenGL")
               : status;
}

extern "C" enum ts_status ts_cuda_view_draw_buffer(struct cuda_view *view,
                                                   const struct view_picture *picture,
                                                   const struct ts_image images[VIEW_IMAGES])
{
    const size_t needed = (size_t)picture->width * (size_t)picture->height * sizeof(uint32_t);
    void *at = NULL;
    size_t bytes = 0;
    enum ts_status status =
        fold(view, cudaGraphicsMapResources(1, &view->buffer, 0), "mapping the buffer of OpenGL");
    if (status != TS_OK)
        return status;
    status = fold(view, cudaGraphicsResourceGetMappedPointer(&at, &bytes, view->buffer),
                  "finding the buffer");
    if (status == TS_OK && bytes < needed)
        status = fold(view, cudaErrorInvalidValue, "drawing into a buffer that is too small");
    if (status == TS_OK)
        status = view_launch(view, picture, images, (uint32_t *)at);
    const enum ts_status unmapped = fold(view, cudaGraphicsUnmapResources(1, &view->buffer, 0),
                                         "giving the buffer back to OpenGL");
    return status == TS_OK ? unmapped : status;
}

extern "C" enum ts_status ts_cuda_view_fetch(void *to, const void *from, size_t bytes,
                                             struct ts_diag *diag)
{
    const enum ts_status status =
        ts_cuda_fold(diag, "view", (int)cudaDeviceSynchronize(), "waiting for the run");
    return status == TS_OK ? ts_cuda_fold(diag, "view",
                                          (int)cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
                                          "copying slices of the run")
                           : status;
}
