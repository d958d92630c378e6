/* SPDX-License-Identifier: Apache-2.0
 *
 * This compresses the segments of all chunks, into their slots, with one block of threads for each.
 * A segment becomes one dynamic block (RFC 1951), followed by an empty stored block that makes it
 * end on a byte, so that the segments of a chunk can simply be joined; the last one ends the stream
 * instead. If this is not smaller than the segment, it becomes a stored block. Its tokens are
 * literals and runs, or literals and matches.
 *
 * A thread goes through one strip of 128 bytes three times: it counts its tokens, sums their bits
 * once the codes are made, and writes them at the place that a scan of these sums gives.
 *
 * Memory traffic: a block reads all bytes of its elements for the one in its plane; the blocks of
 * the other planes find theirs in the second-level cache. Compressed bytes are written once.
 * Matches take 4 bytes for each byte of the segment, written once and read once, and the tokens
 * that replace them are read twice. A block has 256 threads, since shorter strips cut more runs,
 * and longer ones leave fewer threads for the memory of a segment. A multiprocessor with 228 KiB of
 * shared memory holds five blocks, four with matches, so that other blocks work while one is in a
 * step of a single thread.
 */
#include "cuda/deflate/segments.cuh"

#include "cuda/deflate/codes.cuh"
#include "cuda/deflate/tokens.cuh"
#include "cuda/device/occupancy.cuh"

extern "C" {
#include "cuda/device/session.h"
}

/* ---- runs --------------------------------------------------------------------------------------
 *
 * Each thread finds the runs of its strip. A byte that equals the one before it, at least three
 * times, is a match at distance 1, which needs no search. The thread notes its runs once, as a mask
 * of the bytes that they cover, and keeps the mask in registers. The first bytes of a strip may go
 * on with the run of the strip before. */

enum { MASK_WORDS = STRIP / 32 };

/* Bit i is set if byte i of the strip is part of a run; neighboring covered bytes are one run. */
struct run_mask {
    uint32_t covered[MASK_WORDS];
};

/* Returns a word in which a bit is set for each byte of `word` that is 0. */
static __device__ inline uint32_t zero_bytes(uint32_t word)
{
    const uint32_t high_bits = ~(((word & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | word | 0x7F7F7F7Fu);
    return (high_bits >> 7) * 0x01020408u >> 24;
}

static __device__ inline uint32_t text_byte(const uint32_t *text, unsigned i)
{
    return text[text_place<CUDA_DEFLATE_RUNS>(i / 4)] >> 8 * (i % 4) & 0xFF;
}

/* Returns the bits of mask word i that belong to bytes of the segment. */
static __device__ inline uint32_t inside_bits(unsigned i, unsigned n)
{
    const int left = (int)n - (int)(threadIdx.x * STRIP + 32 * i);
    if (left >= 32)
        return ~0u;
    return left <= 0 ? 0 : (1u << left) - 1;
}

/* Returns the mask of the runs in the thread's strip of a segment of n bytes. */
static __device__ struct run_mask find_runs(const uint32_t *text, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP;
    uint32_t equal[MASK_WORDS + 1],
        before = first > 0 ? text_byte(text, first - 1) : ~text_byte(text, 0) & 0xFF;
    struct run_mask mask;
#pragma unroll
    for (unsigned i = 0; i < MASK_WORDS; i++) {
        equal[i] = 0;
#pragma unroll
        for (unsigned k = 0; k < 8; k++) {
            const uint32_t word = text[text_place<CUDA_DEFLATE_RUNS>(first / 4 + 8 * i + k)];
            equal[i] |= zero_bytes(word ^ (word << 8 | before)) << 4 * k;
            before = word >> 24;
        }
        equal[i] &= inside_bits(i, n);
    }
    equal[MASK_WORDS] = 0;
    uint32_t carry = 0;
#pragma unroll
    for (unsigned i = 0; i < MASK_WORDS; i++) {
        /* This has a bit where three bytes of a row begin; these three are covered. */
        const uint32_t three = equal[i] & __funnelshift_r(equal[i], equal[i + 1], 1) &
                               __funnelshift_r(equal[i], equal[i + 1], 2);
        mask.covered[i] = three | three << 1 | three << 2 | carry;
        carry = three >> 31 | three >> 30;
    }
    return mask;
}

/* Returns the bytes of the run that begins at bit `bit` of mask word i. */
static __device__ inline unsigned run_length(const struct run_mask &mask, unsigned i, unsigned bit)
{
    unsigned length = 32 - bit;
    const uint32_t ends = ~mask.covered[i] >> bit;
    if (ends)
        return __ffs(ends) - 1;
#pragma unroll
    for (unsigned k = 1; k < MASK_WORDS; k++) {
        if (k <= i)
            continue;
        if (~mask.covered[k])
            return length + __ffs(~mask.covered[k]) - 1;
        length += 32;
    }
    return length;
}

/* Counts, measures or writes the literals and runs of a thread's strip in a segment of n bytes. */
template <enum token_pass PASS>
static __device__ void do_runs(struct token_work &work, const uint32_t *text,
                               const struct run_mask &mask, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP;
#pragma unroll
    for (unsigned i = 0; i < MASK_WORDS; i++) {
        const uint32_t covered = mask.covered[i], before = i > 0 ? mask.covered[i - 1] >> 31 : 0;
        const uint32_t starts = covered & ~(covered << 1 | before);
        const uint32_t tokens = (~covered & inside_bits(i, n)) | starts;
#pragma unroll 1
        for (unsigned k = 0; k < 8; k++) {
            const uint32_t word = text[text_place<CUDA_DEFLATE_RUNS>(first / 4 + 8 * i + k)];
            /* Two runs are at least three bytes and a literal apart, so at most one begins in a
             * word. */
            const uint32_t start = starts >> 4 * k & 0xF, token = tokens >> 4 * k;
            const unsigned match =
                start ? MATCH + run_length(mask, i, 4 * k + __ffs(start) - 1) : 0;
#pragma unroll
            for (unsigned j = 0; j < 4; j++)
                if (token >> j & 1)
                    do_token<PASS>(work, start >> j & 1 ? match : word >> 8 * j & 0xFF);
        }
    }
}

/* ---- matches -----------------------------------------------------------------------------------
 *
 * A block finds the matches within a segment and cuts the segment into tokens. The eight bytes at
 * every position are compared with those at five earlier positions: the one before (a run), and the
 * last four at which the same three bytes were seen. Each warp enters 128 positions into the table
 * at once, after it has looked them up, and warps take turns in the order of their positions; so
 * what is found depends on the text alone. Matches within 128 positions, other than runs, are not
 * found.
 *
 * Then each thread walks its strip: it takes the match at a position unless the next position has a
 * longer one. Only matches that are taken are followed beyond eight bytes. Following all of them
 * gained 0.2 %, and took most of the time of the kernel, since a warp waits for its longest
 * comparison.  */

enum {
    PLACE_BITS = 11, /* the table of places has 2^11 entries */
    PLACES = 1 << PLACE_BITS,
    AT_ONCE = 4, /* positions that a thread looks up at once: those of the bytes of one word */
    HASHED_BYTES =
        4,      /* an entered position has this many bytes behind it; the hash uses three of them */
    FAR = 8192, /* farther back, a match of three bytes takes more bits than three literals */
    FOUND_BYTES = 8, /* bytes that are compared at every position */
    /* A position's word holds the distance of its match in the low bits, then the match's length,
     * which is 0 if no match was found, then the byte at the position. A token's word has
     * distance and length, or the byte of a literal alone. */
    LENGTH_PLACE = 16,
    BYTE_PLACE = 24
};

/* The last four positions that were entered at one place: 16 bits each, the newest in the high half
 * of `newer`. Position 0 also means none, which is harmless: it is compared like any other. */
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

/* Returns how many bytes are equal before the first difference, shifted left by LENGTH_PLACE. */
static __device__ inline uint32_t equal_bytes(const struct eight &a, const struct eight &b)
{
    const uint32_t low = a.low ^ b.low, differ = low ? low : a.high ^ b.high;
    const unsigned bits = __clz(__brev(differ)) + (low ? 0 : 32);
    return (bits & ~7u) << (LENGTH_PLACE - 3);
}

static __device__ inline unsigned hash_three(const struct eight &bytes)
{
    return (bytes.low << 8) * 2654435761u >> (32 - PLACE_BITS);
}

/* Returns the longest match at position i among the run and the positions in `place`; among equals
 * the nearest. */
static __device__ inline uint32_t best_match(const uint32_t *text, const struct eight &bytes,
                                             uint32_t before, unsigned i, unsigned most,
                                             const struct place &place)
{
    const uint32_t run = before * 0x01010101u;
    if (i == 0)
        return 0;
    uint32_t best = equal_bytes(bytes, {run, run}) + (i - 1); /* length and position in one
                                                               * number */
    if (best < FOUND_BYTES << LENGTH_PLACE) {
        const unsigned from[] = {place.newer >> 16, place.newer & 0xFFFF, place.older >> 16,
                                 place.older & 0xFFFF};
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
            best = max(best, equal_bytes(bytes, text_eight(text, from[j])) + from[j]);
    }
    const unsigned length = min(best >> LENGTH_PLACE, most), distance = i - (best & 0xFFFF);
    const bool pays = length > SHORTEST_MATCH || (length == SHORTEST_MATCH && distance <= FAR);
    return pays ? length << LENGTH_PLACE | distance : 0;
}

/* Enters the positions from i on, with these bytes and these former places, in a segment of n
 * bytes. */
static __device__ inline void enter(const struct eight *bytes, const struct place *was, unsigned i,
                                    unsigned n, struct place *places)
{
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++) {
        const unsigned left = n - i - k;
        /* If four bytes are equal, the next position has the same hash and would replace this
         * one. */
        const bool loses = k + 1 < AT_ONCE && bytes[k].low == __byte_perm(bytes[k].low, 0, 0) &&
                           left > HASHED_BYTES;
        if (i + k < n && left >= HASHED_BYTES && !loses) {
            struct place &place = places[hash_three(bytes[k])];
            atomicMax(&place.newer, (i + k) << 16 | was[k].newer >> 16);
            atomicExch(&place.older, was[k].newer << 16 | was[k].older >> 16);
        }
    }
}

/* Waits until the warp before this one passes the turn on. All lanes of both warps use a barrier of
 * their own, at which the warp that passes on does not wait. */
static __device__ inline void await_turn(unsigned warp)
{
    asm volatile("bar.sync %0, 64;" : : "r"(1 + warp) : "memory");
}

static __device__ inline void give_turn(unsigned warp)
{
    asm volatile("bar.arrive %0, 64;" : : "r"(1 + warp) : "memory");
}

/* Writes the match at every position of a segment of n bytes. `text` has room for TEXT_PAD words
 * behind the segment, which become 0. The function ends with a barrier. */
static __device__ void find_matches(uint32_t *text, unsigned n, struct place *places,
                                    uint32_t *matches)
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
            was[k] = places[hash_three(bytes[k])];
        __syncwarp();
        enter(bytes, was, i, n, places);
        if (warp + 1 < warps || first + AT_ONCE * DEFLATE_THREADS < n)
            give_turn((warp + 1) % warps);
#pragma unroll
        for (unsigned k = 0; k < AT_ONCE; k++) {
            found[k] = bytes[k].low << BYTE_PLACE;
            if (i + k < n)
                found[k] |= best_match(text, bytes[k], k > 0 ? bytes[k - 1].low & 0xFF : before,
                                       i + k, end - i - k, was[k]);
        }
        *(uint4 *)&matches[i] = {found[0], found[1], found[2], found[3]};
    }
    __syncthreads();
}

template <enum token_pass PASS>
static __device__ inline void do_distance(struct token_work &work, unsigned distance)
{
    const unsigned number = distance - 1, symbol = class_of(number, 1),
                   extra = extra_bits(number, 1);
    if (PASS == COUNT_TOKENS) {
        atomicAdd(&work.distance_counts[symbol], 1u);
        return;
    }
    const uint32_t code = work.distance_codes[symbol], bits = code >> CODE_BITS;
    if (PASS == MEASURE_TOKENS)
        work.bits += bits + extra;
    else
        put_bits(work.writer,
                 (code & ((1u << CODE_BITS) - 1)) | (number & ((1u << extra) - 1)) << bits,
                 bits + extra);
}

/* Counts, measures or writes a token. */
template <enum token_pass PASS>
static __device__ inline void do_match_token(struct token_work &work, uint32_t token)
{
    const unsigned length = token >> LENGTH_PLACE;
    do_token<PASS>(work, length ? MATCH + length : token);
    if (length)
        do_distance<PASS>(work, token & ((1u << LENGTH_PLACE) - 1));
}

/* Returns the length of a match at position i, which has at least `length` and at most `most`
 * bytes. */
static __device__ inline unsigned full_length(const uint32_t *text, unsigned i, unsigned distance,
                                              unsigned length, unsigned most)
{
    while (length < most) {
        const struct eight own = text_eight(text, i + length),
                           other = text_eight(text, i + length - distance);
        const unsigned equal = equal_bytes(own, other) >> LENGTH_PLACE;
        length += equal;
        if (equal < FOUND_BYTES)
            break;
    }
    return min(length, most);
}

/* Returns the token at position i, where the match `found` was found; `next` is the length of the
 * match at the next position. */
static __device__ inline uint32_t choose_token(const uint32_t *text, unsigned i, unsigned most,
                                               uint32_t found, unsigned next)
{
    const unsigned length = found >> LENGTH_PLACE & 0xFF,
                   distance = found & ((1u << LENGTH_PLACE) - 1);
    if (length == FOUND_BYTES)
        return full_length(text, i, distance, length, most) << LENGTH_PLACE | distance;
    return length == 0 || next > length ? found >> BYTE_PLACE : length << LENGTH_PLACE | distance;
}

/* Cuts a thread's strip in a segment of n bytes into tokens, counts them, and writes them over the
 * strip's matches. Returns the number of tokens. */
static __device__ unsigned cut_strip(struct token_work &work, const uint32_t *text,
                                     uint32_t *matches, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP, end = min(n, first + STRIP);
    const uint4 *fours = (const uint4 *)matches;
    unsigned at = first, made = first;
    uint4 four = first < end ? fours[first / 4] : uint4{};
#pragma unroll 1
    for (unsigned i = first; i < end; i += 4) {
        const uint4 after =
            i + 4 < end ? fours[i / 4 + 1] : uint4{}; /* read early because it takes long */
        const uint32_t found[5] = {four.x, four.y, four.z, four.w, after.x};
#pragma unroll
        for (unsigned j = 0; j < 4; j++) {
            if (i + j != at || at >= end)
                continue;
            const uint32_t token =
                choose_token(text, at, end - at, found[j], found[j + 1] >> LENGTH_PLACE & 0xFF);
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

/* A block makes the codes of its segment from the tokens. They use the memory of the table of
 * places, which is only needed while the block looks for matches. */
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
    int64_t number; /* number of the segment */
    union {
        struct segment_codes of;
        struct place places[PLACES];
    };
};

/* Returns the shared memory of a block, which decides with its threads how many blocks a
 * multiprocessor holds. */
static size_t shared_bytes(enum cuda_deflate_level level)
{
    return level == CUDA_DEFLATE_MATCHES
               ? sizeof(struct segment_shared)
               : offsetof(struct segment_shared, of) + sizeof(struct segment_codes);
}

/* Returns word k of a stored block. Its text begins at word 0, so the words of its header have
 * negative numbers. */
template <enum cuda_deflate_level LEVEL>
static __device__ uint32_t stored_word(const struct segment &segment, const uint32_t *text, int k)
{
    if (k == -2)
        return (uint32_t)segment.last << 24;
    if (k == -1)
        return segment.n | ~segment.n << 16;
    return k < WORDS ? text[text_place<LEVEL>(k)] : 0;
}

/* Writes the segment uncompressed, behind a header of 5 bytes. */
template <enum cuda_deflate_level LEVEL>
static __device__ void put_stored(const struct segment &segment, const uint32_t *text)
{
    uint32_t *words = (uint32_t *)segment.slot;
    for (int k = threadIdx.x; 4 * k < (int)segment.n + STORED_BYTES; k += DEFLATE_THREADS)
        words[k] = stored_word<LEVEL>(segment, text, k - 2) >> 24 |
                   stored_word<LEVEL>(segment, text, k - 1) << 8;
}

/* Places in the slot, in bits: where the thread's strip begins, where all strips end, and where the
 * segment ends. */
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

/* Clears the words that several threads write to: the last word of each strip, and the words that
 * put_end writes. The header's last word has bits already. */
static __device__ void clear_shared_words(uint32_t *words, uint32_t header_bits, uint32_t strip_end,
                                          const struct bit_range &range)
{
    if (strip_end / 32 > header_bits / 32)
        words[strip_end / 32] = 0;
    if (threadIdx.x > 0 && threadIdx.x <= (range.total - 1) / 32 - range.end / 32)
        words[range.end / 32 + threadIdx.x] = 0;
}

/* Makes the codes of all tokens that were counted. A block without matches also has one distance,
 * as the format demands. */
template <enum cuda_deflate_level LEVEL>
static __device__ void make_all_codes(struct segment_codes &of)
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
        of.distance_codes[distance] = code_of(of.scratch, of.distance_lengths, distance) |
                                      (uint32_t)of.distance_lengths[distance] << CODE_BITS;
}

/* Where the tokens of a thread's strip are: in the mask, or among the segment's matches, which are
 * overwritten by tokens when these are counted. */
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

/* Compresses a segment into its slot, and writes its result. */
template <enum cuda_deflate_level LEVEL>
static __device__ void compress(const struct segment &segment, struct segment_shared &shared,
                                uint32_t *matches)
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
    const uint32_t header_bits =
        put_header(of.header, of.scratch, of.literal_lengths, of.distance_lengths, words,
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
                                         TS_CUDA_BLOCKS(DEFLATE_THREADS,
                                                        LEVEL == CUDA_DEFLATE_RUNS ? 5 : 4))
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
static enum ts_status segments_launch(const struct stage_context *context,
                                      const struct deflate_job *job, cudaStream_t stream)
{
    const size_t bytes = shared_bytes(LEVEL);
    const int64_t segments = job->call.n_chunks * job->segments,
                  most = blocks_at_once(context->device, LEVEL);
    const unsigned blocks = (unsigned)(segments < most ? segments : most);
    enum ts_status status = ts_cuda_shared(context, (const void *)deflate_segments<LEVEL>, bytes);
    if (status != TS_OK)
        return status;
    status =
        ts_cuda_fold(context->diag, context->stage->name,
                     cudaMemsetAsync(job->next, 0, sizeof *job->next, stream), "counting segments");
    if (status != TS_OK)
        return status;
    deflate_segments<LEVEL><<<blocks, DEFLATE_THREADS, bytes, stream>>>(*job);
    return ts_cuda_launched(context, "deflate_segments");
}

enum ts_status ts_cuda_deflate_load_segments(const struct stage_context *context,
                                             enum cuda_deflate_level level)
{
    const void *const kernel = level == CUDA_DEFLATE_MATCHES
                                   ? (const void *)deflate_segments<CUDA_DEFLATE_MATCHES>
                                   : (const void *)deflate_segments<CUDA_DEFLATE_RUNS>;
    return ts_cuda_load(context, &kernel, 1);
}

enum ts_status ts_cuda_deflate_segments(const struct stage_context *context,
                                        const struct deflate_job *job, cudaStream_t stream)
{
    return job->call.level == CUDA_DEFLATE_MATCHES
               ? segments_launch<CUDA_DEFLATE_MATCHES>(context, job, stream)
               : segments_launch<CUDA_DEFLATE_RUNS>(context, job, stream);
}
