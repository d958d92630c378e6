/* SPDX-License-Identifier: Apache-2.0
 *
 * This compares what two images are beside their values: shape, spacing, place in the patient, angles, unit, type.
 */
#ifndef PROGRAM_RECORD_GRID_H
#define PROGRAM_RECORD_GRID_H

#include "program/record/side.h"

enum { GRID_NOTES = 12, GRID_TEXT = 160 }; /* nine numbers of seven digits take 134 */

/* Places agree where the same pixel of both images is at most this share of the smallest spacing apart. NIfTI keeps
 * places as 32-bit floats, which is 1e-7 of them. */
#define GRID_TOLERANCE 1e-3

/* Something that differs, as text of both sides. */
struct grid_note {
    char what[40]; /* "shape", "spacing along z", "origin", ... */
    char sides[2][GRID_TEXT];
    bool counts; /* the images differ by it. False: formats store it differently, or cannot state it */
};

struct grid_difference {
    struct grid_note notes[GRID_NOTES];
    int n;
    bool same_shape; /* the values can be compared */
    bool differs;    /* a note counts */
    double apart_mm; /* how far the same pixel is apart at most; NAN: one of them has no place in a patient */
};

void ts_grid_compare(const struct side sides[2], struct grid_difference *grid);

#endif
