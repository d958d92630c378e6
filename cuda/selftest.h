/* SPDX-License-Identifier: Apache-2.0
 *
 * Proves that this build's device code runs on a device: what `tomostage doctor` asks beyond the driver's word.
 */
#ifndef CUDA_SELFTEST_H
#define CUDA_SELFTEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a small kernel on device `index` and checks every element. 0, or non-zero and a sentence in error. Only in
 * builds with TS_HAVE_CUDA. */
int ts_cuda_selftest(int index, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif
