/* SPDX-License-Identifier: Apache-2.0
 *
 * radon, method stack: Joseph's projections of 128 slices at once (64 or 32 at the end of a stack),
 * for a parallel beam. The slices are interleaved first, once with rows and once with columns as
 * lines, so that one kernel serves all views. (z, y, x) -> (z, view, detector).
 *
 * One warp computes the rays of 4 neighboring detector pixels in one view, one thread 4 of the
 * slices: 16 sums in registers. Everything except pixels and sums is the same in all threads, so a
 * warp never diverges. In each line the 4 rays lie between pixels 0 and 1, o1 and o1 + 1, o2 ...,
 * o3 ... from the first ray's pixel on; rays at most two pixels apart have only 8 patterns of (o1,
 * o2, o3). Each pattern has its own code, in which a pixel shared by two rays is loaded once: about
 * 1.35 loads an interpolation, not 2, with constant offsets and no index arithmetic. Rays that are
 * farther apart load their own two pixels each. Sums run over rising lines, 32 at a time in
 * registers, then into the ray's total in shared memory.
 *
 * Memory: 4 bytes are written a ray; pixels come from the caches. A block is 8 neighboring views of
 * 4 detector pixels, whose rays pass nearly the same image pixels, so that most loads hit the first
 * cache; blocks run in patches of 16 such runs by 32 (ray_patches.cuh). A multiprocessor holds only
 * 32 warps of 64 registers, and the latency of loads is the limit.
 *
 * If there are fewer rays than the device has warps, the warps of a block share the lines of 4
 * rays, 32 lines each, and add their sums to the totals one after the other: in the same order.
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/projection/interleave.cuh"
#include "cuda/projection/ray_patches.cuh"

enum {
    GROUP = 4, /* detector pixels of a warp */
    BLOCK_VIEWS = 8,
    STACK_THREADS = 32 * BLOCK_VIEWS,
    STACK_BLOCKS = 4, /* blocks on a multiprocessor */
    PATCH_RUNS = 16,  /* blocks that run together: side by side */
    PATCH_VIEWS = 32  /* blocks that run together: in the direction of views */
};

template <int V>
static __device__ __forceinline__ void
add_sample(struct slice_samples<V> *sum, const struct slice_samples<V> *below,
           const struct slice_samples<V> *above, uint32_t fraction)
{
    const float weight = ts_cuda_beam_weight(fraction);
    ts_cuda_samples_add_two(sum, below, above, 2 - weight, weight - 1);
}

/* Adds one line to the sums of rays that are O1, O2 and O3 pixels past the first one's. */
template <int O1, int O2, int O3, int V>
static __device__ __forceinline__ void add_pattern(const float *at, const uint32_t fractions[GROUP],
                                                   struct slice_samples<V> sums[GROUP])
{
    struct slice_samples<V> pixels[O3 + 2];
#pragma unroll
    for (int i = 0; i < O3 + 2; i++)
        if (i < 2 || i == O1 || i == O1 + 1 || i == O2 || i == O2 + 1 || i >= O3)
            ts_cuda_samples_load(&pixels[i], at + i * 32 * V);
    add_sample(&sums[0], &pixels[0], &pixels[1], fractions[0]);
    add_sample(&sums[1], &pixels[O1], &pixels[O1 + 1], fractions[1]);
    add_sample(&sums[2], &pixels[O2], &pixels[O2 + 1], fractions[2]);
    add_sample(&sums[3], &pixels[O3], &pixels[O3 + 1], fractions[3]);
}

/* Adds one line to the sums of rays that are between E and E + 1 pixels apart. `step`, the part
 * beyond E, decides which rays move on to the next pixel. */
template <int E, int V>
static __device__ __forceinline__ void add_line(const float *at, uint32_t fraction, uint32_t step,
                                                struct slice_samples<V> sums[GROUP])
{
    const uint32_t f[GROUP] = {fraction, fraction + step, fraction + 2 * step, fraction + 3 * step};
    const bool carry[GROUP] = {false, f[1] < step, f[2] < step, f[3] < step};
    if (!carry[1]) {
        if (!carry[2]) {
            if (!carry[3])
                add_pattern<E, 2 * E, 3 * E>(at, f, sums);
            else
                add_pattern<E, 2 * E, 3 * E + 1>(at, f, sums);
        } else if (!carry[3]) {
            add_pattern<E, 2 * E + 1, 3 * E + 1>(at, f, sums);
        } else {
            add_pattern<E, 2 * E + 1, 3 * E + 2>(at, f, sums);
        }
    } else if (!carry[2]) {
        if (!carry[3])
            add_pattern<E + 1, 2 * E + 1, 3 * E + 1>(at, f, sums);
        else
            add_pattern<E + 1, 2 * E + 1, 3 * E + 2>(at, f, sums);
    } else if (!carry[3]) {
        add_pattern<E + 1, 2 * E + 2, 3 * E + 2>(at, f, sums);
    } else {
        add_pattern<E + 1, 2 * E + 2, 3 * E + 3>(at, f, sums);
    }
}

/* A group of rays in work; ray 0 is the one with the lowest position. Registers are few, so what
 * only rare rays need is computed again from the view. */
struct walk {
    const float *line; /* sample 0 of line m in this thread's slices */
    int64_t at, step;  /* position of ray 0 on line m, and its step from line to line; both
                        * fixed-point */
    int64_t apart;     /* fixed-point distance from ray to ray */
    int m, stride;     /* m: number of the line; stride: floats to the next line */
    int n_minor;
};

/* Returns the position of the lowest ray on line 0. */
static __device__ __forceinline__ double origin(const struct cuda_beam *view, int detector)
{
    return view->base +
           (double)(view->per_detector < 0 ? detector + GROUP - 1 : detector) * view->per_detector;
}

/* Walks up to line `end` with rays that are between E and E + 1 pixels apart. */
template <int E, int V>
static __device__ __forceinline__ void walk_near(struct walk *walk, int end,
                                                 struct slice_samples<V> sums[GROUP])
{
    for (; walk->m < end; walk->m++, walk->at += walk->step, walk->line += walk->stride)
        add_line<E>(walk->line + (walk->at >> 32) * (32 * V), (uint32_t)walk->at,
                    (uint32_t)walk->apart, sums);
}

template <int V>
static __device__ __forceinline__ void walk_far(struct walk *walk, int end,
                                                const struct cuda_beam *view, int detector,
                                                struct slice_samples<V> sums[GROUP])
{
    for (; walk->m < end; walk->m++, walk->line += walk->stride)
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            const double ray =
                origin(view, detector) + k * fabs(view->per_detector) + walk->m * view->per_major;
            const double at = fmin(fmax(ray, -2.0), (double)walk->n_minor), whole = floor(at);
            const float *pixel = walk->line + (int64_t)whole * (32 * V);
            struct slice_samples<V> below, above;
            ts_cuda_samples_load(&below, pixel);
            ts_cuda_samples_load(&above, pixel + 32 * V);
            add_sample(&sums[k], &below, &above, (uint32_t)((at - whole) * 4294967296.0));
        }
}

/* Sets the walk to the first line that the group meets, and returns the line after the last. */
static __device__ __forceinline__ int
radon_stack_begin(struct walk *walk, const struct cuda_beam *view, int detector, int n_major)
{
    int end;
    const double start = origin(view, detector), apart = fabs(view->per_detector);
    ts_cuda_beam_lines(start, view->per_major, (GROUP - 1) * apart, n_major, walk->n_minor,
                       &walk->m, &end);
    walk->line += walk->m * (int64_t)walk->stride;
    walk->at = ts_cuda_fixed(start + walk->m * view->per_major) + TS_CUDA_BEAM_HALF;
    walk->step = ts_cuda_fixed(view->per_major);
    walk->apart = ts_cuda_fixed(apart);
    return end;
}

struct stack_size {
    int n_slices, n_detectors, n_major, n_minor;
    int64_t n_views;
    struct ray_patches patches;
    bool along_rows, whole; /* whole: the sums of 4 detector pixels are written at once */
};

/* Returns a lane's walk over lines, which radon_stack_begin() sets to the first one. */
template <int V>
static __device__ __forceinline__ struct walk walk_of(const float *lines, int lane,
                                                      const struct stack_size *size)
{
    struct walk walk = {lines + (INTERLEAVE_MARGIN * 32 + lane) * V};
    walk.stride = (size->n_minor + 2 * INTERLEAVE_MARGIN) * (32 * V);
    walk.n_minor = size->n_minor;
    return walk;
}

/* Writes the totals of one group: GROUP detector pixels in each of the V slices. */
template <int V>
static __device__ void write_group(const float4 *totals, const struct cuda_beam *beam,
                                   const struct stack_size *size, int detector, float *out)
{
    const int slice = (int)(threadIdx.x % 32) * V;
    for (int i = 0; i < V && slice + i < size->n_slices; i++) {
        float4 t = totals[i * STACK_THREADS + threadIdx.x];
        if (beam->per_detector < 0)
            t = make_float4(t.w, t.z, t.y, t.x);
        const float mm = beam->length_mm;
        ts_cuda_totals_write(out + ((slice + i) * size->n_views + beam->view) * size->n_detectors,
                             detector, size->n_detectors, size->whole,
                             make_float4(t.x * mm, t.y * mm, t.z * mm, t.w * mm));
    }
}

/* Walks up to line `end`. FAR: rays may be 2 pixels apart or more. */
template <bool FAR, int V>
static __device__ __forceinline__ void walk_lines(struct walk *walk, int end,
                                                  const struct cuda_beam *beam, int detector,
                                                  struct slice_samples<V> sums[GROUP])
{
    if (walk->apart >> 32 == 0)
        walk_near<0>(walk, end, sums);
    else if (!FAR || walk->apart >> 32 == 1)
        walk_near<1>(walk, end, sums);
    else
        walk_far(walk, end, beam, detector, sums);
}

/* The grid is that of ray_patches.cuh, for views of one major axis. FAR: rays may be 2 pixels apart
 * or more; without FAR a thread needs fewer registers. */
template <int V, bool FAR>
static __global__ void __launch_bounds__(STACK_THREADS, STACK_BLOCKS)
    project_stack(const float *lines, float *out, const struct cuda_beams *table,
                  const int32_t *halt, struct stack_size size)
{
    __shared__ float4 totals[V * STACK_THREADS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    int run;
    const int64_t group = ts_cuda_patch_place<PATCH_VIEWS>(&size.patches, &run);
    const int64_t end_view = size.along_rows ? table->n_along_rows : table->n;
    const int64_t view = (size.along_rows ? 0 : table->n_along_rows) + group * BLOCK_VIEWS + warp;
    const int detector = run * GROUP;
    if (view >= end_view || run >= size.patches.n_runs || detector >= size.n_detectors ||
        (halt && *halt))
        return;
    const struct cuda_beam *beam = &table->beams[view];
    struct walk walk = walk_of<V>(lines, lane, &size);
    const int end = radon_stack_begin(&walk, beam, detector, size.n_major);
    ts_cuda_totals_clear<V>(totals + threadIdx.x, STACK_THREADS);
    while (walk.m < end) {
        const int stop = min(end, walk.m / RADON_LINES * RADON_LINES + RADON_LINES);
        struct slice_samples<V> sums[GROUP] = {
        };
        walk_lines<FAR>(&walk, stop, beam, detector, sums);
        ts_cuda_totals_add<V>(totals + threadIdx.x, STACK_THREADS, sums);
    }
    write_group<V>(totals, beam, &size, detector, out);
}

/* Does the same with a block for each 4 rays of one view, if there are few rays. Round by round its
 * warps walk 32 lines each, and add their sums to the one set of totals in turn, warp 0 first, so
 * that lines add up in rising order. A warp whose lines lie past the end adds 0, since all must
 * reach the barriers. The grid counts runs of detector pixels, and views of one major axis. */
template <int V, bool FAR>
static __global__ void __launch_bounds__(STACK_THREADS, STACK_BLOCKS)
    project_stack_parts(const float *lines, float *out, const struct cuda_beams *table,
                        const int32_t *halt, struct stack_size size)
{
    __shared__ float4 totals[V * STACK_THREADS];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32),
              n_runs = size.patches.n_runs, detector = (int)(blockIdx.x % n_runs) * GROUP;
    const int64_t view = (size.along_rows ? 0 : table->n_along_rows) + blockIdx.x / n_runs;
    if (view >= (size.along_rows ? table->n_along_rows : table->n) || (halt && *halt))
        return;
    const struct cuda_beam *beam = &table->beams[view];
    struct walk from_first = walk_of<V>(lines, lane, &size);
    const int end = radon_stack_begin(&from_first, beam, detector, size.n_major);
    if (warp == 0)
        ts_cuda_totals_clear<V>(totals + lane, STACK_THREADS);
    for (int first = from_first.m / RADON_LINES * RADON_LINES; first < end;
         first += BLOCK_VIEWS * RADON_LINES) {
        const int own = first + warp * RADON_LINES, stop = min(end, own + RADON_LINES);
        struct slice_samples<V> sums[GROUP] = {
        };
        struct walk walk = from_first;
        walk.m = max(own, from_first.m);
        walk.at += (walk.m - from_first.m) * from_first.step;
        walk.line += (walk.m - from_first.m) * (int64_t)from_first.stride;
        walk_lines<FAR>(&walk, stop, beam, detector, sums);
        for (int turn = 0; turn < BLOCK_VIEWS; turn++) {
            __syncthreads();
            if (turn == warp)
                ts_cuda_totals_add<V>(totals + lane, STACK_THREADS, sums);
        }
    }
    __syncthreads();
    if (warp == 0)
        write_group<V>(totals, beam, &size, detector, out);
}

size_t ts_cuda_radon_stack_scratch(const struct stage_context *context, int64_t n)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const size_t rows = ts_cuda_lines_bytes(ny, nx, ts_cuda_group_width(n)),
                 columns = ts_cuda_lines_bytes(nx, ny, ts_cuda_group_width(n));
    return rows > columns ? rows : columns;
}

template <int V, bool FAR>
static enum ts_status radon_stack_launch(const struct stage_context *context, const float *lines,
                                         float *out, struct stack_size size,
                                         const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t runs = ts_cuda_parts(size.n_detectors, GROUP),
                  groups = ts_cuda_parts(size.n_views, BLOCK_VIEWS);
    if (runs * groups < ts_cuda_blocks_at_once(context, STACK_THREADS) / 2) {
        size.patches.n_runs = (int)runs;
        project_stack_parts<V, FAR>
            <<<(unsigned)(runs * size.n_views), STACK_THREADS, 0, call->stream>>>(
                lines, out, table, context->halt, size);
        return ts_cuda_launched(context, "project_stack_parts");
    }
    return ts_cuda_patches_run(
        &size.patches, runs, PATCH_RUNS, groups, PATCH_VIEWS, [&](unsigned blocks) {
            project_stack<V, FAR><<<blocks, STACK_THREADS, 0, call->stream>>>(lines, out, table,
                                                                              context->halt, size);
            return ts_cuda_launched(context, "project_stack");
        });
}

/* Returns true if no view has rays 2 pixels apart: per_detector is at most this number, which it
 * reaches at the angle at which the major axis changes. */
static bool all_near(const struct stage_context *context)
{
    const struct radon_params *params = (const struct radon_params *)context->params;
    const double dy = ts_axis_spacing(&context->in.axes[1]),
                 dx = ts_axis_spacing(&context->in.axes[2]);
    return params->detector_spacing * hypot(dy, dx) / (dy * dx) < 1.999;
}

enum ts_status ts_cuda_radon_stack(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    static constexpr decltype(&radon_stack_launch<1, true>) launches[][2] = {
        {radon_stack_launch<1, true>, radon_stack_launch<1, false>},
        {radon_stack_launch<2, true>, radon_stack_launch<2, false>},
        {radon_stack_launch<4, true>, radon_stack_launch<4, false>}}; /* of width 32, 64 and 128 */
    const int64_t nz = out->axes[0].n, ny = in->axes[1].n, nx = in->axes[2].n;
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    const bool near = all_near(context),
               reads[] = {ts_cuda_radon_reads(&scan, true), ts_cuda_radon_reads(&scan, false)};
    float *lines = (float *)call->scratch;
    enum ts_status status = TS_OK;
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        const int width = ts_cuda_group_width(nz - z);
        n = nz - z < width ? nz - z : width;
        float *to = (float *)ts_slice_data(out, z);
        for (int columns = 0; status == TS_OK && columns < 2; columns++) {
            if (!reads[columns])
                continue;
            struct stack_size size = {(int)n, (int)out->axes[2].n, (int)(columns ? nx : ny),
                                      (int)(columns ? ny : nx)};
            size.n_views = out->axes[1].n;
            size.along_rows = !columns;
            size.whole =
                size.n_detectors % GROUP == 0 && (uintptr_t)out->data % sizeof(float4) == 0;
            status = ts_cuda_interleave(context, in, z, n, ts_cuda_lines(!columns), width, lines,
                                        call->stream);
            if (status == TS_OK)
                status = launches[width / 64][near](context, lines, to, size, call);
        }
    }
    return status;
}
