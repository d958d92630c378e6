/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks and packs valid pixels on a CUDA device. A warp makes a word of 32 bits with one ballot.
 * Packing works on parts of PART_WORDS words: a block counts the bits of each part, then one block
 * a slice sums these counts in order, then the block of a part finds the place of each of its words
 * and its warps move the pixels of one word after another. So pixels keep their order, whichever
 * block comes first.
 *
 * Memory traffic: marking reads a value and writes a bit; packing reads a value and its bit, twice,
 * and writes the value if it is chosen. Blocks have 256 threads: that is enough warps to hide the
 * latency of their loads.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/validity.h"
#include "stages/engine/border.h"
}

enum {
    THREADS = 256,
    WARP = 32,
    WARPS = THREADS / WARP,
    PART_WORDS = THREADS,
    MOST_SLICES = 65535
};

/* Returns the number of 32-bit words in a slice's bits, which fill whole 64-bit words. */
static int64_t words_of(const struct ts_image *image)
{
    return ((int64_t)ts_slice_count(image) + 63) / 64 * 2;
}

/* A block has WARPS words; the grid's y counts slices, at most MOST_SLICES at once. */
static dim3 word_blocks(int64_t n_words, int64_t n_slices)
{
    return dim3((unsigned)ts_cuda_parts(n_words, WARPS),
                (unsigned)(n_slices < MOST_SLICES ? n_slices : MOST_SLICES));
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Returns the number of this thread's warp among the words of a slice. */
static __device__ inline int64_t word_here(void)
{
    return (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    mark(const T *values, uint32_t *bits, int64_t n, int64_t n_words, int64_t n_slices,
         struct invalid_range range)
{
    const int64_t word = word_here(), pixel = word * WARP + threadIdx.x % WARP;
    for (int64_t z = blockIdx.y; z < n_slices; z += gridDim.y) {
        const double value = pixel < n ? (double)values[z * n + pixel] : 0;
        const uint32_t made =
            __ballot_sync(~0u, pixel < n && !(value >= range.low && value <= range.high));
        if (threadIdx.x % WARP == 0 && word < n_words)
            bits[z * n_words + word] = made;
    }
}

/* Keeps a pixel if its bit in `valid` is set (NULL: all are) and the mask's pixel is valid (NULL:
 * all are) and not 0. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    choose(const uint32_t *valid, const T *mask, const uint32_t *mask_valid, uint32_t *bits,
           int64_t n, int64_t n_words, int64_t n_slices)
{
    const int64_t word = word_here(), pixel = word * WARP + threadIdx.x % WARP;
    for (int64_t z = blockIdx.y; z < n_slices; z += gridDim.y) {
        const T value = pixel < n ? mask[z * n + pixel] : (T)0;
        const uint32_t made = __ballot_sync(~0u, value != (T)0 && value == value);
        const int64_t at = z * n_words + word;
        if (threadIdx.x % WARP == 0 && word < n_words)
            bits[at] = made & (valid ? valid[at] : ~0u) & (mask_valid ? mask_valid[at] : ~0u);
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    fill(T *values, const uint32_t *bits, int64_t n, int64_t n_words, int64_t n_slices, T value)
{
    const int64_t word = word_here(), pixel = word * WARP + threadIdx.x % WARP;
    for (int64_t z = blockIdx.y; z < n_slices; z += gridDim.y)
        if (pixel < n && !(bits[z * n_words + word] >> threadIdx.x % WARP & 1))
            values[z * n + pixel] = value;
}

enum ts_status ts_cuda_valid_mark(const struct device_numbers *device,
                                  const struct ts_image *slices, const struct invalid_range *range,
                                  struct CUstream_st *stream, struct ts_diag *diag)
{
    static const struct stage input = {.name = "input"};
    const struct stage_context context = ts_cuda_context(&input, device, diag);
    const int64_t n = (int64_t)ts_slice_count(slices), n_words = words_of(slices),
                  n_slices = slices->axes[0].n;
#define LAUNCH(T)                                                                                  \
    mark<<<word_blocks(n_words, n_slices), THREADS, 0, stream>>>(                                  \
        (const T *)slices->data, (uint32_t *)slices->valid, n, n_words, n_slices, *range)
    TS_CUDA_DTYPES(slices->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(&context, "validity: mark");
}

enum ts_status ts_cuda_valid_fill(const struct stage_context *context,
                                  const struct ts_image *slices, double value,
                                  struct CUstream_st *stream)
{
    const int64_t n = (int64_t)ts_slice_count(slices), n_words = words_of(slices),
                  n_slices = slices->axes[0].n;
    uint32_t bytes = 0;
    ts_constant_fill(&bytes, slices->dtype, value, 1);
#define LAUNCH(T)                                                                                  \
    fill<<<word_blocks(n_words, n_slices), THREADS, 0, stream>>>(                                  \
        (T *)slices->data, (const uint32_t *)slices->valid, n, n_words, n_slices, (T)bytes)
    TS_CUDA_WORDS(slices->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "validity: fill");
}

enum ts_status ts_cuda_valid_choose(const struct stage_context *context,
                                    const struct ts_image *slices, const struct ts_image *mask,
                                    void *bits, struct CUstream_st *stream)
{
    const int64_t n = (int64_t)ts_slice_count(slices), n_words = words_of(slices),
                  n_slices = slices->axes[0].n;
#define LAUNCH(T)                                                                                  \
    choose<<<word_blocks(n_words, n_slices), THREADS, 0, stream>>>(                                \
        (const uint32_t *)slices->valid, (const T *)mask->data, (const uint32_t *)mask->valid,     \
        (uint32_t *)bits, n, n_words, n_slices)
    TS_CUDA_DTYPES(mask->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "validity: choose");
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Returns the sum of the values of all earlier threads of the block; *total becomes the sum of
 * all. */
static __device__ uint32_t sum_before(uint32_t value, uint32_t sums[WARPS], uint32_t *total)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    uint32_t inclusive = value, before = 0;
    *total = 0;
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, inclusive, distance);
        inclusive += lane >= distance ? other : 0;
    }
    __syncthreads();
    if (lane == WARP - 1)
        sums[warp] = inclusive;
    __syncthreads();
    for (unsigned i = 0; i < WARPS; i++) {
        before += i < warp ? sums[i] : 0;
        *total += sums[i];
    }
    return before + inclusive - value;
}

static __device__ inline uint32_t load_word(const struct cuda_chosen &chosen, int64_t z)
{
    const int64_t word = (int64_t)blockIdx.x * PART_WORDS + threadIdx.x;
    return word < chosen.n_words ? chosen.bits[z * chosen.n_words + word] : 0;
}

static __global__ void __launch_bounds__(THREADS) count_parts(struct cuda_chosen chosen)
{
    __shared__ uint32_t sums[WARPS];
    for (int64_t z = blockIdx.y; z < chosen.n; z += gridDim.y) {
        uint32_t total;
        sum_before(__popc(load_word(chosen, z)), sums, &total);
        if (threadIdx.x == 0)
            chosen.starts[z * chosen.n_parts + blockIdx.x] = total;
    }
}

/* Turns the counts of a slice's parts into the places where they start. */
static __global__ void __launch_bounds__(THREADS) find_starts(struct cuda_chosen chosen)
{
    __shared__ uint32_t sums[WARPS];
    uint32_t *starts = chosen.starts + blockIdx.x * chosen.n_parts, before = 0, total;
    for (int64_t first = 0; first < chosen.n_parts; first += THREADS) {
        const int64_t part = first + threadIdx.x;
        const uint32_t start = sum_before(part < chosen.n_parts ? starts[part] : 0, sums, &total);
        if (part < chosen.n_parts)
            starts[part] = before + start;
        before += total;
    }
    if (threadIdx.x == 0)
        chosen.totals[blockIdx.x] = before;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    pack(const T *values, char *packed, size_t stride, struct cuda_chosen chosen)
{
    __shared__ uint32_t sums[WARPS], words[PART_WORDS], places[PART_WORDS];
    const unsigned lane = threadIdx.x % WARP;
    for (int64_t z = blockIdx.y; z < chosen.n; z += gridDim.y) {
        uint32_t total;
        const uint32_t word = load_word(chosen, z);
        places[threadIdx.x] =
            chosen.starts[z * chosen.n_parts + blockIdx.x] + sum_before(__popc(word), sums, &total);
        words[threadIdx.x] = word;
        __syncwarp();
        T *out = (T *)(packed + (size_t)z * stride);
        const T *in = values + z * chosen.n_pixels + (int64_t)blockIdx.x * PART_WORDS * WARP;
        for (unsigned k = threadIdx.x - lane; k < threadIdx.x - lane + WARP; k++)
            if (words[k] >> lane & 1)
                out[places[k] + __popc(words[k] & ((1u << lane) - 1))] = in[k * WARP + lane];
    }
}

static struct cuda_chosen lay_out(const struct ts_image *image, int64_t n)
{
    struct cuda_chosen chosen = {};
    chosen.n = n;
    chosen.n_pixels = (int64_t)ts_slice_count(image);
    chosen.n_words = words_of(image);
    chosen.n_parts = ts_cuda_parts(chosen.n_words, PART_WORDS);
    return chosen;
}

static size_t totals_bytes(int64_t n)
{
    return ts_cuda_stride((size_t)n * sizeof(uint32_t));
}

static size_t starts_bytes(const struct cuda_chosen *chosen)
{
    return ts_cuda_stride((size_t)(chosen->n * chosen->n_parts) * sizeof(uint32_t));
}

size_t ts_cuda_chosen_bytes(const struct ts_image *image, int64_t n, bool mask)
{
    const struct cuda_chosen chosen = lay_out(image, n);
    return totals_bytes(n) + starts_bytes(&chosen) +
           (mask ? ts_cuda_stride((size_t)(n * chosen.n_words) * sizeof(uint32_t)) : 0);
}

enum ts_status ts_cuda_choose(const struct stage_context *context, const struct ts_image *slices,
                              const struct ts_image *mask, void *memory, struct cuda_chosen *chosen,
                              struct CUstream_st *stream)
{
    const int64_t n_slices = slices->axes[0].n;
    *chosen = lay_out(slices, n_slices);
    chosen->totals = (uint32_t *)memory;
    chosen->starts = (uint32_t *)((char *)memory + totals_bytes(n_slices));
    chosen->bits = (const uint32_t *)slices->valid;
    enum ts_status status = TS_OK;
    if (mask) {
        uint32_t *bits = (uint32_t *)((char *)chosen->starts + starts_bytes(chosen));
        status = ts_cuda_valid_choose(context, slices, mask, bits, stream);
        chosen->bits = bits;
    }
    const dim3 blocks((unsigned)chosen->n_parts,
                      (unsigned)(n_slices < MOST_SLICES ? n_slices : MOST_SLICES));
    if (status == TS_OK) {
        count_parts<<<blocks, THREADS, 0, stream>>>(*chosen);
        status = ts_cuda_launched(context, "validity: count");
    }
    if (status == TS_OK) {
        find_starts<<<(unsigned)n_slices, THREADS, 0, stream>>>(*chosen);
        status = ts_cuda_launched(context, "validity: starts");
    }
    return status;
}

enum ts_status ts_cuda_pack(const struct stage_context *context, const struct cuda_chosen *chosen,
                            const struct ts_image *slices, void *packed, size_t stride,
                            struct CUstream_st *stream)
{
    const dim3 blocks((unsigned)chosen->n_parts,
                      (unsigned)(chosen->n < MOST_SLICES ? chosen->n : MOST_SLICES));
#define LAUNCH(T)                                                                                  \
    pack<<<blocks, THREADS, 0, stream>>>((const T *)slices->data, (char *)packed, stride, *chosen)
    TS_CUDA_WORDS(slices->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "validity: pack");
}
