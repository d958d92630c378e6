/* SPDX-License-Identifier: Apache-2.0
 *
 * The study histogram-ladder: three versions of a histogram, each a step ahead of the one before,
 * against image size. V0: a block of 512 threads owns a strip of 512 columns and adds to its
 * sub-histogram in global memory; V1: the sub-histogram stands in shared memory; V2: as many blocks
 * as the device holds take strips of a few rows, with 1, 2, 4, 8 or 16 rows a thread. A second
 * kernel sums the sub-histograms of each. The rows a thread belong to this study alone: the stage's
 * method occupancy takes vectors of 16 pixels in place of them. Beside these stand the methods of
 * the stage that came of them, on both devices: sub-histogram ends its strips after some rows, and
 * shared has parts of the image in place of strips.
 */
#include <math.h>
#include <string.h>

#include "lab/study/histogram_study.h"

static const struct {
    const char *name;
    struct gray_job job;
} versions[] = {{"V0", {.kernel = GRAY_STRIP_GLOBAL}},
                {"V1", {.kernel = GRAY_STRIP_SHARED}},
                {"V2, 1 row", {.kernel = GRAY_STRIP_ROWS, .rows = 1}},
                {"V2, 2 rows", {.kernel = GRAY_STRIP_ROWS, .rows = 2}},
                {"V2, 4 rows", {.kernel = GRAY_STRIP_ROWS, .rows = 4}},
                {"V2, 8 rows", {.kernel = GRAY_STRIP_ROWS, .rows = 8}},
                {"V2, 16 rows", {.kernel = GRAY_STRIP_ROWS, .rows = 16}}};
static const char *const methods[] = {"sub-histogram", "shared", "occupancy"};
enum { VERSIONS = sizeof versions / sizeof *versions, METHODS = sizeof methods / sizeof *methods };

static enum ts_status measure_image(struct gray_study *study)
{
    const char *subject = ts_gray_values_name(study);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < VERSIONS; i++)
        status = ts_gray_kernel(study, subject, versions[i].name, GRAY_PLAIN, &versions[i].job);
    return status == TS_OK ? ts_gray_methods(study, subject, methods, METHODS) : status;
}

static enum ts_status measure(struct study_run *run)
{
    return ts_gray_images(run, BENCH_CT, BENCH_CT, measure_image);
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Histograms of strips: V0, V1, V2", "side of the image (pixels)",
                         path, diag);
}

static void finding(const struct table_rows *rows, FILE *stream)
{
    const struct study_row *row = rows->rows, *v0 = NULL, *v1 = NULL, *v2 = NULL,
                           *cpu[METHODS] = {NULL};
    for (int i = 0; i < rows->n; i++) {
        if (!strcmp(row[i].method, "V0"))
            v0 = &row[i];
        if (!strcmp(row[i].method, "V1"))
            v1 = &row[i];
        if (!strncmp(row[i].method, "V2", 2) &&
            (!v2 || v2->x != row[i].x || row[i].seconds < v2->seconds))
            v2 = &row[i];
        for (int m = 0; m < METHODS; m++)
            if (!strcmp(row[i].device, "CPU") && strstr(row[i].method, methods[m]))
                cpu[m] = &row[i];
    }
    if (v0 && v1 && v2)
        fprintf(stream,
                "at %lld x %lld on the CUDA device V1 is %.2f times as fast as V0, and V2 with its "
                "best number of rows (%s) %.1f times as fast as V1",
                (long long)v0->x, (long long)v0->x, v0->seconds / v1->seconds, v2->method,
                v1->seconds / v2->seconds);
    if (cpu[0] && cpu[1] && cpu[2])
        fprintf(
            stream,
            "%son one thread of the CPU %s takes %.2f and %s %.2f of the time of %s (%lld x %lld)",
            v0 ? "; " : "", methods[1], cpu[1]->seconds / cpu[0]->seconds, methods[2],
            cpu[2]->seconds / cpu[0]->seconds, methods[0], (long long)cpu[0]->x,
            (long long)cpu[0]->x);
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_histogram_ladder_study = {
    .name = "histogram-ladder",
    .sentence = "sub-histograms of column strips in global and in shared memory, and a grid from "
                "the occupancy of the device with several rows a thread, against image size",
    .heading = "Square images of bytes in 256 counts. V0, V1 and V2 find the image in the second "
               "cache where it fits; the methods of\nthe stage read it from memory. The CPU counts "
               "an image with one thread.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "each version was published as a step ahead of the one before it: sub-histograms in "
             "global memory (V0), in shared memory (V1), and a grid from the occupancy with "
             "several rows a thread (V2)",
    .finding = finding,
};
