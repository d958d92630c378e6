/* SPDX-License-Identifier: Apache-2.0
 *
 * morphology grows and shrinks a mask by a ball or a box, or fills its holes. What the CPU code and
 * cuda/regions/morphology.cu share is here: the parameters, and the rows of the ball or box.
 */
#ifndef STAGES_REGIONS_MORPHOLOGY_H
#define STAGES_REGIONS_MORPHOLOGY_H

#include "stages/regions/mask_bits.h"

enum morphology_operation {
    MORPHOLOGY_ERODE,
    MORPHOLOGY_DILATE,
    MORPHOLOGY_OPEN,
    MORPHOLOGY_CLOSE,
    MORPHOLOGY_FILL_HOLES
};
enum morphology_shape { MORPHOLOGY_BALL, MORPHOLOGY_BOX };
enum morphology_dimensions { MORPHOLOGY_2D, MORPHOLOGY_3D };

struct morphology_params {
    int32_t operation;  /* enum morphology_operation */
    double radius;      /* mm */
    int32_t shape;      /* enum morphology_shape */
    int32_t dimensions; /* enum morphology_dimensions */
    struct ts_numbers label;
};

enum { MORPHOLOGY_REACH = 127 };

/* The ball or box as rows of voxels along x, by their distance (z, y) from the middle. Rows
 * [start[i], start[i + 1]) reach reach[2] - i voxels to both sides, so that a dilation is this: for
 * each i, what was gathered grows by one voxel along x, and the rows of i are added. */
struct morphology_rows {
    int32_t reach[3]; /* along z, y and x */
    int32_t start[MORPHOLOGY_REACH + 2];
    struct {
        int16_t z, y;
    } rows[];
};

/* Writes how many voxels the ball or box reaches along z, y and x: 0 along an axis of one voxel,
 * and for an operation without ball or box. */
void ts_morphology_reach(const struct stage_context *context, int64_t reach[3]);
/* Returns the bytes of the rows, and writes them. */
size_t ts_morphology_rows_bytes(const struct stage_context *context);
void ts_morphology_rows(const struct stage_context *context, struct morphology_rows *rows);

/* An operation dilates the mask, or the valid voxels that are not in it, once or twice. Each time
 * it keeps the valid voxels of what came of it, or the others. */
struct morphology_steps {
    int n;
    bool complement; /* true if it starts with the voxels that are not in the mask */
    bool inverts[2]; /* true if step i keeps the others */
};
struct morphology_steps ts_morphology_steps(const struct stage_context *context);
/* Returns true if the operation fills holes. */
bool ts_morphology_fills(const struct stage_context *context);

#endif
