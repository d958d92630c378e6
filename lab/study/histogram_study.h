/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies histogram-ladder, histogram-memory and warp-tagged share their images, their checks
 * and their measurements here; each has a file of its own. They count square images of bytes in 256
 * counts, by kernels that no stage has (lab/cuda/histogram_study.h) and by the methods of the stage
 * `histogram` on both devices. Every result is compared with counts that are made one pixel after
 * the other.
 */
#ifndef LAB_STUDY_HISTOGRAM_STUDY_H
#define LAB_STUDY_HISTOGRAM_STUDY_H

#include "lab/cuda/histogram_study.h"
#include "lab/study/study_rows.h"

/* This is a study with the image that it counts at the moment. */
struct gray_study {
    struct study_run *run;
    struct gray_device *device; /* NULL: no CUDA device takes part */
    enum bench_values values;
    int64_t side;
    struct ts_image image;          /* side * side bytes */
    uint32_t counts[GRAY_VALUES];   /* of the image */
    uint8_t transform[GRAY_VALUES]; /* the gray value that takes the place of each value */
    uint8_t *result;                /* scratch for a gray image */
};

/* Measures the image of the study. */
typedef enum ts_status gray_measure(struct gray_study *study);
/* Carries a study out: calls `measure` for images of these distributions, of the first to the last,
 * and in each of every side that --most allows. */
enum ts_status ts_gray_images(struct study_run *run, enum bench_values first,
                              enum bench_values last, gray_measure *measure);
/* Returns the name of the values, as the rows' subject: that of the distribution, or "slice" where
 * one was given. */
const char *ts_gray_values_name(const struct gray_study *study);

/* Times a kernel on the CUDA device, if one takes part, checks what it came to, and adds a row of
 * this subject and method. Where counts are tagged, its tries are counted in one more run and
 * checked, and the row's number is the tries for each count of a warp. */
enum ts_status ts_gray_kernel(struct gray_study *study, const char *subject, const char *method,
                              enum gray_memory memory, const struct gray_job *job);
/* Times a stage on the devices that take part, on the same image, which the CPU counts with one
 * thread. */
enum ts_status ts_gray_stage(struct gray_study *study, const char *subject, const char *method,
                             const char *stage, const char *parameters);

/* Does so for n methods of the stage `histogram`, in rows of the method "stage, NAME". */
enum ts_status ts_gray_methods(struct gray_study *study, const char *subject,
                               const char *const methods[], int n);

/* Returns how often the warps of GRAY_WARP_TAGGED, or of GRAY_WARP_APART, write and read back for n
 * pixels in all. *counted receives how often a warp counts up to 32 pixels, one of each lane. */
uint64_t ts_gray_tries(const uint8_t *pixels, int64_t n, enum gray_kernel kernel,
                       uint64_t *counted);

#endif
