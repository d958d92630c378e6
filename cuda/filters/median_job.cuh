/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of median share this: the description of one slab, and how values come into registers
 * and leave them.
 *
 * A lane works on four neighboring values of a row at a time, in sizeof(T) words as in memory. A
 * key has 32 bits. It holds two values of 8 or 16 bits, one of a row and one of a row below it, so
 * that one minimum or maximum serves two windows.
 */
#ifndef CUDA_FILTERS_MEDIAN_JOB_CUH
#define CUDA_FILTERS_MEDIAN_JOB_CUH

#include "cuda/filters/median_tile.cuh"
#include "cuda/values/border.cuh"
#include "cuda/values/value_keys.cuh"

enum { WARP = 32, GROUP = MEDIAN_ACROSS, MOST_BLOCKS_Z = 65535 };

struct median_job {
    int64_t nz, ny, nx;
    unsigned tiles_x;
    int radius, border;
    int32_t constant;   /* the border's constant as a key of value_keys.cuh */
    uint32_t outside;   /* the border's constant as median_bits() returns it */
    uint32_t flip;      /* xor with it turns the bits of an integer into a key */
    uint32_t word_flip; /* the same for all integers in a word */
};

template <typename T> struct median_words {
    uint32_t at[sizeof(T)];
};

/* T is a type of TS_CUDA_BIT_TYPES. */
template <typename T>
using median_key = typename std::conditional<sizeof(T) == 4, int32_t, key_pair>::type;
template <typename T> constexpr int MEDIAN_ROWS_OF_KEY = sizeof(T) == 4 ? 1 : 2;

/* Returns the bits of a value; for an integer, its key. */
template <typename T> static __device__ uint32_t median_bits(T value, const median_job &job)
{
    if constexpr (std::is_same<T, float>::value)
        return __float_as_uint(value);
    else
        return value ^ job.flip;
}

/* Returns the bits of line[column], or those of the constant if the line is NULL or the column is
 * -1. */
template <typename T>
static __device__ uint32_t median_bits_of(const T *line, int column, const median_job &job)
{
    return line && column >= 0 ? median_bits(line[column], job) : job.outside;
}

template <typename T>
static __device__ void median_flip(median_words<T> &words, const median_job &job)
{
    if constexpr (!std::is_same<T, float>::value)
#pragma unroll
        for (int i = 0; i < (int)sizeof(T); i++)
            words.at[i] ^= job.word_flip;
}

/* Reads four values with one access. */
template <typename T>
static __device__ median_words<T> median_read(const T *from, const median_job &job)
{
    const cuda_word<GROUP * sizeof(T)> word = *(const cuda_word<GROUP * sizeof(T)> *)from;
    median_words<T> words;
    memcpy(&words, &word, sizeof words);
    median_flip(words, job);
    return words;
}

/* Finds the image columns that are used for columns x to x + n - 1, some of which are outside. */
static __device__ inline void median_columns(int x, int n, int columns[], const median_job &job)
{
#pragma unroll
    for (int i = 0; i < n; i++)
        columns[i] = ts_cuda_border_rarely(x + i, (int)job.nx, job.border);
}

/* Reads four values one by one. */
template <typename T>
static __device__ median_words<T> median_gather(const T *line, const int columns[GROUP],
                                                const median_job &job)
{
    median_words<T> words = {};
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        words.at[i * sizeof(T) / 4] |= median_bits_of(line, columns[i], job)
                                       << 8 * (i * sizeof(T) % 4);
    return words;
}

/* Writes the four values from column x on, without those outside the image. */
template <typename T>
static __device__ void median_write(T *line, int x, bool whole, median_words<T> words,
                                    const median_job &job)
{
    median_flip(words, job);
    if (whole) {
        cuda_word<GROUP * sizeof(T)> word;
        memcpy(&word, &words, sizeof words);
        *(cuda_word<GROUP * sizeof(T)> *)(line + x) = word;
        return;
    }
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        if (x + i < job.nx) {
            const uint32_t bits = words.at[i * sizeof(T) / 4] >> 8 * (i * sizeof(T) % 4);
            memcpy(line + x + i, &bits, sizeof(T));
        }
}

/* Returns the key of value i in the words of one row and, if a key has two values, in those of a
 * lower row. */
template <typename T, typename K>
static __device__ K median_key_at(const uint32_t *upper, const uint32_t *lower, int i)
{
    if constexpr (std::is_same<K, float>::value)
        return __uint_as_float(upper[i]);
    else if constexpr (std::is_same<T, float>::value)
        return ts_cuda_key_of(__uint_as_float(upper[i]), 0);
    else if constexpr (sizeof(T) == 4)
        return (int32_t)upper[i];
    else if constexpr (sizeof(T) == 2)
        return {__byte_perm(upper[i / 2], lower[i / 2], i % 2 ? 0x7632 : 0x5410)};
    else /* a byte fills both halves of its 16 bits, which keeps the order */
        return {__byte_perm(upper[0], lower[0], 0x4400 + 0x1111 * i)};
}

/* Returns the words of the values in four keys: those of their upper row (half 0) or of the lower
 * one (half 1). */
template <typename T, typename K>
static __device__ median_words<T> median_words_of(const K keys[GROUP], int half)
{
    median_words<T> words;
    if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            if constexpr (std::is_same<K, float>::value)
                words.at[i] = __float_as_uint(keys[i]);
            else if constexpr (std::is_same<T, float>::value)
                words.at[i] = __float_as_uint(ts_cuda_value_of<float>(keys[i], 0));
            else
                words.at[i] = (uint32_t)keys[i];
        }
    } else {
        const uint32_t choice =
            sizeof(T) == 2 ? (half ? 0x7632 : 0x5410) : (half ? 0x0062 : 0x0040);
        const uint32_t first = __byte_perm(keys[0].both, keys[1].both, choice);
        const uint32_t second = __byte_perm(keys[2].both, keys[3].both, choice);
        words.at[0] = sizeof(T) == 2 ? first : __byte_perm(first, second, 0x5410);
        if constexpr (sizeof(T) == 2)
            words.at[1] = second;
    }
    return words;
}

#endif
