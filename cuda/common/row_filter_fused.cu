/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a sinogram times a response in the frequencies, in one kernel: padding, transform, product, inverse and
 * cropping.
 *
 * Two neighboring rows of a slice are the real and the imaginary part of one complex row x of at most m samples, m a
 * power of two. The transform of its 2 m padded samples falls into those of m samples of x (even frequencies) and of
 * x[j] exp(-2 pi i j / 2m) (odd ones): the zeros are never stored. With m = 32 R each of these two branches is R
 * samples in every thread of a warp and, after one exchange through shared memory, 32 samples in a thread, both in
 * registers; the product with the response follows, then all the way back. For R = 32 two warps have a branch each and
 * add them; for R = 16 a warp has both; for R = 8 and 4 both of 2 and of 4 pairs of rows.
 *
 * A row with a value that is not finite becomes NaN, and the row beside it is none the worse.
 *
 * Memory: each sample is read once and written once (R = 32: read twice, the second time from the cache); tables of 8
 * to 24 KiB from the first cache. About 2,400 instructions a thread and pair of rows for m = 512, which is what bounds
 * it. Blocks of 4 warps, for as many as registers and shared memory hold.
 */
#include "cuda/common/row_fft.cuh"
#include "cuda/common/row_filter.cuh"

enum { FUSED_WARPS = 4, FUSED_PITCH = 33, FUSED_LEAST = 65, FUSED_MOST = 1024 };

bool ts_cuda_row_filter_is_fused(const struct stage_context *context, const struct row_filter *filter)
{
    return filter->name != ROW_FILTER_NONE && context->in.dtype == TS_F32 && filter->n >= FUSED_LEAST &&
           filter->n <= FUSED_MOST;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* Samples of the padded row: 64 R. */
static int first_radix(const struct row_filter *filter)
{
    return (int)(ts_row_filter_padded(filter->n) / 64);
}

/* Factors between the two steps: 2 branches, R, 32 threads; then factors of the frequencies: 2 branches, 32, R. */
size_t ts_cuda_row_filter_fused_bytes(const struct row_filter *filter)
{
    const size_t r = (size_t)first_radix(filter);
    return 2 * r * 32 * sizeof(float2) + 2 * 32 * r * sizeof(float);
}

void ts_cuda_row_filter_fused_tables(const struct row_filter *filter, const double *response, void *host)
{
    const int r = first_radix(filter), padded = 64 * r;
    float2 *turns = (float2 *)host;
    float *factors = (float *)(turns + 2 * r * 32);
    for (int branch = 0; branch < 2; branch++)
        for (int i = 0; i < r; i++)
            for (int t = 0; t < 32; t++) {
                const double angle = -2 * M_PI * (double)((2 * i + branch) * t % padded) / padded;
                turns[(branch * r + i) * 32 + t] = make_float2((float)cos(angle), (float)sin(angle));
            }
    for (int branch = 0; branch < 2; branch++)
        for (int k = 0; k < 32; k++)
            for (int i = 0; i < r; i++) {
                const int frequency = 2 * (i + r * k) + branch;
                const int at = frequency <= padded / 2 ? frequency : padded - frequency;
                factors[(branch * 32 + k) * r + i] = (float)(response[at] / padded);
            }
}

/* ---- the kernel -------------------------------------------------------------------------------- */

struct fused_rows {
    const float *in;
    float *out;
    const float2 *turns;
    const float *factors;
    int64_t n_pairs, pairs_per_slice;
    int n_views, n;
};

/* Blocks on a multiprocessor. For R = 16 a fourth costs registers, and more time than it saves. */
static __host__ __device__ constexpr int fused_blocks(int r)
{
    return r == 16 ? 3 : 4;
}

/* Tasks of a warp, or of two for R = 32: as many pairs of rows as fill its registers. */
static __host__ __device__ __forceinline__ int64_t fused_tasks(int64_t n_pairs, int r)
{
    return r == 32 ? n_pairs : ts_cuda_parts(n_pairs, 16 / r);
}

/* Where a pair of rows lies; whether there are two. */
struct row_pair {
    int64_t at;
    bool first, second;
};

static __device__ __forceinline__ struct row_pair find_pair(const struct fused_rows *rows, int64_t pair)
{
    const int64_t slice = pair / rows->pairs_per_slice, view = 2 * (pair % rows->pairs_per_slice);
    return {(slice * rows->n_views + view) * rows->n, pair < rows->n_pairs,
            pair < rows->n_pairs && view + 1 < rows->n_views};
}

/* Loads R samples of both rows a thread; a row that is not finite is 0 from here on, and its bit set in what returns.
 */
template <int R>
static __device__ __forceinline__ int load_pair(const struct fused_rows *rows, const struct row_pair *pair, int lane,
                                                float2 *x)
{
    const float *first = rows->in + pair->at, *second = first + rows->n;
    float2 zero = {0, 0};
#pragma unroll
    for (int i = 0; i < R; i++) {
        const int j = lane + 32 * i;
        x[i].x = pair->first && j < rows->n ? first[j] : 0;
        x[i].y = pair->second && j < rows->n ? second[j] : 0;
        zero = make_float2(__fmaf_rn(x[i].x, 0.0F, zero.x), __fmaf_rn(x[i].y, 0.0F, zero.y));
    }
    const bool bad_first = __any_sync(0xFFFFFFFFu, !(zero.x == 0)),
               bad_second = __any_sync(0xFFFFFFFFu, !(zero.y == 0));
    if (bad_first || bad_second)
#pragma unroll
        for (int i = 0; i < R; i++)
            x[i] = make_float2(bad_first ? 0 : x[i].x, bad_second ? 0 : x[i].y);
    return bad_first | bad_second << 1;
}

template <int R>
static __device__ __forceinline__ void store_pair(const struct fused_rows *rows, const struct row_pair *pair, int lane,
                                                  int bad, const float2 *y)
{
    float *first = rows->out + pair->at, *second = first + rows->n;
#pragma unroll
    for (int i = 0; i < R; i++) {
        const int j = lane + 32 * i;
        if (pair->first && j < rows->n)
            first[j] = bad & 1 ? NAN : y[i].x;
        if (pair->second && j < rows->n)
            second[j] = bad & 2 ? NAN : y[i].y;
    }
}

/* From R samples a thread of each of 32 / R parts, their transforms times the factors and back. x[part * R + i]; part p
 * is of branch (branch + p) % 2. */
template <int R>
static __device__ __forceinline__ void filter_parts(const struct fused_rows *rows, int branch, int lane,
                                                    float2 *exchange, float2 *x)
{
#pragma unroll
    for (int part = 0; part < 32 / R; part++) {
        const float2 *turns = rows->turns + (branch + part) % 2 * R * 32 + lane;
        row_fft<R, -1>(x + part * R);
#pragma unroll
        for (int i = 0; i < R; i++) {
            const float2 turn = __ldg(turns + i * 32);
            exchange[(part * R + i) * FUSED_PITCH + lane] = row_fft_product(x[part * R + i], turn.x, turn.y);
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 32; i++)
        x[i] = exchange[lane * FUSED_PITCH + i];
    row_fft<32, -1>(x);
    const float *factors = rows->factors + (branch + lane / R) % 2 * 32 * R + lane % R;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const float factor = __ldg(factors + i * R);
        x[i] = make_float2(x[i].x * factor, x[i].y * factor);
    }
    row_fft<32, 1>(x);
#pragma unroll
    for (int i = 0; i < 32; i++)
        exchange[lane * FUSED_PITCH + i] = x[i];
    __syncwarp();
#pragma unroll
    for (int part = 0; part < 32 / R; part++) {
        const float2 *turns = rows->turns + (branch + part) % 2 * R * 32 + lane;
#pragma unroll
        for (int i = 0; i < R; i++) {
            const float2 turn = __ldg(turns + i * 32);
            x[part * R + i] = row_fft_product(exchange[(part * R + i) * FUSED_PITCH + lane], turn.x, -turn.y);
        }
        row_fft<R, 1>(x + part * R);
    }
    __syncwarp();
}

/* Two warps for a pair of rows, each with one branch; the first adds both. Every warp of the block comes here as often.
 */
static __device__ __forceinline__ void filter_branch(const struct fused_rows *rows, int64_t task, int branch, int lane,
                                                     float2 *exchange, const float2 *other)
{
    const struct row_pair pair = find_pair(rows, task);
    float2 x[32];
    const int bad = load_pair<32>(rows, &pair, lane, x);
    if (branch)
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = row_fft_turn<-1>(x[i], i);
    filter_parts<32>(rows, branch, lane, exchange, x);
    if (branch)
#pragma unroll
        for (int i = 0; i < 32; i++)
            exchange[lane + 32 * i] = row_fft_turn<1>(x[i], i);
    __syncthreads();
    if (!branch) {
#pragma unroll
        for (int i = 0; i < 32; i++) {
            const float2 odd = other[lane + 32 * i];
            x[i] = make_float2(x[i].x + odd.x, x[i].y + odd.y);
        }
        store_pair<32>(rows, &pair, lane, bad, x);
    }
    __syncthreads();
}

/* Both branches of 16 / R pairs at once. */
template <int R>
static __device__ __forceinline__ void filter_pairs(const struct fused_rows *rows, int64_t task, int lane,
                                                    float2 *exchange)
{
    float2 x[32];
    int bad = 0;
#pragma unroll
    for (int p = 0; p < 16 / R; p++) {
        const struct row_pair pair = find_pair(rows, task * (16 / R) + p);
        bad |= load_pair<R>(rows, &pair, lane, x + 2 * p * R) << 2 * p;
#pragma unroll
        for (int i = 0; i < R; i++)
            x[(2 * p + 1) * R + i] = row_fft_turn<-1>(x[2 * p * R + i], i * (32 / R));
    }
    filter_parts<R>(rows, 0, lane, exchange, x);
#pragma unroll
    for (int p = 0; p < 16 / R; p++) {
        const struct row_pair pair = find_pair(rows, task * (16 / R) + p);
#pragma unroll
        for (int i = 0; i < R; i++) {
            float2 odd = x[(2 * p + 1) * R + i];
            row_fft_butterfly<1>(&x[2 * p * R + i], &odd, i * (32 / R)); /* the difference is not wanted */
        }
        store_pair<R>(rows, &pair, lane, bad >> 2 * p, x + 2 * p * R);
    }
}

/* grid: any number of blocks. Tasks past the last one do nothing. */
template <int R>
static __global__ void __launch_bounds__(32 * FUSED_WARPS, fused_blocks(R)) filter_rows(struct fused_rows rows)
{
    __shared__ float2 exchange[FUSED_WARPS][32 * FUSED_PITCH];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t tasks = fused_tasks(rows.n_pairs, R), at_once = R == 32 ? FUSED_WARPS / 2 : FUSED_WARPS;
    for (int64_t first = blockIdx.x * at_once; first < tasks; first += gridDim.x * at_once) {
        if constexpr (R == 32)
            filter_branch(&rows, first + warp / 2, warp % 2, lane, exchange[warp], exchange[warp ^ 1]);
        else
            filter_pairs<R>(&rows, first + warp, lane, exchange[warp]);
    }
}

enum ts_status ts_cuda_row_filter_fused(const struct stage_context *context, const struct row_filter *filter,
                                        const struct ts_image *in, float *out, const void *tables,
                                        const struct cuda_call *call)
{
    const int r = first_radix(filter);
    const int64_t pairs = ts_cuda_parts(in->axes[1].n, 2);
    struct fused_rows rows = {(const float *)in->data, out, (const float2 *)tables};
    rows.factors = (const float *)(rows.turns + 2 * r * 32);
    rows.pairs_per_slice = pairs;
    rows.n_pairs = in->axes[0].n * pairs;
    rows.n_views = (int)in->axes[1].n;
    rows.n = (int)filter->n;
    const int64_t blocks = ts_cuda_parts(fused_tasks(rows.n_pairs, r), r == 32 ? FUSED_WARPS / 2 : FUSED_WARPS);
    const int64_t most = (int64_t)context->device->multiprocessors * fused_blocks(r) * 8;
    const unsigned grid = (unsigned)(blocks < most ? blocks : most);
    switch (r) {
    case 4:
        filter_rows<4><<<grid, 32 * FUSED_WARPS, 0, call->stream>>>(rows);
        break;
    case 8:
        filter_rows<8><<<grid, 32 * FUSED_WARPS, 0, call->stream>>>(rows);
        break;
    case 16:
        filter_rows<16><<<grid, 32 * FUSED_WARPS, 0, call->stream>>>(rows);
        break;
    default:
        filter_rows<32><<<grid, 32 * FUSED_WARPS, 0, call->stream>>>(rows);
        break;
    }
    return ts_cuda_launched(context, "filter_rows");
}
