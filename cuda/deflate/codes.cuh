/* SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads makes Huffman codes of limited length with these functions, in two steps. Counts become lengths by
 * D. Huffman's tree, which is the best one: all threads rank its leaves, and one thread merges two sorted queues (J.
 * van Leeuwen, "On the construction of Huffman trees", 1976), since every merge waits for the one before. Lengths above
 * the limit are repaired as zlib does: leaves move down until the lengths fill the code exactly again. Then lengths
 * become codes by RFC 1951, 3.2.2.
 *
 * All threads of the block call these functions together.
 */
#ifndef CUDA_DEFLATE_CODES_CUH
#define CUDA_DEFLATE_CODES_CUH

#include "cuda/deflate/job.cuh"

enum {
    LITERAL_SYMBOLS = 286, /* literals, the end of a block, and match lengths */
    DISTANCE_SYMBOLS = 30,
    LENGTH_SYMBOLS = 19, /* symbols that state the lengths of codes */
    END_OF_BLOCK = 256,
    MOST_SYMBOLS = 288, /* a multiple of 4 */
    CODE_LIMIT = 15,
    LENGTH_LIMIT = 7, /* the same limit for the code of code lengths */
    SYMBOL_BITS = 9   /* for a symbol's number */
};

/* No symbol has this weight or key: a block of 2^15 bytes has at most 2^15 + 1 symbols, so weights have 17 bits. */
static const uint32_t no_key = 0xFFFFFFFFu;

struct code_scratch {
    alignas(16) uint32_t keys[MOST_SYMBOLS]; /* count << SYMBOL_BITS | symbol; read four at once */
    uint32_t leaves[MOST_SYMBOLS];           /* the keys of used symbols in rising order, then no_key */
    uint32_t nodes[MOST_SYMBOLS];            /* weights of merged nodes, which rise too */
    uint16_t leaf_parents[MOST_SYMBOLS], node_parents[MOST_SYMBOLS];
    uint32_t with_length[CODE_LIMIT + 1]; /* symbols of each length */
    uint32_t first_code[CODE_LIMIT + 1];  /* the lowest code of each length */
};

/* Sorts the used symbols into scratch.leaves, rarest first, and returns how many there are. */
static __device__ unsigned sort_symbols(struct code_scratch &scratch, const uint32_t *counts, unsigned n)
{
    unsigned used = 0;
    for (unsigned first = 0; first < MOST_SYMBOLS; first += DEFLATE_THREADS) {
        const unsigned symbol = first + threadIdx.x;
        const uint32_t key = symbol < n && counts[symbol] ? counts[symbol] << SYMBOL_BITS | symbol : no_key;
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

/* Merges the two lightest of leaves and nodes until one is left. One thread calls this; it has the first two of each
 * queue at hand, so that a merge waits for shared memory only once. */
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

/* Makes the lengths fill the code exactly, and finds the first code of each. One thread calls this. Depths beyond the
 * limit were counted as the limit, which overfills the code. Each step moves a leaf one level down and hangs a leaf of
 * the lowest level beside it, which removes one excess code. */
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

/* Writes the length of each symbol's code, 0 where its count is 0. `lengths` has MOST_SYMBOLS bytes, a multiple of 4. A
 * symbol alone gets length 1. Starts and ends with a barrier. It is called for each of the codes, and not inlined: the
 * kernel is long enough for the instruction cache as it is. */
static __device__ __noinline__ void code_lengths(struct code_scratch &scratch, const uint32_t *counts, unsigned n,
                                                 unsigned limit, uint8_t *lengths)
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
            for (unsigned node = scratch.leaf_parents[leaf]; node != used - 2; node = scratch.node_parents[node])
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

/* Returns the code of a symbol whose length is not 0, its first bit lowest, after code_lengths. */
static __device__ uint32_t code_of(const struct code_scratch &scratch, const uint8_t *lengths, unsigned symbol)
{
    const uint32_t length = lengths[symbol], all = length * 0x01010101u;
    const uint32_t *words = (const uint32_t *)lengths;
    unsigned bits_before = 0; /* 8 for each symbol before that has this length */
    for (unsigned i = 0; i < symbol / 4; i++)
        bits_before += __popc(__vcmpeq4(words[i], all));
    bits_before += __popc(__vcmpeq4(words[symbol / 4], all) & ((1u << 8 * (symbol % 4)) - 1));
    return __brev(scratch.first_code[length] + bits_before / 8) >> (32 - length);
}

#endif
