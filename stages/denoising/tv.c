/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the stage tv, and the slices that a 3D run needs. After n iterations a slice depends
 * on the n slices on either side, and its distance on one more: with a fixed number of iterations
 * that is the halo, so slabs can be iterated separately and still give the bytes of the whole
 * volume. A stop by the distance of the whole volume needs the whole volume, which is then the halo
 * of every slab. Slices that the runner adds outside the volume are not used.
 */
#include "stages/denoising/tv.h"

#include <float.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/stage.h"
#include "stages/engine/validity.h"

static const struct choice dimension_choices[] = {
    {"2d", TV_2D, "each slice by itself"},
    {"3d", TV_3D, "the volume as a whole, in samples: not corrected for their spacing"},
    {0},
};
static const struct choice method_choices[] = {
    {"auto", TV_AUTO, "primal-dual"},
    {"chambolle", TV_CHAMBOLLE,
     "Chambolle's projection of the dual field (2004), with the steps of scikit-image"},
    {"primal-dual", TV_PRIMAL_DUAL,
     "the accelerated primal-dual method of Chambolle and Pock (2011)"},
    {0},
};
static const struct choice stop_choices[] = {
    {"never", TV_NEVER, "after all iterations"},
    {"distance", TV_DISTANCE,
     "once the distance is at most `tolerance`, looked at after every 10 iterations"},
    {0},
};

static const struct param tv_params[] = {
    PARAM(struct tv_params, weight, .unit = "value", .required = true, .min = 1e-30, .max = 1e30,
          .doc = "how much the variation counts: differences below about this value are smoothed"),
    PARAM(struct tv_params, dimensions, .unit = "", .choices = dimension_choices,
          .init.choice = TV_2D, .doc = "the axes along which the variation is counted"),
    PARAM(struct tv_params, method, .unit = "", .choices = method_choices, .init.choice = TV_AUTO,
          .doc = "how the minimum is sought; both come to the same one"),
    PARAM(struct tv_params, iterations, .unit = "", .init.i = 100, .min = 1, .max = 100000,
          .doc = "number of iterations, at most"),
    PARAM(struct tv_params, stop, .unit = "", .choices = stop_choices, .init.choice = TV_NEVER,
          .doc = "when a slice, in 3d the volume, is done before all iterations"),
    PARAM(struct tv_params, tolerance, .unit = "value", .min = 0, .max = 1e30,
          .derived = "none; stop distance needs it",
          .doc = "for stop distance: the root mean square by which the result may differ from the "
                 "exact minimum"),
};

STAGE_PARAMS_OF(tv_params)

static enum ts_status tv_resolve(const struct stage_context *context, void *values)
{
    struct tv_params *params = values;
    if (params->method == TV_AUTO)
        params->method = TV_PRIMAL_DUAL;
    const bool given = ts_param_given(context->set, "tolerance");
    if (params->stop == TV_NEVER && given)
        return ts_param_error(context->set, "tolerance", "parameter-unused", context->diag,
                              "is used with stop: distance alone, and stop is never");
    if (params->stop == TV_NEVER)
        ts_param_idle(context->set, "tolerance");
    else if (!given)
        return ts_param_error(context->set, "tolerance", "tolerance-missing", context->diag,
                              "is not given, and stop: distance needs it");
    return TS_OK;
}

static enum ts_status tv_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

struct stage_reach ts_tv_reach(const struct stage_context *context)
{
    const struct tv_params *params = params_of(context);
    const int64_t others = context->in.axes[0].n - 1, most = params->iterations + 1;
    const bool all = params->stop == TV_DISTANCE || most > others;
    int64_t halo = all ? others : most;
    if (params->dimensions == TV_2D)
        halo = 0;
    return (struct stage_reach){.halo = halo, .border = BORDER_NEAREST, .recomputes = true};
}

struct tv_range ts_tv_range(const struct stage_context *context, const struct ts_image *out)
{
    const int64_t nz = context->in.axes[0].n, halo = ts_tv_reach(context).halo, n = out->axes[0].n;
    const int64_t first = out->z_first - halo, end = out->z_first + n + halo;
    return (struct tv_range){first > 0 ? first : 0, end < nz ? end : nz, out->z_first, n};
}

struct tv_range ts_tv_range_of_iteration(const struct tv_params *params,
                                         const struct tv_range *range, int64_t i)
{
    const int64_t left = params->iterations - i, first = range->z - left,
                  end = range->z + range->n + left;
    struct tv_range needed = *range;
    if (params->stop == TV_DISTANCE)
        return needed;
    needed.first = first > range->first ? first : range->first;
    needed.end = end < range->end ? end : range->end;
    return needed;
}

static int tv_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    const struct ts_axis *z = &context->in.axes[0];
    const struct ts_axis look = {
        .kind = TS_AXIS_ITEM, .n = ts_tv_looks(params_of(context)), .unit = "", .name = "look"};
    tables[TV_TABLE_DISTANCE] =
        (struct stage_table){.name = "distance",
                             .doc = "bound of the root mean square by which the slice differs from "
                                    "the exact minimum, after every look; NaN behind the last. "
                                    "With dimensions 3d, the slice's part in that of the volume",
                             .image = {.rank = 2,
                                       .axes = {*z, look},
                                       .dtype = TS_F64,
                                       .quantity = TS_INTENSITY,
                                       .unit = context->in.unit}};
    tables[TV_TABLE_ITERATIONS] = (struct stage_table){
        .name = "iterations",
        .doc = "iterations that were carried out",
        .image = {.rank = 1, .axes = {*z}, .dtype = TS_U32, .quantity = TS_INTENSITY, .unit = ""}};
    return TV_TABLES;
}

/* An iteration of tv is one sweep over the planes (slices) in rising z, row by row. Before the q of
 * a row is replaced, all that depends on the old q is computed: m, the image whose gradient is
 * taken, of the same row one plane above, or in 2D of the next row. So m of two planes, or of two
 * rows, stays in the cache, and an iteration reads f and q and writes q once. In 3D the threads
 * share the rows of every plane; in 2D each takes whole slices. Every value depends only on the
 * iteration before, so neither slabs nor threads change the result.
 *
 * In a masked image f is NaN if a pixel is invalid. A difference with NaN counts as 0, so that q
 * stays 0 between a valid and an invalid pixel: the image ends there as it does at its borders.  */

enum { LANES = 16 };

/* The planes that are iterated together: one slice in 2D, the range of the slab in 3D. Arrays begin
 * at plane `first`. */
struct job {
    const struct stage_context *context;
    const struct tv_params *params;
    const struct ts_image *in;
    struct ts_image *out;
    struct tv_range range;
    bool volume;
    int64_t ny, nx, plane; /* plane: pixels of a plane */
    int64_t in_first;      /* index in `in` of plane range.first */
    int64_t out_first;     /* index in `out` and in the tables of plane range.z */
    float *q[3];           /* along x, y and, in 3D, z */
    double unit;           /* the unit that values are divided by; `params` are divided by it,
                            * too */
    float *values;         /* f as floats, divided by the unit */
    float *image;          /* x of primal-dual, else NULL */
    float *points[2];      /* see point_row() */
    double *row_gaps;      /* the gap of each row of each plane */
    double *distances;     /* the distance of each plane */
    float *zeros;          /* a row of zeros */
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Pointers for one row of pixels. */
struct rows {
    const float *values;
    float *q[3];
    const float *below_y,
        *below_z; /* q[1] one row before, q[2] one plane before; zeros at the start */
    const float *point, *next_y, *next_z; /* m, m one row further, and m one plane further; at the
                                           * end these are m itself */
    float *image;
    bool masked; /* true if a difference with NaN is 0 */
};

static inline float divergence(const struct rows *rows, int64_t x, float before, bool volume)
{
    const float plane = (rows->q[0][x] - before) + (rows->q[1][x] - rows->below_y[x]);
    return volume ? plane + (rows->q[2][x] - rows->below_z[x]) : plane;
}

/* Computes m from q, f and x; with `keep` it also stores the new x. */
static inline void find_point(const struct rows *rows, int64_t x, float before,
                              const struct tv_step *step, float weight, bool volume, bool dual,
                              bool keep, float *point)
{
    const float to = rows->values[x] + weight * divergence(rows, x, before, volume);
    if (!dual) {
        point[x] = to;
        return;
    }
    const float old = rows->image[x], image = old + step->blend * (to - old);
    if (keep)
        rows->image[x] = image;
    point[x] = image + step->momentum * (image - old);
}

static TS_VECTORIZED void find_points(const struct rows *rows_of, int64_t nx,
                                      const struct tv_step *step_of, float weight, bool volume,
                                      bool dual, bool keep, float *point)
{
    const struct rows rows = *rows_of;
    const struct tv_step step = *step_of;
    find_point(&rows, 0, 0, &step, weight, volume, dual, keep, point);
#pragma omp simd
    for (int64_t x = 1; x < nx; x++)
        find_point(&rows, x, rows.q[0][x - 1], &step, weight, volume, dual, keep, point);
}

struct gradient {
    float x, y, z, norm;
};

static inline __attribute__((always_inline)) float difference(float after, float at, bool masked)
{
    const float found = after - at;
    return masked && found != found ? 0 : found;
}

static inline __attribute__((always_inline)) struct gradient
gradient_at(const struct rows *rows, int64_t x, float after, bool volume, bool masked)
{
    const float at = rows->point[x];
    struct gradient g = {difference(after, at, masked), difference(rows->next_y[x], at, masked),
                         volume ? difference(rows->next_z[x], at, masked) : 0, 0};
    const float square = g.x * g.x + g.y * g.y;
    g.norm = sqrtf(volume ? square + g.z * g.z : square);
    return g;
}

/* Inlined with the last three arguments constant, which leaves no branch in the loop. */
static inline __attribute__((always_inline)) void step_dual(const struct rows *rows, int64_t x,
                                                            float after, float ascent, bool volume,
                                                            bool dual, bool masked)
{
    const struct gradient g = gradient_at(rows, x, after, volume, masked);
    const float qx = rows->q[0][x] + ascent * g.x, qy = rows->q[1][x] + ascent * g.y,
                qz = volume ? rows->q[2][x] + ascent * g.z : 0;
    const float square = qx * qx + qy * qy,
                norm = dual ? sqrtf(volume ? square + qz * qz : square) : 0;
    const float factor = 1 / (!dual ? 1 + ascent * g.norm : norm > 1 ? norm : 1);
    rows->q[0][x] = qx * factor;
    rows->q[1][x] = qy * factor;
    if (volume)
        rows->q[2][x] = qz * factor;
}

static inline __attribute__((always_inline)) void
step_row(const struct rows *rows, int64_t nx, float ascent, bool volume, bool dual, bool masked)
{
#pragma omp simd
    for (int64_t x = 0; x < nx - 1; x++)
        step_dual(rows, x, rows->point[x + 1], ascent, volume, dual, masked);
    step_dual(rows, nx - 1, rows->point[nx - 1], ascent, volume, dual, masked);
}

static inline __attribute__((always_inline)) void
step_any(const struct rows *rows, int64_t nx, float ascent, bool volume, bool dual, bool masked)
{
    if (volume && dual)
        step_row(rows, nx, ascent, true, true, masked);
    else if (volume)
        step_row(rows, nx, ascent, true, false, masked);
    else if (dual)
        step_row(rows, nx, ascent, false, true, masked);
    else
        step_row(rows, nx, ascent, false, false, masked);
}

static TS_VECTORIZED void step_duals(const struct rows *rows_of, int64_t nx, float ascent,
                                     bool volume, bool dual)
{
    const struct rows rows = *rows_of;
    if (rows.masked)
        step_any(&rows, nx, ascent, volume, dual, true);
    else
        step_any(&rows, nx, ascent, volume, dual, false);
}

static inline __attribute__((always_inline)) double gap_at(const struct rows *rows, int64_t x,
                                                           float before, float after, float weight,
                                                           bool volume, bool masked)
{
    const struct gradient g = gradient_at(rows, x, after, volume, masked);
    const float plane = rows->q[0][x] * g.x + rows->q[1][x] * g.y,
                along = volume ? plane + rows->q[2][x] * g.z : plane,
                rest = rows->point[x] -
                       (rows->values[x] + weight * divergence(rows, x, before, volume));
    const double square =
        (double)g.x * (double)g.x + (double)g.y * (double)g.y + (double)g.z * (double)g.z;
    const double gap =
        (double)weight * (sqrt(square) - (double)along) + 0.5 * (double)rest * (double)rest;
    return masked && gap != gap ? 0 : gap;
}

static inline __attribute__((always_inline)) double
gap_of_row(const struct rows *rows, int64_t nx, float weight, bool volume, bool masked)
{
    double sums[LANES] = {0}, sum = 0;
    int64_t x = 1;
    for (; x + LANES < nx; x += LANES) {
#pragma omp simd
        for (int64_t i = 0; i < LANES; i++)
            sums[i] += gap_at(rows, x + i, rows->q[0][x + i - 1], rows->point[x + i + 1], weight,
                              volume, masked);
    }
    for (; x < nx - 1; x++)
        sum += gap_at(rows, x, rows->q[0][x - 1], rows->point[x + 1], weight, volume, masked);
    sum += gap_at(rows, 0, 0, rows->point[nx > 1], weight, volume, masked);
    if (nx > 1)
        sum +=
            gap_at(rows, nx - 1, rows->q[0][nx - 2], rows->point[nx - 1], weight, volume, masked);
    for (int i = 0; i < LANES; i++)
        sum += sums[i];
    return sum;
}

/* Returns the sum over a row of weight (|grad m| - q grad m) + 1/2 (m - f - weight div q)^2, which
 * is P(m) less the value of the dual problem at q. */
static TS_VECTORIZED double find_gap(const struct rows *rows_of, int64_t nx, float weight,
                                     bool volume)
{
    const struct rows rows = *rows_of;
    if (rows.masked)
        return volume ? gap_of_row(&rows, nx, weight, true, true)
                      : gap_of_row(&rows, nx, weight, false, true);
    return volume ? gap_of_row(&rows, nx, weight, true, false)
                  : gap_of_row(&rows, nx, weight, false, false);
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* Returns the place for m of a row: there is room for all rows of two planes, or in 2D for two
 * rows. */
static float *point_row(const struct job *job, int64_t z, int64_t y)
{
    return job->volume ? job->points[z % 2] + y * job->nx : job->points[y % 2];
}

static struct rows rows_of(const struct job *job, int64_t z, int64_t y)
{
    const int64_t at = ((z - job->range.first) * job->ny + y) * job->nx;
    struct rows rows = {.point = point_row(job, z, y), .masked = job->context->in.masked};
    for (int a = 0; a < (job->volume ? 3 : 2); a++)
        rows.q[a] = job->q[a] + at;
    rows.below_y = y > 0 ? rows.q[1] - job->nx : job->zeros;
    rows.below_z = job->volume && z > job->range.first ? rows.q[2] - job->plane : job->zeros;
    rows.next_y = y + 1 < job->ny ? point_row(job, z, y + 1) : rows.point;
    rows.next_z = job->volume && z + 1 < job->range.end ? point_row(job, z + 1, y) : rows.point;
    rows.image = job->image ? job->image + at : NULL;
    rows.values = job->values + at;
    return rows;
}

/* The share of the rows that a thread does. */
struct share {
    int64_t first, end;
};

static void meet(const struct job *job)
{
    if (job->volume) {
#pragma omp barrier
    }
}

static void find_row(const struct job *job, int64_t z, int64_t y, const struct tv_step *step,
                     bool keep)
{
    const struct rows rows = rows_of(job, z, y);
    find_points(&rows, job->nx, step, (float)job->params->weight, job->volume, job->image, keep,
                point_row(job, z, y));
}

/* Writes a row of the result, multiplied by the unit. Invalid pixels, and those with a value of
 * TV_FAR, get the input's value. */
static void write_row(const struct job *job, const struct rows *rows, int64_t z, int64_t y,
                      float *row)
{
    const int64_t in_z = z - job->range.first + job->in_first;
    const uint64_t *valid = ts_slice_valid(job->in, in_z);
    const char *from = ts_slice_data(job->in, in_z);
    const float unit = (float)job->unit;
    for (int64_t x = 0, i = y * job->nx; x < job->nx; x++, i++) {
        row[x] = rows->point[x] * unit;
        if (fabsf(rows->values[x]) == TV_FAR || (valid && !ts_valid_at(valid, (size_t)i)))
            ts_load_f32(&row[x], from + (size_t)i * ts_dtype_bytes(job->in->dtype), job->in->dtype,
                        1);
    }
}

/* Finds the gap of a row, whose m is the result so far, and copies m to the output. */
static void look_row(const struct job *job, int64_t z, int64_t y)
{
    const struct rows rows = rows_of(job, z, y);
    const int64_t to = z - job->range.z;
    job->row_gaps[(z - job->range.first) * job->ny + y] =
        find_gap(&rows, job->nx, (float)job->params->weight, job->volume);
    if (to < 0 || to >= job->range.n)
        return;
    float *row = (float *)ts_slice_data(job->out, job->out_first + to) + y * job->nx;
    write_row(job, &rows, z, y, row);
}

/* Goes over the rows of planes [range->first, range->end). Computes their new q or, if `look`,
 * the gap and the result so far. m is found one plane ahead in 3D and one row ahead in 2D,
 * because a gradient needs m at the next pixel. */
static void sweep(const struct job *job, struct share share, const struct tv_range *range,
                  const struct tv_step *step, bool look)
{
    for (int64_t y = share.first; y < (job->volume ? share.end : 1); y++)
        find_row(job, range->first, y, step, !look);
    meet(job);
    for (int64_t z = range->first; z < range->end; z++) {
        for (int64_t y = share.first; y < share.end; y++) {
            if (job->volume && z + 1 < job->range.end)
                find_row(job, z + 1, y, step, !look);
            if (!job->volume && y + 1 < job->ny)
                find_row(job, z, y + 1, step, !look);
            if (look) {
                look_row(job, z, y);
            } else {
                const struct rows rows = rows_of(job, z, y);
                step_duals(&rows, job->nx, step->ascent, job->volume, job->image);
            }
        }
        meet(job);
    }
}

/* ---- iterations ------------------------------------------------------------------------------ */

static void tv_begin(const struct job *job, struct share share)
{
    for (int64_t z = job->range.first; z < job->range.end; z++)
        for (int64_t y = share.first; y < share.end; y++) {
            struct rows rows = rows_of(job, z, y);
            const size_t bytes = (size_t)job->nx * sizeof(float);
            const int64_t in_z = z - job->range.first + job->in_first;
            const char *from = ts_slice_data(job->in, in_z);
            for (int a = 0; a < (job->volume ? 3 : 2); a++)
                memset(rows.q[a], 0, bytes);
            float *values = job->values + (rows.q[0] - job->q[0]);
            ts_load_f32(values, from + (size_t)(y * job->nx) * ts_dtype_bytes(job->in->dtype),
                        job->in->dtype, (size_t)job->nx);
            for (int64_t x = 0; x < job->nx; x++)
                values[x] = ts_tv_value(values[x], (float)(1 / job->unit));
            ts_valid_fill_floats(ts_slice_valid(job->in, in_z), (size_t)(y * job->nx),
                                 (size_t)job->nx, NAN, values);
            if (rows.image)
                memcpy(rows.image, rows.values, bytes);
        }
    meet(job);
}

/* Writes the rows of the tables for the planes of the output. */
static void write_tables(const struct job *job, const double *distances, int64_t look,
                         int64_t iterations)
{
    const struct ts_image *tables = job->context->tables;
    const int64_t looks = ts_tv_looks(job->params);
    for (int64_t to = 0; to < job->range.n; to++) {
        double *row = ts_slice_data(&tables[TV_TABLE_DISTANCE], job->out_first + to);
        for (int64_t i = 0; look == 0 && i < looks; i++)
            row[i] = NAN;
        row[look] = distances[job->range.z - job->range.first + to];
        *(uint32_t *)ts_slice_data(&tables[TV_TABLE_ITERATIONS], job->out_first + to) =
            (uint32_t)iterations;
    }
}

/* Turns the gaps of the planes into distances, and records them. Returns the distance of all planes
 * together. */
static double find_distance(const struct job *job, const struct tv_range *range, int64_t look,
                            int64_t iterations)
{
    double total = 0;
    for (int64_t z = range->first; z < range->end; z++) {
        double *gaps = job->row_gaps + (z - job->range.first) * job->ny, gap = 0;
        for (int64_t y = 0; y < job->ny; y++)
            gap += gaps[y];
        total += gap;
        job->distances[z - job->range.first] = job->unit * ts_tv_distance(gap, (double)job->plane);
    }
    write_tables(job, job->distances, look, iterations);
    return job->unit *
           ts_tv_distance(total, (double)(range->end - range->first) * (double)job->plane);
}

/* Reports that the planes in work have done `done` iterations, and that `part` of the slab is
 * done. */
static void tv_report(const struct job *job, int64_t done, double distance, double part)
{
    ts_stage_iterated(job->context,
                      (struct stage_iteration){done, job->params->iterations, distance, part});
}

/* Iterates over a thread's share of the rows; every thread of a team calls it. `done` belongs to
 * the team. A volume is reported after every iteration; slices, which are many and short, only when
 * they are done (map_slices). */
static void iterate(const struct job *job, struct share share, bool *done)
{
    struct tv_step step = ts_tv_step_first(job->params);
    int64_t look = 0;
    double distance = NAN;
    tv_begin(job, share);
    for (int64_t i = 0;; i++) {
        struct tv_range range = ts_tv_range_of_iteration(job->params, &job->range, i);
        if (ts_tv_looks_after(job->params, i)) {
            struct tv_step still = step;
            still.momentum = 0;
            sweep(job, share, &range, &still, true);
            if (share.first == 0) {
                distance = find_distance(job, &range, look, i);
                *done = job->params->stop == TV_DISTANCE &&
                        distance <= job->unit * job->params->tolerance;
            }
            meet(job);
            look++;
            if (*done || i == job->params->iterations)
                return;
        }
        sweep(job, share, &range, &step, false);
        if (job->volume && share.first == 0)
            tv_report(job, i + 1, distance, (double)(i + 1) / (double)job->params->iterations);
        ts_tv_step_next(job->params, &step);
    }
}

/* ---- a slab ---------------------------------------------------------------------------------- */

/* Lays out the arrays for `planes` planes. */
static void lay_out(struct job *job, int64_t planes, struct memory_layout *layout)
{
    const size_t bytes = (size_t)(planes * job->plane) * sizeof(float);
    for (int a = 0; a < (job->volume ? 3 : 2); a++)
        job->q[a] = ts_layout_add(layout, bytes);
    job->values = ts_layout_add(layout, bytes);
    job->image = job->params->method == TV_CHAMBOLLE ? NULL : ts_layout_add(layout, bytes);
    for (int i = 0; i < 2; i++)
        job->points[i] =
            ts_layout_add(layout, (size_t)(job->volume ? job->plane : job->nx) * sizeof(float));
    job->row_gaps = ts_layout_add(layout, (size_t)(planes * job->ny) * sizeof(double));
    job->distances = ts_layout_add(layout, (size_t)planes * sizeof(double));
    job->zeros = ts_layout_add(layout, (size_t)job->nx * sizeof(float));
}

static struct job tv_describe(const struct stage_context *context)
{
    const struct tv_params *params = context->params;
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    return (struct job){.context = context,
                        .params = params,
                        .volume = params->dimensions == TV_3D,
                        .ny = ny,
                        .nx = nx,
                        .plane = ny * nx};
}

static size_t tv_scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct job job = tv_describe(context);
    struct memory_layout layout = {0};
    lay_out(&job, job.volume ? n + 2 * ts_tv_reach(context).halo : 1, &layout);
    return job.volume ? layout.bytes : layout.bytes * (size_t)context->threads;
}

static void map_slices(struct job job, void *scratch)
{
    const int64_t n = job.out->axes[0].n;
    int64_t finished = 0, now;
    job.range = (struct tv_range){0, 1, 0, 1};
#pragma omp parallel firstprivate(job) private(now) num_threads(job.context->threads)
    {
        struct memory_layout layout = {0};
        lay_out(&job, 1, &layout);
        layout = (struct memory_layout){.base = (char *)scratch +
                                                (size_t)omp_get_thread_num() * layout.bytes};
        lay_out(&job, 1, &layout);
        memset(job.zeros, 0, (size_t)job.nx * sizeof(float));
#pragma omp for schedule(dynamic)
        for (int64_t z = 0; z < n; z++) {
            bool done = false;
            job.in_first = job.out_first = z;
            iterate(&job, (struct share){0, job.ny}, &done);
#pragma omp atomic capture
            now = ++finished;
            tv_report(&job,
                      *(uint32_t *)ts_slice_data(&job.context->tables[TV_TABLE_ITERATIONS], z),
                      job.distances[0], (double)now / (double)n);
        }
    }
}

static void map_volume(struct job job, void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    bool done = false;
    job.range = ts_tv_range(job.context, job.out);
    job.in_first = job.range.first - (job.out->z_first - ts_tv_reach(job.context).halo);
    lay_out(&job, job.range.end - job.range.first, &layout);
    memset(job.zeros, 0, (size_t)job.nx * sizeof(float));
#pragma omp parallel num_threads(job.context->threads)
    {
        const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
        iterate(&job, (struct share){job.ny * thread / threads, job.ny * (thread + 1) / threads},
                &done);
    }
}

static enum ts_status tv_map(const struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out, void *scratch)
{
    struct job job = tv_describe(context);
    const struct tv_params scaled = ts_tv_in_units(job.params);
    job.unit = ts_tv_unit(job.params);
    job.params = &scaled;
    job.in = in;
    job.out = out;
    if (job.volume)
        map_volume(job, scratch);
    else
        map_slices(job, scratch);
    return TS_OK;
}

const struct stage tv_stage = {
    .name = "tv",
    .summary = "total-variation denoising: flat regions with sharp edges",
    .doc = "The output is the `u` that minimizes `1/2 ||u - f||^2 + weight * sum |grad u|` for the "
           "input `f`, with `grad` the differences to the next pixel along each axis (0 at the "
           "last one). Noise has much variation and goes; an edge has the same variation whether "
           "it is sharp or not, and stays sharp. Contrast is lost by about `weight` times the "
           "perimeter of a region over its area. (L. Rudin, S. Osher, E. Fatemi, *Nonlinear total "
           "variation based noise removal algorithms*, Physica D 60, 1992.)\n"
           "\n"
           "`chambolle` projects the dual field (A. Chambolle, *An algorithm for total variation "
           "minimization and applications*, J. Math. Imaging Vis. 20, 2004): with n iterations it "
           "is `skimage.restoration.denoise_tv_chambolle` with `eps=0, max_num_iter=n + 1` and the "
           "same `weight`. `primal-dual` is the second algorithm of A. Chambolle and T. Pock, *A "
           "first-order primal-dual algorithm for convex problems with applications to imaging*, "
           "J. Math. Imaging Vis. 40, 2011, with gamma = 1. If `weight` is at least as large as "
           "the noise, it is nearer to the minimum from about 20 iterations on, and after 200 of "
           "them 3 to 8 times as near.\n"
           "\n"
           "**How close.** The table `distance` has a bound of the root mean square by which the "
           "result differs from the exact minimum, in the image's unit: the root of twice the gap "
           "between the primal and the dual problem over the number of pixels. With `stop: "
           "distance` a slice is done once it is at most `tolerance`; with `dimensions: 3d` it is "
           "that of the volume, whose square is the mean of those of the slices. One that has not "
           "come so near after `iterations` ends there; its last number in `distance` is then "
           "above `tolerance`.\n"
           "\n"
           "**Slabs.** In 3d n iterations look at n + 1 slices on either side, which every slab of "
           "a run computes again, and `stop: distance` at the whole volume: give the run memory "
           "for few slabs.\n"
           "\n"
           "A NaN or an infinite value spoils its surroundings, by a pixel further with every "
           "iteration, and no note tells of it; `outliers` before this stage replaces them. The "
           "output is f32. The scale of values does not matter. A value of 3.5e13 `weight` and "
           "more comes out as it was, and counts for its neighbors as 3.5e13 `weight`; one below "
           "1e-37 `weight` counts as 0.\n"
           "\n"
           "**Masked images.** An invalid pixel, such as a CT's padding, keeps its value, and no "
           "variation is counted between it and others; a NaN or an infinite value then has no "
           "more effect than an invalid pixel. In `distance` they count as exact.\n"
           "\n"
           "**Cost.** An iteration takes about 30 operations, a root and a division a pixel.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(tv_params, struct tv_params),
    .resolve = tv_resolve,
    .shape = tv_shape,
    .reach = ts_tv_reach,
    .tables = tv_tables,
    .scratch_bytes = tv_scratch_bytes,
    .map = tv_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(tv_cuda),
    .tolerance = {.relative = 2e-6, .why = "errors of float sums pass from iteration to iteration"},
    .bench = "weight=20 iterations=20|weight=20 iterations=20 dimensions=3d",
};
