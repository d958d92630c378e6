/* SPDX-License-Identifier: Apache-2.0
 *
 * box, method `fused`: each pixel is read once from device memory and written once. There are four
 * kernels, chosen by window and dtype:
 *
 *     box_fused_small.cuh    2D, radius 1 to 8: a warp a tile, sums in registers
 *                            2D, radius 1 to 8, 8- and 16-bit integers, rows of a multiple of 16: a
 *                            warp goes down the rows
 *     box_fused_march.cuh    2D, any radius: a block goes down the rows and carries their sums
 *     box_fused_volume.cuh   3D, radius 1 to 8: a block goes through the slices of a tile
 *
 * Those files say what a thread computes, the memory traffic and why blocks have their sizes; this
 * one cuts the image and launches. Radius 0 is left to the method `direct`, which then copies.
 */
#include "core/clamp.h"
#include "cuda/filters/box_fused_march.cuh"
#include "cuda/filters/box_fused_small.cuh"
#include "cuda/filters/box_fused_volume.cuh"

/* Returns true if 4 columns are one access. */
static bool is_aligned(const struct box_launch *launch)
{
    const size_t bytes = 4 * ts_dtype_bytes(launch->context->in.dtype);
    return launch->sizes.nx % 4 == 0 &&
           ((uintptr_t)launch->in | (uintptr_t)launch->out) % bytes == 0;
}

static struct box_divisor divisor_of(const struct box_launch *launch)
{
    const uint64_t count = (uint64_t)launch->mean.count;
    const uint64_t highest = ts_dtype_bytes(launch->context->in.dtype) == 1 ? 255 : 65535;
    struct box_divisor divisor = {0, 0, 0};
    box_divisor_of(count, count * highest + count / 2, &divisor);
    return divisor;
}

/* Returns a plan with what all kernels need: the sizes, the border, and the scale and divisor of
 * the mean. All else is zero. */
template <typename plan_type> static plan_type plan_of(const struct box_launch *launch)
{
    const struct box_sizes sizes = launch->sizes;
    plan_type plan = {};
    plan.nz = sizes.nz;
    plan.ny = (int)sizes.ny;
    plan.nx = (int)sizes.nx;
    plan.border = sizes.border;
    plan.aligned = is_aligned(launch);
    plan.sign = ts_dtype_sign_bit(launch->context->in.dtype);
    plan.scale = (float)launch->mean.scale;
    plan.divisor = divisor_of(launch);
    return plan;
}

/* Returns the constant as the bits of the unsigned type that the kernels use for the dtype. */
template <typename T> static T outside_of(const struct box_launch *launch)
{
    const double constant = ((const struct box_params *)launch->context->params)->constant;
    return (T)0.5 != 0 ? (T)constant : (T)(int64_t)constant;
}

/* These return the rows of a tile, and how many blocks the registers of a multiprocessor must allow
 * (0: the compiler decides), as measured. */
template <typename T> static constexpr int small_rows(int radius)
{
    if (sizeof(T) == 4)
        return radius == 7 ? 12 : 8;
    if (radius <= 2)
        return 16;
    return radius <= 4 ? 12 : 8;
}
template <typename T> static constexpr int small_blocks(int radius)
{
    if (sizeof(T) == 4)
        return radius <= 4 ? 0 : radius <= 6 ? 5 : 4;
    return radius <= 2 ? 0 : radius <= 4 ? 7 : 6;
}

template <typename T, int R> static enum ts_status launch_small(const struct box_launch *launch)
{
    struct small_plan plan = plan_of<struct small_plan>(launch);
    plan.strips = (int)ts_cuda_parts(plan.nx, small_width(R));
    plan.tiles = (int)ts_cuda_parts(plan.ny, small_rows<T>(R) * SMALL_WARPS);
    const unsigned blocks = (unsigned)(plan.strips * (int64_t)plan.tiles * plan.nz);
    fused_small<T, R, small_rows<T>(R), small_blocks<T>(R)>
        <<<blocks, 32 * SMALL_WARPS, 0, launch->stream>>>((const T *)launch->in, (T *)launch->out,
                                                          plan, outside_of<T>(launch));
    return ts_cuda_launched(launch->context, "fused_small");
}

/* A chunk takes the time of START more rows: those before the first output, and those that fill the
 * pipeline. */
template <typename T, int R> static enum ts_status launch_rows(const struct box_launch *launch)
{
    enum { LANES = 32, OUTPUT_LANES = 30, START = 2 * R + 12, SHORT_CHUNK = 16 };
    const struct device_numbers *const device = launch->context->device;
    struct rows_plan plan = plan_of<struct rows_plan>(launch);
    const int lanes = plan.nx / ROWS_COLUMNS;
    plan.strips = lanes <= LANES ? 1 : (int)ts_cuda_parts(lanes, OUTPUT_LANES);
    const size_t ring = (size_t)ROWS_WARPS * (2 * R + 1) * 512 * sizeof(T), reserved = 1024;
    const int fit = device->shared_bytes / (int)(ring + reserved);
    const int64_t places =
        (int64_t)device->multiprocessors * ROWS_WARPS * (fit < ROWS_BLOCKS ? fit : ROWS_BLOCKS);
    /* Short chunks are faster if their start is cheap, as measured. */
    plan.chunks = R <= 2 ? (int)ts_cuda_parts(plan.ny, SHORT_CHUNK)
                         : ts_box_parts(plan.strips * plan.nz, plan.ny, places, START);
    plan.chunk = (int)ts_cuda_parts(plan.ny, plan.chunks);
    plan.outside = (uint32_t)(T)(outside_of<T>(launch) ^ (T)plan.sign);
    const uint32_t sign = plan.sign * (sizeof(T) == 2 ? 0x00010001u : 0x01010101u);
    const int64_t blocks = ts_cuda_parts((int64_t)plan.strips * plan.chunks * plan.nz, ROWS_WARPS);
    fused_rows<T, R><<<(unsigned)blocks, 32 * ROWS_WARPS, 0, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, plan, sign);
    return ts_cuda_launched(launch->context, "fused_rows");
}

/* Returns true if rows start at whole accesses of 16 columns. */
static bool has_rows(const struct box_launch *launch)
{
    return ts_dtype_bytes(launch->context->in.dtype) <= 2 && launch->sizes.nx % ROWS_COLUMNS == 0 &&
           ((uintptr_t)launch->in | (uintptr_t)launch->out) % sizeof(uint4) == 0;
}

/* Launches the kernel for radius R, or tries those for larger radii. */
template <typename T, int R = 1> static enum ts_status small(const struct box_launch *launch)
{
    if constexpr (R < BOX_SMALL_MAX_RADIUS)
        if (launch->sizes.radius > R)
            return small<T, R + 1>(launch);
    if constexpr (sizeof(T) <= 2)
        if (has_rows(launch))
            return launch_rows<T, R>(launch);
    return launch_small<T, R>(launch);
}

/* These return how many rows a thread adds in the pass down the columns (for floats of one column,
 * for integers of two), and how many blocks the registers of a multiprocessor must allow, as
 * measured. A tile's rows are a multiple of the first, because the last bits of a float sum depend
 * on which thread adds it. */
template <typename T> static constexpr int volume_stretch(int radius)
{
    const bool few = BOX_VOLUME_ROWS(sizeof(T), radius) == 16;
    if (sizeof(T) == 4)
        return few ? 16 : 12;
    if (radius <= 2)
        return 6;
    return few ? 8 : 12;
}
template <typename T> static constexpr int volume_blocks(int radius)
{
    const int of_floats[] = {2, 5, 4, 4, 3, 2, 2, 1}, of_integers[] = {2, 5, 5, 4, 4, 2, 2, 2};
    if (radius > 7)
        return 1;
    return sizeof(T) == 4 ? of_floats[radius] : of_integers[radius];
}

template <typename T, int R> static enum ts_status launch_volume(const struct box_launch *launch)
{
    enum { ROWS = BOX_VOLUME_ROWS(sizeof(T), R), THREADS = ROWS * VOLUME_RUNS, START = 2 * R + 4 };
    enum {
        QUADS = BOX_VOLUME_WIDTH(R) / 4 * (ROWS + 2 * R),
        LOADS = (QUADS + THREADS - 1) / THREADS
    };
    constexpr bool TOGETHER = BOX_VOLUME_TOGETHER(sizeof(T), R);
    const struct device_numbers *const device = launch->context->device;
    const struct box_sizes sizes = launch->sizes;
    struct volume_plan plan = plan_of<struct volume_plan>(launch);
    ts_box_volume(launch->context->in.dtype, R, device, &plan.cut);
    plan.across = (int)ts_cuda_parts(sizes.nx, BOX_VOLUME_COLUMNS);
    plan.down = (int)ts_cuda_parts(sizes.ny, ROWS);
    plan.z_first = launch->z_first;
    plan.wide = plan.aligned && sizes.nx % 8 == 0 && (uintptr_t)launch->out % (8 * sizeof(T)) == 0;
    auto *const kernel =
        fused_volume<T, R, ROWS, volume_stretch<T>(R), LOADS, TOGETHER, volume_blocks<T>(R)>;
    const enum ts_status status =
        ts_cuda_shared(launch->context, (const void *)kernel, plan.cut.bytes);
    if (status != TS_OK)
        return status;
    const int64_t tiles = (int64_t)plan.across * plan.down, reserved = 1024;
    const int fit = device->shared_bytes / (int)(plan.cut.bytes + reserved),
              most = volume_blocks<T>(R);
    const int blocks = (int)ts_clamp(fit, 1, most);
    plan.chunk = (int)ts_cuda_parts(
        sizes.nz, ts_box_parts(tiles, sizes.nz, device->multiprocessors * blocks, START));
    const int64_t chunks = ts_cuda_parts(sizes.nz, plan.chunk);
    kernel<<<(unsigned)(tiles * chunks), THREADS, plan.cut.bytes, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, plan, outside_of<T>(launch));
    return ts_cuda_launched(launch->context, "fused_volume");
}

template <typename T, int R = 1> static enum ts_status volume(const struct box_launch *launch)
{
    if constexpr (R < BOX_VOLUME_MAX_RADIUS)
        if (launch->sizes.radius > R)
            return volume<T, R + 1>(launch);
    return launch_volume<T, R>(launch);
}

template <typename T, typename SUM, int THREADS, bool GATHER>
static enum ts_status launch_march(const struct box_launch *launch, struct march_plan plan)
{
    const T outside = outside_of<T>(launch);
    const SUM beyond = ((T)0.5 != 0 ? (SUM)outside : (SUM)(T)((uint32_t)outside ^ plan.sign)) *
                       (SUM)(2 * plan.radius + 1);
    const unsigned blocks =
        (unsigned)((int64_t)plan.cut.strips * plan.cut.chunks * launch->sizes.nz);
    const enum ts_status status = ts_cuda_shared(
        launch->context, (const void *)fused_march<T, SUM, THREADS, GATHER>, plan.cut.bytes);
    if (status != TS_OK)
        return status;
    fused_march<T, SUM, THREADS, GATHER><<<blocks, THREADS, plan.cut.bytes, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, plan, outside, beyond);
    return ts_cuda_launched(launch->context, "fused_march");
}

template <typename T, typename SUM> static enum ts_status march(const struct box_launch *launch)
{
    enum { FEW = 128, MANY = 512, MOST_BLOCKS = sizeof(SUM) == 4 ? 5 : 2 };
    const struct stage_context *const context = launch->context;
    const struct box_sizes sizes = launch->sizes;
    struct march_plan plan = plan_of<struct march_plan>(launch);
    ts_box_march(context->in.dtype, sizes.radius, sizes.ny, sizes.nx, context->device, &plan.cut);
    plan.slice = sizes.ny * sizes.nx;
    plan.radius = sizes.radius;
    /* Only wrap needs columns of other strips; other borders repeat columns that the strip at the
     * edge has. */
    plan.beyond = plan.cut.strips > 1 && sizes.border == BORDER_WRAP;
    plan.mean = launch->mean;
    if ((T)0.5 == 0) { /* integer sums do not depend on the cut */
        const int fit = context->device->shared_bytes / (int)(plan.cut.bytes + 1024);
        const int places = context->device->multiprocessors * (int)ts_clamp(fit, 1, MOST_BLOCKS);
        const int chunks =
            ts_box_parts(plan.cut.strips * sizes.nz, sizes.ny, places, sizes.radius + 12);
        if (chunks > plan.cut.chunks) {
            plan.cut.chunks = chunks;
            plan.cut.chunk = (int)ts_cuda_parts(sizes.ny, chunks);
        }
    }
    const bool gather = plan.beyond || !plan.aligned;
    if (plan.cut.threads == FEW)
        return gather ? launch_march<T, SUM, FEW, true>(launch, plan)
                      : launch_march<T, SUM, FEW, false>(launch, plan);
    return gather ? launch_march<T, SUM, MANY, true>(launch, plan)
                  : launch_march<T, SUM, MANY, false>(launch, plan);
}

enum ts_status ts_cuda_box_fused(const struct box_launch *launch)
{
    const enum ts_dtype dtype = launch->context->in.dtype;
    const bool bytes = dtype == TS_U8 || dtype == TS_I8, words = dtype == TS_U16 || dtype == TS_I16;
    const int radius = launch->sizes.radius;
    if (radius == 0)
        return ts_cuda_box_direct(launch);
    if (launch->sizes.reach) {
        if (bytes)
            return volume<uint8_t>(launch);
        return words ? volume<uint16_t>(launch) : volume<float>(launch);
    }
    if (radius <= BOX_SMALL_MAX_RADIUS && (bytes || words || dtype == TS_F32)) {
        if (bytes)
            return small<uint8_t>(launch);
        return words ? small<uint16_t>(launch) : small<float>(launch);
    }
    if (bytes)
        return march<uint8_t, uint32_t>(launch);
    if (words && ts_box_march_sum_bytes(dtype, radius) == 4)
        return march<uint16_t, uint32_t>(launch);
    if (words)
        return march<uint16_t, uint64_t>(launch);
    return dtype == TS_F32 ? march<float, double>(launch) : march<uint32_t, uint64_t>(launch);
}
