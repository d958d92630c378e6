/* SPDX-License-Identifier: Apache-2.0
 *
 * The study box-ladder: the mean filter as a loop on the CPU and as three steps on a CUDA device,
 * each one a remedy for the last: a block a row from global memory, the same with unrolled loops,
 * and unrolled loops over a tile in shared memory; beside them what the stage does today, whose
 * cost does not depend on the radius.
 */
#include <math.h>
#include <string.h>

#include "lab/study/box_study.h"
#include "stages/engine/border.h"
#include "stages/filters/box.h"

/* The loop that every textbook begins with: each pixel adds the samples of its window. The border
 * is the default one, reflect, for which every sample outside has one inside. */
static enum ts_status map_loop(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    const struct box_params *params = context->params;
    const int64_t ny = in->axes[1].n, nx = in->axes[2].n, radius = params->radius,
                  width = 2 * radius + 1;
    const enum ts_border border = (enum ts_border)params->border;
    (void)scratch;
#pragma omp parallel for num_threads(context->threads)
    for (int64_t row = 0; row < out->axes[0].n * ny; row++) {
        const float *slice = (const float *)in->data + row / ny * ny * nx;
        for (int64_t x = 0; x < nx; x++) {
            const bool inside = x >= radius && x + radius < nx;
            double sum = 0;
            for (int64_t j = row % ny - radius; j <= row % ny + radius; j++) {
                const float *samples = slice + ts_border_index(j, ny, border) * nx;
                for (int64_t i = x - radius; i <= x + radius; i++)
                    sum += (double)samples[inside ? i : ts_border_index(i, nx, border)];
            }
            ((float *)out->data)[row * nx + x] = (float)(sum / (double)(width * width));
        }
    }
    return TS_OK;
}

#define LOOP "CPU loop"
#define ROWS "one row a block"
#define UNROLLED "rows, unrolled"
#define TILE "tile, unrolled"
const struct box_line ts_box_ladder_lines[] = {
    {LOOP,
     .way = {LOOP, .map = map_loop,
             .tolerance = {.relative = 1e-6, .why = "sums are made in double"}},
     .additions = 2},
    BOX_CUDA_WAY(ROWS, BOX_WAY_ROWS),
    BOX_CUDA_WAY(UNROLLED, BOX_WAY_ROWS_UNROLLED),
    BOX_CUDA_WAY(TILE, BOX_WAY_TILE_UNROLLED),
    {"unrolled", "unrolled", .cpu = true, .cuda = true},
    {"direct", "direct", .cpu = true, .additions = 2},
    {"tile", "tile", .cpu = true, .cuda = true, .additions = 1},
    {"running-sum", "running-sum", .cpu = true},
    {"fused", "fused", .cuda = true},
    {NULL},
};

static void name_size(char *subject, size_t size, int64_t side)
{
    snprintf(subject, size, "%lld x %lld", (long long)side, (long long)side);
}

/* Every third size stands for those between, because each has as many rows as there are radii and
 * methods. */
static enum ts_status measure(struct study_run *run)
{
#define RADIUS(radius) radius,
    static const int64_t radii[] = {BOX_UNROLLED_RADII(RADIUS)};
#undef RADIUS
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    enum ts_status status = TS_OK;
    for (int i = n - 1; i >= 0 && status == TS_OK; i = i > 3 ? 3 : i > 0 ? 0 : -1)
        for (const struct box_line *line = ts_box_ladder_lines; line->name; line++)
            for (size_t r = 0; r < sizeof radii / sizeof *radii && status == TS_OK; r++) {
                struct study_row row = {.x = radii[r]};
                name_size(row.subject, sizeof row.subject, sides[i]);
                status = ts_box_study_line(run, &row, line, 1, sides[i], radii[r]);
            }
    return status;
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Mean filter: steps on the ladder", "radius (pixel)", path, diag);
}

/* Writes what a step saves at a radius, or costs. */
static void write_saving(const struct table_rows *rows, const char *device, FILE *stream,
                         const char *step, const char *before, int64_t radius, const char *end)
{
    const struct study_row *first = rows->rows;
    const double saving = 1 - ts_study_ratio(rows, device, first->subject, step, before, radius);
    const long long width = 2 * radius + 1;
    fprintf(stream, "%s %.0f %% at %lld x %lld%s", saving < 0 ? "costs" : "saves",
            100 * fabs(saving), width, width, end);
}

/* Compares the steps at the largest image that was measured, which is the first row's. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    const struct study_row *first = rows->rows;
    const char *subject = rows->n > 0 ? first->subject : "";
    fprintf(stream, "%s: ", subject);
    if (isfinite(ts_study_ratio(rows, "CUDA", subject, UNROLLED, ROWS, 1))) {
        fprintf(stream, "unrolling ");
        write_saving(rows, "CUDA", stream, UNROLLED, ROWS, 1, " and ");
        write_saving(rows, "CUDA", stream, UNROLLED, ROWS, 31, "; shared memory then ");
        write_saving(rows, "CUDA", stream, TILE, UNROLLED, 1, ", ");
        write_saving(rows, "CUDA", stream, TILE, UNROLLED, 7, " and ");
        write_saving(rows, "CUDA", stream, TILE, UNROLLED, 31, "; ");
        fprintf(stream,
                "`fused` is %.1f times as fast as that tile at 3 x 3 and %.0f times at 63 x 63",
                ts_study_ratio(rows, "CUDA", subject, TILE, "fused", 1),
                ts_study_ratio(rows, "CUDA", subject, TILE, "fused", 31));
        return;
    }
    fprintf(stream, "on the CPU unrolling ");
    write_saving(rows, "CPU", stream, "unrolled", LOOP, 1, " and a tile ");
    write_saving(rows, "CPU", stream, "tile", LOOP, 1, " and ");
    write_saving(rows, "CPU", stream, "tile", LOOP, 7, "; ");
    fprintf(stream,
            "`running-sum` is %.1f times as fast as the loop at 3 x 3, and %.1f times at 15 x 15",
            ts_study_ratio(rows, "CPU", subject, LOOP, "running-sum", 1),
            ts_study_ratio(rows, "CPU", subject, LOOP, "running-sum", 7));
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("radius", "radius")};

const struct study ts_box_ladder_study = {
    .name = "box-ladder",
    .sentence = "mean filter: loop, a row a block, unrolled, shared tile, against the radius",
    .heading =
        "A window of (2 radius + 1)^2 floats is averaged around each pixel of a square image.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "unrolling the loops of a 3 x 3 window saves a third of the time; shared memory saves "
             "nothing at 3 x 3, but the more the larger the window",
    .finding = finding,
};
