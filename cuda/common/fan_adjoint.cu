/* SPDX-License-Identifier: Apache-2.0
 *
 * The exact adjoint of a fan's projection over 128 slices at once (64 or 32 at the end of a stack) as lanes, by
 * common/joseph_back.cu; (z, view, detector) -> (z, y, x). Traffic besides: the dtype's bytes and 4 a sample, 8 a
 * pixel.
 */
#include "cuda/common/joseph.cuh"
#include "cuda/common/reconstruction.cuh"

static size_t volume_bytes(const struct stage_context *context, int lanes)
{
    return ts_cuda_lanes_bytes(context->out.axes[1].n, context->out.axes[2].n, JOSEPH_MARGIN, lanes);
}

static size_t sinogram_bytes(const struct stage_context *context, int lanes)
{
    return ts_cuda_lanes_bytes(context->in.axes[1].n, context->in.axes[2].n, 0, lanes);
}

size_t ts_cuda_fan_adjoint_scratch(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const int lanes = ts_cuda_lanes_for(n);
    return ts_cuda_joseph_rays_bytes(&scan) + sinogram_bytes(context, lanes) + volume_bytes(context, lanes);
}

enum ts_status ts_cuda_fan_adjoint(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                   const struct cuda_call *call)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const int64_t nz = out->axes[0].n;
    unsigned char *scratch = (unsigned char *)call->scratch;
    struct cuda_joseph joseph;
    enum ts_status status = ts_cuda_joseph_rays(context, &scan, call->constants, scratch, call->stream, &joseph);
    scratch += ts_cuda_joseph_rays_bytes(&scan);
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int lanes = ts_cuda_lanes_for(nz - z);
        float *sinogram = (float *)scratch, *volume = (float *)(scratch + sinogram_bytes(context, lanes));
        n = nz - z < lanes ? nz - z : lanes;
        status = ts_cuda_to_lanes(context, in, ts_slice_data(in, z), n, 0, lanes, sinogram, call->stream);
        if (status == TS_OK)
            status = ts_cuda_joseph_backproject(context, &joseph, sinogram, lanes, volume, call->stream);
        if (status == TS_OK)
            status = ts_cuda_from_lanes(context, out, (float *)ts_slice_data(out, z), n, JOSEPH_MARGIN, lanes, volume,
                                        call->stream);
    }
    return status;
}
