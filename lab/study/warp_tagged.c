/* SPDX-License-Identifier: Apache-2.0
 *
 * The study warp-tagged: a table for every warp in shared memory, written without atomic adds,
 * where the top 5 bits of a count are the number of the lane that wrote it, and a lane whose number
 * did not stay tries again (V. Podlozhnyuk, Histogram calculation in CUDA, NVIDIA 2007); tables of
 * warps become one of the block, and those of blocks one of all. How often the loop repeats depends
 * on the values, which are uniform, constant, CT-like, and two that alternate; it is counted, and
 * checked. Beside it stand a table of the block with atomic adds, a table for every lane, and
 * tagged counts in the arrangement of the stage, all in the same loop over the image; and the
 * methods of the stage.
 */
#include <math.h>
#include <string.h>

#include "lab/study/histogram_study.h"

static const struct {
    const char *name;
    enum gray_kernel kernel;
} kernels[] = {{"tagged", GRAY_WARP_TAGGED},
               {"tagged, lanes apart", GRAY_WARP_APART},
               {"atomic", GRAY_WARP_ATOMIC},
               {"a table a lane", GRAY_WARP_LANES}};
static const char *const methods[] = {"warp-tagged", "shared", "lane-private"};
enum { KERNELS = sizeof kernels / sizeof *kernels, METHODS = sizeof methods / sizeof *methods };

static enum ts_status measure_image(struct gray_study *study)
{
    const char *subject = ts_gray_values_name(study);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < KERNELS; i++)
        status = ts_gray_kernel(study, subject, kernels[i].name, GRAY_PLAIN,
                                &(struct gray_job){.kernel = kernels[i].kernel});
    return status == TS_OK ? ts_gray_methods(study, subject, methods, METHODS) : status;
}

static enum ts_status measure(struct study_run *run)
{
    return ts_gray_images(run, BENCH_CT, BENCH_CHECKER, measure_image);
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Tagged counts of warps, beside atomic adds",
                         "side of the image (pixels)", path, diag);
}

/* Compares the tables for the largest image of each distribution. */
static void finding(const struct table_rows *rows, FILE *stream)
{
    const struct study_row *row = rows->rows;
    const char *between = "";
    for (int i = 0; i < rows->n; i++) {
        const char *subject = row[i].subject;
        const struct study_row *last =
            ts_study_find(rows, row[i].device, subject, row[i].method, -1);
        if (last != &row[i])
            continue;
        if (!strcmp(row[i].method, "tagged")) {
            const struct study_row *apart =
                ts_study_find(rows, "CUDA", subject, "tagged, lanes apart", row[i].x);
            fprintf(
                stream,
                "%s%s: %.1f tries for 32 pixels (%.1f with lanes apart), which take %.1f (%.1f) "
                "times as long as atomic adds",
                between, subject, row[i].number, apart ? apart->number : (double)NAN,
                ts_study_ratio(rows, "CUDA", subject, "tagged", "atomic", row[i].x),
                ts_study_ratio(rows, "CUDA", subject, "tagged, lanes apart", "atomic", row[i].x));
            between = "; ";
        } else if (!strcmp(row[i].device, "CPU") && strstr(row[i].method, "lane-private")) {
            fprintf(
                stream,
                "%s%s: on the CPU a table for each lane takes %.2f of the time of tables of parts",
                between, subject,
                ts_study_ratio(rows, "CPU", subject, row[i].method, "stage, shared", row[i].x));
            between = "; ";
        }
    }
}

static const struct table_column columns[] = {
    STUDY_ROW_COLUMNS("side", "side"), {"tries", "tries", COLUMN_REAL, STUDY_ROW_AT(number), 7, 2}};

const struct study ts_warp_tagged_study = {
    .name = "warp-tagged",
    .sentence = "tables of warps with tagged counts in place of atomic adds, and how often they "
                "try again, on four distributions of values",
    .heading =
        "Square images of bytes in 256 counts. tries: how often a warp writes and reads back until "
        "the counts of its 32 pixels\nstand. The CPU counts an image with one thread.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "a table for each warp without atomic adds, for warps whose lanes run in step: a lane "
             "whose count another overwrote tries again (V. Podlozhnyuk, 2007)",
    .finding = finding,
};
