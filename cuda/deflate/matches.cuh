/* SPDX-License-Identifier: Apache-2.0
 *
 * A block finds the matches within a segment and cuts the segment into tokens. The first eight bytes at every position
 * are compared with those at five earlier ones: the byte before (a run), and the last four places where the same three
 * bytes were seen. Each warp enters 128 positions at once, after it has looked them up, and warps take turns in the
 * order of their positions; so what is found depends on the text alone. Matches within 128 positions, other than runs,
 * are not found.
 *
 * Then each thread walks its strip: it takes the match at a position unless the next position has a longer one. Only
 * matches that are taken are followed beyond eight bytes. Following all of them gained 0.2 %, and took most of the time
 * of the kernel, since a warp waits for its longest comparison.
 */
#ifndef CUDA_DEFLATE_MATCHES_CUH
#define CUDA_DEFLATE_MATCHES_CUH

#include "cuda/deflate/tokens.cuh"

enum {
    PLACE_BITS = 11, /* the table of places has 2^11 entries */
    PLACES = 1 << PLACE_BITS,
    AT_ONCE = 4,      /* positions that a thread looks up at once: the bytes of one word */
    HASHED_BYTES = 4, /* bytes that follow a position which is entered; the hash takes three of them */
    FAR = 8192,       /* farther back, three bytes cost more as a match than as literals */
    FOUND_BYTES = 8,  /* bytes that are compared at every position */
    /* A position's word holds the distance of its match in the low bits, then the match's length, which is 0 where no
     * match was found, then the byte at the position. A token's word has distance and length, or the byte of a literal
     * alone. */
    LENGTH_PLACE = 16,
    BYTE_PLACE = 24
};

/* The last four positions that were entered at one place: 16 bits each, the newest in the high half of `newer`.
 * Position 0 stands for none too, which is harmless: it is compared like any other. */
struct alignas(8) place {
    uint32_t older, newer;
};

/* Eight bytes of the text. */
struct eight {
    uint32_t low, high;
};

static __device__ inline struct eight text_eight(const uint32_t *text, unsigned i)
{
    const uint32_t *words = text + i / 4, middle = words[1];
    return {__funnelshift_r(words[0], middle, 8 * i), __funnelshift_r(middle, words[2], 8 * i)};
}

/* Returns how many bytes are equal before the first that differs, << LENGTH_PLACE. */
static __device__ inline uint32_t equal_bytes(const struct eight &a, const struct eight &b)
{
    const uint32_t low = a.low ^ b.low, differ = low ? low : a.high ^ b.high;
    const unsigned bits = __clz(__brev(differ)) + (low ? 0 : 32);
    return (bits & ~7u) << (LENGTH_PLACE - 3);
}

static __device__ inline unsigned hash(const struct eight &bytes)
{
    return (bytes.low << 8) * 2654435761u >> (32 - PLACE_BITS);
}

/* Returns the longest match at position i, of the run and the positions of `place`; the nearest among equals. */
static __device__ inline uint32_t best_match(const uint32_t *text, const struct eight &bytes, uint32_t before,
                                             unsigned i, unsigned most, const struct place &place)
{
    const uint32_t run = before * 0x01010101u;
    if (i == 0)
        return 0;
    uint32_t best = equal_bytes(bytes, {run, run}) + (i - 1); /* length and position */
    if (best < FOUND_BYTES << LENGTH_PLACE) {
        const unsigned from[] = {place.newer >> 16, place.newer & 0xFFFF, place.older >> 16, place.older & 0xFFFF};
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
            best = max(best, equal_bytes(bytes, text_eight(text, from[j])) + from[j]);
    }
    const unsigned length = min(best >> LENGTH_PLACE, most), distance = i - (best & 0xFFFF);
    const bool pays = length > SHORTEST_MATCH || (length == SHORTEST_MATCH && distance <= FAR);
    return pays ? length << LENGTH_PLACE | distance : 0;
}

/* Enters the positions from i on, whose bytes and places are these, in a segment of n bytes. */
static __device__ inline void enter(const struct eight *bytes, const struct place *was, unsigned i, unsigned n,
                                    struct place *places)
{
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
        const unsigned left = n - i - k;
        /* The next position has the same hash where four bytes are equal, and would replace this one. */
        const bool loses = k + 1 < AT_ONCE && bytes[k].low == __byte_perm(bytes[k].low, 0, 0) && left > HASHED_BYTES;
        if (i + k < n && left >= HASHED_BYTES && !loses) {
            struct place &place = places[hash(bytes[k])];
            atomicMax(&place.newer, (i + k) << 16 | was[k].newer >> 16);
            atomicExch(&place.older, was[k].newer << 16 | was[k].older >> 16);
        }
    }
}

/* Waits until the warp before this one gives it the turn. All lanes of both warps meet at a barrier of their own, at
 * which the one that gives does not wait. */
static __device__ inline void await_turn(unsigned warp)
{
    asm volatile("bar.sync %0, 64;" : : "r"(1 + warp) : "memory");
}

static __device__ inline void give_turn(unsigned warp)
{
    asm volatile("bar.arrive %0, 64;" : : "r"(1 + warp) : "memory");
}

/* Writes the match at every position of a segment of n bytes. `text` has room for TEXT_PAD words behind the segment,
 * which become 0. The function ends with a barrier. */
static __device__ void find_matches(uint32_t *text, unsigned n, struct place *places, uint32_t *matches)
{
    const unsigned warp = threadIdx.x / CUDA_WARP, warps = DEFLATE_THREADS / CUDA_WARP;
    for (unsigned i = threadIdx.x; i < PLACES; i += DEFLATE_THREADS)
        places[i] = {0, 0};
    if (threadIdx.x < TEXT_PAD)
        text[WORDS + threadIdx.x] = 0;
    __syncthreads();
    if (warp == warps - 1)
        give_turn(0);
#pragma unroll 1
    for (unsigned first = 0; first < n; first += AT_ONCE * DEFLATE_THREADS) {
        const unsigned i = first + AT_ONCE * threadIdx.x, end = min(n, i / STRIP * STRIP + STRIP);
        const uint32_t before = i > 0 ? text[i / 4 - 1] >> 24 : 0;
        struct eight bytes[AT_ONCE];
        struct place was[AT_ONCE];
        uint32_t found[AT_ONCE];
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            bytes[k] = text_eight(text, i + k);
        await_turn(warp);
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++)
            was[k] = places[hash(bytes[k])];
        __syncwarp();
        enter(bytes, was, i, n, places);
        if (warp + 1 < warps || first + AT_ONCE * DEFLATE_THREADS < n)
            give_turn((warp + 1) % warps);
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++) {
            found[k] = bytes[k].low << BYTE_PLACE;
            if (i + k < n)
                found[k] |=
                    best_match(text, bytes[k], k > 0 ? bytes[k - 1].low & 0xFF : before, i + k, end - i - k, was[k]);
        }
        *(uint4 *)&matches[i] = {found[0], found[1], found[2], found[3]};
    }
    __syncthreads();
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

/* Counts, measures or writes a token. */
template <enum token_pass PASS> static __device__ inline void do_match_token(struct token_work &work, uint32_t token)
{
    const unsigned length = token >> LENGTH_PLACE;
    do_token<PASS>(work, length ? MATCH + length : token);
    if (length)
        do_distance<PASS>(work, token & ((1u << LENGTH_PLACE) - 1));
}

/* Returns the length of a match at position i that has `length` bytes at least and `most` at most. */
static __device__ inline unsigned full_length(const uint32_t *text, unsigned i, unsigned distance, unsigned length,
                                              unsigned most)
{
    while (length < most) {
        const struct eight own = text_eight(text, i + length), other = text_eight(text, i + length - distance);
        const unsigned equal = equal_bytes(own, other) >> LENGTH_PLACE;
        length += equal;
        if (equal < FOUND_BYTES)
            break;
    }
    return min(length, most);
}

/* Returns the token at position i, whose match is `found`; `next` is the length of the match at the next position. */
static __device__ inline uint32_t choose_token(const uint32_t *text, unsigned i, unsigned most, uint32_t found,
                                               unsigned next)
{
    const unsigned length = found >> LENGTH_PLACE & 0xFF, distance = found & ((1u << LENGTH_PLACE) - 1);
    if (length == FOUND_BYTES)
        return full_length(text, i, distance, length, most) << LENGTH_PLACE | distance;
    return length == 0 || next > length ? found >> BYTE_PLACE : length << LENGTH_PLACE | distance;
}

/* Cuts a thread's strip in a segment of n bytes into tokens, counts them, and writes them over the strip's matches.
 * Returns the number of tokens. */
static __device__ unsigned cut_strip(struct token_work &work, const uint32_t *text, uint32_t *matches, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP, end = min(n, first + STRIP);
    const uint4 *fours = (const uint4 *)matches;
    unsigned at = first, made = first;
    uint4 four = first < end ? fours[first / 4] : uint4{};
#pragma unroll 1
    for (unsigned i = first; i < end; i += 4) {
        const uint4 after = i + 4 < end ? fours[i / 4 + 1] : uint4{}; /* read early: it takes long */
        const uint32_t found[5] = {four.x, four.y, four.z, four.w, after.x};
#pragma unroll
        for (unsigned j = 0; j < 4; j++) {
            if (i + j != at || at >= end)
                continue;
            const uint32_t token = choose_token(text, at, end - at, found[j], found[j + 1] >> LENGTH_PLACE & 0xFF);
            do_match_token<COUNT_TOKENS>(work, token);
            matches[made++] = token;
            at += max(token >> LENGTH_PLACE, 1u);
        }
        four = after;
    }
    return made - first;
}

/* Measures or writes a strip's n tokens. */
template <enum token_pass PASS>
static __device__ void do_tokens(struct token_work &work, const uint32_t *tokens, unsigned n)
{
    const uint4 *fours = (const uint4 *)tokens;
#pragma unroll 1
    for (unsigned i = 0; i < n; i += 4) {
        const uint32_t four[4] = {fours[i / 4].x, fours[i / 4].y, fours[i / 4].z, fours[i / 4].w};
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
            if (i + j < n)
                do_match_token<PASS>(work, four[j]);
    }
}

#endif
