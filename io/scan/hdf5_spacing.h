/* SPDX-License-Identifier: Apache-2.0
 *
 * The distances of neighbors of an `hdf5` input: those of the chain, else those that the file says
 * beyond doubt, in datasets of positions beside the values or in the attribute element_size_um.
 */
#ifndef IO_SCAN_HDF5_SPACING_H
#define IO_SCAN_HDF5_SPACING_H

#include "io/scan/projections.h"

/* Sets the spacing, once the stack is open. Warns if the file says another one than the chain, or
 * one that is not used, and of positions that fall. `group` holds the dataset. */
enum ts_status ts_hdf5_spacing(struct projections *projections, const struct param_set *set,
                               const struct hdf5_ref *group);

#endif
