/* SPDX-License-Identifier: Apache-2.0
 *
 * Each thread finds the runs of its strip. A byte that equals the one before it, at least three times, is a match at
 * distance 1, which needs no search. The thread notes its runs once, as a mask of the bytes that they cover, and keeps
 * the mask in registers. The first bytes of a strip may go on with the run of the strip before.
 */
#ifndef CUDA_DEFLATE_RUNS_CUH
#define CUDA_DEFLATE_RUNS_CUH

#include "cuda/deflate/tokens.cuh"

enum { MASK_WORDS = STRIP / 32 };

/* Bit i is set where byte i of the strip is part of a run; covered bytes that follow each other are one run. */
struct run_mask {
    uint32_t covered[MASK_WORDS];
};

/* Returns a bit for each byte of `word`, which is set where the byte is 0. */
static __device__ inline uint32_t zero_bytes(uint32_t word)
{
    const uint32_t high_bits = ~(((word & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | word | 0x7F7F7F7Fu);
    return (high_bits >> 7) * 0x01020408u >> 24;
}

static __device__ inline uint32_t text_byte(const uint32_t *text, unsigned i)
{
    return text[text_place<CUDA_DEFLATE_RUNS>(i / 4)] >> 8 * (i % 4) & 0xFF;
}

/* Returns the bits of mask word i that stand for bytes of the segment. */
static __device__ inline uint32_t inside_bits(unsigned i, unsigned n)
{
    const int left = (int)n - (int)(threadIdx.x * STRIP + 32 * i);
    return left >= 32 ? ~0u : left <= 0 ? 0 : (1u << left) - 1;
}

static __device__ struct run_mask find_runs(const uint32_t *text, unsigned n)
{
    const unsigned first = threadIdx.x * STRIP;
    uint32_t equal[MASK_WORDS + 1], before = first > 0 ? text_byte(text, first - 1) : ~text_byte(text, 0) & 0xFF;
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
        /* This marks where three in a row begin; these three are covered. */
        const uint32_t three =
            equal[i] & __funnelshift_r(equal[i], equal[i + 1], 1) & __funnelshift_r(equal[i], equal[i + 1], 2);
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
static __device__ void do_runs(struct token_work &work, const uint32_t *text, const struct run_mask &mask, unsigned n)
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
            /* Runs have three bytes and a literal between them, so at most one begins in a word. */
            const uint32_t start = starts >> 4 * k & 0xF, token = tokens >> 4 * k;
            const unsigned match = start ? MATCH + run_length(mask, i, 4 * k + __ffs(start) - 1) : 0;
#pragma unroll
            for (unsigned j = 0; j < 4; j++)
                if (token >> j & 1)
                    do_token<PASS>(work, start >> j & 1 ? match : word >> 8 * j & 0xFF);
        }
    }
}

#endif
