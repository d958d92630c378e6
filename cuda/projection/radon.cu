/* SPDX-License-Identifier: Apache-2.0
 *
 * radon on the device: the tables of views and rays, the choice of method, and method `ray`, for a
 * parallel beam and for a fan. (z, y, x) -> (z, view, detector).
 *
 * ray (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982): one thread computes one sample of the
 * sinogram. It walks along its ray, with one linear interpolation in every line of the major axis,
 * and writes the sum once. Rays along columns read a copy of the slices with rows and columns
 * exchanged, so that neighboring rays always read neighboring pixels. In a fan every thread
 * computes its own ray; if neighbors have different major axes, a warp goes through both branches.
 * If there are fewer rays than the device has threads, 8 threads share one: each sums 32 lines at a
 * time, and one adds up the sums, in the same order.
 *
 * Memory: every pixel is read about twice for each view from the caches, and from device memory
 * about once for as many views as run at once; the copy reads and writes each pixel once; 4 bytes
 * are written a ray. A block is 128 neighboring rays of one view: neighbors read the same cache
 * lines, and more would leave threads idle if a scan has few detector pixels.
 */
#include "core/clamp.h"
#include "cuda/device/launch.cuh"
#include "cuda/projection/joseph.cuh"
#include "cuda/projection/radon_methods.cuh"

/* ---- transpose ---------------------------------------------------------------------------------
 *
 * This exchanges the rows and columns of slices, out[z][x][y] = in[z][y][x], for kernels whose
 * threads follow columns. A thread moves four pixels through a tile of 32 x 32 in shared memory, so
 * that both sides are read and written in whole sectors. Memory traffic: each pixel is read once
 * and written once. 256 threads a block are the 8 rows of a tile that move at a time. */

enum { TRANSPOSE_TILE = 32, TRANSPOSE_ROWS = 8 };

/* The grid counts tiles of columns, and tiles of rows in all slices (any number). */
template <typename T>
static __global__ void __launch_bounds__(TRANSPOSE_TILE *TRANSPOSE_ROWS)
    transpose(const T *in, T *out, int64_t nz, int ny, int nx)
{
    __shared__ T tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    const int x = (int)blockIdx.x * TRANSPOSE_TILE,
              y_tiles = (ny + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    for (int64_t part = blockIdx.y; part < nz * y_tiles; part += gridDim.y) {
        const int y = (int)(part % y_tiles) * TRANSPOSE_TILE;
        const int64_t slice = part / y_tiles * ny * nx;
        for (int k = ty; k < TRANSPOSE_TILE && y + k < ny; k += TRANSPOSE_ROWS)
            if (x + tx < nx)
                tile[k][tx] = in[slice + (int64_t)(y + k) * nx + x + tx];
        __syncthreads();
        for (int k = ty; k < TRANSPOSE_TILE && x + k < nx; k += TRANSPOSE_ROWS)
            if (y + tx < ny)
                out[slice + (int64_t)(x + k) * ny + y + tx] = tile[tx][k];
        __syncthreads();
    }
}

/* Enqueues the transposes of all slices of `in` to `out`, in the same dtype. */
static inline enum ts_status ts_cuda_transpose(const struct stage_context *context,
                                               const struct ts_image *in, void *out,
                                               cudaStream_t stream)
{
    const int64_t nz = in->axes[0].n;
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const int64_t tiles = nz * ts_cuda_parts(ny, TRANSPOSE_TILE);
    const dim3 grid((unsigned)ts_cuda_parts(nx, TRANSPOSE_TILE),
                    (unsigned)(tiles < 65535 ? tiles : 65535));
    const dim3 block(TRANSPOSE_TILE, TRANSPOSE_ROWS);
#define LAUNCH(T)                                                                                  \
    transpose<T><<<grid, block, 0, stream>>>((const T *)in->data, (T *)out, nz, ny, nx)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "transpose");
}

/* ---- radon rows --------------------------------------------------------------------------------
 *
 * radon, method row-fan-in: a block takes 32 lines of the image, rows or columns by the view's
 * major axis, and projects them pixel by pixel into a vector of all detector pixels in shared
 * memory. The blocks' vectors are then summed by fan-in: the second half of n vectors is added to
 * the first (n / 2 to 0, n / 2 + 1 to 1, ...) until one is left. (z, y, x) -> (z, view, detector).
 *
 * One thread adds one image pixel at a time, of 4 slices, because what is computed for a ray serves
 * them all. A sample between pixels i and i + 1 is (1 - w) pixel[i] + w pixel[i + 1]: the detector
 * pixels whose ray has pixel i below it are one run, and every detector pixel is in one run of a
 * line. In a first phase each image pixel adds to the run it lies below, in a second to the run it
 * lies above: no two threads add to the same place, so there are no atomics and the order is fixed.
 *
 * Memory: columns are read from a transposed copy of the slices; each pixel is read once a view; a
 * partial vector is written, read and written again by the fan-in, about 12 bytes a detector pixel
 * and block. A block is 256 threads: a line of 512 pixels takes two turns, and the barriers stay
 * cheap.  */

enum {
    ROWS_THREADS = 256,
    ROWS_SLICES = 4,          /* slices that a block projects together */
    WINDOW = 2048,            /* detector pixels in shared memory at once */
    PARTIAL_BYTES = 64 << 20, /* memory of the vectors that wait for the fan-in, if those of one
                               * view fit */
    MOST_PAIRS = 32768        /* most pairs in one grid */
};

struct rows_size {
    int64_t n_views, n_slices;
    int ny, nx, n_detectors;
    int n_parts;   /* number of vectors of a view: enough for both major axes */
    int64_t pairs; /* pairs (of ROWS_SLICES slices and a view) that are computed at once */
};

static int64_t all_pairs(const struct rows_size *size)
{
    return ts_cuda_parts(size->n_slices, ROWS_SLICES) * size->n_views;
}

/* Returns the bytes of the vectors of one pair; the ROWS_SLICES sums of a detector pixel are side
 * by side. */
static int64_t pair_bytes(const struct rows_size *size)
{
    return (int64_t)size->n_parts * size->n_detectors * (int64_t)sizeof(float4);
}

static struct rows_size size_of(const struct stage_context *context, int64_t n)
{
    struct rows_size size = {context->out.axes[1].n, n};
    size.ny = (int)context->in.axes[1].n;
    size.nx = (int)context->in.axes[2].n;
    size.n_detectors = (int)context->out.axes[2].n;
    size.n_parts = (int)ts_cuda_parts(size.ny > size.nx ? size.ny : size.nx, RADON_LINES);
    const int64_t fit = PARTIAL_BYTES / pair_bytes(&size), all = all_pairs(&size);
    const int64_t most = all < MOST_PAIRS ? all : MOST_PAIRS;
    size.pairs = ts_clamp(fit, 1, most);
    return size;
}

/* The scratch holds the vectors, then the transposed slices. */
static size_t partials_bytes(const struct rows_size *size)
{
    return ts_cuda_stride((size_t)(size->pairs * pair_bytes(size)));
}

static size_t radon_rows_scratch(const struct stage_context *context, int64_t n)
{
    const struct rows_size size = size_of(context, n);
    return partials_bytes(&size) + (size_t)n * ts_slice_bytes(&context->in);
}

/* Returns the first detector pixel, counted from the start of the window, whose ray is at or past
 * pixel i. One run ends there and the next begins, and both use this same number. */
static __device__ int run_start(double i, double start, double per_sample, int n)
{
    return (int)fmin(fmax(ceil((i - start) * per_sample), 0.0), (double)n);
}

/* Adds weight times the pixel of each slice to the sums of a ray. */
static __device__ float4 radon_add(float4 sum, float weight, const float pixels[ROWS_SLICES])
{
    return make_float4(__fmaf_rn(weight, pixels[0], sum.x), __fmaf_rn(weight, pixels[1], sum.y),
                       __fmaf_rn(weight, pixels[2], sum.z), __fmaf_rn(weight, pixels[3], sum.w));
}

/* Adds one line of n_slices slices, which are `slice` pixels apart, to vector[0, n). per_sample is
 * the number of detector pixels per image pixel, and positive. */
template <typename T>
static __device__ void add_line(const T *line, int64_t slice, int n_slices, int n_minor,
                                double start, double per_detector, double per_sample, int n,
                                float4 *vector)
{
    for (int phase = 0; phase < 2; phase++) {
        for (int i = (int)threadIdx.x; i < n_minor; i += ROWS_THREADS) {
            const double below = (double)(i - phase);
            const int end = run_start(below + 1, start, per_sample, n);
            int d = run_start(below, start, per_sample, n);
            float pixels[ROWS_SLICES];
            if (d == end)
                continue;
#pragma unroll
            for (int z = 0; z < ROWS_SLICES; z++)
                pixels[z] = z < n_slices ? (float)line[z * slice + i] : 0;
            for (; d < end; d++) {
                const double weight = start + d * per_detector - below;
                vector[d] = radon_add(vector[d], (float)(phase ? weight : 1 - weight), pixels);
            }
        }
        __syncthreads();
    }
}

/* The grid counts parts, windows of detector pixels, and pairs, starting with `first`. */
template <typename T>
static __global__ void __launch_bounds__(ROWS_THREADS)
    project_rows(const T *in, const T *transposed, float4 *partials, const struct cuda_beams *table,
                 struct rows_size size, int64_t first)
{
    __shared__ float4 vector[WINDOW];
    const int64_t pair = first + blockIdx.z, z = pair / size.n_views * ROWS_SLICES,
                  slice = (int64_t)size.ny * size.nx;
    const int n_slices = (int)min((int64_t)ROWS_SLICES, size.n_slices - z);
    const struct cuda_beam beam = table->beams[pair % size.n_views];
    const int n_major = beam.along_rows ? size.ny : size.nx,
              n_minor = beam.along_rows ? size.nx : size.ny;
    const int window = (int)blockIdx.y * WINDOW, n = min(WINDOW, size.n_detectors - window);
    /* If positions fall as the detector index rises, the vector is filled from its end. */
    const bool mirrored = beam.per_detector < 0;
    const double per_detector = fabs(beam.per_detector), per_sample = 1 / per_detector;
    const double origin =
        beam.base + (double)(mirrored ? window + n - 1 : window) * beam.per_detector;
    for (int d = (int)threadIdx.x; d < n; d += ROWS_THREADS)
        vector[d] = make_float4(0, 0, 0, 0);
    __syncthreads();
    const int m_first = (int)blockIdx.x * RADON_LINES, m_end = min(m_first + RADON_LINES, n_major);
    for (int m = m_first; m < m_end; m++)
        add_line((beam.along_rows ? in : transposed) + z * slice + (int64_t)m * n_minor, slice,
                 n_slices, n_minor, origin + m * beam.per_major, per_detector, per_sample, n,
                 vector);
    float4 *partial =
        partials + ((int64_t)blockIdx.z * size.n_parts + blockIdx.x) * size.n_detectors + window;
    for (int d = (int)threadIdx.x; d < n; d += ROWS_THREADS)
        partial[d] = vector[mirrored ? n - 1 - d : d];
}

/* One thread sums a detector pixel. The grid counts runs of detector pixels, and pairs. Both major
 * axes have n_parts vectors, of which the last ones may be zero. */
static __global__ void __launch_bounds__(ROWS_THREADS)
    fan_in(float4 *partials, float *out, const struct cuda_beams *table, struct rows_size size,
           int64_t first)
{
    const int64_t pair = first + blockIdx.y, z = pair / size.n_views * ROWS_SLICES;
    const int64_t d = (int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x,
                  n_slices = size.n_slices - z;
    const struct cuda_beam beam = table->beams[pair % size.n_views];
    float4 *column = partials + (int64_t)blockIdx.y * size.n_parts * size.n_detectors + d;
    if (d >= size.n_detectors)
        return;
    for (int n = size.n_parts, half; n > 1; n = half) {
        half = (n + 1) / 2;
        for (int i = 0; i + half < n; i++) {
            float4 *to = &column[(int64_t)i * size.n_detectors];
            const float4 a = *to, b = column[(int64_t)(i + half) * size.n_detectors];
            *to = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        }
    }
    const float sums[ROWS_SLICES] = {column->x, column->y, column->z, column->w};
#pragma unroll
    for (int i = 0; i < ROWS_SLICES; i++)
        if (i < n_slices)
            out[((z + i) * size.n_views + beam.view) * size.n_detectors + d] =
                sums[i] * beam.length_mm;
}

static enum ts_status radon_rows(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct rows_size size = size_of(context, out->axes[0].n);
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t all = all_pairs(&size);
    void *transposed = (char *)call->scratch + partials_bytes(&size);
    enum ts_status status = ts_cuda_transpose(context, in, transposed, call->stream);
    for (int64_t first = 0; status == TS_OK && first < all; first += size.pairs) {
        const unsigned pairs = (unsigned)(all - first < size.pairs ? all - first : size.pairs);
        const dim3 blocks((unsigned)size.n_parts, (unsigned)ts_cuda_parts(size.n_detectors, WINDOW),
                          pairs);
        const dim3 runs((unsigned)ts_cuda_parts(size.n_detectors, ROWS_THREADS), pairs);
#define LAUNCH(T)                                                                                  \
    project_rows<T><<<blocks, ROWS_THREADS, 0, call->stream>>>(                                    \
        (const T *)in->data, (const T *)transposed, (float4 *)call->scratch, table, size, first)
        TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
        status = ts_cuda_launched(context, "project_rows");
        if (status != TS_OK)
            return status;
        fan_in<<<runs, ROWS_THREADS, 0, call->stream>>>((float4 *)call->scratch, (float *)out->data,
                                                        table, size, first);
        status = ts_cuda_launched(context, "fan_in");
    }
    return status;
}

enum {
    RAY_THREADS = 128,
    RAY_BLOCKS = 1 << 24,
    PART_RAYS = 32, /* rays of a block whose threads share rays */
    RAY_PARTS = 8   /* threads that share a ray */
};

static size_t constants_bytes(const struct stage_context *context)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    return ts_image_is_fan(&context->out) ? ts_cuda_joseph_constants_bytes(&scan)
                                          : ts_cuda_beams_bytes(scan.n_views);
}

static void radon_constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    const int64_t n_views = scan.n_views;
    struct cuda_beams *table = (struct cuda_beams *)host;
    if (ts_image_is_fan(&context->out)) {
        ts_cuda_joseph_constants(&scan, host);
        return;
    }
    for (int64_t v = 0; v < n_views; v++) {
        const struct beam_view view = ts_beam_view(&scan.grid, ts_beam_scan_angle(&scan, v));
        table->beams[v] = ts_cuda_beam(&view, v);
    }
    ts_cuda_beams_sort(table, n_views);
}

/* ---- ray ------------------------------------------------------------------------------------- */

/* Sums Joseph's samples of a ray on lines [m, stop); it is at position `at` on line m, and each
 * line has n_minor pixels. */
template <typename T>
static __device__ __forceinline__ float sum_lines(const T *slice, int64_t at, int64_t step, int m,
                                                  int stop, int n_minor)
{
    const T *line = slice + (int64_t)m * n_minor;
    float sum = 0;
    for (; m < stop; m++, at += step, line += n_minor) {
        const int i = (int)(at >> 32);
        const float weight = ts_cuda_beam_weight((uint32_t)at);
        const float below = (unsigned)i < (unsigned)n_minor ? (float)line[i] : 0;
        const float above = (unsigned)(i + 1) < (unsigned)n_minor ? (float)line[i + 1] : 0;
        sum = __fmaf_rn(weight - 1, above, __fmaf_rn(2 - weight, below, sum));
    }
    return sum;
}

/* The lines of a slice that a ray meets, and where it is on the first. */
struct ray_lines {
    int first, end, n_major, n_minor;
    int64_t at, step;
};

static __device__ __forceinline__ struct ray_lines lines_of(const struct cuda_beam &ray, int ny,
                                                            int nx)
{
    struct ray_lines lines;
    lines.n_major = ray.along_rows ? ny : nx;
    lines.n_minor = ray.along_rows ? nx : ny;
    ts_cuda_beam_lines(ray.base, ray.per_major, 0, lines.n_major, lines.n_minor, &lines.first,
                       &lines.end);
    lines.step = ts_cuda_fixed(ray.per_major);
    lines.at = ts_cuda_fixed(ray.base + lines.first * ray.per_major) + TS_CUDA_BEAM_HALF;
    return lines;
}

/* Sums those of lines [m, stop) that the ray meets. */
template <typename T>
static __device__ __forceinline__ float sum_between(const T *slice, const struct ray_lines &lines,
                                                    int m, int stop)
{
    m = max(m, lines.first);
    return sum_lines(slice, lines.at + (m - lines.first) * lines.step, lines.step, m,
                     min(stop, lines.end), lines.n_minor);
}

template <typename T>
static __device__ __forceinline__ float along_ray(const T *slice, const struct ray_lines &lines)
{
    float total = 0;
    for (int m = lines.first / RADON_LINES * RADON_LINES; m < lines.end; m += RADON_LINES)
        total += sum_between(slice, lines, m, m + RADON_LINES);
    return total;
}

/* The rays of a parallel beam, whose views are sorted in a table. */
struct parallel_rays {
    typedef struct cuda_beam view;
    const struct cuda_beams *table;
    int64_t n_views;

    __device__ __forceinline__ view view_of(int64_t index) const
    {
        return table->beams[index];
    }
    /* Returns the view with `base` moved to the ray's position on line 0. */
    __device__ __forceinline__ struct cuda_beam ray_of(const view &view, int64_t detector) const
    {
        struct cuda_beam ray = view;
        ray.base += (double)detector * view.per_detector;
        return ray;
    }
};

/* The rays of a fan, in the same form. */
struct fan_rays {
    typedef int64_t view;
    struct beam_geometry grid;
    const struct beam_angle *angles;
    const struct beam_detector *detectors;
    int64_t n_views;

    __device__ __forceinline__ view view_of(int64_t index) const
    {
        return index;
    }
    __device__ __forceinline__ struct cuda_beam ray_of(const view &view, int64_t detector) const
    {
        const struct beam_ray ray = ts_beam_ray(&grid, angles[view], detectors[detector]);
        return {ray.base, ray.per_major, 0, (float)ray.length_mm, (int32_t)view, ray.along_rows};
    }
};

/* The grid may have any number of blocks. */
template <typename T, class Rays>
static __global__ void __launch_bounds__(RAY_THREADS)
    project_rays(const T *in, const T *transposed, float *out, Rays rays, int64_t nz, int ny,
                 int nx, int n_detectors, const int32_t *halt)
{
    if (halt && *halt)
        return;
    const int64_t parts = ts_cuda_parts(n_detectors, RAY_THREADS), n_views = rays.n_views;
    for (int64_t task = blockIdx.x; task < nz * n_views * parts; task += gridDim.x) {
        const typename Rays::view view = rays.view_of(task / parts % n_views);
        const int64_t z = task / parts / n_views,
                      detector = task % parts * RAY_THREADS + threadIdx.x;
        if (detector >= n_detectors)
            continue;
        const struct cuda_beam ray = rays.ray_of(view, detector);
        const T *slice = (ray.along_rows ? in : transposed) + z * ny * nx;
        const float sum = along_ray(slice, lines_of(ray, ny, nx));
        out[(z * n_views + ray.view) * n_detectors + detector] = sum * ray.length_mm;
    }
}

/* Does the same with RAY_PARTS threads a ray, if there are few rays. Each sums RADON_LINES lines,
 * and one adds up these sums in rising order, as the other kernel does: the bytes are the same. */
template <typename T, class Rays>
static __global__ void __launch_bounds__(PART_RAYS *RAY_PARTS)
    project_ray_parts(const T *in, const T *transposed, float *out, Rays rays, int ny, int nx,
                      int n_detectors, const int32_t *halt)
{
    __shared__ float sums[RAY_PARTS][PART_RAYS];
    if (halt && *halt)
        return;
    const int64_t runs = ts_cuda_parts(n_detectors, PART_RAYS), n_views = rays.n_views;
    const int n_major = max(ny, nx), own = (int)threadIdx.y * RADON_LINES;
    const int64_t task = blockIdx.x;
    const typename Rays::view view = rays.view_of(task / runs % n_views);
    const int64_t z = task / runs / n_views, detector = task % runs * PART_RAYS + threadIdx.x;
    const struct cuda_beam ray = rays.ray_of(view, min(detector, (int64_t)n_detectors - 1));
    const struct ray_lines lines = lines_of(ray, ny, nx);
    const T *slice = (ray.along_rows ? in : transposed) + z * ny * nx;
    float total = 0;
    for (int m = 0; m < n_major; m += RAY_PARTS * RADON_LINES) {
        sums[threadIdx.y][threadIdx.x] = sum_between(slice, lines, m + own, m + own + RADON_LINES);
        __syncthreads();
        for (int part = 0; threadIdx.y == 0 && part < RAY_PARTS; part++)
            total += sums[part][threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.y == 0 && detector < n_detectors)
        out[(z * n_views + ray.view) * n_detectors + detector] = total * ray.length_mm;
}

/* `columns`: rays may read columns. */
template <class Rays>
static enum ts_status by_rays(const struct stage_context *context, const Rays &rays, bool columns,
                              const struct ts_image *in, struct ts_image *out,
                              const struct cuda_call *call)
{
    const int64_t nz = out->axes[0].n, n_detectors = out->axes[2].n;
    const int64_t tasks = nz * out->axes[1].n * ts_cuda_parts(n_detectors, RAY_THREADS);
    const unsigned blocks = (unsigned)(tasks < RAY_BLOCKS ? tasks : RAY_BLOCKS);
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const enum ts_status status =
        columns ? ts_cuda_transpose(context, in, call->scratch, call->stream) : TS_OK;
    if (status != TS_OK)
        return status;
    if (tasks < ts_cuda_blocks_at_once(context, RAY_THREADS)) {
        const int64_t runs = nz * out->axes[1].n * ts_cuda_parts(n_detectors, PART_RAYS);
#define LAUNCH(T)                                                                                  \
    project_ray_parts<T><<<(unsigned)runs, dim3(PART_RAYS, RAY_PARTS), 0, call->stream>>>(         \
        (const T *)in->data, (const T *)call->scratch, (float *)out->data, rays, ny, nx,           \
        (int)n_detectors, context->halt)
        TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
        return ts_cuda_launched(context, "project_ray_parts");
    }
#define LAUNCH(T)                                                                                  \
    project_rays<T><<<blocks, RAY_THREADS, 0, call->stream>>>(                                     \
        (const T *)in->data, (const T *)call->scratch, (float *)out->data, rays, nz, ny, nx,       \
        (int)n_detectors, context->halt)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "project_rays");
}

/* ---- methods --------------------------------------------------------------------------------- */

static int32_t method_of(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return radon_rows_scratch(context, n);
    case RADON_STACK:
        return ts_image_is_fan(&context->out) ? ts_cuda_joseph_project_scratch(&scan, n)
                                              : ts_cuda_radon_stack_scratch(context, n);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor_scratch(context, n);
    default:
        return (size_t)n * ts_slice_bytes(&context->in);
    }
}

/* Returns how many slices of a slab fill the threads of methods with slices side by side. More
 * slices would make these still faster, but slabs would be large. */
static int64_t least_slices(const struct stage_context *context)
{
    const int32_t method = method_of(context);
    if (method == RADON_STACK)
        return 32;
    return method == RADON_TENSOR || method == RADON_TENSOR_SPLIT ? 64 : 1;
}

static enum ts_status radon_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return radon_rows(context, in, out, call);
    case RADON_STACK:
        return ts_image_is_fan(&context->out)
                   ? ts_cuda_joseph_project(context, &scan, in, out, call)
                   : ts_cuda_radon_stack(context, in, out, call);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor(context, in, out, call);
    default:
        break;
    }
    if (ts_image_is_fan(&context->out)) {
        const struct cuda_joseph tables = ts_cuda_joseph_tables(&scan, call->constants);
        const struct fan_rays rays = {scan.grid, tables.angles, tables.detectors, scan.n_views};
        return by_rays(context, rays, true, in, out, call);
    }
    const struct parallel_rays rays = {(const struct cuda_beams *)call->constants, scan.n_views};
    return by_rays(context, rays, ts_cuda_radon_reads(&scan, false), in, out, call);
}

const struct stage_cuda radon_cuda = {
    .constants_bytes = constants_bytes,
    .constants = radon_constants,
    .scratch_bytes = scratch_bytes,
    .map = radon_map,
    .least_slices = least_slices,
};
