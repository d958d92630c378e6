/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a sinogram times a response in the frequencies, in one kernel: padding, transform, product, inverse and
 * cropping.
 *
 * Two neighboring rows of a slice are the real and the imaginary part of one complex row x of at most m samples, m a
 * power of two. The transform of its 2 m padded samples falls into those of m samples of x (even frequencies) and of
 * x[j] exp(-2 pi i j / 2m) (odd ones): the zeros are never stored. With m = 32 R each of these two branches is R
 * samples in every thread of a warp and, after one exchange through shared memory, 32 samples in a thread, both in
 * registers; the product with the response is done in the order in which the frequencies come. Then all the way back.
 * For R = 32 a warp does one branch after the other and adds the second to what it wrote; for R = 16 both at once; for
 * R = 8 and 4 both of 2 and of 4 pairs of rows.
 *
 * A row with a value that is not finite becomes NaN, and the row beside it is none the worse.
 *
 * Memory: each sample is read once and written once (R = 32: read twice and written twice, the second time from the
 * cache); tables of 8 to 24 KiB from the first cache. About 2,400 instructions a thread and pair of rows for m = 512,
 * which is what bounds it. Blocks of 4 warps, for as many as registers and shared memory hold.
 */
#include "cuda/common/row_fft.cuh"
#include "cuda/common/row_filter.cuh"

enum { FUSED_WARPS = 4, FUSED_BLOCKS = 4, FUSED_PITCH = 33, FUSED_LEAST = 65, FUSED_MOST = 1024 };

bool ts_cuda_row_filter_is_fused(const struct stage_context *context, const struct row_filter *filter)
{
    return filter->name != ROW_FILTER_NONE && context->in.dtype == TS_F32 && filter->n >= FUSED_LEAST &&
           filter->n <= FUSED_MOST;
}

/* ---- tables ------------------------------------------------------------------------------------ */

static int reversed(int i, int n)
{
    int result = 0;
    for (int bit = 1; bit < n; bit *= 2)
        result = 2 * result + ((i & bit) != 0);
    return result;
}

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
                const double angle = -2 * M_PI * (double)((2 * reversed(i, r) + branch) * t % padded) / padded;
                turns[(branch * r + i) * 32 + t] = make_float2((float)cos(angle), (float)sin(angle));
            }
    for (int branch = 0; branch < 2; branch++)
        for (int k = 0; k < 32; k++)
            for (int i = 0; i < r; i++) {
                const int frequency = 2 * (reversed(i, r) + r * reversed(k, 32)) + branch;
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
                                                  int bad, const float2 *y, bool add)
{
    float *first = rows->out + pair->at, *second = first + rows->n;
#pragma unroll
    for (int i = 0; i < R; i++) {
        const int j = lane + 32 * i;
        if (pair->first && j < rows->n)
            first[j] = bad & 1 ? NAN : add ? first[j] + y[i].x : y[i].x;
        if (pair->second && j < rows->n)
            second[j] = bad & 2 ? NAN : add ? second[j] + y[i].y : y[i].y;
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
        row_fft_forward<R>(x + part * R);
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
    row_fft_forward<32>(x);
    const float *factors = rows->factors + (branch + lane / R) % 2 * 32 * R + lane % R;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const float factor = __ldg(factors + i * R);
        x[i] = make_float2(x[i].x * factor, x[i].y * factor);
    }
    row_fft_inverse<32>(x);
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
        row_fft_inverse<R>(x + part * R);
    }
    __syncwarp();
}

/* One branch of one pair after the other. */
static __device__ __forceinline__ void filter_branches(const struct fused_rows *rows, int64_t task, int lane,
                                                       float2 *exchange)
{
    const struct row_pair pair = find_pair(rows, task);
#pragma unroll 1
    for (int branch = 0; branch < 2; branch++) {
        float2 x[32];
        const int bad = load_pair<32>(rows, &pair, lane, x);
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = branch ? row_fft_turn<-1>(x[i], i) : x[i];
        filter_parts<32>(rows, branch, lane, exchange, x);
#pragma unroll
        for (int i = 0; i < 32; i++)
            x[i] = branch ? row_fft_turn<1>(x[i], i) : x[i];
        store_pair<32>(rows, &pair, lane, bad, x, branch);
    }
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
            const float2 even = x[2 * p * R + i], odd = row_fft_turn<1>(x[(2 * p + 1) * R + i], i * (32 / R));
            x[2 * p * R + i] = make_float2(even.x + odd.x, even.y + odd.y);
        }
        store_pair<R>(rows, &pair, lane, bad >> 2 * p, x + 2 * p * R, false);
    }
}

/* grid: any number of blocks. */
template <int R>
static __global__ void __launch_bounds__(32 * FUSED_WARPS, FUSED_BLOCKS) filter_rows(struct fused_rows rows)
{
    __shared__ float2 exchange[FUSED_WARPS][32 * FUSED_PITCH];
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int64_t tasks = R == 32 ? rows.n_pairs : ts_cuda_parts(rows.n_pairs, R == 32 ? 1 : 16 / R);
    for (int64_t task = (int64_t)blockIdx.x * FUSED_WARPS + warp; task < tasks;
         task += (int64_t)gridDim.x * FUSED_WARPS)
        if constexpr (R == 32)
            filter_branches(&rows, task, lane, exchange[warp]);
        else
            filter_pairs<R>(&rows, task, lane, exchange[warp]);
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
    const int64_t tasks = ts_cuda_parts(rows.n_pairs, r == 32 ? 1 : 16 / r), blocks = ts_cuda_parts(tasks, FUSED_WARPS);
    const int64_t most = (int64_t)context->device->multiprocessors * FUSED_BLOCKS * 8;
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
