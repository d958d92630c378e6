/* SPDX-License-Identifier: Apache-2.0
 *
 * radon, method row-fan-in: a block takes 32 lines of the image, rows or columns by the view's major axis, and projects
 * them pixel by pixel into a vector of all detector pixels in shared memory. The blocks' vectors are then summed by
 * fan-in: of n vectors the first half takes the second, 0 with n / 2, 1 with n / 2 + 1, ..., until one is left.
 * (z, y, x) -> (z, view, detector).
 *
 * One thread adds one image pixel at a time, of 4 slices, because what is worked out for a ray serves them all. A
 * sample between pixels i and i + 1 is (1 - w) pixel[i] + w pixel[i + 1]: the detector pixels whose ray has pixel i
 * below it are one run, and every detector pixel is in one run of a line. In a first phase each image pixel adds to the
 * run it lies below, in a second to the run it lies above: no two threads meet, so that there are no atomics and the
 * order is fixed.
 *
 * Memory: columns are read from a transposed copy of the slices; each pixel is read once a view; a partial vector is
 * written, read and written again by the fan-in, about 12 bytes a detector pixel and block. A block is 256 threads: a
 * line of 512 pixels takes two turns, and the barriers stay cheap.
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/values/transpose.cuh"

enum {
    ROWS_THREADS = 256,
    ROWS_SLICES = 4,          /* that a block projects together */
    WINDOW = 2048,            /* detector pixels in shared memory at once */
    PARTIAL_BYTES = 64 << 20, /* memory of vectors that wait for the fan-in, where one view's fit */
    MOST_PAIRS = 32768        /* in one grid */
};

struct rows_size {
    int64_t n_views, n_slices;
    int ny, nx, n_detectors;
    int n_parts;   /* vectors of a view: enough for both major axes */
    int64_t pairs; /* pairs of ROWS_SLICES slices and a view that are in work at once */
};

static int64_t all_pairs(const struct rows_size *size)
{
    return ts_cuda_parts(size->n_slices, ROWS_SLICES) * size->n_views;
}

/* Returns the bytes of the vectors of one pair: a detector pixel has its ROWS_SLICES sums side by side. */
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
    size.pairs = fit < 1 ? 1 : fit < most ? fit : most;
    return size;
}

/* The vectors lie in front of the transposed slices. */
static size_t partials_bytes(const struct rows_size *size)
{
    return ts_cuda_stride((size_t)(size->pairs * pair_bytes(size)));
}

size_t ts_cuda_radon_rows_scratch(const struct stage_context *context, int64_t n)
{
    const struct rows_size size = size_of(context, n);
    return partials_bytes(&size) + (size_t)n * ts_slice_bytes(&context->in);
}

/* Returns the first detector pixel, counted from the window's, whose ray is at or past pixel i: there one run ends and
 * the next begins, and both get the same number. */
static __device__ int run_start(double i, double start, double per_sample, int n)
{
    return (int)fmin(fmax(ceil((i - start) * per_sample), 0.0), (double)n);
}

/* Adds the pixel's share to a ray of all slices. */
static __device__ float4 add(float4 sum, float weight, const float pixels[ROWS_SLICES])
{
    return make_float4(__fmaf_rn(weight, pixels[0], sum.x), __fmaf_rn(weight, pixels[1], sum.y),
                       __fmaf_rn(weight, pixels[2], sum.z), __fmaf_rn(weight, pixels[3], sum.w));
}

/* Adds one line of n_slices slices, `slice` pixels apart, to vector[0, n). per_sample: detector pixels an image pixel,
 * positive. */
template <typename T>
static __device__ void add_line(const T *line, int64_t slice, int n_slices, int n_minor, double start,
                                double per_detector, double per_sample, int n, float4 *vector)
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
                vector[d] = add(vector[d], (float)(phase ? weight : 1 - weight), pixels);
            }
        }
        __syncthreads();
    }
}

/* grid: parts, windows of detector pixels, pairs from `first` on. */
template <typename T>
static __global__ void __launch_bounds__(ROWS_THREADS)
    project_rows(const T *in, const T *transposed, float4 *partials, const struct cuda_beams *table,
                 struct rows_size size, int64_t first)
{
    __shared__ float4 vector[WINDOW];
    const int64_t pair = first + blockIdx.z, z = pair / size.n_views * ROWS_SLICES, slice = (int64_t)size.ny * size.nx;
    const int n_slices = (int)min((int64_t)ROWS_SLICES, size.n_slices - z);
    const struct cuda_beam beam = table->beams[pair % size.n_views];
    const int n_major = beam.along_rows ? size.ny : size.nx, n_minor = beam.along_rows ? size.nx : size.ny;
    const int window = (int)blockIdx.y * WINDOW, n = min(WINDOW, size.n_detectors - window);
    /* If positions fall as the detector index rises, the vector is filled from its end. */
    const bool mirrored = beam.per_detector < 0;
    const double per_detector = fabs(beam.per_detector), per_sample = 1 / per_detector;
    const double origin = beam.base + (double)(mirrored ? window + n - 1 : window) * beam.per_detector;
    for (int d = (int)threadIdx.x; d < n; d += ROWS_THREADS)
        vector[d] = make_float4(0, 0, 0, 0);
    __syncthreads();
    const int m_first = (int)blockIdx.x * RADON_LINES, m_end = min(m_first + RADON_LINES, n_major);
    for (int m = m_first; m < m_end; m++)
        add_line((beam.along_rows ? in : transposed) + z * slice + (int64_t)m * n_minor, slice, n_slices, n_minor,
                 origin + m * beam.per_major, per_detector, per_sample, n, vector);
    float4 *partial = partials + ((int64_t)blockIdx.z * size.n_parts + blockIdx.x) * size.n_detectors + window;
    for (int d = (int)threadIdx.x; d < n; d += ROWS_THREADS)
        partial[d] = vector[mirrored ? n - 1 - d : d];
}

/* One thread sums a detector pixel; grid: runs of detector pixels, pairs. Both major axes have n_parts vectors, the
 * last ones zero. */
static __global__ void __launch_bounds__(ROWS_THREADS)
    fan_in(float4 *partials, float *out, const struct cuda_beams *table, struct rows_size size, int64_t first)
{
    const int64_t pair = first + blockIdx.y, z = pair / size.n_views * ROWS_SLICES;
    const int64_t d = (int64_t)blockIdx.x * ROWS_THREADS + threadIdx.x, n_slices = size.n_slices - z;
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
            out[((z + i) * size.n_views + beam.view) * size.n_detectors + d] = sums[i] * beam.length_mm;
}

enum ts_status ts_cuda_radon_rows(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                  const struct cuda_call *call)
{
    const struct rows_size size = size_of(context, out->axes[0].n);
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t all = all_pairs(&size);
    void *transposed = (char *)call->scratch + partials_bytes(&size);
    enum ts_status status = ts_cuda_transpose(context, in, transposed, call->stream);
    for (int64_t first = 0; status == TS_OK && first < all; first += size.pairs) {
        const unsigned pairs = (unsigned)(all - first < size.pairs ? all - first : size.pairs);
        const dim3 blocks((unsigned)size.n_parts, (unsigned)ts_cuda_parts(size.n_detectors, WINDOW), pairs);
        const dim3 runs((unsigned)ts_cuda_parts(size.n_detectors, ROWS_THREADS), pairs);
#define LAUNCH(T)                                                                                                      \
    project_rows<T><<<blocks, ROWS_THREADS, 0, call->stream>>>((const T *)in->data, (const T *)transposed,             \
                                                               (float4 *)call->scratch, table, size, first)
        TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
        status = ts_cuda_launched(context, "project_rows");
        if (status != TS_OK)
            return status;
        fan_in<<<runs, ROWS_THREADS, 0, call->stream>>>((float4 *)call->scratch, (float *)out->data, table, size,
                                                        first);
        status = ts_cuda_launched(context, "fan_in");
    }
    return status;
}
