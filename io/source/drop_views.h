/* SPDX-License-Identifier: Apache-2.0
 *
 * Says which views of a scan are read: a camera that froze, a shutter that closed or a scan that
 * was aborted leaves useless views. Formats of scans share the parameter.
 */
#ifndef IO_SOURCE_DROP_VIEWS_H
#define IO_SOURCE_DROP_VIEWS_H

#include "core/arena.h"
#include "core/params.h"

/* The parameter of a format whose parameter struct has the field `struct ts_numbers drop_views`. */
#define DROP_VIEWS_PARAM(type)                                                                     \
    PARAM(type, drop_views, .optional = true, .unit = "", .min = 0, .max = 1 << 20,                \
          .doc = "which views (of flats and darks: frames) are left out and not read: one "        \
                 "number, [first, end] from 0 and without the end, or a list of such ranges; "     \
                 "absent: none")

/* Lists the numbers of those of n views that stay, in the arena; *kept is NULL if the set drops
   none. n is 0 for an image without views. TS_BAD_CHAIN (drop-views) if the parameter is no list of
   ranges of the views, or leaves none. */
enum ts_status ts_drop_views(const struct param_set *set, int64_t n, struct arena *arena,
                             const int64_t **kept, int64_t *n_kept, struct ts_diag *diag);
/* Returns true if a set has the parameter but drops nothing. */
bool ts_drop_views_may(const struct param_set *set);
/* Those of some views, slices or frames that are marked, as the chain numbers them. */
struct view_ranges {
    int64_t count, first, last;
    int64_t run_first, run_end; /* the longest range of the others */
    char ranges[400];           /* [first, end], ... of them; cut off if too long */
};
struct view_ranges ts_view_ranges(const bool *marks, int64_t n);
/* Hints that drop_views leaves out these of n views. Returns false, without a hint, if the set has
 * no such parameter, drops some already, or would lose all. */
bool ts_drop_views_hint(const struct param_set *set, const struct view_ranges *views, int64_t n,
                        struct ts_diag *diag);

#endif
