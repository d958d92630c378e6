/* SPDX-License-Identifier: Apache-2.0
 *
 * The same steps on the CPU and on a CUDA device, through the driver of each
 * (stages/engine/driver.h).
 */
#include "lab/bench/bench_ring.h"

enum { ALIGNMENT = 256 };

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

enum ts_status ts_bench_ring_init(struct bench_ring *ring, const struct bench_case *cases, int n,
                                  int threads, const struct device_numbers *device,
                                  struct ts_diag *diag)
{
    const struct ts_image *in = NULL;
    enum ts_status status = TS_OK;
    *ring = (struct bench_ring){.n = n, .n_sets = 1};
    for (int i = 0; status == TS_OK && i < n; i++) {
        struct bench_stage *stage = &ring->stages[i];
        status = ts_bench_prepare(stage, &cases[i], in, threads, device, diag);
        in = cases[i].stage->map ? &stage->context.out : &stage->in;
        ring->output_bytes[i] =
            status == TS_OK && cases[i].stage->map ? align(ts_image_bytes(&stage->context.out)) : 0;
    }
    if (status != TS_OK)
        return status;
    const struct ts_image *first = &ring->stages[0].context.in;
    ring->halo = ts_stage_reach(&ring->stages[0].context).halo;
    ring->input_bytes = align((size_t)(first->axes[0].n + 2 * ring->halo) * ts_slice_bytes(first));
    return TS_OK;
}

void ts_bench_ring_clear(struct bench_ring *ring)
{
    for (int i = 0; i < ring->n; i++) {
        ts_driver_destroy(ring->drivers[i]);
        ts_bench_stage_clear(&ring->stages[i]);
    }
}

struct ts_image ts_bench_ring_input(const struct bench_ring *ring, int set)
{
    struct ts_image in = ring->stages[0].context.in;
    in.data =
        ring->inputs + ring->input_bytes * (size_t)set + (size_t)ring->halo * ts_slice_bytes(&in);
    return in;
}

enum ts_status ts_bench_ring_restart(struct bench_ring *ring)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < ring->n; i++)
        status = ts_driver_restart(ring->drivers[i]);
    return status;
}

static bool finishes_last(const struct bench_ring *ring, int i)
{
    const struct stage_context *context = &ring->stages[i].context;
    return ring->n > 1 && !context->stage->map && ts_stage_rounds(context) == 1 &&
           ts_stage_reduces_volume(context, 0);
}

enum ts_status ts_bench_ring_finish(struct bench_ring *ring)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < ring->n; i++)
        if (finishes_last(ring, i))
            status = ts_driver_finish(ring->drivers[i]);
    return status;
}

struct inputs {
    const struct stage_context *context;
    const struct ts_image *in;
};

/* All inputs of a stage have the same values. */
static enum ts_status feed(void *from, int input, int64_t z, int64_t n,
                           struct ts_image slices[STAGE_INPUTS])
{
    const struct inputs *inputs = from;
    struct ts_image images[STAGE_INPUTS];
    ts_stage_inputs_alike(inputs->context, inputs->in, images);
    ts_stage_slices(inputs->context, input, &images[input], z, n, slices);
    return TS_OK;
}

static enum ts_status reduce(struct bench_ring *ring, int i, struct inputs *inputs)
{
    struct ts_image slices[STAGE_INPUTS];
    if (!finishes_last(ring, i))
        return ts_driver_reduce(ring->drivers[i], feed, inputs);
    feed(inputs, 0, 0, inputs->in->axes[0].n, slices);
    return ts_driver_add(ring->drivers[i], 0, slices);
}

enum ts_status ts_bench_ring_run(struct bench_ring *ring, int set)
{
    struct ts_image in = ts_bench_ring_input(ring, set), part = in;
    enum ts_status status = TS_OK;
    part.data = ring->inputs + ring->input_bytes * (size_t)set;
    part.z_first = -ring->halo;
    part.axes[0].n += 2 * ring->halo;
    for (int i = 0; status == TS_OK && i < ring->n; i++) {
        const struct stage_context *context = &ring->stages[i].context;
        struct ts_image slices[STAGE_INPUTS], out = context->out;
        struct inputs inputs = {context, &in};
        if (context->stage->map)
            out.data = ring->outputs[i] + ring->output_bytes[i] * (size_t)set;
        feed(&inputs, 0, 0, in.axes[0].n, slices);
        status = reduce(ring, i, &inputs);
        if (status == TS_OK)
            status = ts_driver_slab(ring->drivers[i], &part, 1, slices, &out);
        if (context->stage->map)
            part = in = out;
    }
    return status;
}
