/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the views of a scan leap: views were lost there, are in each other's place, or the sample
 * or the beam has moved.
 */
#ifndef STAGES_GEOMETRY_VIEW_LEAPS_H
#define STAGES_GEOMETRY_VIEW_LEAPS_H

#include <stdbool.h>

#include "core/image.h"

/* Rows of line integrals, (view, detector), of which detector pixels [first, end) are compared. */
struct view_rows {
    const float *p;
    const struct ts_axis *views;
    int64_t n, first, end;
    bool cut; /* the ends may not be air: what enters there counts less */
};
struct view_leaps {
    int64_t n, view; /* how many leaps there are, and the view after the first one */
    bool strays;     /* single views that do not fit those beside them, in place of leaps */
};

/* Moments of the views less what their angles explain, in detector pixels: differences of these
 * beyond `bad` count. All views should have the same mass: a part of it that one lacks changes a
 * moment by up to that part of `reach`. */
struct view_residuals {
    const double *of[2], *mass;
    double bad, reach[2];
};

/* Finds leaps. Without residuals (NULL) fewer are found. Returns false if there is no memory. */
bool ts_view_leaps(const struct view_rows *rows, const struct view_residuals *residuals,
                   struct view_leaps *leaps);

#endif
