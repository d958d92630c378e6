/* SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads makes Huffman codes of limited length with these functions, in two steps.
 * First, counts become lengths by D. Huffman's optimal tree: all threads sort its leaves, and one
 * thread merges two sorted queues (J. van Leeuwen, "On the construction of Huffman trees", 1976),
 * since every merge waits for the one before. Lengths above the limit are repaired as zlib does:
 * leaves move down until the lengths fill the code exactly again. Then lengths become codes by RFC
 * 1951, 3.2.2.
 *
 * All threads of the block call these functions together.
 */
#ifndef CUDA_DEFLATE_CODES_CUH
#define CUDA_DEFLATE_CODES_CUH

#include "cuda/deflate/job.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/values/reductions.cuh"

/* ---- bits --------------------------------------------------------------------------------------
 *
 * Many threads write one string of bits, each a range of its own. Words inside a range are stored;
 * the words at its ends, which neighbors share, are joined by atomic or in any order. They must be
 * 0 before. */

struct bit_writer {
    uint32_t *word; /* the next word to write */
    uint64_t bits;  /* bits that are not written yet, with the first one lowest */
    unsigned n;     /* number of these bits, including bits of others before them in the word */
    bool joins;     /* whether others have bits in the next word */
};

static __device__ inline struct bit_writer write_from(uint32_t *words, uint32_t first_bit)
{
    return {words + first_bit / 32, 0, first_bit % 32, first_bit % 32 != 0};
}

/* Appends n <= 32 bits of `value`, whose other bits are 0. */
static __device__ inline void put_bits(struct bit_writer &writer, uint32_t value, unsigned n)
{
    writer.bits |= (uint64_t)value << writer.n;
    writer.n += n;
    if (writer.n < 32)
        return;
    if (writer.joins)
        atomicOr(writer.word, (uint32_t)writer.bits);
    else
        *writer.word = (uint32_t)writer.bits;
    writer.word++;
    writer.bits >>= 32;
    writer.n -= 32;
    writer.joins = false;
}

static __device__ inline void end_bits(const struct bit_writer &writer)
{
    if (writer.n > 0)
        atomicOr(writer.word, (uint32_t)writer.bits);
}

enum {
    LITERAL_SYMBOLS = 286, /* literals, the end of a block, and match lengths */
    DISTANCE_SYMBOLS = 30,
    LENGTH_SYMBOLS = 19, /* symbols that state the lengths of codes */
    END_OF_BLOCK = 256,
    MOST_SYMBOLS = 288, /* a multiple of 4 */
    CODE_LIMIT = 15,
    LENGTH_LIMIT = 7, /* limit of lengths in the code of code lengths */
    SYMBOL_BITS = 9   /* bits that a symbol's number takes */
};

/* No symbol has this weight or key: a block of 2^15 bytes has at most 2^15 + 1 symbols, so weights
 * have 17 bits. */
static const uint32_t no_key = 0xFFFFFFFFu;

struct code_scratch {
    alignas(16) uint32_t keys[MOST_SYMBOLS]; /* count << SYMBOL_BITS | symbol; four are read at
                                              * once */
    uint32_t leaves[MOST_SYMBOLS]; /* the keys of used symbols in rising order, then no_key */
    uint32_t nodes[MOST_SYMBOLS];  /* weights of merged nodes, also in rising order */
    uint16_t leaf_parents[MOST_SYMBOLS], node_parents[MOST_SYMBOLS];
    uint32_t with_length[CODE_LIMIT + 1]; /* symbols of each length */
    uint32_t first_code[CODE_LIMIT + 1];  /* the lowest code of each length */
};

/* Sorts the used symbols into scratch.leaves, rarest first, and returns how many there are. */
static __device__ unsigned sort_symbols(struct code_scratch &scratch, const uint32_t *counts,
                                        unsigned n)
{
    unsigned used = 0;
    for (unsigned first = 0; first < MOST_SYMBOLS; first += DEFLATE_THREADS) {
        const unsigned symbol = first + threadIdx.x;
        const uint32_t key =
            symbol < n && counts[symbol] ? counts[symbol] << SYMBOL_BITS | symbol : no_key;
        if (symbol < MOST_SYMBOLS) {
            scratch.keys[symbol] = key;
            scratch.leaves[symbol] = scratch.nodes[symbol] = no_key;
        }
        used += __syncthreads_count(key != no_key);
    }
    for (unsigned symbol = threadIdx.x; symbol < n; symbol += DEFLATE_THREADS) {
        const uint32_t key = scratch.keys[symbol];
        unsigned rank = 0;
        for (unsigned i = 0; i < n; i += 4) {
            const uint4 other = *(const uint4 *)&scratch.keys[i];
            rank += (other.x < key) + (other.y < key) + (other.z < key) + (other.w < key);
        }
        if (key != no_key)
            scratch.leaves[rank] = key;
    }
    __syncthreads();
    return used;
}

/* Merges the two lightest of leaves and nodes until one node is left. One thread calls this; it
 * keeps the first two of each queue in registers, so that a merge waits for shared memory only
 * once. */
static __device__ void merge_leaves(struct code_scratch &scratch, unsigned used)
{
    unsigned leaf = 0, node = 0;
    uint32_t leaf_1 = scratch.leaves[0] >> SYMBOL_BITS, leaf_2 = scratch.leaves[1] >> SYMBOL_BITS;
    uint32_t node_1 = no_key, node_2 = no_key;
    for (unsigned made = 0; made + 1 < used; made++) {
        if (leaf_2 <= node_1) {
            scratch.nodes[made] = leaf_1 + leaf_2;
            scratch.leaf_parents[leaf] = scratch.leaf_parents[leaf + 1] = (uint16_t)made;
            leaf += 2;
        } else if (node_2 < leaf_1) {
            scratch.nodes[made] = node_1 + node_2;
            scratch.node_parents[node] = scratch.node_parents[node + 1] = (uint16_t)made;
            node += 2;
        } else {
            scratch.nodes[made] = leaf_1 + node_1;
            scratch.leaf_parents[leaf++] = scratch.node_parents[node++] = (uint16_t)made;
        }
        leaf_1 = scratch.leaves[leaf] >> SYMBOL_BITS;
        leaf_2 = scratch.leaves[leaf + 1] >> SYMBOL_BITS;
        node_1 = scratch.nodes[node];
        node_2 = scratch.nodes[node + 1];
    }
}

/* Makes the lengths fill the code exactly, and finds the first code of each. One thread calls this.
 * Depths beyond the limit were counted as the limit, which overfills the code. Each step moves a
 * leaf one level down and hangs a leaf of the lowest level beside it, which removes one excess
 * code. */
static __device__ void repair_lengths(struct code_scratch &scratch, unsigned limit)
{
    uint32_t filled = 0, code = 0;
    for (unsigned length = 1; length <= limit; length++)
        filled += scratch.with_length[length] << (limit - length);
    for (; filled > 1u << limit; filled--) {
        unsigned length = limit - 1;
        while (scratch.with_length[length] == 0)
            length--;
        scratch.with_length[length]--;
        scratch.with_length[length + 1] += 2;
        scratch.with_length[limit]--;
    }
    for (unsigned length = 1; length <= limit; length++) {
        scratch.first_code[length] = code;
        code = (code + scratch.with_length[length]) << 1;
    }
}

/* Writes the length of each symbol's code, 0 if its count is 0. `lengths` has MOST_SYMBOLS bytes, a
 * multiple of 4. A single symbol gets length 1. Starts and ends with a barrier. It is called for
 * each of the codes, and not inlined: the kernel is long enough for the instruction cache as it
 * is. */
static __device__ __noinline__ void code_lengths(struct code_scratch &scratch,
                                                 const uint32_t *counts, unsigned n, unsigned limit,
                                                 uint8_t *lengths)
{
    __syncthreads();
    const unsigned used = sort_symbols(scratch, counts, n);
    if (threadIdx.x == 0)
        merge_leaves(scratch, used);
    if (threadIdx.x <= CODE_LIMIT)
        scratch.with_length[threadIdx.x] = 0;
    for (unsigned symbol = threadIdx.x; symbol < MOST_SYMBOLS; symbol += DEFLATE_THREADS)
        lengths[symbol] = 0;
    __syncthreads();
    for (unsigned leaf = threadIdx.x; leaf < used; leaf += DEFLATE_THREADS) {
        unsigned depth = 1;
        if (used > 1)
            for (unsigned node = scratch.leaf_parents[leaf]; node != used - 2;
                 node = scratch.node_parents[node])
                depth++;
        atomicAdd(&scratch.with_length[min(depth, limit)], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        repair_lengths(scratch, limit);
    __syncthreads();
    for (unsigned leaf = threadIdx.x; leaf < used; leaf += DEFLATE_THREADS) {
        unsigned length = limit, before = leaf;
        while (before >= scratch.with_length[length])
            before -= scratch.with_length[length--];
        lengths[scratch.leaves[leaf] & ((1u << SYMBOL_BITS) - 1)] = (uint8_t)length;
    }
    __syncthreads();
}

/* Returns the code of a symbol whose length is not 0, with its first bit lowest. Call it after
 * code_lengths. */
static __device__ uint32_t code_of(const struct code_scratch &scratch, const uint8_t *lengths,
                                   unsigned symbol)
{
    const uint32_t length = lengths[symbol], all = length * 0x01010101u;
    const uint32_t *words = (const uint32_t *)lengths;
    unsigned bits_before = 0; /* 8 bits of count for each length: of the symbols before that have
                               * it */
    for (unsigned i = 0; i < symbol / 4; i++)
        bits_before += __popc(__vcmpeq4(words[i], all));
    bits_before += __popc(__vcmpeq4(words[symbol / 4], all) & ((1u << 8 * (symbol % 4)) - 1));
    return __brev(scratch.first_code[length] + bits_before / 8) >> (32 - length);
}

/* ---- header ------------------------------------------------------------------------------------
 *
 * This writes the header of a dynamic block (RFC 1951, 3.2.7): the lengths of both codes as one
 * sequence, in which runs are shortened, in a Huffman code of its own. A thread looks at two places
 * of the sequence; if a run begins there, it makes the tokens of the run. */

enum {
    MOST_LENGTHS = LITERAL_SYMBOLS + DISTANCE_SYMBOLS,
    FIXED_BITS = 3 + 5 + 5 + 4, /* fields of fixed length at the header's start */
    /* A length takes at most the 7 bits of its code, or shares with two others the bits of a run,
     * which has 7 more. */
    HEADER_WORDS = (FIXED_BITS + 3 * LENGTH_SYMBOLS + 7 * MOST_LENGTHS) / 32 + 2,
    REPEAT = 16,     /* repeats the length before, 3 to 6 times */
    ZEROS = 17,      /* 3 to 10 zeros */
    MANY_ZEROS = 18, /* 11 to 138 zeros */
    TOKEN_BITS = 5   /* low bits of a token hold its symbol; its extra bits are above */
};

struct header_scratch {
    uint8_t sequence[MOST_LENGTHS];
    uint16_t tokens[MOST_LENGTHS];
    uint32_t counts[LENGTH_SYMBOLS];
    uint8_t lengths[MOST_SYMBOLS];
    unsigned n_literals, n_distances; /* how many lengths of each code are stored */
};

static __constant__ uint8_t length_order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};

/* Returns the number of tokens of a run, and writes them unless `tokens` is NULL. */
static __device__ unsigned run_tokens(unsigned length, unsigned run, uint16_t *tokens)
{
    unsigned n = 0;
    for (bool first = length != 0; run > 0; first = false) {
        const unsigned part = first ? 1 : min(run, length ? 6u : 138u);
        const unsigned symbol = part < 3    ? length
                                : length    ? REPEAT
                                : part < 11 ? ZEROS
                                            : MANY_ZEROS;
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
    return header.lengths[symbol] + (symbol < REPEAT    ? 0
                                     : symbol == REPEAT ? 2
                                     : symbol == ZEROS  ? 3
                                                        : 7);
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

/* Finds the tokens of the sequence's n lengths, and counts their symbols. Returns the number of
 * tokens. */
static __device__ unsigned find_tokens(struct header_scratch &header, unsigned n,
                                       uint32_t *warp_sums)
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

/* Writes the part of the header before the tokens, and returns its number of bits. One thread calls
 * this. */
static __device__ uint32_t put_header_start(const struct header_scratch &header, uint32_t *words,
                                            bool final)
{
    struct bit_writer writer = write_from(words, 0);
    unsigned n = LENGTH_SYMBOLS;
    while (n > 4 && header.lengths[length_order[n - 1]] == 0)
        n--;
    put_bits(writer,
             (uint32_t) final | 2 << 1 | (header.n_literals - 257) << 3 |
                 (header.n_distances - 1) << 8 | (n - 4) << 13,
             FIXED_BITS);
    for (unsigned i = 0; i < n; i++)
        put_bits(writer, header.lengths[length_order[i]], 3);
    end_bits(writer);
    return FIXED_BITS + 3 * n;
}

/* Writes the header of a block whose codes have these lengths to `words`, and returns its number of
 * bits. The bits behind it in its last word are 0. The function starts and ends with a barrier. */
static __device__ uint32_t put_header(struct header_scratch &header, struct code_scratch &scratch,
                                      const uint8_t *literals, const uint8_t *distances,
                                      uint32_t *words, bool final, uint32_t *warp_sums)
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
