/* SPDX-License-Identifier: Apache-2.0
 *
 * The Fourier transforms that a stage keeps from its first call to its last.
 */
#include "stages/engine/prepare.h"

static int shapes_of(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    return context->stage->transforms ? context->stage->transforms(context, shapes) : 0;
}

size_t ts_stage_transforms_bytes(const struct stage_context *context)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = shapes_of(context, shapes);
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += ts_fft_bytes(&shapes[i]);
    return bytes;
}

enum ts_status ts_stage_transforms_create(struct stage_context *context)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = shapes_of(context, shapes);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++)
        status = ts_fft_create(&shapes[i], context->diag, &context->transforms[i]);
    if (status != TS_OK)
        ts_stage_transforms_destroy(context);
    return status;
}

void ts_stage_transforms_destroy(struct stage_context *context)
{
    for (int i = 0; i < STAGE_TRANSFORMS; i++) {
        ts_fft_destroy(context->transforms[i]);
        context->transforms[i] = NULL;
    }
}
