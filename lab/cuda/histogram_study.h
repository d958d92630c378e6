/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies of histograms (lab/study/histogram_study.h) compare kernels that no stage has: as
 * they were published, in memory of three kinds. This is what such a study asks of a CUDA device:
 * an image of bytes is counted in 256 counts, and mapped to the gray values of its cumulative
 * probabilities.
 */
#ifndef LAB_CUDA_HISTOGRAM_STUDY_H
#define LAB_CUDA_HISTOGRAM_STUDY_H

#include "cuda/device/device.h"

enum {
    GRAY_VALUES = 256,
    GRAY_MOST_PIXELS = 1 << 26 /* of an image, so that 27 bits hold the counts of a warp */
};

enum gray_kernel {
    GRAY_PIXEL_GLOBAL, /* one pixel a thread in blocks of 32 x 32, atomics in global memory */
    GRAY_PIXEL_SHARED, /* the same with a table in shared memory */
    GRAY_STRIP_GLOBAL, /* 512 threads go down a strip of 512 columns, with a table of the strip in
                          global memory */
    GRAY_STRIP_SHARED, /* the same with the table in shared memory */
    GRAY_STRIP_ROWS,   /* the same by as many blocks as the device holds, whose threads take several
                          rows at a time */
    GRAY_WARP_ATOMIC,  /* 8 warps share a table in shared memory, neighboring words of 4 pixels a
                          warp */
    GRAY_WARP_LANES,   /* the same with a table for every lane */
    GRAY_WARP_TAGGED,  /* the same with a table for every warp, without atomic adds
                          (cuda/histogram/warp_tags.cuh) */
    GRAY_WARP_APART,   /* four tables for every warp, whose lanes read far from one another, as the
                          stage does */
    GRAY_KERNELS
};

enum gray_memory {
    GRAY_PLAIN,   /* of the device */
    GRAY_MANAGED, /* pages move to who touches them */
    GRAY_MAPPED,  /* pinned memory of the host, which the device reads and writes where it is */
    GRAY_MEMORIES
};

struct gray_job {
    enum gray_kernel kernel;
    int rows;       /* of GRAY_STRIP_ROWS: 1, 2, 4, 8 or 16 a thread */
    bool transform; /* makes the gray image as well: gray[v] = round(255 * number of values <= v /
                       number of values) */
    /* The time runs from the image in ordinary memory of the host to the results there; else that
     * of the kernels alone, with the image in the memory that they read. */
    bool copies;
    bool counts_tries; /* of GRAY_WARP_TAGGED and _APART, which take longer so */
};

struct gray_device;

/* Tests outside the library call them too. */
/* Creates what images of at most GRAY_MOST_PIXELS pixels need on a device. Returns NULL with a
 * record in diag where memory is out or the device failed. */
struct gray_device *ts_cuda_gray_create(const struct device_numbers *device, int64_t most_pixels,
                                        struct ts_diag *diag);
void ts_cuda_gray_destroy(struct gray_device *gray);
/* From now on this image of the caller is counted, from memory of this kind. */
enum ts_status ts_cuda_gray_load(struct gray_device *gray, enum gray_memory memory,
                                 const uint8_t *image, int64_t width, int64_t height);
/* Carries the job out once, and measures it. */
enum ts_status ts_cuda_gray_run(struct gray_device *gray, const struct gray_job *job,
                                double *seconds);
/* Reads what the last job came to: counts; its gray image, where `image` is not NULL; the tries of
 * all warps. */
enum ts_status ts_cuda_gray_read(struct gray_device *gray, uint32_t counts[GRAY_VALUES],
                                 uint8_t *image, uint64_t *tries);

/* The counting kernel of a job has so many blocks of so many threads with so many bytes of shared
 * memory, and leaves so many tables, of strips or blocks, to be summed; 0: its blocks add to the
 * counts. */
struct gray_shape {
    int64_t blocks, threads, tables;
    size_t shared_bytes;
};
/* Describes how the device would carry the job out on the image that is loaded. Tests tell methods
 * apart by it, whose results are the same. */
enum ts_status ts_cuda_gray_describe(struct gray_device *gray, const struct gray_job *job,
                                     struct gray_shape *shape);
/* Reads the first n tables that the last job left, of GRAY_VALUES counts each. */
enum ts_status ts_cuda_gray_tables(struct gray_device *gray, uint32_t *tables, int64_t n);

#endif
