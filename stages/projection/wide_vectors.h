/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions with vectors of 512 bits in intrinsics, for machines of x86-64-v4 alone. Where WIDE_VECTORS is not defined
 * there are none.
 */
#ifndef STAGES_PROJECTION_WIDE_VECTORS_H
#define STAGES_PROJECTION_WIDE_VECTORS_H

#if defined(__x86_64__) && !defined(TS_SANITIZED)
#include <immintrin.h>

#define WIDE_VECTORS __attribute__((target("arch=x86-64-v4")))
#define INLINE_WIDE_VECTORS static inline __attribute__((always_inline, target("arch=x86-64-v4")))

static inline int wide_vectors_there(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd");
}
#endif

#endif
