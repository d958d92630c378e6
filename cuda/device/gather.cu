/* SPDX-License-Identifier: Apache-2.0
 *
 * embed: one thread copies one sample to its place in the middle of a larger image: 8 bytes a
 * sample.
 *
 * gather: out[z][y][x] = the sum of wz wy wx in[z'][y'][x'] over the lists of z, y and x. One
 * thread makes one output sample, in double and in the order of the CPU. Of a border rule, samples
 * away from the border have lists of length 1, so that a thread reads one sample and three short
 * lists, which neighbors share in the cache, and writes one: 8 bytes a sample. Blocks are 256
 * threads along x, because rows are contiguous and nothing is shared.
 *
 * collect: slices are put one behind the other. One thread moves one word, of 16 bytes if all
 * slices begin at multiples of 16: twice the bytes of the slices are moved. A copy by the driver
 * takes as long to start as this, and slices at a border need one each.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/gather.h"
}

enum { THREADS = 256, MOST_ROWS = 65535 };

/* The grid's x counts parts of a row, its y rows, at most MOST_ROWS at once. */
static dim3 row_blocks(int64_t n_rows, int64_t nx)
{
    return dim3((unsigned)ts_cuda_parts(nx, THREADS),
                (unsigned)(n_rows < MOST_ROWS ? n_rows : MOST_ROWS));
}

struct embed_sizes {
    int64_t n[3], wide[3];
};

static __global__ void __launch_bounds__(THREADS)
    embed(const float *in, float *out, struct embed_sizes sizes)
{
    const int64_t *n = sizes.n, *wide = sizes.wide;
    const int64_t x = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (x >= n[2])
        return;
    for (int64_t i = blockIdx.y; i < n[0] * n[1]; i += gridDim.y) {
        const int64_t z = i / n[1] + (wide[0] - n[0]) / 2, y = i % n[1] + (wide[1] - n[1]) / 2;
        out[(z * wide[1] + y) * wide[2] + x + (wide[2] - n[2]) / 2] = in[i * n[2] + x];
    }
}

enum ts_status ts_cuda_embed(const struct stage_context *context, const int64_t n[3],
                             const int64_t wide[3], const float *in, float *out,
                             cudaStream_t stream)
{
    struct embed_sizes sizes;
    for (int d = 0; d < 3; d++) {
        sizes.n[d] = n[d];
        sizes.wide[d] = wide[d];
    }
    embed<<<row_blocks(n[0] * n[1], n[2]), THREADS, 0, stream>>>(in, out, sizes);
    return ts_cuda_launched(context, "embed");
}

static __global__ void __launch_bounds__(THREADS)
    gather(struct stage_gather lists, const float *in, float *out)
{
    const int64_t x = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t ny = lists.n_out[1], nx = lists.n_out[2];
    if (x >= nx)
        return;
    for (int64_t row = blockIdx.y; row < lists.n_out[0] * ny; row += gridDim.y) {
        const int64_t z = row / ny, y = row % ny;
        double sum = 0;
        for (int64_t k = lists.start[0][z]; k < lists.start[0][z + 1]; k++)
            for (int64_t j = lists.start[1][y]; j < lists.start[1][y + 1]; j++) {
                const double weight = (double)lists.weight[0][k] * lists.weight[1][j];
                const float *from =
                    in + (lists.index[0][k] * lists.n_in[1] + lists.index[1][j]) * lists.n_in[2];
                for (int64_t i = lists.start[2][x]; i < lists.start[2][x + 1]; i++)
                    sum += weight * lists.weight[2][i] * from[lists.index[2][i]];
            }
        out[row * nx + x] = (float)sum;
    }
}

enum ts_status ts_cuda_gather(const struct stage_context *context, const struct stage_gather *lists,
                              const float *in, float *out, cudaStream_t stream)
{
    const int64_t n_rows = lists->n_out[0] * lists->n_out[1];
    gather<<<row_blocks(n_rows, lists->n_out[2]), THREADS, 0, stream>>>(*lists, in, out);
    return ts_cuda_launched(context, "gather");
}

/* The grid's y counts slices, its x parts of a slice of n words. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    collect(struct cuda_slices slices, T *to, int64_t n)
{
    const T *from = (const T *)slices.from[blockIdx.y];
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        to[blockIdx.y * n + i] = from[i];
}

enum ts_status ts_cuda_collect(const struct stage_context *context,
                               const struct cuda_slices *slices, int n, size_t slice_bytes,
                               void *to, cudaStream_t stream)
{
    uintptr_t all = (uintptr_t)to | slice_bytes;
    for (int i = 0; i < n; i++)
        all |= (uintptr_t)slices->from[i];
#define COLLECT(T)                                                                                 \
    collect<T><<<dim3((unsigned)ts_cuda_parts((int64_t)(slice_bytes / sizeof(T)), THREADS),        \
                      (unsigned)n),                                                                \
                 THREADS, 0, stream>>>(*slices, (T *)to, (int64_t)(slice_bytes / sizeof(T)))
    if (all % sizeof(uint4) == 0)
        COLLECT(uint4);
    else if (all % sizeof(uint32_t) == 0)
        COLLECT(uint32_t);
    else
        COLLECT(uint8_t);
#undef COLLECT
    return ts_cuda_launched(context, "collect");
}
