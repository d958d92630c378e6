/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file says of the order of a dataset's axes, in any of the ways of NeXus and HDF5: names in
 * the attribute `axes` or in DIMENSION_LABELS of the dataset; `axes` and NAME_indices of the group
 * that holds it; the attribute `axis` of the datasets beside it (1: the first axis). Sources: NeXus
 * manual, "Associating plottable data"; HDF5 Dimension Scales.
 */
#ifndef IO_SCAN_SCAN_AXES_H
#define IO_SCAN_SCAN_AXES_H

#include "io/hdf5/hdf5_stack.h"

/* A statement that contradicts the order in which a dataset is read. */
struct scan_axes {
    char names[256]; /* "[theta, x, y]", or as the file has them; "": nothing contradicts it */
    char says[128];  /* such as "axes of data" */
};

/* Looks for a statement that contradicts the names of the axes that are read, such as {"view", "z",
 * "detector"}, one for each axis of the dataset, which the group (of kind FINDER_NONE: none) holds
 * under this name. A group speaks for the dataset if that is its signal, or if it has none. */
enum ts_status ts_scan_axes_find(struct hdf5_input *input, const struct hdf5_ref *group,
                                 const struct hdf5_ref *dataset, const char *name,
                                 const char *const *read, struct scan_axes *found);
/* Warns of it (axes-order), with the order that reads it as the file says if the source has the
 * parameter `axes`. */
enum ts_status ts_scan_axes_warn(struct hdf5_input *input, const struct hdf5_ref *group,
                                 const struct hdf5_ref *dataset, const char *name,
                                 const char *const *read);
/* Writes the three axes that are read in the order of these names of the file: "[z, view,
 * detector]". One name that says nothing stands for the axis that is left. Returns false if the
 * names do not say the order. */
bool ts_scan_axes_order(const char *names, const char *const read[3], char *text, size_t size);

#endif
