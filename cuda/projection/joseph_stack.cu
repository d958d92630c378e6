/* SPDX-License-Identifier: Apache-2.0
 *
 * Joseph's projector from slices to slices, 128 at once (64 or 32 at the end of a stack) as lanes, by joseph.cu;
 * (z, y, x) -> (z, view, detector). Traffic besides: the dtype's bytes and 4 a sample going in, 8 a sample coming out.
 */
#include "cuda/projection/joseph.cuh"

static size_t volume_bytes(const struct beam_scan *scan, int lanes)
{
    return ts_cuda_lanes_bytes(scan->grid.n_rows, scan->grid.n_columns, JOSEPH_MARGIN, lanes);
}

size_t ts_cuda_joseph_stack_scratch(const struct beam_scan *scan, int64_t n)
{
    const int lanes = ts_cuda_lanes_for(n);
    return ts_cuda_joseph_rays_bytes(scan) + volume_bytes(scan, lanes) +
           ts_cuda_lanes_bytes(scan->n_views, scan->grid.n_detectors, 0, lanes);
}

enum ts_status ts_cuda_joseph_stack(const struct stage_context *context, const struct beam_scan *scan,
                                    const struct ts_image *in, struct ts_image *out, const struct cuda_call *call)
{
    const int64_t nz = out->axes[0].n;
    unsigned char *scratch = (unsigned char *)call->scratch;
    struct cuda_joseph joseph;
    enum ts_status status = ts_cuda_joseph_rays(context, scan, call->constants, scratch, call->stream, &joseph);
    scratch += ts_cuda_joseph_rays_bytes(scan);
    joseph.halt = context->halt;
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int lanes = ts_cuda_lanes_for(nz - z);
        float *volume = (float *)scratch, *sinogram = (float *)(scratch + volume_bytes(scan, lanes));
        n = nz - z < lanes ? nz - z : lanes;
        status = ts_cuda_to_lanes(context, in, ts_slice_data(in, z), n, JOSEPH_MARGIN, lanes, volume, call->stream);
        if (status == TS_OK)
            status = ts_cuda_joseph_project(context, &joseph, volume, lanes, sinogram, call->stream);
        if (status == TS_OK)
            status =
                ts_cuda_from_lanes(context, out, (float *)ts_slice_data(out, z), n, 0, lanes, sinogram, call->stream);
    }
    return status;
}
