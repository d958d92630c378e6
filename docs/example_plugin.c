/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest plugin: one stage without parameters, on the CPU. `darken` halves every value.
 *     cc -shared -fPIC -O2 example_plugin.c $(pkg-config --cflags tomostage) -o darken.so
 *     tomostage --plugin ./darken.so run 'dicom ./study | darken | hdf5 dark.h5'
 */
#include <tomostage_stage.h>

static enum ts_status map(const struct ts_call *call, struct ts_image *out)
{
    const float *from = call->in[0].data;
    float *to = out->data;
    const int64_t n = out->axes[0].n * out->axes[1].n * out->axes[2].n;
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] / 2;
    return TS_OK;
}

static const struct ts_stage darken = {
    .size = sizeof darken,
    .name = "darken",
    .version = "1.0",
    .summary = "halve all values",
    .doc = "`y = x / 2`, in f32.",
    .axes = TS_TAKES_VOLUMES,
    .dtypes = 1u << TS_F32,
    .map = map,
};

TS_PUBLIC const struct ts_stage *ts_plugin(size_t i)
{
    return i == 0 ? &darken : NULL;
}
