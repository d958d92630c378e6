/* SPDX-License-Identifier: Apache-2.0
 *
 * This compresses the segments of all chunks, each by a block, into their slots. A segment becomes one dynamic block
 * (RFC 1951), and an empty stored one that ends it on a byte, so that the segments of a chunk join as they are; the last
 * one ends the stream instead. Where that is no smaller, it becomes a stored block.
 *
 * A thread takes one strip of 128 bytes three times: it counts its tokens, measures their bits once the codes are made,
 * and writes them at the place that a scan of these sums gives. Level CUDA_DEFLATE_RUNS has literals and runs: a byte that
 * equals the one before it, at least three times, is a match at distance 1, which needs no search.
 *
 * Memory traffic: a block of width w reads w bytes for each of its own, of which the blocks of the other planes find the
 * rest in the second-level cache; compressed bytes are written once. 256 threads: shorter strips cut more runs, longer
 * ones leave fewer threads for the memory of a segment. Shared memory for five blocks on a multiprocessor of 228 KiB
 * hides what one thread does alone.
 */
#include "cuda/deflate/segments.cuh"

#include "cuda/deflate/header.cuh"
#include "cuda/deflate/text.cuh"
#include "cuda/deflate/tokens.cuh"

struct segment_shared {
    uint32_t text[WORDS];
    uint32_t counts[TOKENS], codes[TOKENS], symbols[LITERAL_SYMBOLS];
    struct code_scratch scratch;
    struct header_scratch header;
    uint8_t literal_lengths[MOST_SYMBOLS], distance_lengths[MOST_SYMBOLS];
    uint32_t warp_sums[CUDA_BLOCK_WARPS];
};

/* Word k of a text that begins with the header of a stored block, which ends before word 0. */
static __device__ uint32_t stored_word(const struct segment &segment, const uint32_t *text, int k)
{
    if (k == -2)
        return (uint32_t)segment.last << 24;
    if (k == -1)
        return segment.n | ~segment.n << 16;
    return k < WORDS ? text[text_place(k)] : 0;
}

/* Writes the segment as it is, behind a header of 5 bytes. */
static __device__ void put_stored(const struct segment &segment, const uint32_t *text)
{
    uint32_t *words = (uint32_t *)segment.slot;
    for (int k = threadIdx.x; 4 * k < (int)segment.n + STORED_BYTES; k += DEFLATE_THREADS)
        words[k] = stored_word(segment, text, k - 2) >> 24 | stored_word(segment, text, k - 1) << 8;
}

/* Bits of the slot from which the thread's strip starts, all its strips' end, and those of the whole segment. */
struct bit_range {
    uint32_t first, end, total;
};

/* One thread: what follows the last strip. */
static __device__ void put_end(struct bit_writer writer, uint32_t code, bool last)
{
    put_bits(writer, code & ((1u << CODE_BITS) - 1), code >> CODE_BITS);
    if (!last) {
        put_bits(writer, 0, 3);
        put_bits(writer, 0, (32 - writer.n) % 8);
        put_bits(writer, 0xFFFF0000u, 32);
    }
    end_bits(writer);
}

/* Bits that put_end writes from bit `end` on, and those that fill the last byte. */
static __device__ uint32_t bits_of_end(uint32_t end, uint32_t code, bool last)
{
    end += (code >> CODE_BITS) + (last ? 0 : 3);
    return (end + 7) / 8 * 8 + (last ? 0 : 32);
}

/* Sets words to 0 that several threads write to: the last one of each strip, and those of the end. The header's last word
 * has bits already. */
static __device__ void clear_shared_words(uint32_t *words, uint32_t header_bits, uint32_t strip_end,
                                          const struct bit_range &range)
{
    if (strip_end / 32 > header_bits / 32)
        words[strip_end / 32] = 0;
    if (threadIdx.x > 0 && threadIdx.x <= (range.total - 1) / 32 - range.end / 32)
        words[range.end / 32 + threadIdx.x] = 0;
}

static __device__ void make_all_codes(struct segment_shared &shared)
{
    count_symbols(shared.counts, shared.symbols);
    code_lengths(shared.scratch, shared.symbols, LITERAL_SYMBOLS, CODE_LIMIT, shared.literal_lengths);
    make_codes(shared.scratch, shared.literal_lengths, shared.codes, 1);
    if (threadIdx.x < DISTANCE_SYMBOLS)
        shared.distance_lengths[threadIdx.x] = threadIdx.x == 0;
}

static __device__ void compress(const struct segment &segment, struct segment_shared &shared)
{
    struct token_work work = {shared.counts, shared.codes};
    uint32_t *words = (uint32_t *)segment.slot;
    for (unsigned i = threadIdx.x; i < TOKENS; i += DEFLATE_THREADS)
        shared.counts[i] = 0;
    __syncthreads();
    do_runs<COUNT_TOKENS>(work, shared.text, segment.n);
    make_all_codes(shared);
    const uint32_t header_bits = put_header(shared.header, shared.scratch, shared.literal_lengths,
                                            shared.distance_lengths, words, segment.last, shared.warp_sums);
    do_runs<MEASURE_TOKENS>(work, shared.text, segment.n);
    struct bit_range range;
    range.first = header_bits + block_exclusive_sum(work.bits, shared.warp_sums, &range.end);
    range.end += header_bits;
    range.total = bits_of_end(range.end, shared.codes[END_OF_BLOCK], segment.last);
    const bool stored = range.total / 8 >= segment.n + STORED_BYTES;
    if (threadIdx.x == 0)
        segment.result->bytes = stored ? segment.n + STORED_BYTES : range.total / 8;
    if (stored) {
        put_stored(segment, shared.text);
        return;
    }
    clear_shared_words(words, header_bits, range.first + work.bits, range);
    __syncthreads();
    work.writer = write_from(words, range.first);
    do_runs<WRITE_TOKENS>(work, shared.text, segment.n);
    end_bits(work.writer);
    if (threadIdx.x == DEFLATE_THREADS - 1)
        put_end(write_from(words, range.end), shared.codes[END_OF_BLOCK], segment.last);
}

static __global__ void __launch_bounds__(DEFLATE_THREADS, 5) deflate_segments(struct deflate_job job)
{
    __shared__ struct segment_shared shared;
    for (int64_t i = blockIdx.x; i < job.call.n_chunks * job.segments; i += gridDim.x) {
        const struct segment segment = find_segment(job, i);
        read_text(segment, job.call.width, shared.text, shared.warp_sums);
        compress(segment, shared);
    }
}

int64_t ts_cuda_deflate_blocks(const struct device_numbers *device, enum cuda_deflate_level level)
{
    (void)level;
    return device->multiprocessors;
}

enum ts_status ts_cuda_deflate_segments(const struct stage_context *context, const struct deflate_job *job,
                                        cudaStream_t stream)
{
    deflate_segments<<<(unsigned)(job->call.n_chunks * job->segments), DEFLATE_THREADS, 0, stream>>>(*job);
    return ts_cuda_launched(context, "deflate_segments");
}
