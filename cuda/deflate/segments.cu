/* SPDX-License-Identifier: Apache-2.0
 *
 * This compresses the segments of all chunks, each by a block, into their slots. A segment becomes one dynamic block
 * (RFC 1951), and an empty stored one that ends it on a byte, so that the segments of a chunk join as they are; the
 * last one ends the stream instead. Where that is no smaller, it becomes a stored block. Its tokens are literals and
 * runs (runs.cuh), or literals and matches (matches.cuh).
 *
 * A thread takes one strip of 128 bytes three times: it counts its tokens, measures their bits once the codes are made,
 * and writes them at the place that a scan of these sums gives.
 *
 * Memory traffic: a block reads every byte of its elements for the one that lies in its plane; the blocks of the other
 * planes find theirs in the second-level cache. Compressed bytes are written once. Matches take 4 bytes for each byte
 * of the segment, written once and read once, and the tokens that replace them are read twice. A block has 256 threads,
 * since shorter strips cut more runs, and longer ones leave fewer threads for the memory of a segment. A multiprocessor
 * with 228 KiB of shared memory holds five blocks, four with matches, so that others work while one thread works alone.
 */
#include "cuda/deflate/segments.cuh"

#include "cuda/deflate/header.cuh"
#include "cuda/deflate/matches.cuh"
#include "cuda/deflate/runs.cuh"
#include "cuda/device/occupancy.cuh"

extern "C" {
#include "cuda/device/session.h"
}

/* A block makes the codes of its segment from the tokens. They lie where the table of places was, which it needs only
 * while it looks for matches. */
struct segment_codes {
    uint32_t counts[TOKENS], codes[TOKENS], symbols[LITERAL_SYMBOLS];
    uint32_t distance_counts[DISTANCE_SYMBOLS], distance_codes[DISTANCE_SYMBOLS];
    struct code_scratch scratch;
    struct header_scratch header;
    uint8_t literal_lengths[MOST_SYMBOLS], distance_lengths[MOST_SYMBOLS];
};

struct segment_shared {
    uint32_t text[WORDS + TEXT_PAD];
    uint32_t warp_sums[CUDA_BLOCK_WARPS];
    int64_t number; /* the segment's number */
    union {
        struct segment_codes of;
        struct place places[PLACES];
    };
};

/* Returns the shared memory of a block, which decides with its threads how many blocks a multiprocessor holds. */
static size_t shared_bytes(enum cuda_deflate_level level)
{
    return level == CUDA_DEFLATE_MATCHES ? sizeof(struct segment_shared)
                                         : offsetof(struct segment_shared, of) + sizeof(struct segment_codes);
}

/* Returns word k of a stored block: its text begins with word 0, so the words of its header have negative numbers. */
template <enum cuda_deflate_level LEVEL>
static __device__ uint32_t stored_word(const struct segment &segment, const uint32_t *text, int k)
{
    if (k == -2)
        return (uint32_t)segment.last << 24;
    if (k == -1)
        return segment.n | ~segment.n << 16;
    return k < WORDS ? text[text_place<LEVEL>(k)] : 0;
}

/* Writes the segment as it is, behind a header of 5 bytes. */
template <enum cuda_deflate_level LEVEL>
static __device__ void put_stored(const struct segment &segment, const uint32_t *text)
{
    uint32_t *words = (uint32_t *)segment.slot;
    for (int k = threadIdx.x; 4 * k < (int)segment.n + STORED_BYTES; k += DEFLATE_THREADS)
        words[k] = stored_word<LEVEL>(segment, text, k - 2) >> 24 | stored_word<LEVEL>(segment, text, k - 1) << 8;
}

/* Places in the slot, in bits: where the thread's strip begins, where all strips end, and where the segment ends. */
struct bit_range {
    uint32_t first, end, total;
};

/* Writes what follows the last strip. One thread calls this. */
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

/* Returns the bit at which the segment ends when put_end begins at bit `end`. */
static __device__ uint32_t bits_of_end(uint32_t end, uint32_t code, bool last)
{
    end += (code >> CODE_BITS) + (last ? 0 : 3);
    return (end + 7) / 8 * 8 + (last ? 0 : 32);
}

/* Clears the words that several threads write to: the last word of each strip, and the words that put_end writes. The
 * header's last word has bits already. */
static __device__ void clear_shared_words(uint32_t *words, uint32_t header_bits, uint32_t strip_end,
                                          const struct bit_range &range)
{
    if (strip_end / 32 > header_bits / 32)
        words[strip_end / 32] = 0;
    if (threadIdx.x > 0 && threadIdx.x <= (range.total - 1) / 32 - range.end / 32)
        words[range.end / 32 + threadIdx.x] = 0;
}

/* Makes the codes of all tokens that were counted. A block without matches names one distance all the same. */
template <enum cuda_deflate_level LEVEL> static __device__ void make_all_codes(struct segment_codes &of)
{
    const unsigned distance = threadIdx.x;
    count_symbols(of.counts, of.symbols);
    code_lengths(of.scratch, of.symbols, LITERAL_SYMBOLS, CODE_LIMIT, of.literal_lengths);
    make_codes(of.scratch, of.literal_lengths, of.codes, LEVEL == CUDA_DEFLATE_RUNS);
    if (LEVEL == CUDA_DEFLATE_RUNS) {
        if (distance < DISTANCE_SYMBOLS)
            of.distance_lengths[distance] = distance == 0;
        return;
    }
    const bool used = distance < DISTANCE_SYMBOLS && of.distance_counts[distance] > 0;
    if (__syncthreads_count(used) == 0 && distance == 0)
        of.distance_counts[0] = 1;
    code_lengths(of.scratch, of.distance_counts, DISTANCE_SYMBOLS, CODE_LIMIT, of.distance_lengths);
    if (distance < DISTANCE_SYMBOLS && of.distance_lengths[distance] > 0)
        of.distance_codes[distance] =
            code_of(of.scratch, of.distance_lengths, distance) | (uint32_t)of.distance_lengths[distance] << CODE_BITS;
}

/* This says where the tokens of a thread's strip are found: in the mask, or among the segment's matches, over which
 * they are written when they are counted. */
struct token_source {
    const uint32_t *text;
    uint32_t *matches;
    struct run_mask mask;
    unsigned n;        /* bytes of the segment */
    unsigned n_tokens; /* tokens of the strip among the matches */
};

template <enum cuda_deflate_level LEVEL, enum token_pass PASS>
static __device__ void do_strip(struct token_work &work, struct token_source &source)
{
    if (LEVEL == CUDA_DEFLATE_MATCHES && PASS == COUNT_TOKENS)
        source.n_tokens = cut_strip(work, source.text, source.matches, source.n);
    else if (LEVEL == CUDA_DEFLATE_MATCHES)
        do_tokens<PASS>(work, source.matches + threadIdx.x * STRIP, source.n_tokens);
    else
        do_runs<PASS>(work, source.text, source.mask, source.n);
}

template <enum cuda_deflate_level LEVEL>
static __device__ void compress(const struct segment &segment, struct segment_shared &shared, uint32_t *matches)
{
    struct segment_codes &of = shared.of;
    struct token_work work = {of.counts, of.distance_counts, of.codes, of.distance_codes};
    uint32_t *words = (uint32_t *)segment.slot;
    struct token_source source = {shared.text, matches, {}, segment.n};
    if (LEVEL == CUDA_DEFLATE_MATCHES)
        find_matches(shared.text, segment.n, shared.places, matches);
    else
        source.mask = find_runs(shared.text, segment.n);
    for (unsigned i = threadIdx.x; i < TOKENS; i += DEFLATE_THREADS)
        of.counts[i] = 0;
    if (threadIdx.x < DISTANCE_SYMBOLS)
        of.distance_counts[threadIdx.x] = 0;
    __syncthreads();
    do_strip<LEVEL, COUNT_TOKENS>(work, source);
    make_all_codes<LEVEL>(of);
    const uint32_t header_bits = put_header(of.header, of.scratch, of.literal_lengths, of.distance_lengths, words,
                                            segment.last, shared.warp_sums);
    do_strip<LEVEL, MEASURE_TOKENS>(work, source);
    struct bit_range range;
    range.first = header_bits + block_exclusive_sum(work.bits, shared.warp_sums, &range.end);
    range.end += header_bits;
    range.total = bits_of_end(range.end, of.codes[END_OF_BLOCK], segment.last);
    const bool stored = range.total / 8 >= segment.n + STORED_BYTES;
    if (threadIdx.x == 0)
        segment.result->bytes = stored ? segment.n + STORED_BYTES : range.total / 8;
    if (stored) {
        put_stored<LEVEL>(segment, shared.text);
        return;
    }
    clear_shared_words(words, header_bits, range.first + work.bits, range);
    __syncthreads();
    work.writer = write_from(words, range.first);
    do_strip<LEVEL, WRITE_TOKENS>(work, source);
    end_bits(work.writer);
    if (threadIdx.x == DEFLATE_THREADS - 1)
        put_end(write_from(words, range.end), of.codes[END_OF_BLOCK], segment.last);
}

/* Each block takes the next segment that no other has begun, since some take longer than others. */
template <enum cuda_deflate_level LEVEL>
static __global__ void __launch_bounds__(DEFLATE_THREADS,
                                         TS_CUDA_BLOCKS(DEFLATE_THREADS, LEVEL == CUDA_DEFLATE_RUNS ? 5 : 4))
    deflate_segments(struct deflate_job job)
{
    extern __shared__ uint4 shared_memory[];
    struct segment_shared &shared = *(struct segment_shared *)shared_memory;
    uint32_t *matches = job.matches + (int64_t)blockIdx.x * SEGMENT;
    for (;;) {
        if (threadIdx.x == 0)
            shared.number = (int64_t)atomicAdd(job.next, 1ull);
        __syncthreads();
        if (shared.number >= job.call.n_chunks * job.segments)
            return;
        const struct segment segment = find_segment(job, shared.number);
        read_text<LEVEL>(segment, job.call.width, shared.text);
        sum_text<LEVEL>(segment, shared.text, shared.warp_sums);
        compress<LEVEL>(segment, shared, matches);
        __syncthreads();
    }
}

static int64_t blocks_at_once(const struct device_numbers *device, enum cuda_deflate_level level)
{
    enum { RESERVED = 1024 /* bytes of shared memory that CUDA takes for each block */ };
    const int by_memory = device->shared_bytes / (int)(shared_bytes(level) + RESERVED);
    const int by_threads = device->threads / DEFLATE_THREADS;
    return (int64_t)device->multiprocessors * (by_memory < by_threads ? by_memory : by_threads);
}

int64_t ts_cuda_deflate_blocks(const struct device_numbers *device)
{
    return blocks_at_once(device, CUDA_DEFLATE_MATCHES);
}

template <enum cuda_deflate_level LEVEL>
static enum ts_status launch(const struct stage_context *context, const struct deflate_job *job, cudaStream_t stream)
{
    const size_t bytes = shared_bytes(LEVEL);
    const int64_t segments = job->call.n_chunks * job->segments, most = blocks_at_once(context->device, LEVEL);
    const unsigned blocks = (unsigned)(segments < most ? segments : most);
    enum ts_status status = ts_cuda_shared(context, (const void *)deflate_segments<LEVEL>, bytes);
    if (status != TS_OK)
        return status;
    status = ts_cuda_fold(context->diag, context->stage->name, cudaMemsetAsync(job->next, 0, sizeof *job->next, stream),
                          "counting segments");
    if (status != TS_OK)
        return status;
    deflate_segments<LEVEL><<<blocks, DEFLATE_THREADS, bytes, stream>>>(*job);
    return ts_cuda_launched(context, "deflate_segments");
}

enum ts_status ts_cuda_deflate_load_segments(const struct stage_context *context, enum cuda_deflate_level level)
{
    const void *const kernel = level == CUDA_DEFLATE_MATCHES ? (const void *)deflate_segments<CUDA_DEFLATE_MATCHES>
                                                             : (const void *)deflate_segments<CUDA_DEFLATE_RUNS>;
    return ts_cuda_load(context, &kernel, 1);
}

enum ts_status ts_cuda_deflate_segments(const struct stage_context *context, const struct deflate_job *job,
                                        cudaStream_t stream)
{
    return job->call.level == CUDA_DEFLATE_MATCHES ? launch<CUDA_DEFLATE_MATCHES>(context, job, stream)
                                                   : launch<CUDA_DEFLATE_RUNS>(context, job, stream);
}
