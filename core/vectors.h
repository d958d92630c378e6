/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops are compiled for several levels of x86-64, of which the machine's is chosen at run time:
 * 16-byte vectors everywhere, 32 bytes (AVX2) and 64 bytes (AVX-512). Without FMA contraction all
 * give the same bytes, as long as the width does not change the order of a sum. A loop gets its
 * levels in one of two ways:
 *
 * - TS_VECTORIZED before a function, for loops whose vectors the compiler makes. It compiles one
 *   body for every level.
 * - A loop that names a vector type must know the width of each level, which one body cannot: the
 *   compiler splits vectors that are wider than the processor's through memory. Such loops are in
 *   a file X.inc of their own, which uses TS_VECTOR_BYTES and names TS_SIZED(f). X.c defines
 *   TS_LOOPS as "path/of/X.inc", includes core/vectors.inc, which compiles X.inc for each level,
 *   and calls TS_WIDEST(f)(...). TS_WIDER(f) is NULL if the machine has only 16-byte vectors, for
 *   which f need not exist.
 *
 * The build option TOMOSTAGE_VECTORS limits the levels, to try a lesser machine's level.
 */
#ifndef CORE_VECTORS_H
#define CORE_VECTORS_H

enum { TS_VECTOR_MOST_BYTES = 64 };

/* Level 1 has only 16-byte vectors (used with sanitizers, clang and other processors), 2 goes up to
 * AVX2, 3 up to AVX-512. */
#if !defined(__x86_64__) || !defined(__GNUC__) || defined(__clang__) || defined(TS_SANITIZED)
#define TS_VECTOR_LEVELS 1
#elif defined(TS_VECTORS_AVX2)
#define TS_VECTOR_LEVELS 2
#else
#define TS_VECTOR_LEVELS 3
#endif

#if TS_VECTOR_LEVELS == 1
#define TS_VECTORIZED
#define TS_WIDEST(f) f##_16
#define TS_WIDER(f) NULL
#elif TS_VECTOR_LEVELS == 2
#define TS_VECTORIZED __attribute__((target_clones("default", "arch=x86-64-v3")))
#define TS_WIDEST(f) (__builtin_cpu_supports("x86-64-v3") ? f##_32 : f##_16)
#define TS_WIDER(f) (__builtin_cpu_supports("x86-64-v3") ? f##_32 : NULL)
#else
#define TS_VECTORIZED __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define TS_WIDEST(f)                                                                               \
    (__builtin_cpu_supports("x86-64-v4")   ? f##_64                                                \
     : __builtin_cpu_supports("x86-64-v3") ? f##_32                                                \
                                           : f##_16)
#define TS_WIDER(f)                                                                                \
    (__builtin_cpu_supports("x86-64-v4")   ? f##_64                                                \
     : __builtin_cpu_supports("x86-64-v3") ? f##_32                                                \
                                           : NULL)
#endif

/* Gives a function or type in a file X.inc the name f_16, f_32 or f_64. */
#define TS_SIZED(f) TS_SIZED_WITH(f, TS_VECTOR_BYTES)
#define TS_SIZED_WITH(f, bytes) TS_SIZED_JOINED(f, bytes)
#define TS_SIZED_JOINED(f, bytes) f##_##bytes

#endif
