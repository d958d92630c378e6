/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a sinogram times a response in the frequencies, in one kernel: transform, product, inverse and cropping, for
 * rows of any dtype.
 *
 * A row of n <= m samples, m a power of two, is transformed at the frequencies f - 1/4, f = 0 .. m - 1, per m samples:
 *
 *     X[f] = sum over j of x[j] exp(-2 pi i j (f - 1/4) / m),  y[j] = real part of 1/m sum of H[f] X[f] exp(+ ...)
 *
 * What comes around the end of the row is then purely imaginary (right-angle convolution: R. C. Agarwal and C. S.
 * Burrus, IEEE Trans. ASSP 22, 1974), so that y is the row filtered without any zeros behind it; and H is real, for the
 * filter is even. Rows know nothing of each other.
 *
 * With m = 32 R, R up to 32, one thread of a warp transforms samples j = thread + 32 i (R of them, shifted by a
 * quarter, real), and after one exchange through shared memory frequencies k + R k2 of one k (32, shifted by as much as
 * k says); then all the way back. A warp has 32 / R rows. Longer rows have a branch b of `branches` frequencies b +
 * branches * f for each warp, whose 1,024 samples are sums of `branches` samples of the row; in the end every warp adds
 * the branches for its share of the samples.
 *
 * Memory: each sample is read once and written once (longer rows: read by each branch, from the cache); tables of 16
 * KiB a branch from the first cache. What bounds it are instructions: some 73 a sample for m = 1,024. Blocks of 4
 * warps, 3 a multiprocessor: the registers that the next rows and those at work need.
 */
#include "cuda/common/row_fft.cuh"
#include "cuda/common/row_filter.cuh"

enum {
    FUSED_WARPS = 4,  /* of a block, at least */
    FUSED_BLOCKS = 3, /* of so many warps, on a multiprocessor */
    FUSED_PITCH = 34, /* of 32 samples in shared memory: pairs of them lie on 16 bytes, in all banks */
    FUSED_ROOM = 32 * FUSED_PITCH * sizeof(float2),
    BRANCH_SAMPLES = 1024,
    MOST_BRANCHES = 16
};

/* ---- tables ------------------------------------------------------------------------------------ */

struct fused_shape {
    int radix, branches; /* m = 32 radix branches */
};

static struct fused_shape shape_of(const struct row_filter *filter)
{
    int64_t m = 128;
    while (m < filter->n && m <= BRANCH_SAMPLES * MOST_BRANCHES)
        m *= 2;
    return {(int)(m < BRANCH_SAMPLES ? m / 32 : 32), (int)(m < BRANCH_SAMPLES ? 1 : m / BRANCH_SAMPLES)};
}

static int block_warps(struct fused_shape shape)
{
    return shape.branches > FUSED_WARPS ? shape.branches : FUSED_WARPS;
}

bool ts_cuda_row_filter_is_fused(const struct stage_context *context, const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return filter->name != ROW_FILTER_NONE && shape.branches <= MOST_BRANCHES &&
           block_warps(shape) * FUSED_ROOM <= context->device->block_shared_bytes;
}

/* Of a branch, each 32 threads wide: 16 turns of the shifted transform, 32 factors of frequencies, 32 turns on the way
 * back. Then for longer rows how branches are made of samples, and samples of branches. */
struct fused_tables {
    float4 turns[8][32], factors[8][32], back[16][32];
};

static size_t mixing_count(struct fused_shape shape)
{
    return shape.branches == 1 ? 0 : (size_t)(shape.branches * shape.branches * 32);
}

static size_t tables_bytes(struct fused_shape shape)
{
    return (size_t)shape.branches * sizeof(struct fused_tables) + 2 * mixing_count(shape) * sizeof(float2);
}

size_t ts_cuda_row_filter_fused_bytes(const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return ts_cuda_stride(tables_bytes(shape)) + ts_row_filter_quarter_room(filter, 32 * shape.radix * shape.branches);
}

/* exp(2 pi i turns). */
static float2 turn_of(double turns)
{
    const double angle = 2 * M_PI * (turns - floor(turns));
    return make_float2((float)cos(angle), (float)sin(angle));
}

/* Of one thread and one branch, whose frequencies are branches * l + branch; l = k + radix * k2. */
static void fill_lane(struct fused_tables *tables, struct fused_shape shape, int branch, int lane,
                      const double *response)
{
    const int k = lane % shape.radix;
    const double m = 32.0 * shape.radix * shape.branches, shift = (k + (branch - 0.25) / shape.branches) / shape.radix;
    for (int level = 0, at = 0; level < 5; level++)
        for (int node = 0; node < (level ? (1 << level) / 2 : 1); node++, at++) {
            const int c = level ? row_fft_reversed(node, (1 << level) / 2) : 0;
            ((float2 *)&tables->turns[at / 2][lane])[at % 2] = turn_of(-(shift + c) / (2 << level));
        }
    for (int place = 0; place < 32; place++) {
        const int l = k + shape.radix * row_fft_reversed(place, 32);
        ((float *)&tables->factors[place / 4][lane])[place % 4] = (float)(response[shape.branches * l + branch] / m);
        ((float2 *)&tables->back[place / 2][lane])[place % 2] = turn_of(place * shift / 32);
    }
}

void ts_cuda_row_filter_fused_tables(const struct row_filter *filter, void *host)
{
    const struct fused_shape shape = shape_of(filter);
    const int n = shape.branches;
    struct fused_tables *tables = (struct fused_tables *)host;
    float2 *mixing = (float2 *)(tables + n), *back = mixing + mixing_count(shape);
    double *response = (double *)((char *)host + ts_cuda_stride(tables_bytes(shape)));
    ts_row_filter_quarter_response(filter, 32 * shape.radix * n, response);
    for (int branch = 0; branch < n; branch++)
        for (int lane = 0; lane < 32; lane++)
            fill_lane(&tables[branch], shape, branch, lane, response);
    for (int branch = 0; n > 1 && branch < n; branch++)
        for (int q = 0; q < n; q++)
            for (int i = 0; i < 32; i++) {
                const double turns = (branch - 0.25) * (q + i / 32.0) / n;
                mixing[(branch * n + q) * 32 + i] = turn_of(-turns);
                back[(i * n + branch) * n + q] = turn_of(turns);
            }
}

/* ---- the kernel -------------------------------------------------------------------------------- */

struct fused_rows {
    const void *in;
    float *out;
    const struct fused_tables *tables;
    const float2 *mixing, *mixing_back;
    int64_t n_rows;
    int n, dtype, bytes;
};

/* The bits of samples at + 32 i, i < N, of which those from n on are 0; the first SURE of them lie before it. */
template <typename T, int N, int SURE>
static __device__ __forceinline__ void fetch_as(const struct fused_rows *rows, int64_t at, int n, uint32_t *bits)
{
    const T *from = (const T *)rows->in + at;
#pragma unroll
    for (int i = 0; i < N; i++)
        bits[i] = i < SURE || 32 * i < n ? from[32 * i] : 0;
}

template <int N, int SURE>
static __device__ __forceinline__ void fetch(const struct fused_rows *rows, int64_t at, int n, uint32_t *bits)
{
    if (rows->bytes == 4)
        fetch_as<uint32_t, N, SURE>(rows, at, n, bits);
    else if (rows->bytes == 2)
        fetch_as<uint16_t, N, SURE>(rows, at, n, bits);
    else
        fetch_as<uint8_t, N, SURE>(rows, at, n, bits);
}

template <typename T> static __device__ __forceinline__ void convert_from(const uint32_t bits[32], float x[32])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        x[i] = (float)(T)bits[i];
}

static __device__ __forceinline__ void convert(int dtype, const uint32_t bits[32], float x[32])
{
    if (dtype == TS_F32) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = __uint_as_float(bits[i]);
        return;
    }
#define CONVERT(T) convert_from<T>(bits, x)
    TS_CUDA_DTYPES(dtype, CONVERT);
#undef CONVERT
}

/* 32 samples of 32 / R transforms a thread, which lie in `exchange` by thread, times the factors and back. */
static __device__ __forceinline__ void filter_turned(const struct fused_tables *tables, int lane, float2 *exchange,
                                                     float2 *x)
{
    float4 *own = (float4 *)(exchange + lane * FUSED_PITCH);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const float4 two = own[i];
        x[2 * i] = make_float2(two.x, two.y);
        x[2 * i + 1] = make_float2(two.z, two.w);
    }
    row_fft_shifted<0>(x, &tables->turns[0][lane]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float4 factor = __ldg(&tables->factors[i][lane]);
        x[4 * i] = make_float2(x[4 * i].x * factor.x, x[4 * i].y * factor.x);
        x[4 * i + 1] = make_float2(x[4 * i + 1].x * factor.y, x[4 * i + 1].y * factor.y);
        x[4 * i + 2] = make_float2(x[4 * i + 2].x * factor.z, x[4 * i + 2].y * factor.z);
        x[4 * i + 3] = make_float2(x[4 * i + 3].x * factor.w, x[4 * i + 3].y * factor.w);
    }
    row_fft_steps<32, 1>(x);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const float4 turn = __ldg(&tables->back[i][lane]);
        const float2 a = row_fft_product(x[2 * i], turn.x, turn.y), b = row_fft_product(x[2 * i + 1], turn.z, turn.w);
        own[i] = make_float4(a.x, a.y, b.x, b.y);
    }
}

/* The samples of 32 / R rows, R a thread of each; rows past the last one are it once more. */
template <int R>
static __device__ __forceinline__ void fetch_rows(const struct fused_rows *rows, int64_t first, int lane,
                                                  uint32_t bits[32])
{
#pragma unroll
    for (int part = 0; part < 32 / R; part++) {
        const int64_t row = first + part < rows->n_rows ? first + part : rows->n_rows - 1;
        fetch<R, (R > 4 ? R / 2 : 0)>(rows, row * rows->n + lane, rows->n - lane, bits + part * R);
    }
}

/* grid: any number of blocks. A warp does 32 / R rows at a time, and has the next ones on their way. */
template <int R>
static __global__ void __launch_bounds__(32 * FUSED_WARPS, FUSED_BLOCKS) filter_rows(struct fused_rows rows)
{
    extern __shared__ float4 room[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    float2 *exchange = (float2 *)room + warp * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * FUSED_WARPS * (32 / R);
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
                exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane] = x[part * R + i];
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
                x[part * R + i] = exchange[(part * R + row_fft_reversed(i, R)) * FUSED_PITCH + lane];
            row_fft_quarter_back<R>(x + part * R, samples);
            if (first + part < rows.n_rows)
#pragma unroll
                for (int i = 0; i < R; i++)
                    if ((R > 4 && i < R / 2) || 32 * i < rows.n - lane ||
                        rows.n == 32 * R) /* whole rows: no branch a sample */
                        to[32 * i] = samples[i];
        }
        __syncwarp();
    }
}

/* A branch's samples out of those of the row, which lie in the rooms of N warps. */
template <int N>
static __device__ __forceinline__ void mix(const struct fused_rows *rows, const float *segments, int branch, int lane,
                                           float2 *x)
{
    const float4 *mixing = (const float4 *)(rows->mixing + branch * N * 32);
#pragma unroll
    for (int q = 0; q < N; q++) {
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            const float4 turn = __ldg(mixing + q * 16 + i / 2);
            const float a = segments[q * (FUSED_ROOM / 4) + i * 32 + lane],
                        b = segments[q * (FUSED_ROOM / 4) + i * 32 + 32 + lane];
            x[i] = q ? make_float2(__fmaf_rn(a, turn.x, x[i].x), __fmaf_rn(a, turn.y, x[i].y))
                     : make_float2(a * turn.x, a * turn.y);
            x[i + 1] = q ? make_float2(__fmaf_rn(b, turn.z, x[i + 1].x), __fmaf_rn(b, turn.w, x[i + 1].y))
                         : make_float2(b * turn.z, b * turn.w);
        }
    }
}

/* Adds the branches: samples lane + 32 i + 1024 q of the row, for a share of i. */
template <int N>
static __device__ __forceinline__ void join(const struct fused_rows *rows, const float2 *branches, int64_t row,
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
                const float4 turn = __ldg((const float4 *)(rows->mixing_back + (i * N + b) * N + q));
                sum[q] = __fmaf_rn(turn.x, value.x, b ? __fmaf_rn(-turn.y, value.y, sum[q]) : -turn.y * value.y);
                sum[q + 1] =
                    __fmaf_rn(turn.z, value.x, b ? __fmaf_rn(-turn.w, value.y, sum[q + 1]) : -turn.w * value.y);
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

/* A warp a branch, N warps a row. Every warp of the block goes around as often; rows past the last one are it once
 * more. */
template <int N>
static __global__ void __launch_bounds__(branch_threads(N), 32 * FUSED_WARPS * FUSED_BLOCKS / branch_threads(N))
    filter_branches(struct fused_rows rows)
{
    extern __shared__ float4 room[];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), branch = warp % N;
    const int at_once = (int)blockDim.x / (32 * N);
    float2 *exchange = (float2 *)room + warp * 32 * FUSED_PITCH, *branches = exchange - branch * 32 * FUSED_PITCH;
    const int64_t step = (int64_t)gridDim.x * at_once;
    const int segment = lane + BRANCH_SAMPLES * branch, n = rows.n - segment;
    int64_t row = (int64_t)blockIdx.x * at_once + warp / N;
    uint32_t bits[32];
    fetch<32, 0>(&rows, (row < rows.n_rows ? row : rows.n_rows - 1) * rows.n + segment, n, bits);
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
        fetch<32, 0>(&rows, (row + step < rows.n_rows ? row + step : rows.n_rows - 1) * rows.n + segment, n, bits);
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
            join<N>(&rows, branches, row, branch, lane);
        __syncthreads();
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

static const void *kernel_of(struct fused_shape shape)
{
    switch (shape.branches) {
    case 2:
        return (const void *)filter_branches<2>;
    case 4:
        return (const void *)filter_branches<4>;
    case 8:
        return (const void *)filter_branches<8>;
    case 16:
        return (const void *)filter_branches<16>;
    default:
        break;
    }
    return shape.radix == 4    ? (const void *)filter_rows<4>
           : shape.radix == 8  ? (const void *)filter_rows<8>
           : shape.radix == 16 ? (const void *)filter_rows<16>
                               : (const void *)filter_rows<32>;
}

enum ts_status ts_cuda_row_filter_fused(const struct stage_context *context, const struct row_filter *filter,
                                        const struct ts_image *in, float *out, const void *tables,
                                        const struct cuda_call *call)
{
    const struct fused_shape shape = shape_of(filter);
    const int warps = block_warps(shape), at_once = warps * (32 / shape.radix) / shape.branches;
    struct fused_rows rows = {in->data, out, (const struct fused_tables *)tables};
    rows.mixing = (const float2 *)(rows.tables + shape.branches);
    rows.mixing_back = rows.mixing + mixing_count(shape);
    rows.n_rows = in->axes[0].n * in->axes[1].n;
    rows.n = (int)filter->n;
    rows.dtype = (int)in->dtype;
    rows.bytes = (int)ts_dtype_bytes(in->dtype);
    const size_t bytes = (size_t)warps * FUSED_ROOM;
    const int64_t blocks = ts_cuda_parts(rows.n_rows, at_once),
                  most = (int64_t)context->device->multiprocessors * FUSED_BLOCKS * 4;
    const void *kernel = kernel_of(shape);
    void *arguments[] = {&rows};
    const enum ts_status status = bytes > 48 << 10 ? ts_cuda_shared(context, kernel, bytes) : TS_OK;
    if (status != TS_OK)
        return status;
    cudaLaunchKernel(kernel, dim3((unsigned)(blocks < most ? blocks : most)), dim3(32 * (unsigned)warps), arguments,
                     bytes, call->stream);
    return ts_cuda_launched(context, "filter_rows");
}
