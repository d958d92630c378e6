/* SPDX-License-Identifier: Apache-2.0
 *
 * A block finds the matches within a segment. For every position it looks for the longest match that ends in the
 * position's strip, among three: the byte before (a run), and the last two tiles of 256 positions in which the same
 * three bytes were hashed to the same place. All threads look their positions of a tile up before any of them is
 * entered, and the highest position wins its place; so what is found depends on the text alone. Matches inside a tile,
 * other than runs, are not found.
 *
 * Then each thread walks its strip: it takes the match at a position unless the next position has a longer one.
 */
#ifndef CUDA_DEFLATE_MATCHES_CUH
#define CUDA_DEFLATE_MATCHES_CUH

#include "cuda/deflate/tokens.cuh"

enum {
    PLACE_BITS = 12, /* the table of places has 2^12 entries */
    PLACES = 1 << PLACE_BITS,
    HASHED_BYTES = 4,  /* that follow a position which is entered; the hash takes three of them */
    FAR = 4096,        /* farther back, three bytes cost more as a match than as literals */
    LONG_ENOUGH = 32,  /* a match that is taken without a look at the next position */
    DISTANCE_BITS = 16 /* a found match is length << DISTANCE_BITS | distance; 0: none was found */
};

/* The four bytes from i on; those after the segment's end are any. */
static __device__ inline uint32_t text_word(const uint32_t *text, unsigned i)
{
    const unsigned low = i / 4, high = min(low + 1, WORDS - 1u);
    return __funnelshift_r(text[text_place(low)], text[text_place(high)], 8 * (i % 4));
}

/* Bytes from i on that equal those from j on, at most `most`. */
static __device__ inline unsigned match_length(const uint32_t *text, unsigned i, unsigned j, unsigned most)
{
    for (unsigned length = 0; length < most; length += 4) {
        const uint32_t differ = text_word(text, i + length) ^ text_word(text, j + length);
        if (differ)
            return min(length + (__ffs(differ) - 1) / 8, most);
    }
    return most;
}

/* The longest match at position i, of the run and the two positions of `entry`, both counted from 1. */
static __device__ uint32_t best_match(const uint32_t *text, unsigned i, unsigned most, uint32_t entry)
{
    unsigned best = i > 0 ? match_length(text, i, i - 1, most) : 0, distance = 1;
    if (best < SHORTEST_MATCH)
        best = SHORTEST_MATCH - 1;
    for (unsigned j = 0; j < 2 && best < most; j++, entry <<= 16) {
        const unsigned from = entry >> 16, back = i + 1 - from;
        if (from == 0)
            break;
        const unsigned length = match_length(text, i, from - 1, most);
        if (length > best && (length > SHORTEST_MATCH || back <= FAR)) {
            best = length;
            distance = back;
        }
    }
    return best < SHORTEST_MATCH ? 0 : best << DISTANCE_BITS | distance;
}

/* Writes the match at every position of a segment of n bytes. A place of the table holds the last position that was
 * entered there, counted from 1, above the one of an earlier tile. Ends with a barrier. */
static __device__ void find_matches(const uint32_t *text, unsigned n, uint32_t *places, uint32_t *matches)
{
    for (unsigned i = threadIdx.x; i < PLACES; i += DEFLATE_THREADS)
        places[i] = 0;
    __syncthreads();
    for (unsigned first = 0; first < n; first += DEFLATE_THREADS) {
        const unsigned i = first + threadIdx.x, end = min(n, i / STRIP * STRIP + STRIP);
        const bool hashed = i + HASHED_BYTES <= n;
        const unsigned place = hashed ? (text_word(text, i) << 8) * 2654435761u >> (32 - PLACE_BITS) : 0;
        const uint32_t entry = hashed ? places[place] : 0;
        __syncthreads();
        if (hashed)
            atomicMax(&places[place], (i + 1) << 16 | entry >> 16);
        matches[i] = i < n ? best_match(text, i, end - i, entry) : 0;
        __syncthreads();
    }
}

template <enum token_pass PASS> static __device__ inline void do_distance(struct token_work &work, unsigned distance)
{
    const unsigned number = distance - 1, symbol = class_of(number, 1), extra = extra_bits(number, 1);
    if (PASS == COUNT_TOKENS) {
        atomicAdd(&work.distance_counts[symbol], 1u);
        return;
    }
    const uint32_t code = work.distance_codes[symbol], bits = code >> CODE_BITS;
    if (PASS == MEASURE_TOKENS)
        work.bits += bits + extra;
    else
        put_bits(work.writer, (code & ((1u << CODE_BITS) - 1)) | (number & ((1u << extra) - 1)) << bits, bits + extra);
}

/* Literals and matches of a thread's strip in a segment of n bytes. */
template <enum token_pass PASS>
static __device__ void do_matches(struct token_work &work, const uint32_t *text, const uint32_t *matches, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP, end = min(n, first + STRIP);
    unsigned skip = 0; /* bytes of the match that was taken */
    for (unsigned at = first; at < end; at += 4) {
        const uint4 four = *(const uint4 *)&matches[at];
        const uint32_t word = text[text_place(at / 4)];
        const uint32_t found[5] = {four.x, four.y, four.z, four.w, at + 4 < end ? matches[at + 4] : 0};
#pragma unroll
        for (unsigned j = 0; j < 4; j++) {
            const unsigned length = found[j] >> DISTANCE_BITS;
            const unsigned next = at + j + 1 < end ? found[j + 1] >> DISTANCE_BITS : 0;
            if (at + j >= end || skip > 0) {
                skip -= skip > 0;
            } else if (length == 0 || (length < LONG_ENOUGH && next > length)) {
                do_token<PASS>(work, word >> 8 * j & 0xFF);
            } else {
                do_token<PASS>(work, MATCH + length);
                do_distance<PASS>(work, found[j] & ((1u << DISTANCE_BITS) - 1));
                skip = length - 1;
            }
        }
    }
}

#endif
