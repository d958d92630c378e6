/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CUDA_BLOCKS(threads, wanted) is the number of resident blocks that __launch_bounds__ may ask
 * for: `wanted`, or fewer if one multiprocessor of the architecture that is compiled for cannot
 * hold so many. Source: CUDA C++ Programming Guide, table of compute capabilities.
 */
#ifndef CUDA_DEVICE_OCCUPANCY_CUH
#define CUDA_DEVICE_OCCUPANCY_CUH

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 ||                                             \
    (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define TS_CUDA_RESIDENT_THREADS 2048
#elif __CUDA_ARCH__ < 800
#define TS_CUDA_RESIDENT_THREADS 1024
#else
#define TS_CUDA_RESIDENT_THREADS 1536
#endif

#define TS_CUDA_BLOCKS(threads, wanted)                                                            \
    ((wanted) * (threads) <= TS_CUDA_RESIDENT_THREADS ? (wanted)                                   \
                                                      : TS_CUDA_RESIDENT_THREADS / (threads))

#endif
