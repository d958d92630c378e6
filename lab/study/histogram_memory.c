/* SPDX-License-Identifier: Apache-2.0
 *
 * The study histogram-memory: one pixel a thread in blocks of 32 x 32, with atomic adds to one
 * table in global memory or to a table of the block in shared memory. Image and table stand in
 * memory of the device, in managed memory, or in pinned memory of the host that the device reads
 * where it is. Each is timed without the copies and with them, and once more with the gray
 * transform that is made from the cumulative probabilities. Beside these stand the stages
 * `histogram` and `equalize` on both devices.
 */
#include <math.h>
#include <string.h>

#include "lab/study/histogram_study.h"

/* A kernel that is so slow in a memory is not measured on images that are larger. */
static const double slow_seconds = 0.1;

static const struct {
    const char *subject, *method;
    enum gray_memory memory;
    struct gray_job job;
} cases[] = {
#define OF_MEMORIES(subject, method, ...)                                                          \
    {subject, method ", plain", GRAY_PLAIN, {__VA_ARGS__}},                                        \
        {subject, method ", managed", GRAY_MANAGED, {__VA_ARGS__}},                                \
    {                                                                                              \
        subject, method ", mapped", GRAY_MAPPED,                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
    OF_MEMORIES("kernel", "global", .kernel = GRAY_PIXEL_GLOBAL),
    OF_MEMORIES("kernel", "shared", .kernel = GRAY_PIXEL_SHARED),
    OF_MEMORIES("with copies", "global", .kernel = GRAY_PIXEL_GLOBAL, .copies = true),
    OF_MEMORIES("with copies", "shared", .kernel = GRAY_PIXEL_SHARED, .copies = true),
    OF_MEMORIES("gray", "shared", .kernel = GRAY_PIXEL_SHARED, .transform = true),
    OF_MEMORIES("gray, copies", "shared", .kernel = GRAY_PIXEL_SHARED, .transform = true,
                .copies = true)};
enum { CASES = sizeof cases / sizeof *cases };

static enum ts_status measure_image(struct gray_study *study)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < CASES; i++) {
        const struct study_row *before =
            ts_study_find(&study->run->rows, "CUDA", cases[i].subject, cases[i].method, -1);
        if (!before || before->seconds < slow_seconds)
            status = ts_gray_kernel(study, cases[i].subject, cases[i].method, cases[i].memory,
                                    &cases[i].job);
    }
    if (status == TS_OK)
        status =
            ts_gray_stage(study, "kernel", "stage histogram", "histogram", "bins=256 limits=dtype");
    return status == TS_OK
               ? ts_gray_stage(study, "gray", "stage equalize", "equalize", "method=opencv")
               : status;
}

static enum ts_status measure(struct study_run *run)
{
    return ts_gray_images(run, BENCH_CT, BENCH_CT, measure_image);
}

static enum ts_status plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    return ts_study_plot(rows, "Histograms from plain, managed and mapped memory",
                         "side of the image (pixels)", path, diag);
}

/* Compares the memories, and the CPU's stage, with plain memory for the largest image of a
 * subject. */
static void compare_memories(const struct table_rows *rows, const char *subject,
                             const char *cpu_subject, const char *stage, FILE *stream)
{
    const struct study_row *plain = ts_study_find(rows, "CUDA", subject, "shared, plain", -1);
    const struct study_row *cpu =
        plain ? ts_study_find(rows, "CPU", cpu_subject, stage, plain->x) : NULL;
    if (!plain)
        return;
    fprintf(stream, "; %s: managed memory takes %.2f and mapped memory %.2f times as long as plain",
            subject,
            ts_study_ratio(rows, "CUDA", subject, "shared, managed", "shared, plain", plain->x),
            ts_study_ratio(rows, "CUDA", subject, "shared, mapped", "shared, plain", plain->x));
    if (cpu)
        fprintf(stream, ", and one thread of the CPU %.1f times", cpu->seconds / plain->seconds);
}

static void finding(const struct table_rows *rows, FILE *stream)
{
    const struct study_row *last = ts_study_find(rows, "CUDA", "kernel", "shared, plain", -1);
    const struct study_row *cpu = ts_study_find(rows, "CPU", "kernel", "stage histogram", -1);
    if (!last && cpu)
        fprintf(stream, "one thread of the CPU counts %.2f * 10^9 pixels a second (%lld x %lld)",
                1e-9 * cpu->rate, (long long)cpu->x, (long long)cpu->x);
    if (!last)
        return;
    fprintf(
        stream,
        "at %lld x %lld one table in global memory takes %.1f times as long as tables of blocks",
        (long long)last->x, (long long)last->x,
        ts_study_ratio(rows, "CUDA", "kernel", "global, plain", "shared, plain", last->x));
    compare_memories(rows, "kernel", "kernel", "stage histogram", stream);
    compare_memories(rows, "with copies", "kernel", "stage histogram", stream);
    compare_memories(rows, "gray", "gray", "stage equalize", stream);
    compare_memories(rows, "gray, copies", "gray", "stage equalize", stream);
}

static const struct table_column columns[] = {STUDY_ROW_COLUMNS("side", "side")};

const struct study ts_histogram_memory_study = {
    .name = "histogram-memory",
    .sentence =
        "one pixel a thread, with image and table in managed, plain and pinned mapped memory, with "
        "and without copies; and the gray transform from the cumulative probabilities",
    .heading =
        "Square images of bytes in 256 counts, in blocks of 32 x 32 threads with a pixel each. "
        "kernel: counts alone; gray: counts\nand the gray image of their cumulative probabilities. "
        "copies: from the image in ordinary memory of the host to the results\nthere. What takes "
        "more than 0.1 s is not measured on larger images. The CPU counts with one thread.\n",
    .table = TABLE_OF(struct study_row, columns),
    .measure = measure,
    .plot = plot,
    .found = "atomic adds in global and in shared memory were compared for managed, plain and "
             "pinned mapped memory, with and without the time of the copies, beside a CPU",
    .finding = finding,
};
