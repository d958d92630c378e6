/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions in headers that the C code and the kernels share begin with TS_HOST_DEVICE, so that
 * nvcc compiles them for both. Without FMA contraction, which both compilers are told to leave out,
 * plain operations round alike there.
 */
#ifndef CORE_HOST_DEVICE_H
#define CORE_HOST_DEVICE_H

#ifdef __CUDACC__
#define TS_HOST_DEVICE static inline __host__ __device__
#else
#define TS_HOST_DEVICE static inline
#endif

#endif
