/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters rows of a sinogram of any dtype in one kernel: transform, product with the response,
 * inverse and cropping.
 *
 * A row of n <= m samples, m a power of two, is transformed at the frequencies f - 1/4, f = 0 .. m
 * - 1, per m samples:
 *
 *     X[f] = sum over j of x[j] exp(-2 pi i j (f - 1/4) / m),
 *     y[j] = real part of 1/m sum of H[f] X[f] exp(+ ...)
 *
 * Samples that come around the end of the row are then purely imaginary (right-angle convolution:
 * R. C. Agarwal and C. S. Burrus, IEEE Trans. ASSP 22, 1974), so that y is the row filtered without
 * any zeros behind it; and H is real, for the filter is even. Rows know nothing of each other.
 *
 * With m = 32 R, R up to 32, one thread of a warp transforms samples j = thread + 32 i (R of them,
 * shifted by a quarter, real), and after one exchange through shared memory frequencies k + R k2 of
 * one k (32, shifted by as much as k says); then all the way back. A warp has 32 / R rows. Rows of
 * up to 2,048 samples go so in two halves, even and odd samples. Longer ones have a branch b of
 * `branches` frequencies b + branches * f for each warp, whose 1,024 samples are sums of `branches`
 * samples of the row; in the end every warp adds the branches for its share of the samples.
 *
 * Memory: each sample is read once and written once (in longer rows each branch reads it, from the
 * cache); tables of 16 KiB a branch come from the first cache. Instructions are the limit: some 73
 * a sample for m = 1,024. Blocks are 4 warps, 3 a multiprocessor, because the next rows and those
 * in work need the registers.
 */
#include "cuda/projection/row_filter.cuh"
#include "cuda/projection/row_filter_warp.cuh"

/* ---- row filter branches -----------------------------------------------------------------------
 *
 * The kernel of row_filter_fused.cu for rows of more than 2,048 samples: each warp computes a
 * branch of 1,024 frequencies, and the warps of a row add up their branches. */

/* Makes a branch's samples from those of the row, which are in the shared memory of N warps. */
template <int N>
static __device__ __forceinline__ void mix(const struct fused_rows *rows, const float *segments,
                                           int branch, int lane, float2 *x)
{
    const float4 *mixing = (const float4 *)(rows->mixing + branch * N * 32);
#pragma unroll
    for (int q = 0; q < N; q++) {
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            const float4 turn = __ldg(mixing + q * 16 + i / 2);
            const float a = segments[q * (FUSED_BYTES / 4) + i * 32 + lane],
                        b = segments[q * (FUSED_BYTES / 4) + i * 32 + 32 + lane];
            x[i] = q ? make_float2(__fmaf_rn(a, turn.x, x[i].x), __fmaf_rn(a, turn.y, x[i].y))
                     : make_float2(a * turn.x, a * turn.y);
            x[i + 1] =
                q ? make_float2(__fmaf_rn(b, turn.z, x[i + 1].x), __fmaf_rn(b, turn.w, x[i + 1].y))
                  : make_float2(b * turn.z, b * turn.w);
        }
    }
}

/* Writes the row's samples lane + 32 i + 1024 q, q < N, as sums over the N branches. Of i = 0 ..
 * 31, warp `branch` takes its 32 / N. */
template <int N>
static __device__ __forceinline__ void row_filter_fused_join(const struct fused_rows *rows,
                                                             const float2 *branches, int64_t row,
                                                             int branch, int lane)
{
    float *to = rows->out + row * rows->n + lane;
#pragma unroll(16 / N)
    for (int i = branch * (32 / N); i < (branch + 1) * (32 / N); i++) {
        float sum[N];
#pragma unroll
        for (int b = 0; b < N; b++) {
            const float2 value = branches[b * 32 * FUSED_PITCH + i * 32 + lane];
#pragma unroll
            for (int q = 0; q < N; q += 2) {
                const float4 turn =
                    __ldg((const float4 *)(rows->mixing_back + (i * N + b) * N + q));
                sum[q] = __fmaf_rn(turn.x, value.x,
                                   b ? __fmaf_rn(-turn.y, value.y, sum[q]) : -turn.y * value.y);
                sum[q + 1] =
                    __fmaf_rn(turn.z, value.x,
                              b ? __fmaf_rn(-turn.w, value.y, sum[q + 1]) : -turn.w * value.y);
            }
        }
#pragma unroll
        for (int q = 0; q < N; q++)
            if (q < N / 2 || lane + 32 * i + BRANCH_SAMPLES * q < rows->n)
                to[32 * i + BRANCH_SAMPLES * q] = sum[q];
    }
}

static __host__ __device__ constexpr int branch_threads(int n)
{
    return 32 * (n > FUSED_WARPS ? n : FUSED_WARPS);
}

/* Each warp computes a branch, and N warps do a row. All warps of the block take the same number of
 * turns, because they wait for each other; rows past the last one repeat it. */
template <int N>
static __global__ void __launch_bounds__(branch_threads(N),
                                         32 * FUSED_WARPS * FUSED_BLOCKS / branch_threads(N))
    filter_branches(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), branch = warp % N;
    const int at_once = (int)blockDim.x / (32 * N);
    float2 *exchange = (float2 *)shared + warp * 32 * FUSED_PITCH,
           *branches = exchange - branch * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * at_once;
    const int segment = lane + BRANCH_SAMPLES * branch, n = rows.n - segment;
    int64_t row = (int64_t)blockIdx.x * at_once + warp / N;
    uint32_t bits[32];
    fetch<32, 32, 0>(&rows, (row < rows.n_rows ? row : rows.n_rows - 1) * rows.n + segment, n,
                     bits);
    for (; row - warp / N < rows.n_rows; row += step) {
        float2 x[32];
        float samples[32];
        convert(rows.dtype, bits, samples);
#pragma unroll
        for (int i = 0; i < 32; i++)
            ((float *)exchange)[i * 32 + lane] = samples[i];
        __syncthreads();
        mix<N>(&rows, (const float *)branches, branch, lane, x);
        row_fft<32, -1>(x);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; i++)
            exchange[i * FUSED_PITCH + lane] = x[i];
        fetch<32, 32, 0>(
            &rows, (row + step < rows.n_rows ? row + step : rows.n_rows - 1) * rows.n + segment, n,
            bits);
        __syncwarp();
        filter_turned(rows.tables + branch, lane, exchange, x);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = exchange[i * FUSED_PITCH + lane];
        __syncwarp();
        row_fft<32, 1>(x);
#pragma unroll
        for (int i = 0; i < 32; i++)
            exchange[i * 32 + lane] = x[i];
        __syncthreads();
        if (row < rows.n_rows)
            row_filter_fused_join<N>(&rows, branches, row, branch, lane);
        __syncthreads();
    }
}

/* ---- row filter rows ---------------------------------------------------------------------------
 *
 * These are the kernels of row_filter_fused.cu for rows that a single warp filters. Rows of up to
 * 1,024 samples take 32 samples a thread, for one or more rows; rows of up to 2,048 take 64 a
 * thread, in two halves. Longer rows need several warps. */

/* Loads the samples of 32 / R rows; a thread loads R of each row. Rows past the last one repeat
 * it. */
template <int R>
static __device__ __forceinline__ void fetch_rows(const struct fused_rows *rows, int64_t first,
                                                  int lane, uint32_t bits[32])
{
#pragma unroll
    for (int part = 0; part < 32 / R; part++) {
        const int64_t row = first + part < rows->n_rows ? first + part : rows->n_rows - 1;
        fetch<R, 32, (R > 4 ? R / 2 : 0)>(rows, row * rows->n + lane, rows->n - lane,
                                          bits + part * R);
    }
}

/* A warp filters 32 / R rows at a time, while the next ones are loaded. The grid may have any
 * number of blocks. */
template <int R>
static __global__ void __launch_bounds__(32 * FUSED_WARPS, FUSED_BLOCKS)
    filter_rows(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    float2 *exchange = (float2 *)shared + warp * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * FUSED_WARPS * (32 / R);
    const bool whole = rows.n == 32 * R;
    int64_t first = ((int64_t)blockIdx.x * FUSED_WARPS + warp) * (32 / R);
    uint32_t bits[32];
    fetch_rows<R>(&rows, first, lane, bits);
    for (; first < rows.n_rows; first += step) {
        float2 x[32];
        float samples[32];
        convert(rows.dtype, bits, samples);
#pragma unroll
        for (int part = 0; part < 32 / R; part++) {
            row_fft_quarter_real<R>(samples + part * R, x + part * R);
#pragma unroll
            for (int i = 0; i < R; i++)
                exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane] =
                    x[part * R + i];
        }
        fetch_rows<R>(&rows, first + step, lane, bits);
        __syncwarp();
        filter_turned(rows.tables, lane, exchange, x);
        __syncwarp();
#pragma unroll
        for (int part = 0; part < 32 / R; part++) {
            float *to = rows.out + (first + part) * rows.n + lane;
#pragma unroll
            for (int i = 0; i < R; i++)
                x[part * R + i] =
                    exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane];
            row_fft_quarter_back<R>(x + part * R, samples);
            if (first + part < rows.n_rows)
#pragma unroll
                for (int i = 0; i < R; i++)
                    if ((R > 4 && i < R / 2) || whole || 32 * i < rows.n - lane)
                        to[32 * i] = samples[i];
        }
        __syncwarp();
    }
}

/* The first replaces 32 pairs of the thread by a + w b and a - w b, where w depends on the thread's
 * frequency. The second does the reverse: a + b and (a - b) / w. */
static __device__ __forceinline__ void join_halves(float4 *a, float4 *b, float2 w)
{
#pragma unroll 4
    for (int i = 0; i < 16; i++) {
        const float4 p = a[i], q = b[i];
        float2 p0 = make_float2(p.x, p.y), p1 = make_float2(p.z, p.w), q0 = make_float2(q.x, q.y),
               q1 = make_float2(q.z, q.w);
        row_fft_pair(&p0, &q0, w.x, w.y);
        row_fft_pair(&p1, &q1, w.x, w.y);
        a[i] = make_float4(p0.x, p0.y, p1.x, p1.y);
        b[i] = make_float4(q0.x, q0.y, q1.x, q1.y);
    }
}

static __device__ __forceinline__ void part_halves(float4 *a, float4 *b, float2 w)
{
#pragma unroll 4
    for (int i = 0; i < 16; i++) {
        const float4 p = a[i], q = b[i];
        const float2 even = row_fft_product(make_float2(p.x - q.x, p.y - q.y), w.x, -w.y),
                     odd = row_fft_product(make_float2(p.z - q.z, p.w - q.w), w.x, -w.y);
        a[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
        b[i] = make_float4(even.x, even.y, odd.x, odd.y);
    }
}

static __device__ __forceinline__ void fetch_half(const struct fused_rows *rows, int64_t row,
                                                  int half, int lane, uint32_t bits[32])
{
    const int first = lane + 32 * half;
    fetch<32, 64, 16>(rows, (row < rows->n_rows ? row : rows->n_rows - 1) * rows->n + first,
                      rows->n - first, bits);
}

/* Filters rows of up to 2,048 samples, 64 for each thread: first the even samples, then the odd
 * ones (thread + 32 (2 i + half)), from which the frequencies k and k + 32 follow. Both halves go
 * through loops, because code for each would not fit the instruction cache. */
static __global__ void __launch_bounds__(32 * HALVES_WARPS,
                                         FUSED_WARPS *FUSED_BLOCKS / HALVES_WARPS)
    filter_halves(struct fused_rows rows)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    float2 *exchange = (float2 *)shared + warp * 64 * FUSED_PITCH;
    float4 *low = (float4 *)(exchange + lane * FUSED_PITCH), *high = low + 16 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * HALVES_WARPS;
    const bool whole = rows.n == 2048;
    int64_t row = (int64_t)blockIdx.x * HALVES_WARPS + warp;
    float2 turn;
    uint32_t bits[32];
    sincospif(-((float)lane - 0.25F) / 32, &turn.y, &turn.x);
    fetch_half(&rows, row, 0, lane, bits);
    for (; row < rows.n_rows; row += step) {
        float2 x[32];
        float samples[32];
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            convert(rows.dtype, bits, samples);
            fetch_half(&rows, half ? row + step : row, 1 - half, lane, bits);
            row_fft_quarter_real<32>(samples, x);
#pragma unroll
            for (int i = 0; i < 32; i++)
                exchange[(32 * half + row_fft_reversed(i, 32)) * FUSED_PITCH + lane] = x[i];
        }
        __syncwarp();
        join_halves(low, high, turn);
#pragma unroll 1
        for (int half = 0; half < 2; half++)
            filter_turned(rows.tables + half, lane, exchange + 32 * half * FUSED_PITCH, x);
        part_halves(low, high, turn);
        __syncwarp();
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            const int first = lane + 32 * half;
            float *to = rows.out + row * rows.n + first;
#pragma unroll
            for (int i = 0; i < 32; i++)
                x[i] = exchange[(32 * half + row_fft_reversed(i, 32)) * FUSED_PITCH + lane];
            row_fft_quarter_back<32>(x, samples);
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (i < 16 || whole || 64 * i < rows.n - first)
                    to[64 * i] = samples[i];
        }
        __syncwarp();
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct fused_shape {
    int radix, branches; /* m = 32 radix branches */
};

static struct fused_shape shape_of(const struct row_filter *filter)
{
    int64_t m = 128;
    while (m < filter->n && m <= BRANCH_SAMPLES * MOST_BRANCHES)
        m *= 2;
    if (m <= 2048)
        return {(int)(m / 32), 1};
    return {32, (int)(m / BRANCH_SAMPLES)};
}

static int block_warps(struct fused_shape shape)
{
    if (shape.radix == 64)
        return HALVES_WARPS;
    return shape.branches > FUSED_WARPS ? shape.branches : FUSED_WARPS;
}

static size_t block_bytes(struct fused_shape shape)
{
    return (size_t)block_warps(shape) * FUSED_BYTES * (shape.radix == 64 ? 2 : 1);
}

bool ts_cuda_row_filter_is_fused(const struct stage_context *context,
                                 const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return filter->name != ROW_FILTER_NONE && shape.branches <= MOST_BRANCHES &&
           block_bytes(shape) <= (size_t)context->device->block_shared_bytes;
}

static int tables_count(struct fused_shape shape)
{
    return shape.radix == 64 ? 2 : shape.branches;
}

/* Behind the tables are the factors that make branches from samples, and samples from branches. */
static size_t mixing_count(struct fused_shape shape)
{
    return shape.branches == 1 ? 0 : (size_t)(shape.branches * shape.branches * 32);
}

static size_t tables_bytes(struct fused_shape shape)
{
    return (size_t)tables_count(shape) * sizeof(struct fused_tables) +
           2 * mixing_count(shape) * sizeof(float2);
}

size_t ts_cuda_row_filter_fused_bytes(const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return ts_cuda_stride(tables_bytes(shape)) +
           ts_row_filter_quarter_bytes(filter, 32 * shape.radix * shape.branches);
}

/* Returns exp(2 pi i turns). */
static float2 turn_of(double turns)
{
    const double angle = 2 * M_PI * (turns - floor(turns));
    return make_float2((float)cos(angle), (float)sin(angle));
}

/* Fills the table of one thread, whose frequencies are branches * l + branch with l = k + radix *
 * k2. */
static void fill_lane(struct fused_tables *tables, struct fused_shape shape, int branch, int k,
                      int lane, const double *response)
{
    const double m = 32.0 * shape.radix * shape.branches,
                 shift = (k + (branch - 0.25) / shape.branches) / shape.radix;
    for (int level = 0, at = 0; level < 5; level++)
        for (int node = 0; node < (level ? (1 << level) / 2 : 1); node++, at++) {
            const int c = level ? row_fft_reversed(node, (1 << level) / 2) : 0;
            ((float2 *)&tables->turns[at / 2][lane])[at % 2] = turn_of(-(shift + c) / (2 << level));
        }
    for (int place = 0; place < 32; place++) {
        const int l = k + shape.radix * row_fft_reversed(place, 32);
        ((float *)&tables->factors[place / 4][lane])[place % 4] =
            (float)(response[shape.branches * l + branch] / m);
        ((float2 *)&tables->back[place / 2][lane])[place % 2] = turn_of(place * shift / 32);
    }
}

void ts_cuda_row_filter_fused_tables(const struct row_filter *filter, void *host)
{
    const struct fused_shape shape = shape_of(filter);
    const int n = shape.branches;
    struct fused_tables *tables = (struct fused_tables *)host;
    float2 *mixing = (float2 *)(tables + tables_count(shape)), *back = mixing + mixing_count(shape);
    double *response = (double *)((char *)host + ts_cuda_stride(tables_bytes(shape)));
    ts_row_filter_quarter_response(filter, 32 * shape.radix * n, response);
    for (int table = 0; table < tables_count(shape); table++)
        for (int lane = 0; lane < 32; lane++)
            fill_lane(&tables[table], shape, n > 1 ? table : 0,
                      n > 1 ? lane : (32 * table + lane) % shape.radix, lane, response);
    for (int branch = 0; n > 1 && branch < n; branch++)
        for (int q = 0; q < n; q++)
            for (int i = 0; i < 32; i++) {
                const double turns = (branch - 0.25) * (q + i / 32.0) / n;
                mixing[(branch * n + q) * 32 + i] = turn_of(-turns);
                back[(i * n + branch) * n + q] = turn_of(turns);
            }
}

/* ---- launching ------------------------------------------------------------------------------- */

static const void *kernel_of(struct fused_shape shape)
{
    switch (shape.branches) {
    case 4:
        return (const void *)filter_branches<4>;
    case 8:
        return (const void *)filter_branches<8>;
    case 16:
        return (const void *)filter_branches<16>;
    default:
        break;
    }
    if (shape.radix == 4)
        return (const void *)filter_rows<4>;
    if (shape.radix == 8)
        return (const void *)filter_rows<8>;
    if (shape.radix == 16)
        return (const void *)filter_rows<16>;
    return shape.radix == 32 ? (const void *)filter_rows<32> : (const void *)filter_halves;
}

enum ts_status ts_cuda_row_filter_fused(const struct stage_context *context,
                                        const struct row_filter *filter, const struct ts_image *in,
                                        float *out, const void *tables,
                                        const struct cuda_call *call)
{
    const struct fused_shape shape = shape_of(filter);
    const int warps = block_warps(shape),
              at_once = shape.radix == 64 ? warps : warps * (32 / shape.radix) / shape.branches;
    struct fused_rows rows = {in->data, out, (const struct fused_tables *)tables};
    rows.mixing = (const float2 *)(rows.tables + tables_count(shape));
    rows.mixing_back = rows.mixing + mixing_count(shape);
    rows.n_rows = in->axes[0].n * in->axes[1].n;
    rows.n = (int)filter->n;
    rows.dtype = in->dtype;
    rows.bytes = (int)ts_dtype_bytes(in->dtype);
    const size_t bytes = block_bytes(shape);
    const int64_t blocks = ts_cuda_parts(rows.n_rows, at_once),
                  most = (int64_t)context->device->multiprocessors * FUSED_BLOCKS * 4;
    const void *kernel = kernel_of(shape);
    void *arguments[] = {&rows};
    const enum ts_status status = bytes > 48 << 10 ? ts_cuda_shared(context, kernel, bytes) : TS_OK;
    if (status != TS_OK)
        return status;
    cudaLaunchKernel(kernel, dim3((unsigned)(blocks < most ? blocks : most)),
                     dim3(32 * (unsigned)warps), arguments, bytes, call->stream);
    return ts_cuda_launched(context, "filter_rows");
}
