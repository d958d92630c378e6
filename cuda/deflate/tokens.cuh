/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens are what a segment is cut into: a literal is token 0 to 255, the end of the block is 256,
 * and a match of n bytes, which is within one strip, is 256 + n. Their codes hold the code of RFC
 * 1951's symbol and, for a match, the extra bits of its length, so that a token takes one access to
 * a table.
 */
#ifndef CUDA_DEFLATE_TOKENS_CUH
#define CUDA_DEFLATE_TOKENS_CUH

#include "cuda/deflate/codes.cuh"
#include "cuda/deflate/job.cuh"
#include "cuda/values/reductions.cuh"

/* ---- text --------------------------------------------------------------------------------------
 *
 * This brings the bytes of a segment into shared memory. At level CUDA_DEFLATE_RUNS each thread
 * reads its own strip from its beginning, so neighboring threads read words that are 32 apart.
 * Therefore the words of strip s are rotated by s, so that a warp reads from 32 different banks. At
 * level CUDA_DEFLATE_MATCHES neighboring threads read neighboring words or words anywhere, so the
 * words are in order and take no arithmetic. */

enum { TEXT_PAD = 4 /* words behind the segment that CUDA_DEFLATE_MATCHES may read; zeros */ };

/* Returns the place of word i of a segment. */
template <enum cuda_deflate_level LEVEL> static __device__ inline unsigned text_place(unsigned i)
{
    return LEVEL == CUDA_DEFLATE_MATCHES
               ? i
               : (i & ~(STRIP_WORDS - 1u)) | ((i + i / STRIP_WORDS) % STRIP_WORDS);
}

/* The segment that a block works on. */
struct segment {
    const uint8_t *bytes; /* address of the first byte; bytes of a plane are `width` apart */
    uint32_t n;           /* bytes of the segment */
    uint32_t inside;      /* bytes that are inside the array; the others equal `fill` */
    uint32_t fill;
    bool last; /* true if no segment of its chunk follows */
    uint8_t *slot;
    struct segment_result *result;
};

/* Describes the segment that is compressed as number i. Blocks that start together take the same
 * part of all planes, which are in the same cache lines. */
static __device__ struct segment find_segment(const struct deflate_job &job, int64_t i)
{
    struct segment segment;
    const unsigned width = job.call.width, within = (unsigned)(i % job.segments);
    const int64_t chunk = i / job.segments;
    const unsigned plane = within % width, piece = within / width,
                   number = plane * job.plane_segments + piece;
    const int64_t first = (int64_t)piece * SEGMENT;
    const int64_t left =
        chunk + 1 < job.call.n_chunks ? job.plane_bytes - first : job.last_elements - first;
    segment.n = segment_bytes(job, piece);
    segment.inside = left < 0 ? 0 : left < segment.n ? (uint32_t)left : segment.n;
    segment.fill = (uint32_t)(job.fill >> 8 * plane) & 0xFF;
    segment.bytes = job.chunks + chunk * job.call.chunk_bytes + first * width + plane;
    segment.last = number + 1 == job.segments;
    segment.slot = job.slots + (chunk * job.segments + number) * SLOT;
    segment.result = job.results + chunk * job.segments + number;
    return segment;
}

/* Returns word i of a plane of elements of WIDTH bytes. */
template <int WIDTH> static __device__ inline uint32_t plane_word(const uint8_t *bytes, unsigned i)
{
    const uint8_t *at = bytes + (size_t)(4 * i) * WIDTH;
    return at[0] | at[WIDTH] << 8 | at[2 * WIDTH] << 16 | (uint32_t)at[3 * WIDTH] << 24;
}

/* Returns word i if the array or the segment may end within it. Zeros follow the segment's end. */
static __device__ uint32_t edge_word(const struct segment &segment, unsigned width, unsigned i)
{
    uint32_t word = 0;
#pragma unroll 1
    for (unsigned at = 4 * i; at < 4 * i + 4 && at < segment.n; at++)
        word |= (at < segment.inside ? segment.bytes[(size_t)at * width] : segment.fill)
                << 8 * (at % 4);
    return word;
}

/* A thread reads several words at once, to have many loads under way. */
template <enum cuda_deflate_level LEVEL, int WIDTH>
static __device__ void read_words(const struct segment &segment, uint32_t *text)
{
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < segment.inside / 4; i += DEFLATE_THREADS)
        text[text_place<LEVEL>(i)] = plane_word<WIDTH>(segment.bytes, i);
}

/* Reads the segment, with zeros after its end. The function starts and ends with a barrier. */
template <enum cuda_deflate_level LEVEL>
static __device__ void read_text(const struct segment &segment, unsigned width, uint32_t *text)
{
    __syncthreads();
    if (width == 1)
        read_words<LEVEL, 1>(segment, text);
    else if (width == 2)
        read_words<LEVEL, 2>(segment, text);
    else if (width == 4)
        read_words<LEVEL, 4>(segment, text);
    else
        read_words<LEVEL, 8>(segment, text);
#pragma unroll 1
    for (unsigned i = segment.inside / 4 + threadIdx.x; i < WORDS; i += DEFLATE_THREADS)
        text[text_place<LEVEL>(i)] = edge_word(segment, width, i);
    __syncthreads();
}

/* Writes the segment's two sums of Adler's checksum (M. Adler, RFC 1950) to its result. The
 * function starts and ends with a barrier. */
template <enum cuda_deflate_level LEVEL>
static __device__ void sum_text(const struct segment &segment, const uint32_t *text,
                                uint32_t *warp_sums)
{
    uint32_t sum = 0, ramp = 0;
    for (unsigned i = threadIdx.x; 4 * i < segment.n; i += DEFLATE_THREADS) {
        /* The ramp of 32 words is at most 32 * 1020 * 2^15. */
        const uint32_t word = text[text_place<LEVEL>(i)], four = __dp4a(word, 0x01010101u, 0u);
        sum += four;
        ramp += four * (segment.n - 4 * i) - __dp4a(word, 0x03020100u, 0u);
    }
    sum = block_sum(sum, warp_sums);
    ramp = block_sum(ramp % ADLER_MODULUS, warp_sums);
    if (threadIdx.x == 0) {
        segment.result->sum = sum % ADLER_MODULUS;
        segment.result->ramp = ramp % ADLER_MODULUS;
    }
}

enum {
    SHORTEST_MATCH = 3,
    MATCH = 256, /* the token of a match of 0 bytes */
    TOKENS = MATCH + STRIP + 1,
    MATCH_SYMBOLS = 257, /* the symbol of the shortest match */
    CODE_BITS = 27 /* the low bits of a table's entry hold the code; the bits above say how many are
                    * used */
};

/* RFC 1951 sorts match lengths (low = 2) and distances (low = 1), both reduced by the shortest,
 * into classes: the first 2^(low + 1) numbers have a class each, then 2^low classes follow for each
 * size 2, 4, 8 and so on. Extra bits tell the numbers of a class apart. Returns how many a number
 * has. */
static __device__ inline unsigned extra_bits(unsigned number, unsigned low)
{
    const unsigned digits = 32 - __clz(number);
    return digits > low + 1 ? digits - low - 1 : 0;
}

static __device__ inline unsigned class_of(unsigned number, unsigned low)
{
    const unsigned extra = extra_bits(number, low);
    return (extra << low) + (number >> extra);
}

/* Adds the counts of tokens to the counts of symbols. The function starts with a barrier. */
static __device__ void count_symbols(const uint32_t *counts, uint32_t *symbols)
{
    __syncthreads();
    for (unsigned i = threadIdx.x; i < LITERAL_SYMBOLS; i += DEFLATE_THREADS)
        symbols[i] = i < END_OF_BLOCK ? counts[i] : i == END_OF_BLOCK;
    __syncthreads();
    for (unsigned n = SHORTEST_MATCH + threadIdx.x; n <= STRIP; n += DEFLATE_THREADS)
        if (counts[MATCH + n])
            atomicAdd(&symbols[MATCH_SYMBOLS + class_of(n - SHORTEST_MATCH, 2)], counts[MATCH + n]);
}

/* Sets codes[t] of every token t that was counted. Call it after code_lengths(). The code of a
 * match has `distance_bits` zero bits behind its extra bits. */
static __device__ void make_codes(const struct code_scratch &scratch, const uint8_t *lengths,
                                  uint32_t *codes, unsigned distance_bits)
{
    for (unsigned token = threadIdx.x; token < TOKENS; token += DEFLATE_THREADS) {
        const bool match = token > END_OF_BLOCK;
        const unsigned number =
            match ? token - MATCH - SHORTEST_MATCH : 0; /* the match's length minus the shortest */
        const unsigned extra = match ? extra_bits(number, 2) : 0;
        const unsigned symbol = match ? MATCH_SYMBOLS + class_of(number, 2) : token;
        if (match && token < MATCH + SHORTEST_MATCH)
            continue;
        const unsigned length = lengths[symbol],
                       bits = length + extra + (match ? distance_bits : 0);
        if (length > 0)
            codes[token] = code_of(scratch, lengths, symbol) |
                           (number & ((1u << extra) - 1)) << length | bits << CODE_BITS;
    }
}

/* A thread goes through the tokens of its strip three times, with one of these tasks each. */
enum token_pass { COUNT_TOKENS, MEASURE_TOKENS, WRITE_TOKENS };

struct token_work {
    uint32_t *counts, *distance_counts;
    const uint32_t *codes, *distance_codes;
    uint32_t bits; /* sum of the bits of all measured tokens */
    struct bit_writer writer;
};

template <enum token_pass PASS>
static __device__ inline void do_token(struct token_work &work, unsigned token)
{
    if (PASS == COUNT_TOKENS) {
        atomicAdd(&work.counts[token], 1u);
    } else {
        const uint32_t code = work.codes[token];
        if (PASS == MEASURE_TOKENS)
            work.bits += code >> CODE_BITS;
        else
            put_bits(work.writer, code & ((1u << CODE_BITS) - 1), code >> CODE_BITS);
    }
}

#endif
