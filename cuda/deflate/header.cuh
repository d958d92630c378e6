/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes the header of a dynamic block (RFC 1951, 3.2.7): the lengths of both codes as one sequence, in which runs
 * are shortened, in a Huffman code of its own. A thread looks at two places of the sequence; where a run begins, it
 * makes the tokens of the run.
 */
#ifndef CUDA_DEFLATE_HEADER_CUH
#define CUDA_DEFLATE_HEADER_CUH

#include "cuda/deflate/bits.cuh"
#include "cuda/deflate/codes.cuh"
#include "cuda/values/reductions.cuh"

enum {
    MOST_LENGTHS = LITERAL_SYMBOLS + DISTANCE_SYMBOLS,
    FIXED_BITS = 3 + 5 + 5 + 4, /* fields of fixed length at the header's start */
    /* Every length takes at most the 7 bits of its code, or shares with two others those of a run, which has 7 more. */
    HEADER_WORDS = (FIXED_BITS + 3 * LENGTH_SYMBOLS + 7 * MOST_LENGTHS) / 32 + 2,
    REPEAT = 16,     /* the length before, 3 to 6 times */
    ZEROS = 17,      /* 3 to 10 */
    MANY_ZEROS = 18, /* 11 to 138 */
    TOKEN_BITS = 5   /* low bits of a token, its symbol; its extra bits lie above */
};

struct header_scratch {
    uint8_t sequence[MOST_LENGTHS];
    uint16_t tokens[MOST_LENGTHS];
    uint32_t counts[LENGTH_SYMBOLS];
    uint8_t lengths[MOST_SYMBOLS];
    unsigned n_literals, n_distances; /* lengths of each code that are stored */
};

static __constant__ uint8_t length_order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};

/* Returns the number of tokens of a run, and writes them unless `tokens` is NULL. */
static __device__ unsigned run_tokens(unsigned length, unsigned run, uint16_t *tokens)
{
    unsigned n = 0;
    for (bool first = length != 0; run > 0; first = false) {
        const unsigned part = first ? 1 : min(run, length ? 6u : 138u);
        const unsigned symbol = part < 3 ? length : length ? REPEAT : part < 11 ? ZEROS : MANY_ZEROS;
        const unsigned extra = part < 3 ? 0 : part - (symbol == MANY_ZEROS ? 11 : 3);
        if (tokens)
            tokens[n] = (uint16_t)(extra << TOKEN_BITS | symbol);
        n++;
        run -= part < 3 ? 1 : part;
    }
    return n;
}

static __device__ unsigned token_bits(const struct header_scratch &header, unsigned token)
{
    const unsigned symbol = token & ((1u << TOKEN_BITS) - 1);
    return header.lengths[symbol] + (symbol < REPEAT ? 0 : symbol == REPEAT ? 2 : symbol == ZEROS ? 3 : 7);
}

/* Writes both codes' lengths as one sequence, and returns how many there are. */
static __device__ unsigned join_lengths(struct header_scratch &header, const uint8_t *literals,
                                        const uint8_t *distances)
{
    if (threadIdx.x < LENGTH_SYMBOLS)
        header.counts[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        header.n_literals = header.n_distances = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < MOST_LENGTHS; i += DEFLATE_THREADS) {
        const bool literal = i < LITERAL_SYMBOLS;
        const unsigned symbol = literal ? i : i - LITERAL_SYMBOLS;
        if (literal ? literals[symbol] : distances[symbol])
            atomicMax(literal ? &header.n_literals : &header.n_distances, symbol + 1);
    }
    __syncthreads();
    const unsigned n_literals = header.n_literals, n = n_literals + header.n_distances;
    for (unsigned i = threadIdx.x; i < n; i += DEFLATE_THREADS)
        header.sequence[i] = i < n_literals ? literals[i] : distances[i - n_literals];
    __syncthreads();
    return n;
}

/* Finds the tokens of the sequence's n lengths, and counts their symbols. Returns the number of tokens. */
static __device__ unsigned find_tokens(struct header_scratch &header, unsigned n, uint32_t *warp_sums)
{
    const unsigned first = 2 * threadIdx.x;
    unsigned run[2] = {0, 0}, made[2] = {0, 0}, total;
    for (unsigned j = 0; j < 2; j++) {
        const unsigned i = first + j;
        if (i >= n || (i > 0 && header.sequence[i - 1] == header.sequence[i]))
            continue;
        for (run[j] = 1; i + run[j] < n && header.sequence[i + run[j]] == header.sequence[i];)
            run[j]++;
        made[j] = run_tokens(header.sequence[i], run[j], NULL);
    }
    unsigned place = block_exclusive_sum(made[0] + made[1], warp_sums, &total);
    for (unsigned j = 0; j < 2; place += made[j++]) {
        if (run[j] > 0)
            run_tokens(header.sequence[first + j], run[j], header.tokens + place);
        for (unsigned k = 0; k < made[j]; k++)
            atomicAdd(&header.counts[header.tokens[place + k] & ((1u << TOKEN_BITS) - 1)], 1u);
    }
    return total;
}

/* Writes the part of the header before the tokens, and returns its number of bits. One thread calls this. */
static __device__ uint32_t put_header_start(const struct header_scratch &header, uint32_t *words, bool final)
{
    struct bit_writer writer = write_from(words, 0);
    unsigned n = LENGTH_SYMBOLS;
    while (n > 4 && header.lengths[length_order[n - 1]] == 0)
        n--;
    put_bits(writer,
             (uint32_t) final | 2 << 1 | (header.n_literals - 257) << 3 | (header.n_distances - 1) << 8 | (n - 4) << 13,
             FIXED_BITS);
    for (unsigned i = 0; i < n; i++)
        put_bits(writer, header.lengths[length_order[i]], 3);
    end_bits(writer);
    return FIXED_BITS + 3 * n;
}

/* Writes the header of a block whose codes have these lengths to `words`, and returns its number of bits. The bits
 * behind it in its last word are 0. The function starts and ends with a barrier. */
static __device__ uint32_t put_header(struct header_scratch &header, struct code_scratch &scratch,
                                      const uint8_t *literals, const uint8_t *distances, uint32_t *words, bool final,
                                      uint32_t *warp_sums)
{
    const unsigned first = 2 * threadIdx.x;
    uint32_t start, n_bits;
    for (unsigned i = threadIdx.x; i < HEADER_WORDS; i += DEFLATE_THREADS)
        words[i] = 0;
    const unsigned n = join_lengths(header, literals, distances);
    const unsigned n_tokens = find_tokens(header, n, warp_sums);
    code_lengths(scratch, header.counts, LENGTH_SYMBOLS, LENGTH_LIMIT, header.lengths);
    uint32_t bits[2] = {0, 0};
    for (unsigned j = 0; j < 2; j++)
        if (first + j < n_tokens)
            bits[j] = token_bits(header, header.tokens[first + j]);
    if (threadIdx.x == 0)
        bits[0] += start = put_header_start(header, words, final);
    const uint32_t place = block_exclusive_sum(bits[0] + bits[1], warp_sums, &n_bits);
    struct bit_writer writer = write_from(words, threadIdx.x == 0 ? start : place);
    writer.joins = true;
    for (unsigned j = 0; j < 2 && first + j < n_tokens; j++) {
        const unsigned token = header.tokens[first + j], symbol = token & ((1u << TOKEN_BITS) - 1);
        const unsigned length = header.lengths[symbol];
        put_bits(writer, code_of(scratch, header.lengths, symbol) | token >> TOKEN_BITS << length,
                 token_bits(header, token));
        writer.joins = true;
    }
    end_bits(writer);
    __syncthreads();
    return n_bits;
}

#endif
