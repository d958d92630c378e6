/* SPDX-License-Identifier: Apache-2.0
 *
 * morphology of a mask A among the valid voxels V, with a ball or box B around each voxel:
 *     dilate: V and (A + B)      erode: V and not (V and not A) + B
 *     open: erode, then dilate   close: dilate, then erode
 * where + gathers all voxels that some voxel of A has in its B. So neither invalid voxels nor what
 * is outside of the image grow or shrink a mask.
 *
 * Masks are bits (mask_bits.h). The sum over B goes row by row: rows of the mask are gathered by
 * how far B reaches along x there, from the widest to the narrowest, and all that is gathered grows
 * by one voxel along x in between. It takes an operation on 64 voxels for each row of B, and a few
 * for each voxel of its reach.
 *
 * Holes need the whole mask: a reduction collects its bits, and its end fills them (mask_runs.h).
 */
#include "stages/regions/morphology.h"

#include <string.h>

#include "core/memory.h"
#include "core/vectors.h"
#include "stages/engine/distances.h"
#include "stages/engine/traits.h"
#include "stages/regions/mask_runs.h"
#include "stages/regions/threshold.h"

static const struct choice operation_choices[] = {
    {"erode", MORPHOLOGY_ERODE, "keeps voxels whose whole ball or box is in the mask"},
    {"dilate", MORPHOLOGY_DILATE, "adds voxels that have one of the mask in their ball or box"},
    {"open", MORPHOLOGY_OPEN,
     "erode, then dilate: removes what no ball or box fits into, such as specks and bridges"},
    {"close", MORPHOLOGY_CLOSE, "dilate, then erode: closes gaps that no ball or box fits into"},
    {"fill_holes", MORPHOLOGY_FILL_HOLES,
     "adds the parts outside of the mask that do not reach the border of the image"},
    {0},
};

static const struct choice shape_choices[] = {
    {"ball", MORPHOLOGY_BALL, "the voxels whose centers are at most `radius` away"},
    {"box", MORPHOLOGY_BOX, "the voxels whose centers are at most `radius` away along each axis"},
    {0},
};

static const struct choice dimensions_choices[] = {
    {"2d", MORPHOLOGY_2D, "each slice by itself: a disk or a square, holes of the slice"},
    {"3d", MORPHOLOGY_3D, "across slices"},
    {0},
};

static const struct param morphology_params[] = {
    PARAM(struct morphology_params, operation, .required = true, .choices = operation_choices,
          .doc = "what is done to the mask"),
    PARAM(struct morphology_params, radius, .unit = "mm", .min = 0, .max = 1e6, .init.r = 1,
          .doc = "radius of the ball, or half of the box's side, from center to center; at most "
                 "127 voxels along an axis"),
    PARAM(struct morphology_params, shape, .choices = shape_choices, .init.choice = MORPHOLOGY_BALL,
          .doc = "whether the mask grows and shrinks by a ball or a box"),
    PARAM(struct morphology_params, dimensions, .choices = dimensions_choices,
          .init.choice = MORPHOLOGY_3D, .doc = "whether it looks into neighboring slices"),
    MASK_LABEL_PARAM(struct morphology_params),
};

STAGE_PARAMS_OF(morphology_params)

bool ts_morphology_fills(const struct stage_context *context)
{
    return params_of(context)->operation == MORPHOLOGY_FILL_HOLES;
}

struct morphology_steps ts_morphology_steps(const struct stage_context *context)
{
    static const struct morphology_steps of_operation[] = {
        [MORPHOLOGY_ERODE] = {1, true, {true}},
        [MORPHOLOGY_DILATE] = {1, false, {false}},
        [MORPHOLOGY_OPEN] = {2, true, {true, false}},
        [MORPHOLOGY_CLOSE] = {2, false, {true, true}},
        [MORPHOLOGY_FILL_HOLES] = {0},
    };
    return of_operation[params_of(context)->operation];
}

/* ---- the ball or box ------------------------------------------------------------------------- */

/* A center belongs to it even if it is further away by this part of the radius, because 10 voxels
 * of 0.3 mm are not 3 mm in binary numbers. */
static const double slack = 1 + 1e-9;

static int64_t reach_along(const struct morphology_params *params, double mm, int axis)
{
    const double reach = floor(params->radius * slack / mm);
    if (axis == 0 && params->dimensions == MORPHOLOGY_2D)
        return 0;
    return reach > MORPHOLOGY_REACH ? MORPHOLOGY_REACH + 1 : (int64_t)reach;
}

static enum ts_status morphology_resolve(const struct stage_context *context, void *values)
{
    const struct morphology_params *params = values;
    static const char *const of_ball[] = {"radius", "shape"};
    double mm[3];
    if (ts_mask_check_label(context, &params->label) != TS_OK)
        return TS_BAD_CHAIN;
    for (int i = 0; i < 2 && params->operation == MORPHOLOGY_FILL_HOLES; i++) {
        if (ts_param_given(context->set, of_ball[i]))
            return ts_param_error(context->set, of_ball[i], "parameter-unused", context->diag,
                                  "is not used with operation: fill_holes");
        ts_param_idle(context->set, of_ball[i]);
    }
    if (params->operation == MORPHOLOGY_FILL_HOLES)
        return ts_mask_check_runs(context);
    if (ts_stage_needs_mm(context, false) != TS_OK)
        return TS_BAD_CHAIN;
    ts_mask_mm(context, mm);
    for (int axis = 0; axis < 3; axis++)
        if (reach_along(params, mm[axis], axis) > MORPHOLOGY_REACH)
            return ts_param_error(context->set, "radius", "radius-reach", context->diag,
                                  "%g mm are more than %d voxels of %g mm along %s", params->radius,
                                  MORPHOLOGY_REACH, mm[axis],
                                  ts_axis_name(&context->in.axes[axis]));
    return TS_OK;
}

void ts_morphology_reach(const struct stage_context *context, int64_t reach[3])
{
    double mm[3];
    ts_mask_mm(context, mm);
    for (int axis = 0; axis < 3; axis++)
        reach[axis] =
            ts_morphology_fills(context) ? 0 : reach_along(params_of(context), mm[axis], axis);
}

/* Returns how far row (z, y) reaches along x; -1 if it is outside. */
static int64_t width_of(const struct morphology_params *params, const double mm[3],
                        const int64_t reach[3], int64_t z, int64_t y)
{
    if (params->shape == MORPHOLOGY_BOX)
        return reach[2];
    const double most = params->radius * slack, dz = (double)z * mm[0], dy = (double)y * mm[1];
    for (int64_t x = reach[2]; x >= 0; x--) {
        const double dx = (double)x * mm[2];
        if (dz * dz + dy * dy + dx * dx <= most * most)
            return x;
    }
    return -1;
}

size_t ts_morphology_rows_bytes(const struct stage_context *context)
{
    int64_t reach[3];
    ts_morphology_reach(context, reach);
    return sizeof(struct morphology_rows) +
           (size_t)((2 * reach[0] + 1) * (2 * reach[1] + 1)) * 2 * sizeof(int16_t);
}

/* Counts the rows of each width, and then puts each behind those that are wider. */
void ts_morphology_rows(const struct stage_context *context, struct morphology_rows *rows)
{
    double mm[3];
    int64_t reach[3];
    ts_mask_mm(context, mm);
    ts_morphology_reach(context, reach);
    memset(rows, 0, sizeof *rows);
    for (int axis = 0; axis < 3; axis++)
        rows->reach[axis] = (int32_t)reach[axis];
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t z = -reach[0]; z <= reach[0]; z++)
            for (int64_t y = -reach[1]; y <= reach[1]; y++) {
                const int64_t width = width_of(params_of(context), mm, reach, z, y);
                int32_t *next = &rows->start[reach[2] - width];
                if (width < 0)
                    continue;
                if (pass == 1) {
                    rows->rows[*next].z = (int16_t)z;
                    rows->rows[*next].y = (int16_t)y;
                }
                ++*next;
            }
        /* After the counts, each place is that of its first row; after the rows, of its end. */
        for (int64_t i = 1; pass == 0 && i <= reach[2]; i++)
            rows->start[i] += rows->start[i - 1];
        for (int64_t i = reach[2] + 1; i > 0; i--)
            rows->start[i] = rows->start[i - 1];
        rows->start[0] = 0;
    }
}

static struct stage_reach morphology_reach(const struct stage_context *context)
{
    int64_t reach[3];
    ts_morphology_reach(context, reach);
    return (struct stage_reach){.halo = ts_morphology_steps(context).n * reach[0],
                                .border = BORDER_CONSTANT};
}

/* ---- holes ------------------------------------------------------------------------------------*/

static int morphology_rounds(const struct stage_context *context)
{
    return ts_morphology_fills(context);
}

static void morphology_reduce(const struct stage_context *context, int input,
                              const struct ts_image *slices, void *partial)
{
    (void)input;
    ts_mask_volume_reduce(slices, ts_mask_values(slices->dtype, &params_of(context)->label),
                          partial);
}

static size_t result_bytes(const struct stage_context *context)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return ts_morphology_fills(context) ? ts_mask_bytes(&grid, grid.nz) : 0;
}

static enum ts_status morphology_finish(const struct stage_context *context,
                                        const void *const totals[], void *result,
                                        const struct ts_image *tables)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    (void)tables;
    memcpy(result, ((const struct mask_volume *)totals[0])->bits, ts_mask_bytes(&grid, grid.nz));
    return ts_mask_fill_holes(context, params_of(context)->dimensions == MORPHOLOGY_3D, result);
}

static const struct stage_reduction reduction = {
    .exact = true,
    .feeds_map = true,
    .rounds = morphology_rounds,
    .partial_bytes = ts_mask_volume_bytes,
    .reduce = morphology_reduce,
    .merge = ts_mask_volume_merge,
    .result_bytes = result_bytes,
    .finish = morphology_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

/* Bits of the slab with its halo: of the mask, of the valid voxels, and of what a step made; and
 * the rows. Slices outside of the volume have no valid voxel. */
struct job {
    const struct stage_context *context;
    struct mask_grid grid; /* of the slab with its halo */
    int64_t words, first;  /* words of a slice; index of the first slice in the volume */
    uint64_t *mask, *valid, *made;
    struct morphology_rows *rows;
};

static void lay_out(struct job *job, int64_t n, struct memory_layout *layout)
{
    const struct stage_context *context = job->context;
    const int64_t halo = ts_stage_reach(context).halo;
    job->grid = ts_mask_grid(&context->in);
    job->grid.nz = n + 2 * halo;
    job->words = ts_mask_slice_words(&job->grid);
    const size_t bytes = ts_mask_bytes(&job->grid, job->grid.nz);
    job->mask = ts_layout_add(layout, bytes);
    job->valid = ts_layout_add(layout, bytes);
    job->made = ts_layout_add(layout, bytes);
    job->rows = ts_layout_add(layout, ts_morphology_rows_bytes(context));
}

static size_t morphology_scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    struct job job = {.context = context};
    if (!ts_morphology_fills(context))
        lay_out(&job, n, &layout);
    return layout.bytes;
}

TS_VECTORIZED static void add_words(uint64_t *restrict to, const uint64_t *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] |= from[i];
}

/* Grows each row by one voxel to both sides. */
static void widen_rows(uint64_t *bits, int64_t n_rows, int64_t n_words)
{
    for (int64_t row = 0; row < n_rows; row++, bits += n_words) {
        uint64_t before = 0;
        for (int64_t i = 0; i < n_words; i++) {
            const uint64_t here = bits[i], after = i + 1 < n_words ? bits[i + 1] : 0;
            bits[i] = here | here << 1 | before >> 63 | here >> 1 | after << 63;
            before = here;
        }
    }
}

/* Writes slice z of the dilation of `from`. */
static void dilate_slice(const struct job *job, const uint64_t *from, int64_t z, uint64_t *to)
{
    const struct morphology_rows *rows = job->rows;
    const int64_t ny = job->grid.ny, n_words = job->grid.n_words;
    memset(to, 0, (size_t)job->words * sizeof *to);
    for (int i = 0; i <= rows->reach[2]; i++) {
        if (i > 0)
            widen_rows(to, ny, n_words);
        for (int32_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            const int64_t y = rows->rows[k].y, n = ny - (y < 0 ? -y : y);
            const uint64_t *slice = from + (z + rows->rows[k].z) * job->words;
            if (n > 0)
                add_words(to + (y < 0 ? -y : 0) * n_words, slice + (y > 0 ? y : 0) * n_words,
                          n * n_words);
        }
    }
}

/* Replaces the mask by what a step makes of it, in slices [first, end) of the slab. */
static void carry_out_step(const struct job *job, bool inverts, int64_t first, int64_t end)
{
    const int64_t words = job->words;
#pragma omp parallel num_threads(job->context->threads)
    {
#pragma omp for schedule(static)
        for (int64_t z = first; z < end; z++)
            dilate_slice(job, job->mask, z, job->made + z * words);
#pragma omp for schedule(static)
        for (int64_t i = first * words; i < end * words; i++)
            job->mask[i] = job->valid[i] & (inverts ? ~job->made[i] : job->made[i]);
    }
}

static void load_slice(const struct job *job, const struct ts_image *in, struct mask_values values,
                       bool complement, int64_t z)
{
    uint64_t *mask = job->mask + z * job->words, *valid = job->valid + z * job->words;
    if (job->first + z < 0 || job->first + z >= job->context->in.axes[0].n) {
        memset(mask, 0, (size_t)job->words * sizeof *mask);
        memset(valid, 0, (size_t)job->words * sizeof *valid);
        return;
    }
    ts_mask_load(in, z, values, mask);
    ts_mask_load_valid(in, z, valid);
    for (int64_t i = 0; complement && i < job->words; i++)
        mask[i] = valid[i] & ~mask[i];
}

static enum ts_status morphology_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    const struct mask_grid grid = ts_mask_grid(out);
    if (ts_morphology_fills(context)) {
        const uint64_t *bits = context->result;
        ts_mask_map(context, bits + out->z_first * ts_mask_slice_words(&grid), in, out);
        return TS_OK;
    }
    const struct mask_values values = ts_mask_values(in->dtype, &params_of(context)->label);
    const struct morphology_steps steps = ts_morphology_steps(context);
    struct memory_layout layout = {.base = scratch};
    struct job job = {.context = context};
    const int64_t halo = ts_stage_reach(context).halo;
    lay_out(&job, grid.nz, &layout);
    job.first = out->z_first - halo;
    ts_morphology_rows(context, job.rows);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < job.grid.nz; z++)
        load_slice(&job, in, values, steps.complement, z);
    for (int i = 0; i < steps.n; i++) {
        const int64_t reach = (i + 1) * (int64_t)job.rows->reach[0];
        carry_out_step(&job, steps.inverts[i], reach, job.grid.nz - reach);
    }
    ts_mask_map(context, job.mask + halo * job.words, NULL, out);
    return TS_OK;
}

const struct stage morphology_stage = {
    .name = "morphology",
    .summary = "erode, dilate, open or close a mask by a ball or box in mm, or fill its holes",
    .doc =
        "The mask is the voxels that are not 0, or those of one `label`; the output is a mask of 0 "
        "and 1 as u8. The ball is the voxels whose centers are at most `radius` away, the box "
        "those "
        "that are at most so far along each axis, in mm of the image's own spacing: 3 mm on voxels "
        "of 1 x 1 x 5 mm is a disk of 29 voxels. A radius below the spacing changes "
        "nothing.\n\n"
        "| operation | a voxel is 1 |\n| --- | --- |\n"
        "| `erode` | if all voxels of the ball around it are in the mask |\n"
        "| `dilate` | if one of them is |\n"
        "| `open` | if a ball of voxels of the mask contains it: erode, then dilate |\n"
        "| `close` | unless a ball without a voxel of the mask contains it: dilate, then erode |\n"
        "| `fill_holes` | if no path of voxels outside of the mask, from face to face (in 2d from "
        "edge to edge), leads from it to the border of the image |\n\n"
        "What is outside of the image plays no part: it makes no mask grow, and none shrink from "
        "the border. That is `border_value=0` of `scipy.ndimage.binary_dilation` and "
        "`border_value=1` of `binary_erosion`, whose default of 0 erodes masks from the border. "
        "`open` and `close` are the same with these two, and `fill_holes` is "
        "`binary_fill_holes`.\n\n"
        "Invalid voxels play no part either, become 0 and stay invalid; a hole may hold some. NaN "
        "is not in the mask.\n\n"
        "Cost: voxels are bits, and 64 of them take one operation for each row of the ball and a "
        "few for each voxel of its reach along x, twice for `open` and `close`. `fill_holes` reads "
        "the image once more, keeps a bit for each voxel of the volume, and joins the runs of "
        "voxels outside of the mask along x on the CPU (K. Wu, E. Otoo and K. Suzuki, 2009), with "
        "13 bytes for each run while it does.",
    MASK_STAGE_TAKES,
    STAGE_PARAMS(morphology_params, struct morphology_params),
    .resolve = morphology_resolve,
    .shape = ts_mask_shape,
    .reach = morphology_reach,
    .reduction = &reduction,
    .scratch_bytes = morphology_scratch_bytes,
    .map = morphology_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(morphology_cuda),
    .bench = "operation=erode radius=2|operation=dilate radius=5|operation=close radius=3|"
             "operation=dilate radius=5 shape=box|operation=fill_holes",
    .tolerance = {.why = "voxels are chosen"},
};
