/* SPDX-License-Identifier: Apache-2.0
 *
 * The study neighborhood: operators of a pixel and its 4, 8 or 24 neighbors, which are kernels of
 * the stage convolve, whose neighbors come from a tile in shared memory, from a texture, or by
 * plain loads; beside them the stage.
 */
#include "lab/cuda/neighborhood_study.h"

#include <math.h>

#include "lab/study/study_way.h"

#define PLAIN "plain loads"
#define TILE "shared tile"
#define TEXTURE "texture"
#define STAGE_LINE "convolve"
#ifdef TS_HAVE_CUDA
#define WAY(name, which)                                                                           \
    {                                                                                              \
        (name), .cuda = &ts_cuda_neighbor_ways[which], .tolerance = {                              \
            .relative = NEIGHBOR_WAY_ERROR,                                                        \
            .why = "sums are made in float"                                                        \
        }                                                                                          \
    }
static const struct study_way ways[] = {WAY(PLAIN, NEIGHBORS_PLAIN), WAY(TILE, NEIGHBORS_TILE),
                                        WAY(TEXTURE, NEIGHBORS_TEXTURE)};
enum { WAYS = sizeof ways / sizeof *ways };
#else
static const struct study_way *const ways;
enum { WAYS = 0 };
#endif

/* The operators of each kind with 4, 8 and 24 neighbors, as far as the kind has them. */
static const char *const operators[] = {
    "low-pass-4",  "low-pass-8",  "low-pass-5x5",  "gaussian-3x3", "gaussian-5x5",
    "high-pass-4", "high-pass-8", "high-pass-5x5", "sharpen-4",    "sharpen-8",
    "sharpen-5x5", "laplacian-4", "laplacian-8",   "log-5x5"};

static enum ts_status measure_operator(struct study_run *run, const char *name, int64_t side)
{
    struct study_row row = {.x = side, .method = STAGE_LINE};
    struct bench_case which = {.stage = ts_stage_find("convolve"),
                               .dtype = TS_F32,
                               .values = BENCH_CT,
                               .nz = 1,
                               .ny = side,
                               .nx = side};
    snprintf(row.subject, sizeof row.subject, "%s", name);
    snprintf(which.parameters, sizeof which.parameters, "kernel=%s", name);
    enum ts_status status = ts_study_stage(run, &row, &which);
    for (int i = 0; i < WAYS && status == TS_OK; i++)
        status = ts_study_way(run, &row, &which, &ways[i]);
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    enum ts_status status = TS_OK;
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
        for (int i = 0; i < n && status == TS_OK; i++)
            status = measure_operator(run, operators[k], sides[i]);
    return status;
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Operators of 4, 8 and 24 neighbors", "side of the image (pixel)",
                         path, diag);
}

/* Compares the ways at the largest image, by the low pass of 4, 8 and 24 neighbors. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    static const int neighbors[] = {4, 8, 24};
    const char *between = "";
    for (int i = 0; i < 3; i++) {
        const char *low_pass = operators[i];
        const struct study_row *cpu = ts_study_find(rows, "CPU", low_pass, STAGE_LINE, -1),
                               *plain = ts_study_find(rows, "CUDA", low_pass, PLAIN, -1);
        if (!cpu && !plain)
            continue;
        fprintf(stream, "%s%d neighbors, %lld x %lld: ", between, neighbors[i],
                (long long)(plain ? plain : cpu)->x, (long long)(plain ? plain : cpu)->x);
        between = "; ";
        if (plain)
            fprintf(stream,
                    "the shared tile is %.2f times and the texture %.2f times as fast as plain "
                    "loads, and the stage %.1f times",
                    ts_study_ratio(rows, "CUDA", low_pass, PLAIN, TILE, plain->x),
                    ts_study_ratio(rows, "CUDA", low_pass, PLAIN, TEXTURE, plain->x),
                    ts_study_ratio(rows, "CUDA", low_pass, PLAIN, STAGE_LINE, plain->x));
        else
            fprintf(stream, "%.1f Gpixel/s on the CPU", 1e-9 * cpu->rate);
    }
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_neighborhood_study = {
    .name = "neighborhood",
    .sentence = "operators of 4, 8 and 24 neighbors: shared tile, texture, plain loads",
    .heading = "Operators of 4, 8 and 24 neighbors (5x5) on square images of floats. A shared tile "
               "is 16 x 16 pixels with their border.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found =
        "a tile with its border in shared memory, or a texture, whose cache is made for neighbors, "
        "saves the repeated loads of global memory, which early devices did not cache",
    .finding = finding,
};
