/* SPDX-License-Identifier: Apache-2.0
 *
 * This runs one stage over whole images in host memory, slab by slab, or for one slice of its output.
 */
#include "stages/engine/execute.h"

struct whole {
    struct stage_driver *driver;
    struct ts_image images[STAGE_INPUTS]; /* the input, then the references that are given */
    struct ts_image *out;
};

static enum ts_status feed(void *from, int input, int64_t z, int64_t n, struct ts_image slices[STAGE_INPUTS])
{
    const struct whole *whole = from;
    ts_stage_slices(&whole->driver->context, input, &whole->images[input], z, n, slices);
    return TS_OK;
}

static enum ts_status slab(void *from, int64_t z, int64_t n)
{
    struct whole *whole = from;
    struct ts_image slices[STAGE_INPUTS], target = ts_image_slices(whole->out, z, n);
    if (!whole->driver->context.stage->reads)
        feed(whole, 0, z, n, slices);
    return ts_driver_slab(whole->driver, &whole->images[0], 1, slices, &target);
}

enum ts_status ts_stage_apply_slice(struct stage_driver *driver, const struct ts_image *in, struct ts_image *out,
                                    int64_t z)
{
    struct ts_image one = *out, slices[STAGE_INPUTS];
    struct whole whole = {.driver = driver, .images = {*in}};
    const enum ts_status status = ts_driver_reduce(driver, feed, &whole);
    if (status != TS_OK)
        return status;
    one.axes[0].n = 1;
    one.z_first = z;
    if (!driver->context.stage->reads)
        feed(&whole, 0, z, 1, slices);
    return ts_driver_slab(driver, in, 1, slices, &one);
}

void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS])
{
    images[0] = *in;
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        images[1 + i] = context->references[i] ? *context->references[i] : (struct ts_image){0};
        images[1 + i].data = context->references[i] ? in->data : NULL;
    }
}

enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab_slices,
                              struct stage_reduced **reduced)
{
    const int64_t nz = ts_stage_most_slices(context);
    struct whole whole = {.images = {*in}, .out = out};
    for (int i = 0; references && i < STAGE_REFERENCES; i++)
        if (references[i])
            whole.images[1 + i] = *references[i];
    enum ts_status status =
        ts_driver_create(context, slab_slices > 0 && slab_slices < nz ? slab_slices : nz, NULL, &whole.driver);
    if (status == TS_OK)
        status = ts_driver_run(whole.driver, &(struct stage_images){feed, slab, &whole}, context, out);
    if (reduced)
        *reduced = status == TS_OK ? ts_driver_reduced_take(whole.driver) : NULL;
    ts_driver_destroy(whole.driver);
    return status;
}
