/* SPDX-License-Identifier: Apache-2.0
 *
 * The projectors and backprojections of the CPU share this code. They compute 16, 4 or 1 slices at
 * a time with the slices' samples side by side, so that weights are computed once for all of them
 * and sums are vectors over slices. The input is copied to blocks of a few lines that stay in the
 * second cache while all outputs use them.
 */
#ifndef STAGES_PROJECTION_SLICE_BLOCK_H
#define STAGES_PROJECTION_SLICE_BLOCK_H

#include "core/image.h"
#include "core/memory.h"

/* Marks parts of loops: they are inlined, and so compiled for each level of the processor for which
 * the loop is compiled. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    BLOCK_SLICES = 16, /* most slices side by side */
    BLOCK_LINES = 16,  /* most lines of a block */
    BLOCK_MARGIN = 2   /* zero samples on both sides of a line */
};

/* One sample of 4 slices. Loops over 16 slices have vectors of the processor's width. */
typedef float slices_4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Lines m_first, ... of the major axis (rows if along_rows, else columns), each with all samples of
 * the minor axis. Sample i of line m_first + m in slice s of `slices` is data[(m * stride +
 * BLOCK_MARGIN + i) * slices + s]. */
struct slice_block {
    float *data;
    bool along_rows;
    int64_t m_first, n_major, n_minor;
    int64_t stride; /* n_minor + 2 BLOCK_MARGIN */
};

/* Returns the number of lines of one block. It depends only on the samples of a line, because it
 * decides the order of sums. */
static inline int64_t ts_slice_block_lines(int64_t n_minor)
{
    if (n_minor <= 512)
        return BLOCK_LINES;
    return n_minor <= 1024 ? BLOCK_LINES / 2 : BLOCK_LINES / 4;
}

/* Returns an empty block of lines from m on: ts_slice_block_lines() of them, or fewer at the end of
 * the n_major lines. */
static inline struct slice_block ts_slice_block(float *data, bool along_rows, int64_t m,
                                                int64_t n_major, int64_t n_minor)
{
    const int64_t most = ts_slice_block_lines(n_minor);
    return (struct slice_block){.data = data,
                                .along_rows = along_rows,
                                .m_first = m,
                                .n_major = n_major - m < most ? n_major - m : most,
                                .n_minor = n_minor,
                                .stride = n_minor + 2 * BLOCK_MARGIN};
}

/* Returns the bytes of a block of BLOCK_SLICES slices, rounded up to whole cache lines. */
size_t ts_slice_block_bytes(int64_t n_minor);
/* Fills the data from slices [z, z + slices) of the image. */
void ts_slice_block_fill(const struct ts_image *image, int64_t z, int slices,
                         struct slice_block *block);

/* Returns the number of slices in the next group: 16, 4 or 1. */
static inline int ts_slice_group(int64_t slices_left)
{
    if (slices_left >= 16)
        return 16;
    return slices_left >= 4 ? 4 : 1;
}

/* An output of n_lines lines a slice (views, or rows of pixels), with line_samples samples each. */
struct slice_work {
    int64_t n_slices, n_lines, line_samples;
    size_t sum_bytes;   /* bytes of the sums that one thread works on at once, at least those of one
                         * line */
    size_t block_bytes; /* bytes of one thread's block of the input */
    int threads;
};

/* The part that one thread does: lines [first, first + n) of slices [z, z + slices). */
struct slice_part {
    int64_t z, first, n;
    int slices;
};
typedef void slice_task(const void *job, const struct slice_part *part, float *sums, float *block);

size_t ts_slice_work_scratch(const struct slice_work *work);
/* Calls the task for every part, spread over the threads: first for all full groups of one width,
 * then for those of the next. */
void ts_slice_work_run(const struct slice_work *work, slice_task *task, const void *job,
                       void *scratch);

#endif
