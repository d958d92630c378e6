/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters rows of a sinogram of any dtype in one kernel: transform, product with the response, inverse and cropping.
 *
 * A row of n <= m samples, m a power of two, is transformed at the frequencies f - 1/4, f = 0 .. m - 1, per m samples:
 *
 *     X[f] = sum over j of x[j] exp(-2 pi i j (f - 1/4) / m),  y[j] = real part of 1/m sum of H[f] X[f] exp(+ ...)
 *
 * Samples that come around the end of the row are then purely imaginary (right-angle convolution: R. C. Agarwal and C.
 * S. Burrus, IEEE Trans. ASSP 22, 1974), so that y is the row filtered without any zeros behind it; and H is real, for
 * the filter is even. Rows know nothing of each other.
 *
 * With m = 32 R, R up to 32, one thread of a warp transforms samples j = thread + 32 i (R of them, shifted by a
 * quarter, real), and after one exchange through shared memory frequencies k + R k2 of one k (32, shifted by as much as
 * k says); then all the way back. A warp has 32 / R rows. Rows of up to 2,048 samples go so in two halves, even and odd
 * samples. Longer ones have a branch b of `branches` frequencies b + branches * f for each warp, whose 1,024 samples
 * are sums of `branches` samples of the row; in the end every warp adds the branches for its share of the samples.
 *
 * Memory: each sample is read once and written once (in longer rows each branch reads it, from the cache); tables of 16
 * KiB a branch come from the first cache. Instructions are the limit: some 73 a sample for m = 1,024. Blocks are 4
 * warps, 3 a multiprocessor, because the next rows and those in work need the registers.
 */
#include "cuda/projection/row_filter.cuh"
#include "cuda/projection/row_filter_branches.cuh"
#include "cuda/projection/row_filter_rows.cuh"

/* ---- tables ------------------------------------------------------------------------------------ */

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
    return shape.radix == 64 ? HALVES_WARPS : shape.branches > FUSED_WARPS ? shape.branches : FUSED_WARPS;
}

static size_t block_bytes(struct fused_shape shape)
{
    return (size_t)block_warps(shape) * FUSED_BYTES * (shape.radix == 64 ? 2 : 1);
}

bool ts_cuda_row_filter_is_fused(const struct stage_context *context, const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return filter->name != ROW_FILTER_NONE && shape.branches <= MOST_BRANCHES &&
           block_bytes(shape) <= (size_t)context->device->block_shared_bytes;
}

static int tables_count(struct fused_shape shape)
{
    return shape.radix == 64 ? 2 : shape.branches;
}

/* Behind the tables stand the factors that make branches of samples, and samples of branches. */
static size_t mixing_count(struct fused_shape shape)
{
    return shape.branches == 1 ? 0 : (size_t)(shape.branches * shape.branches * 32);
}

static size_t tables_bytes(struct fused_shape shape)
{
    return (size_t)tables_count(shape) * sizeof(struct fused_tables) + 2 * mixing_count(shape) * sizeof(float2);
}

size_t ts_cuda_row_filter_fused_bytes(const struct row_filter *filter)
{
    const struct fused_shape shape = shape_of(filter);
    return ts_cuda_stride(tables_bytes(shape)) + ts_row_filter_quarter_bytes(filter, 32 * shape.radix * shape.branches);
}

/* Returns exp(2 pi i turns). */
static float2 turn_of(double turns)
{
    const double angle = 2 * M_PI * (turns - floor(turns));
    return make_float2((float)cos(angle), (float)sin(angle));
}

/* Fills the tables of one thread, whose frequencies are branches * l + branch with l = k + radix * k2. */
static void fill_lane(struct fused_tables *tables, struct fused_shape shape, int branch, int k, int lane,
                      const double *response)
{
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
    float2 *mixing = (float2 *)(tables + tables_count(shape)), *back = mixing + mixing_count(shape);
    double *response = (double *)((char *)host + ts_cuda_stride(tables_bytes(shape)));
    ts_row_filter_quarter_response(filter, 32 * shape.radix * n, response);
    for (int table = 0; table < tables_count(shape); table++)
        for (int lane = 0; lane < 32; lane++)
            fill_lane(&tables[table], shape, n > 1 ? table : 0, n > 1 ? lane : (32 * table + lane) % shape.radix, lane,
                      response);
    for (int branch = 0; n > 1 && branch < n; branch++)
        for (int q = 0; q < n; q++)
            for (int i = 0; i < 32; i++) {
                const double turns = (branch - 0.25) * (q + i / 32.0) / n;
                mixing[(branch * n + q) * 32 + i] = turn_of(-turns);
                back[(i * n + branch) * n + q] = turn_of(turns);
            }
}

/* ---- launching --------------------------------------------------------------------------------- */

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
    return shape.radix == 4    ? (const void *)filter_rows<4>
           : shape.radix == 8  ? (const void *)filter_rows<8>
           : shape.radix == 16 ? (const void *)filter_rows<16>
           : shape.radix == 32 ? (const void *)filter_rows<32>
                               : (const void *)filter_halves;
}

enum ts_status ts_cuda_row_filter_fused(const struct stage_context *context, const struct row_filter *filter,
                                        const struct ts_image *in, float *out, const void *tables,
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
    cudaLaunchKernel(kernel, dim3((unsigned)(blocks < most ? blocks : most)), dim3(32 * (unsigned)warps), arguments,
                     bytes, call->stream);
    return ts_cuda_launched(context, "filter_rows");
}
