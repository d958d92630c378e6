/* SPDX-License-Identifier: Apache-2.0
 *
 * An example of a plugin, with one stage. sharpen_z adds to each pixel its difference from the mean
 * of its neighbors along z:
 *
 *     y(z) = x(z) + amount (x(z) - mean of x(z - radius) to x(z + radius)),  y = x where mask is 0
 *
 *     cc -shared -fPIC -O2 -fopenmp sharpen_z.c $(pkg-config --cflags tomostage) -o sharpen_z.so
 *     nvcc -shared -Xcompiler=-fPIC,-fopenmp -O2 -DSHARPEN_Z_CUDA sharpen_z.c sharpen_z.cu \
 *         $(pkg-config --cflags tomostage) -o sharpen_z.so
 *     tomostage --plugin ./sharpen_z.so run 'dicom ./study | sharpen_z radius=2 | hdf5 sharp.h5'
 */
#include "sharpen_z.h"

#include <stddef.h>

static float value(const struct ts_image *image, int64_t i)
{
    switch (image->dtype) {
    case TS_U8:
        return ((const uint8_t *)image->data)[i];
    case TS_U16:
        return ((const uint16_t *)image->data)[i];
    case TS_I16:
        return ((const int16_t *)image->data)[i];
    default:
        return ((const float *)image->data)[i];
    }
}

/* The result is f32, whatever the input is. */
static enum ts_status shape(const struct ts_call *call, struct ts_image *out)
{
    const struct ts_image *mask = &call->in[1];
    if (mask->rank > 0 && mask->dtype != TS_U8)
        return call->refuse(call, TS_BAD_CHAIN, "sharpen-mask", "the mask is not of type u8",
                            "`threshold` makes one");
    out->dtype = TS_F32;
    return TS_OK;
}

static int64_t halo(const struct ts_call *call)
{
    return ((const struct sharpen_z_params *)call->params)->radius;
}

/* Slice z of the output is slice z + radius of the slab. Sums run from low z to high z, so that a
 * pixel has the same bytes in every slab. */
static enum ts_status map(const struct ts_call *call, struct ts_image *out)
{
    const struct sharpen_z_params *params = call->params;
    const struct ts_image *in = &call->in[0], *mask = &call->in[1];
    const int64_t slice = out->axes[1].n * out->axes[2].n, n = out->axes[0].n * slice;
    const int64_t radius = params->radius;
    float *to = out->data;
#pragma omp parallel for schedule(static) num_threads(call->threads)
    for (int64_t i = 0; i < n; i++) {
        const float x = value(in, i + radius * slice);
        float sum = 0;
        for (int64_t k = 0; k <= 2 * radius; k++)
            sum += value(in, i + k * slice);
        const int outside = mask->data && !((const uint8_t *)mask->data)[i];
        to[i] = outside ? x : x + (float)params->amount * (x - sum / (float)(2 * radius + 1));
    }
    return TS_OK;
}

static const struct ts_param params[] = {
    {.name = "radius",
     .kind = TS_PARAM_INTEGER,
     .unit = "pixel",
     .doc = "how many slices before and after have a part in the mean",
     .offset = offsetof(struct sharpen_z_params, radius),
     .min = 1,
     .max = 64,
     .value = 1},
    {.name = "amount",
     .kind = TS_PARAM_REAL,
     .doc = "how much of the difference is added",
     .offset = offsetof(struct sharpen_z_params, amount),
     .min = 0,
     .max = 100,
     .value = 1},
    {.name = "mask",
     .kind = TS_PARAM_REFERENCE,
     .doc = "where this image of type u8 is 0, values stay as they are; without it nowhere"},
};

static const struct ts_stage sharpen_z = {
    .size = sizeof sharpen_z,
    .name = "sharpen_z",
    .version = "1.0",
    .summary = "sharpen along z",
    .doc = "`y(z) = x(z) + amount (x(z) - mean of x(z - radius) to x(z + radius))`, in f32. Slices "
           "beyond the ends of the volume are reflected.\n\nCost: 2 radius + 1 values of each "
           "pixel are read.",
    .axes = TS_TAKES_VOLUMES,
    .dtypes = 1u << TS_U8 | 1u << TS_U16 | 1u << TS_I16 | 1u << TS_F32,
    .params = params,
    .n_params = sizeof params / sizeof *params,
    .param_size = sizeof *params,
    .params_bytes = sizeof(struct sharpen_z_params),
    .shape = shape,
    .halo = halo,
    .map = map,
#ifdef SHARPEN_Z_CUDA
    .map_cuda = sharpen_z_map_cuda,
#endif
};

TS_PUBLIC const struct ts_stage *ts_plugin(size_t i)
{
    return i == 0 ? &sharpen_z : NULL;
}
