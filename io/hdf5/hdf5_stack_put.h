/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the values of a block of a stack, such as a chunk of the file, to their places in the box
 * that is read. The box may have a different order of axes and a different type, so every value is
 * moved and converted at once. Only the reader of boxes uses it.
 */
#ifndef IO_HDF5_HDF5_STACK_PUT_H
#define IO_HDF5_HDF5_STACK_PUT_H

#include "io/hdf5/hdf5_stack.h"

/* Which values the type of the result cannot hold. */
struct put_faults {
    bool overflow,
        inexact; /* a value beyond the range of 32-bit floats; an integer that double cannot hold */
    struct ts_rounding rounding; /* of 64-bit floats */
};

/* Returns the place of index i of axis d in the result; -1 if it is left out. */
int64_t ts_hdf5_box_place(const struct hdf5_box *box, int d, int64_t i);
/* Returns true if rows of the last axis are the same in the result as in the file, so that they can
   be read directly to their places. */
bool ts_hdf5_box_takes_rows(const struct hdf5_stack *stack, const struct hdf5_box *box);
/* Copies the part of a decoded block that is in the box to the memory of the box. The block starts
   at `start` and has n[d] elements along each axis. */
void ts_hdf5_box_put(const struct hdf5_stack *stack, const struct hdf5_box *box, const void *block,
                     const int64_t start[3], const int64_t n[3], struct put_faults *faults);

#endif
