/* SPDX-License-Identifier: Apache-2.0
 *
 * What the studies of histograms share: histogram-ladder, histogram-memory and warp-tagged, each a file of its own.
 * They count square images of bytes in 256 counts, by kernels that no stage has (cuda/study/histogram_study.h) and by
 * the methods of the stage `histogram` on both devices. Every result is compared with counts that are made here, one
 * pixel after the other.
 */
#ifndef PIPELINE_STUDY_HISTOGRAM_STUDY_H
#define PIPELINE_STUDY_HISTOGRAM_STUDY_H

#include "cuda/study/histogram_study.h"
#include "pipeline/study/study_rows.h"

/* A study and the image that it counts at the moment. */
struct gray_study {
    struct study_run *run;
    struct gray_device *device; /* NULL: no CUDA device takes part */
    enum bench_values values;
    int64_t side;
    struct ts_image image;          /* side * side bytes */
    uint32_t counts[GRAY_VALUES];   /* those of the image */
    uint8_t transform[GRAY_VALUES]; /* the gray value that takes the place of each value */
    uint8_t *result;                /* scratch for a gray image */
};

/* Begins a study: opens the CUDA device that takes part, if any, for images up to this side. Ends with ts_gray_close(),
 * whatever it returned. */
enum ts_status ts_gray_open(struct gray_study *study, struct study_run *run, int64_t most_side);
void ts_gray_close(struct gray_study *study);
/* Takes a square image of these values in the place of the one before. */
enum ts_status ts_gray_image(struct gray_study *study, enum bench_values values, int64_t side);
/* Returns the name of the values, as the rows' subject: that of the distribution, or "slice" where one was given. */
const char *ts_gray_values_name(const struct gray_study *study);

/* Times a kernel on the CUDA device, if one takes part, checks what it came to, and adds a row of this subject and
 * method. Where counts are tagged, its tries are counted in one more run and checked, and the row's number is the tries
 * for each count of a warp. *seconds receives the median time, or NAN. */
enum ts_status ts_gray_kernel(struct gray_study *study, const char *subject, const char *method,
                              enum gray_memory memory, const struct gray_job *job, double *seconds);
/* Times a stage on the devices that take part, on the same image, which the CPU counts with one thread. */
enum ts_status ts_gray_stage(struct gray_study *study, const char *subject, const char *method, const char *stage,
                             const char *parameters);

/* Does so for n methods of the stage `histogram`, in rows of the method "stage, NAME". */
enum ts_status ts_gray_methods(struct gray_study *study, const char *subject, const char *const methods[], int n);

/* Returns how often the warps of GRAY_WARP_TAGGED, or of GRAY_WARP_APART, write and read back for n pixels in all.
 * *counted receives how often a warp counts up to 32 pixels, one of each lane. */
uint64_t ts_gray_tries(const uint8_t *pixels, int64_t n, enum gray_kernel kernel, uint64_t *counted);

#endif
