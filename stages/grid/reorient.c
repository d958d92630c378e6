/* SPDX-License-Identifier: Apache-2.0
 *
 * reorient: each axis of the patient (right to left, front to back, feet to head) gets the input
 * axis that is closest to it: of the six assignments, the first one with the largest sum of
 * |cosines|. The letters then say in which order these input axes become x, y and z, and which of
 * them are reversed. So an oblique volume stays oblique, and its axes are those nearest to the
 * letters, as in nibabel (Brett et al., aff2axcodes and io_orientation).
 */
#include "stages/grid/reorient.h"

#include <string.h>

#include "core/vector3.h"

static const struct param reorient_params[] = {
    PARAM(
        struct reorient_params, to, .unit = "", .required = true,
        .doc =
            "three letters, to which side x, y and z rise: R or L (right, left), A or P (anterior, "
            "posterior), S or I (superior, inferior), in any order: RAS, LPS, LAS, PIR"),
};

STAGE_PARAMS_OF(reorient_params)

/* DICOM's axes of the patient rise to the left, to the back and to the head. */
static const char rising[] = "LPS", falling[] = "RAI";

/* Reads the letters: axis[k] is the patient axis (0, 1, 2) of x, y, z for k = 0, 1, 2, and sign[k]
 * is 1 or -1. */
static bool read_letters(const char *text, int axis[3], int sign[3])
{
    unsigned seen = 0;
    if (strlen(text) != 3)
        return false;
    for (int k = 0; k < 3; k++) {
        const char *up = strchr(rising, text[k]), *down = strchr(falling, text[k]);
        if (!up && !down)
            return false;
        axis[k] = (int)(up ? up - rising : down - falling);
        sign[k] = up ? 1 : -1;
        seen |= 1u << axis[k];
    }
    return seen == 7;
}

/* Fills along[patient axis] with the row of `direction` (0: x, 1: y, 2: z) that runs along it
 * best. */
static void assign_axes(const double direction[9], int along[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double best = -1;
    for (int i = 0; i < 6; i++) {
        double sum = 0;
        for (int p = 0; p < 3; p++)
            sum += fabs(direction[3 * orders[i][p] + p]);
        if (sum > best + 1e-9) {
            best = sum;
            memcpy(along, orders[i], sizeof orders[i]);
        }
    }
}

struct moves ts_reorient_moves(const struct stage_context *context)
{
    const struct ts_image *in = &context->in;
    struct moves moves;
    int axis[3], sign[3], along[3];
    read_letters(params_of(context)->to, axis, sign);
    assign_axes(in->direction, along);
    for (int k = 0; k < 3; k++) {
        const int row = along[axis[k]], d = 2 - k, from = 2 - row;
        const bool falls = in->direction[3 * row + axis[k]] < 0;
        moves.from[d] = from;
        moves.sign[d] = falls ? -sign[k] : sign[k];
        moves.n[d] = in->axes[from].n;
        moves.start[d] = moves.sign[d] > 0 ? 0 : moves.n[d] - 1;
    }
    return moves;
}

/* Returns how far the last slice is from the normal through the first one, in mm. */
static double shear_mm(const struct ts_image *in)
{
    const double *step = in->step_z_mm, *normal = in->direction + 6;
    const double along = ts_dot(step, normal);
    double off = 0;
    for (int i = 0; i < 3; i++)
        off += (step[i] - along * normal[i]) * (step[i] - along * normal[i]);
    return sqrt(off) * (double)(in->axes[0].n - 1);
}

static enum ts_status reorient_resolve(const struct stage_context *context, void *values)
{
    const struct diag_site site = {
        .code = "reorient-shear", .span = context->set->span, .stage = context->stage->name};
    const struct ts_image *in = &context->in;
    const char *to = ((struct reorient_params *)values)->to;
    int axis[3], sign[3];
    if (!read_letters(to, axis, sign)) {
        ts_param_error(context->set, "to", "reorient-letters", context->diag,
                       "'%s' names no orientation", to);
        return ts_diag_hint(context->diag,
                            "one of R and L, one of A and P, and one of S and I, such as RAS");
    }
    if (!in->has_geometry) {
        const struct diag_site no_geometry = {
            .code = "reorient-geometry", .span = site.span, .stage = context->stage->name};
        ts_diag_error(
            context->diag, TS_BAD_CHAIN, &no_geometry,
            "the image has no orientation: its input does not say how it lies in the patient");
        return TS_BAD_CHAIN;
    }
    const struct moves moves = ts_reorient_moves(context);
    if (moves.from[0] != 0 && ts_image_lean_degree(in) > TS_UPRIGHT_DEGREE) {
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                      "its slices lie askew over each other, by %.3g mm from the first to the "
                      "last, and '%s' makes other slices, whose axes would not be at right angles",
                      shear_mm(in), to);
        return ts_diag_hint(context->diag,
                            "`unshear` before it; orders of axes that keep the slices need none");
    }
    /* A hundredth of a pixel is less than the rounding of positions in files. */
    if (moves.from[0] != 0 && shear_mm(in) > 0.01 * fmin(in->axes[1].spacing, in->axes[2].spacing))
        ts_diag_warning(context->diag, &site,
                        "its slices lean %.2g degrees and count as upright: '%s' makes other "
                        "slices of them, whose pixels have positions that are off by up to %.3g mm",
                        ts_image_lean_degree(in), to, shear_mm(in));
    for (int d = 0; d < 3; d++)
        if (moves.sign[d] < 0 && in->axes[moves.from[d]].positions)
            return ts_diag_error(context->diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "axis-uneven",
                                                     .span = site.span,
                                                     .stage = context->stage->name},
                                 "the positions along %s are listed one by one, and must be evenly "
                                 "spaced to be reversed",
                                 ts_axis_name(&in->axes[moves.from[d]]));
    return TS_OK;
}

static enum ts_status reorient_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct moves moves = ts_reorient_moves(context);
    ts_moves_shape(&moves, &context->in, out);
    return TS_OK;
}

static struct stage_slices reads(const struct stage_context *context, int64_t first, int64_t end)
{
    const struct moves moves = ts_reorient_moves(context);
    return ts_moves_read(&moves, first, end);
}

static enum ts_status reorient_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const struct moves moves = ts_reorient_moves(context);
    (void)scratch;
    ts_moves_copy(&moves, in, out, context->threads);
    return TS_OK;
}

const struct stage reorient_stage = {
    .name = "reorient",
    .summary = "exchange and reverse axes, so that x, y and z rise to named sides of the patient",
    .doc = "`to: RAS` makes x rise to the patient's right, y to the front (anterior) and z to the "
           "head (superior); `LPS` is DICOM's own. The letters are those of nibabel's "
           "`aff2axcodes` and of NIfTI: the sides to which the axes rise, x first. Tools that name "
           "the sides from which they rise, as ITK does, call RAS `LPI`.\n\n"
           "Values are moved and never changed, and origin, directions and the step from slice to "
           "slice follow, so that every pixel keeps its position in the patient exactly. An "
           "oblique volume stays oblique: its axes become those nearest to the letters. An axis "
           "that is reversed has its positions negated. Orders such as RAS of a common CT, or LAS, "
           "whose directions are left-handed, are stored as they are.\n\n"
           "An order that makes other slices needs the whole volume in memory, or reads it anew "
           "for every slab. It is refused for slices whose step leans more than 0.05 degrees off "
           "their normal (a tilted gantry): do `unshear` before it. Slices that lean less count as "
           "upright, and a warning says by how much positions are then off, if that is more than a "
           "hundredth of a pixel.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(reorient_params, struct reorient_params),
    .resolve = reorient_resolve,
    .shape = reorient_shape,
    .reads = reads,
    .map = reorient_map,
    .validity = VALIDITY_MOVES,
    .cuda = STAGE_CUDA(reorient_cuda),
    .bench = "to=RAS|to=LAS|to=SAL",
    .tolerance = {.why = "values are copied"},
};
