/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens are what a segment is cut into: a literal is token 0 to 255, the end of the block 256, and a match of n bytes,
 * which lies in one strip, is 256 + n. Their codes hold the code of RFC 1951's symbol and, for a match, the extra bits
 * of its length, so that a token is one look at a table.
 */
#ifndef CUDA_DEFLATE_TOKENS_CUH
#define CUDA_DEFLATE_TOKENS_CUH

#include "cuda/deflate/bits.cuh"
#include "cuda/deflate/codes.cuh"
#include "cuda/deflate/text.cuh"

enum {
    SHORTEST_MATCH = 3,
    MATCH = 256, /* the token of a match of 0 bytes */
    TOKENS = MATCH + STRIP + 1,
    MATCH_SYMBOLS = 257, /* the symbol of the shortest match */
    CODE_BITS = 27       /* low bits of a table's entry have the code; the bits above them say how many are used */
};

/* RFC 1951 sorts both match lengths (low = 2) and distances (low = 1), less the shortest of each, into classes: the
 * first 2^(low + 1) numbers have one each, then 2^low classes follow of each size 2, 4, 8 and so on. Extra bits tell
 * the numbers of a class apart. */
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

/* Adds the counts of tokens up to the counts of symbols. The function starts with a barrier. */
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

/* Makes the table of codes, after code_lengths, for tokens that were counted. `distance_bits` 0s follow the extra bits
 * of a match. */
static __device__ void make_codes(const struct code_scratch &scratch, const uint8_t *lengths, uint32_t *codes,
                                  unsigned distance_bits)
{
    for (unsigned token = threadIdx.x; token < TOKENS; token += DEFLATE_THREADS) {
        const bool match = token > END_OF_BLOCK;
        const unsigned number = match ? token - MATCH - SHORTEST_MATCH : 0; /* the match length's, from 0 on */
        const unsigned extra = match ? extra_bits(number, 2) : 0;
        const unsigned symbol = match ? MATCH_SYMBOLS + class_of(number, 2) : token;
        if (match && token < MATCH + SHORTEST_MATCH)
            continue;
        const unsigned length = lengths[symbol], bits = length + extra + (match ? distance_bits : 0);
        if (length > 0)
            codes[token] =
                code_of(scratch, lengths, symbol) | (number & ((1u << extra) - 1)) << length | bits << CODE_BITS;
    }
}

/* A thread goes through the tokens of its strip three times, with one of these tasks each. */
enum token_pass { COUNT_TOKENS, MEASURE_TOKENS, WRITE_TOKENS };

struct token_work {
    uint32_t *counts, *distance_counts;
    const uint32_t *codes, *distance_codes;
    uint32_t bits; /* sum of the tokens' bits that were measured */
    struct bit_writer writer;
};

template <enum token_pass PASS> static __device__ inline void do_token(struct token_work &work, unsigned token)
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
