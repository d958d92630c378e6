/* SPDX-License-Identifier: Apache-2.0
 *
 * The study histogram-memory: one pixel a thread in blocks of 32 x 32, with atomic adds to one table in global memory
 * or to a table of the block in shared memory. Image and table stand in memory of the device, in managed memory, or in
 * pinned memory of the host that the device reads where it is. Each is timed without the copies and with them, and once
 * more with the gray transform that is made from the cumulative probabilities. Beside these stand the stages
 * `histogram` and `equalize` on both devices.
 */
#include <math.h>
#include <string.h>

#include "pipeline/study/histogram_study.h"

/* A kernel that is so slow in a memory is not measured on images that are larger. */
static const double slow_seconds = 0.1;

static const struct {
    const char *subject, *method;
    enum gray_memory memory;
    struct gray_job job;
} cases[] = {
#define OF_MEMORIES(subject, method, ...)                                                                              \
    {subject, method ", plain", GRAY_PLAIN, {__VA_ARGS__}},                                                            \
        {subject, method ", managed", GRAY_MANAGED, {__VA_ARGS__}},                                                    \
    {                                                                                                                  \
        subject, method ", mapped", GRAY_MAPPED,                                                                       \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
    OF_MEMORIES("counts", "global", .kernel = GRAY_PIXEL_GLOBAL),
    OF_MEMORIES("counts", "shared", .kernel = GRAY_PIXEL_SHARED),
    OF_MEMORIES("counts and copies", "global", .kernel = GRAY_PIXEL_GLOBAL, .copies = true),
    OF_MEMORIES("counts and copies", "shared", .kernel = GRAY_PIXEL_SHARED, .copies = true),
    OF_MEMORIES("transform", "shared", .kernel = GRAY_PIXEL_SHARED, .transform = true),
    OF_MEMORIES("transform and copies", "shared", .kernel = GRAY_PIXEL_SHARED, .transform = true, .copies = true)};
enum { CASES = sizeof cases / sizeof *cases };

static enum ts_status measure_side(struct gray_study *study, int64_t side, double before[CASES])
{
    enum ts_status status = ts_gray_image(study, BENCH_CT, side);
    for (int i = 0; status == TS_OK && i < CASES; i++)
        if (!(before[i] > slow_seconds))
            status =
                ts_gray_kernel(study, cases[i].subject, cases[i].method, cases[i].memory, &cases[i].job, &before[i]);
    if (status == TS_OK)
        status = ts_gray_stage(study, "counts", "stage histogram", "histogram", "bins=256 limits=dtype");
    if (status == TS_OK)
        status = ts_gray_stage(study, "transform", "stage equalize", "equalize", "method=opencv");
    return status;
}

static enum ts_status measure(struct study_run *run)
{
    int64_t sides[STUDY_SIDES];
    const int n = ts_study_sides(run, sides);
    double seconds[CASES] = {0};
    struct gray_study study;
    enum ts_status status = ts_gray_open(&study, run, sides[n - 1]);
    for (int i = 0; status == TS_OK && i < n; i++)
        status = measure_side(&study, sides[i], seconds);
    ts_gray_close(&study);
    return status;
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Histograms from plain, managed and mapped memory", "side of the image (pixels)", path,
                         diag);
}

/* Writes the method of the subject that is the fastest on the CUDA device for the largest image, and how it compares
 * with the CPU's stage. */
static void find_fastest(const struct table_rows *rows, const char *subject, const char *stage,
                         const char *stage_subject, FILE *stream)
{
    const struct study_row *row = rows->rows, *best = NULL;
    for (int i = 0; i < rows->n; i++)
        if (!strcmp(row[i].device, "CUDA") && !strcmp(row[i].subject, subject) && strncmp(row[i].method, "stage", 5) &&
            (!best || row[i].x > best->x || (row[i].x == best->x && row[i].seconds < best->seconds)))
            best = &row[i];
    const struct study_row *cpu = best ? ts_study_find(rows, "CPU", stage_subject, stage, best->x) : NULL;
    if (!best)
        return;
    fprintf(stream, "; %s: '%s' is the fastest", subject, best->method);
    if (cpu)
        fprintf(stream, ", %.1f times as fast as one thread of the CPU", cpu->seconds / best->seconds);
}

static void finding(const struct table_rows *rows, FILE *stream)
{
    const struct study_row *last = ts_study_find(rows, "CUDA", "counts", "shared, plain", -1);
    if (!last) {
        const struct study_row *cpu = ts_study_find(rows, "CPU", "counts", "stage histogram", -1);
        if (cpu)
            fprintf(stream, "one thread of the CPU counts %.2f * 10^9 pixels a second (%lld x %lld)", 1e-9 * cpu->rate,
                    (long long)cpu->x, (long long)cpu->x);
        return;
    }
    fprintf(stream, "at %lld x %lld tables of blocks in shared memory are %.1f times as fast as one in global memory",
            (long long)last->x, (long long)last->x,
            ts_study_ratio(rows, "CUDA", "counts", "global, plain", "shared, plain", last->x));
    find_fastest(rows, "counts", "stage histogram", "counts", stream);
    find_fastest(rows, "counts and copies", "stage histogram", "counts", stream);
    find_fastest(rows, "transform", "stage equalize", "transform", stream);
    find_fastest(rows, "transform and copies", "stage equalize", "transform", stream);
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_histogram_memory_study = {
    .name = "histogram-memory",
    .sentence = "one pixel a thread, with image and table in managed, plain and pinned mapped memory, with and without "
                "copies; and the gray transform from the cumulative probabilities",
    .heading =
        "Square images of bytes in 256 counts, in blocks of 32 x 32 threads with a pixel each, and the gray image of "
        "the\ncumulative probabilities. With copies the time runs from the image in ordinary memory of the host to the "
        "results\nthere. What takes more than 0.1 s is not measured on larger images. The CPU counts with one "
        "thread.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found =
        "atomic adds in global and in shared memory were compared for managed, plain and pinned mapped memory, with "
        "and without the time of the copies, beside a CPU",
    .finding = finding,
};
