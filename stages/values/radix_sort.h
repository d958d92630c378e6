/* SPDX-License-Identifier: Apache-2.0
 *
 * This sorts unsigned 32-bit keys by their digits of 8 bits, lowest first (H. Hollerith, 1889; D.
 * E. Knuth, The Art of Computer Programming, vol. 3, 5.2.5). On a CUDA device:
 * cuda/values/radix_sort.cuh.
 */
#ifndef STAGES_VALUES_RADIX_SORT_H
#define STAGES_VALUES_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts n keys in rising order; `scratch` holds n more. */
void ts_radix_sort(uint32_t *keys, uint32_t *scratch, size_t n);

#endif
