/* SPDX-License-Identifier: Apache-2.0
 *
 * The study box-grain: the separable mean filter with a thread a pixel, which adds 2 radius samples
 * along a row and then along a column, against a thread a row and then a column, which carries a
 * running sum. The coarse threads of a warp read rows that lie far apart: plainly, by way of a tile
 * in shared memory, or through the texture unit.
 */
#include <math.h>

#include "lab/study/box_study.h"

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

/* A stack has as many rows as a device has threads, which a single image has not. */
enum { STACK = 256, MOST_PIXELS = 1 << 28 };
struct grain_subject {
    const char *name;
    int64_t radius, slices;
};
static const struct grain_subject subjects[] = {{"radius 1", 1, 1},
                                                {"radius 7", 7, 1},
                                                {"radius 31", 31, 1},
                                                {"radius 7, 256 slices", 7, STACK}};

/* Times all lines on images of rising sides, as far as --most allows; a single image always has its
 * smallest side. */
static enum ts_status measure_subject(struct study_run *run, const struct grain_subject *subject)
{
    const int64_t most = run->request->most;
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    enum ts_status status = TS_OK;
    for (const struct box_line *line = ts_box_grain_lines; line->name; line++)
        for (int i = 0; i < n && status == TS_OK; i++) {
            const int64_t pixels = subject->slices * sides[i] * sides[i];
            struct study_row row = {.x = sides[i]};
            snprintf(row.subject, sizeof row.subject, "%s", subject->name);
            if (subject->slices == 1 || (pixels <= MOST_PIXELS && (most == 0 || pixels <= most)))
                status =
                    ts_box_study_line(run, &row, line, subject->slices, sides[i], subject->radius);
        }
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects && status == TS_OK; i++)
        status = measure_subject(run, &subjects[i]);
    return status;
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Mean filter: fine and coarse grain", "side of the image (pixel)",
                         path, diag);
}

/* Compares the grains and the ways to read a row at the largest image of each subject. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    const char *between = "";
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const char *name = subjects[i].name;
        const struct study_row *coarse = ts_study_find(rows, "CUDA", name, SHARED, -1),
                               *cpu = ts_study_find(rows, "CPU", name, FINE, -1);
        const long long side = coarse ? coarse->x : cpu ? cpu->x : 0;
        if (side > 0)
            fprintf(stream, "%s%s, %lld x %lld: ", between, name, side, side);
        if (coarse)
            fprintf(stream,
                    "a row a thread, by a shared tile, is %.2f times as fast as a pixel a thread; "
                    "textures are %.2f and shared tiles %.2f times as fast as plain reads; `fused` "
                    "is %.0f times as fast as the shared tile",
                    ts_study_ratio(rows, "CUDA", name, FINE, SHARED, side),
                    ts_study_ratio(rows, "CUDA", name, PLAIN, TEXTURE, side),
                    ts_study_ratio(rows, "CUDA", name, PLAIN, SHARED, side),
                    ts_study_ratio(rows, "CUDA", name, SHARED, "fused", side));
        else if (cpu)
            fprintf(stream, "on the CPU running sums are %.1f times as fast",
                    ts_study_ratio(rows, "CPU", name, FINE, "running-sum", side));
        between = side > 0 ? "; " : between;
    }
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_box_grain_study = {
    .name = "box-grain",
    .sentence =
        "mean filter: a thread a pixel or a row, rows read plainly, by shared memory, by textures",
    .heading = "Floats are averaged over (2 radius + 1)^2 pixels, first along the rows, then down "
               "the columns.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "a running sum takes 2 operations a pixel whatever the radius (M. J. McDonnell, "
             "1981); the reads of a thread a row do not coalesce, which was mended by the texture "
             "cache or by a tile in shared memory",
    .finding = finding,
};
