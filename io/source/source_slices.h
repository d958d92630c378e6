/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a source of a range of slices, or of one volume, of another source, for every format alike.
 * No other slice is read. Positions along z and the origin are those that the slices have in the
 * whole.
 */
#ifndef IO_SOURCE_SOURCE_SLICES_H
#define IO_SOURCE_SOURCE_SLICES_H

#include "io/source/source.h"

/* The parameter of a format whose parameter struct has the field `struct ts_numbers slices`. */
#define SLICES_PARAM(type)                                                                         \
    PARAM(type, slices, .optional = true, .unit = "", .min = 0, .max = 1 << 20,                    \
          .doc = "which slices (of a scan: detector rows) are read: one number, or [first, end], " \
                 "from 0 and without "                                                             \
                 "the end; absent: all, and of flats and darks those of `input`")

/* The parameter of a format whose images may have several volumes. Its parameter struct has the
   field `struct ts_numbers take`. */
#define TAKE_PARAM(type)                                                                           \
    PARAM(type, take, .optional = true, .unit = "", .min = 0, .max = 1 << 20,                      \
          .doc = "which of several volumes is read: its number, from 0; absent: all, one after "   \
                 "the other")

/* Returns the value of `slices`, or NULL if the format has none. */
const struct ts_numbers *ts_source_slices(const struct param_set *set);

/* Opens a source on the grid of an open image, by the format's open_on(). */
enum ts_status ts_source_open_on(const struct source_format *format, const struct param_set *set,
                                 const struct source *image, struct source **source,
                                 struct ts_diag *diag);

/* Returns the number of slice i for read(), prefetch() and `slices`, where i counts the slices of
   all volumes, one volume after the other. */
static inline int64_t ts_source_number(const struct source *source, int64_t i)
{
    return i / source->n_slices * source->n_whole + i % source->n_slices;
}

/* Returns the source that a format opened, of which this one may be a part. */
const struct source *ts_source_opened(const struct source *source);
/* Opens the source, and cuts it to the set's `slices` and `take`. Returns TS_BAD_CHAIN if these are
   no range (slices-list) or are not within the input (slices-range, take-volume), or if the format
   opens only on the grid of another input (source-on). */
enum ts_status ts_source_open(const struct source_format *format, const struct param_set *set,
                              struct source **source, struct ts_diag *diag);

#endif
