/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions search for the rotation axis of a parallel sinogram. A ray at theta + 180 degrees
 * is the ray at theta of the mirrored detector position, p(theta + 180, d) = p(theta, 2 c - d), so
 * a view that is mirrored about the right center c fits its opposite. Each method gives every trial
 * center a measure and refines the best one; center_slice.h chooses the method and judges the
 * result.
 */
#ifndef STAGES_SCAN_CENTER_SEARCH_H
#define STAGES_SCAN_CENTER_SEARCH_H

#include <math.h>

#include "core/fft.h"
#include "core/image.h"
#include "stages/geometry/view_angles.h"

/* A slice that is searched: its sinogram p (view, detector), the views with their angles in
 * degrees, and trial centers around the middle of the detector. */
struct center_search {
    const float *p;
    const struct ts_axis *views;
    int64_t n_detectors;
    double search; /* trial centers reach this many detector pixels to both sides of (n_detectors -
                    * 1) / 2 */
    int threads;
};

/* Returns the number of trial centers, (n_detectors - 1) / 2 + (i - n / 2) * step for i < n. */
int64_t ts_center_trials(double search, double step);

/* Returns how far trial centers reach from the middle, unless it is given. */
static inline double ts_center_quarter(int64_t n_detectors)
{
    return floor(0.25 * (double)n_detectors);
}

/* The result of a search. `noise` is the confidence that white noise without an object reaches: a
 * rule of thumb that was fitted to random sinograms of 8 x 8 to 300 x 512, none of 24,000 of which
 * exceeded it. */
struct center_found {
    double center, noise;
    double moved; /* for opposite views: the part of `center` that corrects for angles that are not
                   * quite opposite */
    int64_t best; /* number of the best trial */
};

/* Returns the turning point of a parabola through three neighbors, in steps from the middle one. */
static inline double ts_center_turning_point(double before, double at, double after)
{
    const double curvature = before - 2 * at + after;
    return curvature == 0 ? 0 : 0.5 * (before - after) / curvature;
}

/* ---- what is searched: center_clean.c -------------------------------------------------------- */

/* Writes the sinogram without dead columns and stripes to `out`, which has the same size; and
 * returns the bytes of scratch. */
void ts_center_clean(const float *p, int64_t n_views, int64_t n_detectors, float *out,
                     void *scratch);

/* Noise that all views share, as that of few flats: its deviation at a detector pixel, in values
 * and as a share of the column's mean, and those of the centers by it. */
struct center_shared {
    double noise, share, of_opposite, of_sinogram;
};
/* Finds it by what was taken out of the sinogram `raw`, which search->p is without. `scratch` is
 * that of ts_center_clean(). */
struct center_shared ts_center_shared(const struct center_search *search, const float *raw,
                                      void *scratch);
/* The columns on each side from whose medians stripes are told. */
enum { CENTER_AROUND = 4 };

/* Returns true if the views are in almost even steps over at least half a turn. */
bool ts_center_views_are_even(const struct ts_axis *views);
/* Returns how many views in even steps make half a turn. It is not half a turn if there are more
 * than the scan has, or fewer than a third of what its mean step gives. */
int64_t ts_center_half_turn(const struct ts_axis *views);
/* Returns the widest gap between the views of the half turn, and sets *most to the widest one that
 * may be interpolated, in degrees. `places` has room for each view. */
double ts_center_gap(const struct ts_axis *views, struct view_place *places, double *most);
/* Writes the views of the half turn, interpolated in even steps, to `out`: (half_turn,
 * n_detectors). */
void ts_center_even_views(const struct center_search *search, int64_t half_turn,
                          struct view_place *places, float *out);

/* ---- half a turn: center_sinogram.c ---------------------------------------------------------- */

/* Half a turn of views in even steps: (n_views, n_detectors). */
struct center_half {
    const float *p;
    int64_t n_views, n_detectors;
};

/* The weighted values of the transform outside of the double wedge, column by column, for the two
 * halves of a turn: A, and B of the mirrored first half. */
struct center_elements {
    float *a_re, *a_im, *b_re, *b_im;
    uint16_t *cell;         /* the cell of each value: see center_sinogram.c */
    double weight, squares; /* sum of the weights, and of their squares */
};

/* The buffers of one search in its scratch. */
struct center_buffers {
    struct center_half half;
    const struct fft *fft;
    float *z; /* the complex image that is transformed */
    void *work;
    double *window; /* factors of the detector pixels */
    double *weight,
        *slope; /* for rows of the transform: their weight, and 1 / tan(pi m / (2 half_turn)) */
    struct center_elements elements;
};

/* Return the shape of the measure's transform, and the bytes of its scratch. */
struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors);
size_t ts_center_scratch_bytes(int64_t half_turn, int64_t n_detectors);
/* Lays the buffers out in `scratch`, which is on a 64-byte boundary. */
struct center_buffers ts_center_buffers(const struct center_half *half, const struct fft *fft,
                                        void *scratch);
/* Return the lowest |m| of column k that is used, and the number of its values; ts_center_padded()
 * of them are stored. */
enum { CENTER_LOWEST_COLUMN = 1 };

/* Writes N. T. Vo's measure for each trial center, in steps of 1 pixel. The center is where it is
 * lowest; the confidence is 1 - lowest / median of the measure. */
struct center_found ts_center_by_sinogram(const struct center_search *search,
                                          struct center_buffers *buffers, double *measure);

/* A center, and its error: one standard deviation, from noise and from how well the data fit; NAN
 * if the data show none. */
struct center_fit {
    double center, deviation;
    double misfit; /* for a refined center: the smaller, the better */
    double spread; /* for opposite views: the part of the deviation that comes from noise */
};
/* Refines a center by a fit to what is outside of the double wedge. windowed: it only uses the
 * range around the center that both halves see, for an object that the detector cuts off. */
struct center_fit ts_center_refine(struct center_buffers *buffers, double center, bool windowed);

/* ---- centers of mass: center_mass.c ---------------------------------------------------------- */

/* Fits c + a cos(theta) + b sin(theta) to the centers of mass of the views. c is the axis if the
 * detector sees the whole object, whatever the angles. `shared` is the deviation of a
 * detector pixel by noise that moves all of them alike. The deviation is NAN if there is no object
 * to see. */
struct center_fit ts_center_by_mass(const struct center_search *search, enum ts_quantity quantity,
                                    double shared);

/* ---- opposite views: center_opposite.c ------------------------------------------------------- */

/* A view and its opposite: one view (given twice), or a point between two neighbors. */
struct center_pair {
    int64_t view, opposite[2];
    double past;    /* fraction of the way from the first to the second */
    double missing; /* degrees from the opposite to its exact place; only at the ends of half a turn
                     * this is not 0 */
};

enum { CENTER_PAIRS = 256 };
struct center_pairs {
    int n;
    struct center_pair at[CENTER_PAIRS];
    const float *rows; /* rows of the opposites: (n, n_detectors) */
};

/* Finds up to CENTER_PAIRS pairs of views half a turn apart, modulo 360 degrees, spread over all
 * that are equally good. Only if there are none, opposites may be wrong by one step of the views,
 * as in 180 degrees without the end point. Returns how many there are. */
int ts_center_pairs(const struct ts_axis *views, struct center_pairs *pairs);
/* Writes the rows of the opposites. */
void ts_center_mirror(const struct center_search *search, struct center_pairs *pairs, float *rows);
/* Writes the mean correlation of up to 16 of these pairs for each trial center, in steps of 1/2
 * pixel. The center is where it is highest, corrected by what the views move over the missing
 * angle. The confidence is that correlation. */
struct center_found ts_center_by_opposite(const struct center_search *search,
                                          const struct center_pairs *pairs, double *measure);

/* Returns how many views have no opposite, modulo 360 degrees. An odd number of views over a turn
 * has opposites between two views. */
int64_t ts_center_overlap_lacks(const struct ts_axis *views);
/* Returns how far trial centers reach from the middle of n detector pixels: the least overlap is a
 * 50th of them, and at least 8. */
double ts_center_overlap_search(int64_t n_detectors);
/* Writes for each trial center, in steps of 1/2 pixel, how well the two views of these pairs agree
 * where they overlap: L. I. Lin's concordance 2 cov(p, q) / (var p + var q + (mean p - mean q)^2)
 * of all their samples together, which is 1 if they are equal. The center is where it is highest,
 * and the confidence is that value. */
struct center_found ts_center_by_overlap(const struct center_search *search,
                                         const struct center_pairs *pairs, double *measure);

#endif
