/* SPDX-License-Identifier: Apache-2.0
 *
 * flip: y[d] = x[n - 1 - d] in every row of (z, view, detector), which mirrors the detector about
 * the rotation axis: the position u becomes -u, and the axis stays at position 0. Values are moved
 * by their size, so that three functions serve every dtype.
 */
#include "stages/scan/flip.h"

#include "stages/engine/distances.h"

static enum ts_status flip_resolve(const struct stage_context *context, void *values)
{
    (void)values;
    return ts_stage_needs_even(context);
}

static enum ts_status flip_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct ts_axis *detectors = &context->in.axes[2];
    out->axes[2].first = -(detectors->first + (double)(detectors->n - 1) * detectors->spacing);
    return TS_OK;
}

#define REVERSE(suffix, type)                                                                      \
    static void reverse_##suffix(const type *in, type *out, int64_t n)                             \
    {                                                                                              \
        for (int64_t d = 0; d < n; d++)                                                            \
            out[d] = in[n - 1 - d];                                                                \
    }
REVERSE(1, uint8_t)
REVERSE(2, uint16_t)
REVERSE(4, uint32_t)

static enum ts_status flip_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    const int64_t n = in->axes[2].n, n_rows = in->axes[0].n * in->axes[1].n;
    const size_t element = ts_dtype_bytes(in->dtype);
    (void)scratch;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < n_rows; row++) {
        const void *from = (const char *)in->data + (size_t)(row * n) * element;
        void *to = (char *)out->data + (size_t)(row * n) * element;
        if (element == 1)
            reverse_1(from, to, n);
        else if (element == 2)
            reverse_2(from, to, n);
        else
            reverse_4(from, to, n);
    }
    return TS_OK;
}

const struct stage flip_stage = {
    .name = "flip",
    .traits = TRAIT_NEW_DETECTOR | TRAIT_MIRRORS,
    .summary = "the detector pixels of a sinogram in the opposite order",
    .doc = "`y[d] = x[n - 1 - d]`: every row mirrored about the rotation axis, so that a center at "
           "detector pixel c is at n - 1 - c after it. For scans whose detector pixels run the "
           "other way than the convention of docs/geometry.md says.\n\n"
           "Of parallel rays such a scan, taken as it is, comes out turned by half a turn, not "
           "mirrored: the ray of u at theta is that of -u at theta + 180. Mirrored is one whose "
           "views turn the other way, which `angle_sense: y-to-x` of the input mends. A fan whose "
           "detector pixels run the other way is wrong altogether. Data in the geometry of ASTRA's "
           "`fanflat` take `flip` and half a turn:\n\n"
           "    input: {hdf5: fan.h5, path: /x, axes: [view, z, detector], angles: /theta, "
           "angle_offset: 180, ...}\n"
           "    stages: [flip, fbp]",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    .params_bytes = sizeof(struct flip_params),
    .resolve = flip_resolve,
    .shape = flip_shape,
    .map = flip_map,
    .validity = VALIDITY_MOVES,
    .cuda = STAGE_CUDA(flip_cuda),
    .bench = "",
    .tolerance = {.why = "values are copied"},
};
