/* SPDX-License-Identifier: Apache-2.0
 *
 * A virtual dataset has no values of its own: each part of it is a part of another dataset, in the same file or in
 * another one. A source that is missing is an error, where libhdf5 would give zeros.
 */
#ifndef IO_HDF5_HDF5_VIRTUAL_H
#define IO_HDF5_HDF5_VIRTUAL_H

#include "io/hdf5/hdf5_stack.h"

/* Finds the parts of a virtual dataset of up to three axes, whose storage and type the stack has, and opens the
 * datasets that they come from. Sets the lengths of its axes where they follow from those. */
enum ts_status ts_hdf5_virtual_open(struct hdf5_input *input, struct hdf5_stack *stack);
/* Returns the k-th of the indices. */
int64_t ts_hdf5_index(const struct hdf5_indices *indices, int64_t k);
/* Returns how many of the indices are below i. */
int64_t ts_hdf5_indices_below(const struct hdf5_indices *indices, int64_t i);
/* Returns true where each index is the one before it plus 1. */
bool ts_hdf5_indices_follow(const struct hdf5_indices *indices);

#endif
