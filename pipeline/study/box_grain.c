/* SPDX-License-Identifier: Apache-2.0
 *
 * The study box-grain: the separable mean filter with a thread a pixel, which adds 2 radius samples along a row and
 * then along a column, against a thread a row and then a column, which carries a running sum. The coarse threads of a
 * warp read rows that lie far apart: plainly, by way of a tile in shared memory, or through the texture unit.
 */
#include <math.h>

#include "pipeline/study/box_study.h"

#define FINE "a thread a pixel"
#define PLAIN "a row, read plainly"
#define SHARED "a row, by a shared tile"
#define TEXTURE "a row, by textures"
const struct box_line ts_box_grain_lines[] = {
    {FINE, "separable", .cpu = true, .cuda = true, .additions = 1},
    BOX_CUDA_WAY(PLAIN, BOX_WAY_RUNS_PLAIN),
    {SHARED, "running-sum", .cuda = true},
    {TEXTURE, "texture", .cuda = true},
    {"running-sum", "running-sum", .cpu = true},
    {"fused", "fused", .cuda = true},
    {NULL},
};

static enum ts_status measure(struct study_run *run)
{
    static const int64_t radii[] = {1, 7, 31};
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    enum ts_status status = TS_OK;
    for (size_t r = 0; r < sizeof radii / sizeof *radii; r++)
        for (const struct box_line *line = ts_box_grain_lines; line->name; line++)
            for (int i = 0; i < n && status == TS_OK; i++) {
                struct study_row row = {.x = sides[i]};
                snprintf(row.subject, sizeof row.subject, "radius %lld", (long long)radii[r]);
                status = ts_box_study_line(run, &row, line, sides[i], radii[r]);
            }
    return status;
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Mean filter: fine and coarse grain", "side of the image (pixel)", path, diag);
}

/* Compares the grains at the smallest and the largest image, and the ways to read a row at the largest. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    static const char *const subjects[] = {"radius 1", "radius 7", "radius 31"};
    const struct study_row *row = rows->rows;
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < rows->n; i++) {
        least = row[i].x < least ? row[i].x : least;
        most = row[i].x > most ? row[i].x : most;
    }
    if (!ts_study_find(rows, "CUDA", subjects[0], PLAIN, most)) {
        const int64_t side = rows->n > 0 ? least : 0;
        fprintf(stream,
                "on the CPU, at %lld x %lld, running sums are %.1f times as fast at radius 1 and %.1f at radius 31",
                (long long)side, (long long)side, ts_study_ratio(rows, "CPU", subjects[0], FINE, "running-sum", side),
                ts_study_ratio(rows, "CPU", subjects[2], FINE, "running-sum", side));
        return;
    }
    for (int i = 0; i < 3; i++)
        fprintf(stream,
                "%s: a row a thread by a shared tile is %.2f times as fast as a pixel a thread at %lld x %lld and %.2f "
                "times at %lld x %lld, where textures are %.1f and shared tiles %.1f times as fast as plain reads; ",
                subjects[i], ts_study_ratio(rows, "CUDA", subjects[i], FINE, SHARED, least), (long long)least,
                (long long)least, ts_study_ratio(rows, "CUDA", subjects[i], FINE, SHARED, most), (long long)most,
                (long long)most, ts_study_ratio(rows, "CUDA", subjects[i], PLAIN, TEXTURE, most),
                ts_study_ratio(rows, "CUDA", subjects[i], PLAIN, SHARED, most));
    fprintf(stream, "`fused` is %.0f times as fast as the shared tile at radius 31",
            ts_study_ratio(rows, "CUDA", subjects[2], SHARED, "fused", most));
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_box_grain_study = {
    .name = "box-grain",
    .sentence = "mean filter: a thread a pixel or a row, rows read plainly, by shared memory, by textures",
    .heading = "Floats are averaged over (2 radius + 1)^2 pixels, first along the rows, then down the columns.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found =
        "a running sum takes 2 operations a pixel whatever the radius (M. J. McDonnell, 1981), but a thread a row "
        "leaves a device idle that has more threads than the image rows, and its reads do not coalesce unless they "
        "go through shared memory or the texture cache",
    .finding = finding,
};
